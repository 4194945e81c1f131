"""What programs written for micrograd and microgpt expect of a Value, besides arithmetic.

All of it is found through `Value.__getattr__`, which asks `lookup`; `value.py` stays one idea.
"""

from collections.abc import Callable, Iterator
from types import MethodType
from typing import Any

from engine import builds

value = builds.module("value")
Value = value.Value

# Attributes computed when they are read, and methods, by name.
ATTRIBUTES: dict[str, Callable[[Any], Any]] = {}
METHODS: dict[str, Callable[..., Any]] = {}

# A subclass whose constructor does not call ours has these fields until an operation sets them.
EMPTY = dict.fromkeys(("_data", "_grad", "_flight", "_slope_a", "_slope_b"), 0.0) | {
    "_has_grad": False,
    "_requires_grad": False,
    "_mark": 0,
    "_a": None,
    "_b": None,
    "_extra": None,
}

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


def attribute(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Make the function's name an attribute of every Value, computed when it is read."""
    ATTRIBUTES[function.__name__] = function
    return function


def method(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make the function a method of every Value."""
    METHODS[function.__name__] = function
    return function


def lookup(v: Any, name: str) -> Any:
    """The attribute `name` of a Value that its class does not have."""
    if name in ATTRIBUTES:
        return ATTRIBUTES[name](v)
    if name in METHODS:
        return MethodType(METHODS[name], v)
    if name in EMPTY:
        return EMPTY[name]
    raise AttributeError(f"a Value has no attribute {name!r}")


def links(v: Any) -> Iterator[tuple[Any, float]]:
    """The parents of v that require grad, in order, each with its slope."""
    if v._a is not None:
        yield v._a, v._slope_a
    if v._b is not None:
        yield v._b, v._slope_b
    if isinstance(v._extra, value.Extra):
        yield from v._extra.more


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
    extra = value.Extra(slopes if named else "by_hand")
    extra.push = False if named else None  # False: not given yet
    numbers = [0.0] * len(parents) if named else [value.as_float(s, "Value: a slope") for s in slopes]
    extra.more = [(p, s) for p, s in zip(parents, numbers, strict=True) if p.requires_grad]
    value.adopt(v, extra)


def pushed(v: Any, g: float) -> list[tuple[Any, float]]:
    """What the user's own `_backward` adds to the parents' `.grad`, which speaks for it: they
    start from 0.0 and are put back."""
    extra = v._extra
    if extra.push is False:
        raise RuntimeError(
            f"backward: the node {extra.op!r} was made with parents and no slopes; set its "
            "_backward to the function that adds to its parents' .grad, or give slopes"
        )
    parents = [p for p in dict.fromkeys((v._a, v._b, *(p for p, _ in extra.more))) if p is not None]
    before = [(x, x._grad, x._has_grad) for x in (v, *parents)]
    try:
        v.grad = g
        for p in parents:
            p.grad = 0.0
        extra.push()
        return [((p, 0), p._grad) for p in parents]
    finally:
        for x, grad, has_grad in before:
            x._grad, x._has_grad = grad, has_grad
