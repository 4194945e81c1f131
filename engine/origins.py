"""first_nan: which operation of a finished scalar graph made the first nan or inf."""

import math
from typing import Any, NamedTuple

from engine import by_hand, value
from engine.graph import topological
from engine.habits import Value
from engine.nodes import edge_of
from engine.registry import RULES


class Origin(NamedTuple):
    """Where a nan or inf comes from: the Value, the operation that made it ("" for a leaf), its
    operands (Values, and numbers), and the line, (file, number), where anomaly mode kept it."""

    value: Any
    op: str
    operands: tuple[Any, ...]
    line: tuple[str, int] | None

    def __str__(self) -> str:
        where = f", at {self.line[0]}:{self.line[1]}" if self.line else ""
        if not self.op:
            return f"a leaf holds {self.value.data}{where}"
        given = ", ".join(str(number_of(x)) for x in self.operands)
        return f"{self.op}({given}) = {self.value.data}{where}"


def number_of(x: Any) -> float:
    """The number of an operand."""
    return float(x.data) if isinstance(x, Value) else float(x)


def first_nan(root: Any) -> Origin | None:
    """The first operation below root whose result is nan or inf though its operands are not.

    root: a Value. First means: operands before results, as backward orders them. A leaf that
    holds nan or inf itself is the first there; None if all numbers are finite. Lines are known of
    what was made under engine.autograd.set_detect_anomaly(True).
    """
    if not isinstance(root, Value):
        raise TypeError(f"first_nan: needs a Value; got {type(root).__name__}")
    for v in topological([edge_of(root)] if root.requires_grad else [(root, 0)]):
        if isinstance(v, Value) and not math.isfinite(v.data):
            operands = operands_of(v)
            if all(math.isfinite(number_of(x)) for x in operands):
                return Origin(v, value.op_of(v) or "", operands, line_of(v))
    return None


def operands_of(v: Any) -> tuple[Any, ...]:
    """The Values and numbers that v was made of."""
    op = value.op_of(v)
    if op not in RULES or v._extra != op:
        return tuple(p for p, _ in by_hand.links(v))
    pairs = ((v._a, v._slope_a), (v._b, v._slope_b))[: RULES[op].arity]
    return tuple(number if p is None else p for p, number in pairs)


def line_of(v: Any) -> tuple[str, int] | None:
    """Where v was made, if that was kept."""
    found = getattr(v, "traceback_", None)
    return tuple(found[-1][:2]) if found else None
