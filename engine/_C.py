"""torch._C: the few names of PyTorch's private module that programs, and its own tests, use.

>>> import engine
>>> x = engine.ones(1, requires_grad=True)
>>> type((x * 2).grad_fn.next_functions[0][0]) is engine._C._functions.AccumulateGrad
True
"""

import weakref
from types import SimpleNamespace
from typing import Any

from engine import modes
from engine.autograd import forward_ad
from engine.autograd.introspection import AccumulateGrad
from engine.autograd.saved_hooks import Refusal
from engine.autograd.saved_names import SavedTensor
from engine.function import Function
from engine.grad_mode import is_grad_enabled as is_grad_enabled
from engine.graph import current_walk
from engine.nodes import Node


class Undefined(Function):
    """The identity, which hands no gradient on."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, g: Any) -> None:
        return None


class Delayed(Function):
    """The identity, whose backward raises."""

    @staticmethod
    def forward(ctx: Any, x: Any, message: str) -> Any:
        ctx.message = message
        return x.clone()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        raise RuntimeError(ctx.message)


class UndefinedGrad(Node):
    """UndefinedGrad()(x) is x, but what comes before it gets no gradient."""

    def __call__(self, x: Any) -> Any:
        return Undefined.apply(x)


class DelayedError(Node):
    """DelayedError(message, 1)(x) is x, but backward through it is a RuntimeError."""

    def __init__(self, message: str, num_inputs: int):
        super().__init__()
        self.message = message

    def __call__(self, x: Any) -> Any:
        return Delayed.apply(x, self.message)


class _WeakTensorRef:
    """A weak reference to a tensor."""

    def __init__(self, tensor: Any):
        self.reference = weakref.ref(tensor)

    def expired(self) -> bool:
        """Whether the tensor is gone."""
        return self.reference() is None


def _will_engine_execute_node(node: Any) -> bool:
    """Whether the backward that runs will come to the node. RuntimeError outside of one, and for a
    leaf of autograd.grad, whose gradient is handed out instead of added."""
    walk = current_walk()
    if not isinstance(node, Node):
        raise RuntimeError(f"_will_engine_execute_node expects an grad_fn, but got {node!r}")
    if walk is None:
        raise RuntimeError("_will_engine_execute_node: to be called during the backward pass")
    leaf = isinstance(node, AccumulateGrad)
    target = node.variable if isinstance(node, AccumulateGrad) else node
    if walk.wanted is None:
        return any(x is target for x in walk.order)
    asked = any(key == id(target) for key, _ in walk.wanted)
    if leaf and asked and not walk.writes:
        raise RuntimeError(
            "_will_engine_execute_node: a leaf, and we are currently running autograd.grad()"
        )
    return asked if leaf else id(target) in walk.needed


def _set_fwd_grad_enabled(mode: bool) -> None:
    """Switch tangents on or off in this thread."""
    forward_ad._set_fwd_grad_enabled(mode)


def _saved_tensors_hooks_is_enabled() -> bool:
    """Whether saved_tensors_hooks may be used here."""
    return not any(isinstance(o, Refusal) for o in modes.observers())


def _unsafe_set_version_counter(tensors: Any, versions: Any) -> None:
    """Set the numbers of changes of tensors; RuntimeError for one below 0."""
    for t, version in zip(tensors, versions, strict=True):
        if version < 0:
            raise RuntimeError(f"Cannot set the version counter of a tensor to {version}")
        t._shared_counter()[0] = version


def _get_current_graph_task_keep_graph() -> bool:
    """Whether the backward that runs was asked to retain its graph; True outside of one."""
    walk = current_walk()
    return walk is None or bool(walk.retain_graph)


_functions = SimpleNamespace(
    AccumulateGrad=AccumulateGrad, DelayedError=DelayedError, UndefinedGrad=UndefinedGrad
)
_autograd = SimpleNamespace(
    SavedTensor=SavedTensor,
    _get_current_graph_task_keep_graph=_get_current_graph_task_keep_graph,
    _saved_tensors_hooks_is_enabled=_saved_tensors_hooks_is_enabled,
    _unsafe_set_version_counter=_unsafe_set_version_counter,
)
