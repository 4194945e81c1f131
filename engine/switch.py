"""The rules by number, for tapes: what `engine.compile` records names an operation by its place.

In the compiled build a switch with one case for each rule stands here, which setup.py generates
from rules.py and special.py, with the rules' own text inlined.
"""

from collections.abc import Callable
from typing import Any

from engine import rules, special


def found() -> list[tuple[str, Callable[..., Any], Callable[..., Any]]]:
    """Each rule's name, value and slopes, in the order of the files."""
    rows = []
    for module in (rules, special):
        for name, f in vars(module).items():
            slopes = getattr(module, f"{name}_slope", getattr(module, f"{name}_slopes", None))
            if slopes is not None:
                rows.append((name, f, slopes))
    return rows


RULES = found()
NUMBERS = {name: number for number, (name, _, _) in enumerate(RULES)}
ARITY = [f.__code__.co_argcount for _, f, _ in RULES]


def value(op: int, a: float, b: float) -> float:
    """The value of rule number op; b counts where it has two operands."""
    f = RULES[op][1]
    return float(f(a, b) if ARITY[op] == 2 else f(a))


def slopes(op: int, a: float, b: float, y: float) -> tuple[float, float]:
    """Its slopes, given the value y too; 0.0 for b where that has none."""
    f = RULES[op][2]
    found = f(a, b, y) if ARITY[op] == 2 else f(a, y)
    return found if isinstance(found, tuple) else (found, 0.0)
