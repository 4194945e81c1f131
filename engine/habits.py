"""What programs written for micrograd and microgpt expect of a Value, besides arithmetic.

All of it is found by `lookup`, for names that the class does not have; `value.py` stays one idea.
"""

from collections.abc import Callable, Iterator
from types import MethodType
from typing import Any

from engine import nocython, value

Value = value.Value

# Attributes computed when they are read, and methods, by name.
ATTRIBUTES: dict[str, Callable[[Any], Any]] = {}
METHODS: dict[str, Callable[..., Any]] = {}

# A subclass whose constructor does not call ours has these fields until an operation sets them.
EMPTY = dict.fromkeys(("_data", "_grad", "_flight", "_slope_a", "_slope_b"), 0.0) | {
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
    return enter(ATTRIBUTES, function.__name__, function)


def method(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make the function a method of every Value."""
    return enter(METHODS, function.__name__, function)


def enter(table: dict[str, Any], name: str, function: Any) -> Any:
    """Put the function where `lookup` finds it by that name."""
    table[name] = function
    nocython.find(Value, name, lookup)
    return function


def lookup(v: Any, name: str) -> Any:
    """The attribute `name` of a Value that its class does not have."""
    if name in ATTRIBUTES:
        return ATTRIBUTES[name](v)
    if name in METHODS:
        return MethodType(METHODS[name], v)
    if name in EMPTY:
        return EMPTY[name]
    raise AttributeError(f"{type(v).__name__!r} object has no attribute {name!r}", name=name, obj=v)


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
