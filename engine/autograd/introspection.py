"""What programs ask a graph about itself: nodes of Values and leaves as objects, next_functions,
hooks on nodes. It plugs into Node and Value, and costs nothing where nobody asks."""

import inspect
from collections.abc import Callable
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np

from engine import by_hand, dtypes, habits, hooks, nodes, value
from engine.attention import warn
from engine.function import FunctionNode
from engine.habits import Value
from engine.nodes import Node, TensorBase
from engine.registry import RULES
from engine.tensors import Operation, Size, Tensor, node_class


class ViewOfNode(Node):
    """A node that is not an object of its own: it stands for the Value or the leaf that is."""

    def __init__(self, variable: Any):
        super().__init__()
        self.variable = variable

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ViewOfNode) and self.variable is other.variable

    def __hash__(self) -> int:
        return id(self.variable) >> 4


class AccumulateGrad(ViewOfNode):
    """Where the gradient of a leaf goes: `variable` is the leaf, a Tensor or a Value."""


class ValueNode(ViewOfNode):
    """The operation that made a Value: a view that is equal to any other of the same Value."""

    def __init__(self, v: Any):
        super().__init__(v)
        op = value.op_of(v)
        parents: Any = [p for p, _ in by_hand.links(v)]
        if op in RULES and v._extra == op:
            parents = (v._a, v._b)[: RULES[op].arity]
        self._edges = tuple(p and (p, 0) for p in parents)


@cache
def value_node_class(op: str) -> Any:
    """The class of the views of Values that were made by an operation."""
    name = node_class(RULES[op]).__name__ if op in RULES else f"{op}Backward"
    return type(name, (ValueNode,), {})


def node_of(v: Any) -> Any:
    """The node of a Value or of a leaf Tensor."""
    if isinstance(v, TensorBase) or v.is_leaf:
        return AccumulateGrad(v)
    extra = v._extra
    if isinstance(extra, value.Extra) and extra.ctx is not None:
        return extra.ctx
    return value_node_class(value.op_of(v))(v)


def seen(edge: Any) -> tuple[Any, int]:
    """An edge as next_functions shows it: (node, output number), (None, 0) for a constant."""
    if edge is None:
        return None, 0
    node, i = edge
    if isinstance(node, Value):
        return node_of(node), output_nr(node)
    return (node_of(node), 0) if isinstance(node, TensorBase) else (node, i)


@cache
def tensor_places(operation: Any) -> tuple[bool, ...]:
    """Which arguments of an operation's forward are tensors by its text, the rest being options;
    a compiled function has its annotations as texts."""
    parameters = [*inspect.signature(operation.forward).parameters.values()][1:]
    return tuple(
        p.annotation in (Tensor, "Tensor") or p.kind is p.VAR_POSITIONAL for p in parameters
    )


def next_functions(node: Node) -> tuple[tuple[Any, int], ...]:
    """For each input (node, output number) of where its gradient goes; (None, 0) for none. Options
    of the engine's own operations (dim, keepdim) are no inputs."""
    edges: Any = node._edges
    if isinstance(node, FunctionNode) and issubclass(node._function, Operation):
        places = tensor_places(node._function)
        edges = [e for i, e in enumerate(edges) if e is not None or places[min(i, len(places) - 1)]]
    return tuple(map(seen, edges))


def representation(node: Node) -> str:
    return f"<{type(node).__name__} object at {id(node):#x}>"


def owner(node: Node) -> Any:
    """What keeps the hooks of a node: itself, or the leaf that it stands for."""
    target = node.variable if isinstance(node, AccumulateGrad) else node
    if isinstance(node, ValueNode) or isinstance(target, Value):
        raise TypeError(f"{node.name()}: hooks stand on the Value itself: v.register_hook(...)")
    return target


def hook_after(node: Node, fn: Callable[..., Any]) -> hooks.RemovableHandle:
    """Call fn(grad_inputs, grad_outputs) after the node's backward; it may return other
    gradients of the inputs."""
    return hooks.RemovableHandle(hooks.of(owner(node)).post, fn)


def hook_before(node: Node, fn: Callable[..., Any]) -> hooks.RemovableHandle:
    """Call fn(grad_outputs) before the node's backward; it may return other gradients."""
    return hooks.RemovableHandle(hooks.of(owner(node)).pre, fn)


def metadata(node: Node) -> dict[Any, Any]:
    """A dict for whatever a program wants to keep with the node."""
    return {}


class InputMetadata(NamedTuple):
    """What the gradient of an output of a node looks like."""

    shape: Size
    dtype: dtypes.dtype


def input_metadata(node: Node) -> list[InputMetadata]:
    """What each gradient that the node's backward is given looks like, in order of the outputs."""
    kinds = [s or ((), np.dtype(float)) for s in node._shapes]
    return [InputMetadata(Size(shape), dtypes.of(dtype)) for shape, dtype in kinds]


_metadata = cached_property(metadata)
_metadata.__set_name__(Node, "metadata")
Node.metadata = _metadata  # type: ignore[attr-defined]
Node.next_functions = property(next_functions)  # type: ignore[attr-defined]
Node._input_metadata = property(input_metadata)  # type: ignore[attr-defined]
Node.register_hook = hook_after  # type: ignore[attr-defined]
Node.register_prehook = hook_before  # type: ignore[attr-defined]
Node.__repr__ = representation  # type: ignore[method-assign, assignment]


def saved_variables(node: FunctionNode) -> tuple[Any, ...]:
    """saved_tensors, by its old name."""
    warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning)
    return node.saved_tensors


FunctionNode.saved_variables = property(saved_variables)  # type: ignore[attr-defined]


@habits.attribute
def grad_fn(v: Any) -> Any:
    """The node of the operation or Function that made the Value, None for a leaf."""
    return None if v.is_leaf else node_of(v)


@habits.attribute
def output_nr(v: Any) -> int:
    """Which output of grad_fn the Value is."""
    extra = v._extra
    return extra.index if isinstance(extra, value.Extra) else 0


@habits.attribute
def retains_grad(v: Any) -> bool:
    """Whether an inner Value keeps its gradient: all do."""
    return not v.is_leaf


@habits.method
def retain_grad(v: Any) -> None:
    """Nothing: every Value keeps its gradient."""


@habits.method
def register_hook(v: Any, hook: Callable[..., Any]) -> hooks.RemovableHandle:
    """Call hook(gradient) with a Value when the gradient of this one is known; it may return
    another, a Value or a number."""
    if not v.requires_grad:
        raise RuntimeError("cannot register a hook on a Value that doesn't require gradient")
    return hooks.RemovableHandle(nodes.hooks_of(v), hook)
