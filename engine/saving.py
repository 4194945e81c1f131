"""Copies and pickles of tensors and Values by PyTorch's rules.

A pickle holds the numbers, requires_grad and the user's attributes, neither graph nor `.grad` nor
hooks; a file of one build opens in the other. copy.copy shares memory. copy.deepcopy is for
leaves, and copies `.grad` too.
"""

import copy
from typing import Any

from engine import value
from engine.attention import warn
from engine.habits import Value
from engine.memory import owner, seen_in
from engine.tensors import Tensor, make


def rebuild(kind: Any, array: Any, requires_grad: bool, attributes: dict[str, Any]) -> Tensor:
    """The tensor that a pickle describes; kind is its class, None for Tensor itself."""
    t = make(array) if kind is None else make(array).as_subclass(kind)
    t.__dict__.update(attributes)
    return t.requires_grad_() if requires_grad else t


def warn_of_hooks(t: Any) -> None:
    """Say that a leaf's hooks are not written with it."""
    if t.is_leaf and t._hooks is not None and any(t._hooks.outputs.values()):
        warn(
            "pickling a tensor: its backward hooks will not be serialized; register them again "
            "on the loaded one"
        )


def reduced(t: Any, protocol: Any = None) -> tuple[Any, ...]:
    """What pickle and copy.copy keep of a tensor."""
    warn_of_hooks(t)
    kind = None if type(t) is Tensor else type(t)
    return rebuild, (kind, t._array, t.requires_grad, t.__dict__)


def deepcopied_array(array: Any, memo: dict[int, Any]) -> Any:
    """A copy of the array; two that share memory share it in their copies too."""
    whole = owner(array)
    if whole is array or not (whole.flags.c_contiguous or whole.flags.f_contiguous):
        return copy.deepcopy(array, memo)
    return seen_in(copy.deepcopy(whole, memo), whole, array)


def deepcopied(t: Any, memo: dict[int, Any]) -> Any:
    """copy.deepcopy of a leaf: numbers, `.grad`, requires_grad and the user's attributes."""
    if not t.is_leaf:
        raise RuntimeError(
            "deepcopy: Only Tensors created explicitly by the user (graph leaves) support the "
            f"deepcopy protocol; this one is the result of {t.grad_fn.name()}: use "
            "t.detach().clone()"
        )
    if id(t) not in memo:
        kind = None if type(t) is Tensor else type(t)
        new = rebuild(kind, deepcopied_array(t._array, memo), t.requires_grad, {})
        memo[id(t)] = new
        new._grad = copy.deepcopy(t._grad, memo)
        new.__dict__.update(copy.deepcopy(t.__dict__, memo))
    return memo[id(t)]


Tensor.__reduce_ex__ = reduced  # type: ignore[method-assign]
Tensor.__deepcopy__ = deepcopied  # type: ignore[attr-defined]


# Values


def saved_value(v: Any) -> tuple[Any, ...]:
    """What a pickle or a copy of a leaf holds; a result of operations has a graph, and none."""
    if not v.is_leaf:
        raise RuntimeError(
            "copying or pickling a Value needs one made by the program; this one is the result "
            f"of {v._op!r}: use v.detach(), which has no graph"
        )
    attributes = in_slots(v) | getattr(v, "__dict__", {})
    if isinstance(v._extra, value.Extra):
        attributes |= v._extra.attributes or {}
    kind = None if type(v) is Value else type(v)
    return kind, v.data, v.grad if value.has_grad(v) else None, v.requires_grad, attributes


def reduced_value(v: Any) -> tuple[Any, ...]:
    """What pickle and copy make of a leaf; its attributes, which may lead back to it, come after
    it, in the place of what objects have in slots."""
    *fields, attributes = saved_value(v)
    made = rebuild_value, tuple(fields)
    return (*made, (None, attributes)) if attributes else made


def in_slots(v: Any) -> dict[str, Any]:
    """What a subclass of Value keeps in slots of its own."""
    found = {}
    for kind in type(v).__mro__:
        names = () if kind in Value.__mro__ else vars(kind).get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            if name not in ("__dict__", "__weakref__") and hasattr(v, name):
                found[name] = getattr(v, name)
    return found


def rebuild_value(
    kind: Any, data: float, grad: float | None, requires_grad: bool, names: Any = None
) -> Any:
    """The Value that `saved_value` describes, in the build that runs."""
    kind = kind or Value
    v = kind.__new__(kind)
    Value.__init__(v, data, requires_grad=requires_grad)
    v.grad = grad
    for name, x in (names or {}).items():
        setattr(v, name, x)
    return v
