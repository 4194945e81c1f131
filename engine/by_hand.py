"""What programs written for micrograd and microgpt expect of a Value, besides arithmetic.

Their names for a node's operation, parents and slopes; nodes that they make themselves, and
backward passes by hand, as micrograd's lecture does.
"""

from collections.abc import Callable, Iterator
from typing import Any

from engine import fused, value
from engine.habits import Value, attribute

# micrograd's names for operations; the others are called as here.
SPELLING = {
    None: "",
    "by_hand": "",
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "pow": "**",
    "relu": "ReLU",
}


def links(v: Any) -> Iterator[tuple[Any, float]]:
    """The parents of v that require grad, in order, each with its slope."""
    if v._a is not None:
        yield v._a, v._slope_a
    if v._b is not None:
        yield v._b, v._slope_b
    if isinstance(v._extra, value.Extra):
        yield from (pair for pair in v._extra.pairs() if pair[0] is not None)


@attribute
def label(v: Any) -> str:
    """The name for drawings; "" until one is given."""
    return ""


@attribute
def _op(v: Any) -> str:
    """The operation that made v, in micrograd's spelling."""
    name = value.op_of(v)
    return f"**{v._slope_b:g}" if name == "pow_number" else SPELLING.get(name, name)


@attribute
def _children(v: Any) -> tuple[Any, ...]:
    """The parents, as microgpt calls them."""
    return tuple(p for p, _ in links(v))


@attribute
def _local_grads(v: Any) -> tuple[float, ...]:
    """The slopes, in the order of the parents."""
    return tuple(slope for _, slope in links(v))


@attribute
def _prev(v: Any) -> Any:
    """The parents without repetition: equal to a set, but in order."""
    return dict.fromkeys(_children(v)).keys()


@attribute
def _backward(v: Any) -> Callable[[], None]:
    """What sends v.grad on to the parents' `.grad`, for a backward pass by hand."""

    def push() -> None:
        for parent, slope in links(v):
            parent.grad += slope * v.grad

    return push


def by_hand(v: Any, parents: Any, slopes: Any) -> None:
    """Give v the parents and, as numbers, the slopes that a program made itself.

    slopes may be the operation's name instead: then the program sets `v._backward`.
    """
    named = isinstance(slopes, str)
    if not named and len(slopes) != len(parents):
        raise ValueError(f"Value: {len(parents)} parents need as many slopes; got {len(slopes)}")
    if not all(isinstance(p, Value) for p in parents):
        raise TypeError("Value: parents must be Values; got " + ", ".join(map(repr, parents)))
    extra: Any = value.Extra(slopes if named else "by_hand")
    extra.push = False if named else None  # False: not given yet
    given = [0.0] * len(parents) if named else slopes
    needed = [p if p.requires_grad else None for p in parents]
    fused.adopt(v, extra, needed, fused.as_row(given, "Value: a slope"))
    value.observed(v, extra.op, parents)


def pushed(v: Any, g: float) -> list[tuple[Any, float]]:
    """What the user's own `_backward` adds to the parents' `.grad`, which speaks for it: they
    start from 0.0 and are put back."""
    extra = v._extra
    if extra.push is False:
        raise RuntimeError(
            f"backward: the node {extra.op!r} was made with parents and no slopes; set its "
            "_backward to the function that adds to its parents' .grad, or give slopes"
        )
    parents = [p for p in dict.fromkeys((v._a, v._b, *(extra.parents or ()))) if p is not None]
    before = [(x, x._grad, x._requires_grad) for x in (v, *parents)]
    try:
        v.grad = g
        for p in parents:
            p.grad = 0.0
        extra.push()
        return [((p, 0), p._grad) for p in parents]
    finally:
        for x, grad, state in before:
            x._grad, x._requires_grad = grad, state


def forget(v: Any, name: str) -> bool:
    """`del v.name` of an attribute that a compiled Value keeps for the user; whether it does."""
    extra = v._extra
    kept = (extra.attributes if isinstance(extra, value.Extra) else None) or {}
    if name in kept:
        extra.attributes = {other: x for other, x in kept.items() if other != name}
    return name in kept


def describe(x: Any) -> str:
    """What came where a number is needed, and the likely cure, for an error."""
    if isinstance(x, Value):
        return "a Value; use the Value itself, or its number, v.data"
    if isinstance(x, str):
        return f"the text {x!r}; use float({x!r}) if it spells a number"
    if isinstance(x, (list, tuple)) or hasattr(x, "ndim"):
        return f"{type(x).__name__}; for a batch of numbers use engine.tensor(...)"
    return f"{x!r}, a {type(x).__name__}" if x is not None else "None"
