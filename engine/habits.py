"""What a Value has beside its class: attributes and methods that `lookup` finds by their names.

What programs written for micrograd and microgpt expect is entered here, by `by_hand.py`, and what
mixes Values with Tensors; `value.py` stays one idea.
"""

from collections.abc import Callable
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
