"""The rules by number, for tapes: what `engine.compile` records names an operation by its place.

In the compiled build a switch with one case for each rule stands here, which setup.py generates
from rules.py and special.py, with the rules' own text inlined.
"""

import operator
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


def push(op: int, x: Any, flight: Any, a: int, b: int, y: float, g: float) -> None:
    """Send the gradient g of rule number op, whose result is y, on: from the numbers in slots a
    and b of x to the gradients in these slots of `flight`."""
    name, _, slopes = RULES[op]
    found = slopes(x[a], x[b], y) if ARITY[op] == 2 else slopes(x[a], y)
    pass_on = chosen if name in rules.SELECTIONS else operator.mul
    if not isinstance(found, tuple):
        flight[a] += pass_on(g, found)
        return
    flight[a] += pass_on(g, found[0])
    flight[b] += pass_on(g, found[1])


def chosen(g: float, slope: float) -> float:
    """What a selection passes: nothing where its slope is 0, even of inf or nan."""
    c = g * slope
    return 0.0 if c != c and slope == 0.0 else c
