"""torch.autograd.graph: nodes, edges, and what may be done with a graph beside walking it."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from engine import nodes
from engine.autograd.introspection import node_of
from engine.autograd.saved_hooks import (
    allow_mutation_on_saved_tensors as allow_mutation_on_saved_tensors,
    disable_saved_tensors_hooks as disable_saved_tensors_hooks,
    save_on_cpu as save_on_cpu,
    saved_tensors_hooks as saved_tensors_hooks,
)
from engine.differentiation import GradientEdge as GradientEdge, as_tuple
from engine.graph import current_walk
from engine.nodes import needs_grad
from engine.tensors import Tensor


class NodeMeta(type):
    """Makes every node an instance of Node and every class of nodes a subclass, as in PyTorch: they
    do not inherit from it."""

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, nodes.Node)

    def __subclasscheck__(cls, kind: type) -> bool:
        return kind is cls or issubclass(kind, nodes.Node)

    def __getattr__(cls, name: str) -> Any:
        return getattr(nodes.Node, name)


class Node(metaclass=NodeMeta):
    """What grad_fn and next_functions show: a call of an operation, or a leaf's AccumulateGrad."""


def get_gradient_edge(tensor: Any) -> GradientEdge:
    """The place of a Value or Tensor in its graph, for grad and backward; it keeps the graph
    without keeping the numbers."""
    if not needs_grad(tensor):
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require "
            "gradients"
        )
    node = tensor.grad_fn
    return GradientEdge(node_of(tensor) if node is None else node, tensor.output_nr)


def increment_version(tensor: Any) -> None:
    """Say that a Tensor's memory, or that of each in a sequence, was changed behind its back:
    backward refuses what it saved of it before."""
    for t in as_tuple(tensor):
        if not isinstance(t, Tensor):
            raise TypeError(f"increment_version: needs Tensors; got {type(t).__name__}")
        t._shared_counter()[0] += 1


class MultiHook:
    """The hook that waits for several gradients; what it has of each walk lies in the walk."""

    def __init__(self, count: int, fn: Callable[..., Any]):
        self.count = count
        self.fn = fn

    def of(self, i: int) -> Callable[[Any], None]:
        """The hook of tensor i."""

        def take(g: Any) -> None:
            walk = current_walk()
            if g is None:
                return
            if self not in walk.callbacks:
                grads: list[Any] = [None] * self.count
                walk.callbacks[self] = partial(self.fn, grads)
            walk.callbacks[self].args[0][i] = g

        return take


class AnyHook:
    """The hook that wants the first gradient of a walk."""

    def __init__(self, fn: Callable[..., Any]):
        self.fn = fn

    def __call__(self, g: Any) -> None:
        walk = current_walk()
        if g is not None and self not in walk.callbacks:
            walk.callbacks[self] = lambda: None
            self.fn(g)


class Handles:
    """Takes several hooks back at once."""

    def __init__(self, handles: Sequence[Any]):
        self.handles = handles

    def remove(self) -> None:
        """Take the hooks back."""
        for handle in self.handles:
            handle.remove()

    def __enter__(self) -> "Handles":
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


def register_multi_grad_hook(
    tensors: Sequence[Any], fn: Callable[..., Any], *, mode: str = "all"
) -> Handles:
    """Call fn once per backward: at its end, with the list of the gradients of all tensors, None
    for those that it does not reach; or, mode "any", at once with the first that arrives."""
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    if mode == "any":
        first = AnyHook(fn)
        return Handles([t.register_hook(first) for t in tensors])
    multi = MultiHook(len(tensors), fn)
    return Handles([t.register_hook(multi.of(i)) for i, t in enumerate(tensors)])
