"""What backward gets; what it and forward may save, mark and return: as many gradients as inputs,
each like its input, differentiable where that is asked for. What broadcasting spread is summed
here, and nowhere else."""

import gc
from typing import Any

import numpy as np

from engine import depth, interpreter, nodes, value
from engine.attention import warn
from engine.nodes import FREED, Error, Node, Value, as_node, links

ONCE = (
    "{0}: backward is marked once_differentiable, so its result cannot be differentiated again; "
    "write it in differentiable operations and drop the mark for second derivatives"
)
RAW = (
    "{0}: backward returned numbers made outside the graph, so its result cannot be differentiated "
    "again; write it in Values or Tensors, or mark it once_differentiable"
)


def saveable(node: Any, tensors: tuple[Any, ...], again: bool) -> None:
    """Refuse what save_for_backward cannot keep."""
    if again:
        raise RuntimeError(
            f"{node._function_name}: save_for_backward may be called once, with all tensors; "
            "called again it would replace what was saved"
        )
    for x in tensors:
        if x is not None and not nodes.is_differentiable(x):
            raise TypeError(
                f"{node._function_name}: save_for_backward takes Values, Tensors or None; got "
                f"{type(x).__name__}; keep anything else as an attribute: ctx.name = ..."
            )


def abandoned(node: Any) -> bool:
    """Whether, outside of walks, no output and no later node leads to the node of a Function any
    more, so that it lives in a name of the user's alone. The nodes of Values are not asked."""
    if depth.in_walk() or not node._edges or None in node._shapes:
        return False
    referrers = gc.get_referrers(node)
    return True not in [isinstance(x, (tuple, nodes.TensorBase)) for x in referrers]


def saved_tensors(node: Any) -> tuple[Any, ...]:
    """What save_for_backward kept on a node of a Function, in order."""
    if node._saved is None or (node._saved and abandoned(node)):
        raise RuntimeError(FREED.format(node.name()))
    return nodes.unpacked(node._saved, node)


def changeable(node: Any, tensors: tuple[Any, ...]) -> None:
    """Refuse what mark_dirty cannot be said of."""
    if True in [isinstance(x, value.Value) for x in tensors]:
        raise TypeError(
            f"{node._function_name}: mark_dirty takes Tensors; a Value is a node of the graph "
            "and cannot be changed in it: return a new Value"
        )


def joined(node: Any, x: Any, args: tuple[Any, ...]) -> Any:
    """A number or an array that forward returned, as a Value or a Tensor."""
    if not value.is_number(x) and not isinstance(x, np.ndarray):
        raise TypeError(
            f"{node._function_name}: forward needs to return a Value, a Tensor, an array or a "
            f"number; got {type(x).__name__}"
        )
    kinds = [isinstance(a, value.Value) for a in args if nodes.is_differentiable(a)]
    return as_node(x, bool(kinds) and all(kinds) and not isinstance(x, np.ndarray))


def arguments(node: Any, grads: list[Any]) -> tuple[Any, ...]:
    """What backward is called with: the ctx, which is the node, and the gradient of each output:
    zeros for None, a Value for a number."""
    given = interpreter.places(len(grads) + 1)
    interpreter.put(given, 0, node)
    for i, g in enumerate(grads):
        if g is None and node.materialize_grads:
            g = nodes.zero(node._shapes[i])
        elif type(g) is float:
            g = Value(g, requires_grad=False)
        interpreter.put(given, i + 1, g)
    return interpreter.filled(given)


def counted(node: Any, given: Any) -> tuple[Any, ...]:
    """One gradient per input; more may follow when they are None."""
    given = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    n = len(node._edges)
    if len(given) != n and (len(given) < n or more_than(n, given)):
        names = ", ".join([node._argument(i) for i in range(n)])
        raise RuntimeError(
            f"function {node.name()} returned an incorrect number of gradients (expected {n}, "
            f"got {len(given)}): backward returns one for each input ({names}), None for what "
            "needs none"
        )
    for i in node._plain:
        if given[i] is not None:
            raise RuntimeError(unasked(node, i, given[i]))
    return given if len(given) == n else given[:n]


def more_than(n: int, given: tuple[Any, ...]) -> bool:
    """Whether there is another gradient behind the first n."""
    return True in [g is not None for g in given[n:]]


def unasked(node: Node, i: int, g: Any) -> str:
    """The error for the gradient of a number, a None or another object outside every graph."""
    return (
        f"function {node.name()} returned a gradient different than None at position {i + 1}, but "
        f"the corresponding forward input was not a Variable: {node._argument(i)} is neither a "
        f"Value nor a Tensor, and backward needs to return None for it; got a {type(g).__name__}"
    )


def pure_view(args: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
    """Refuse a Function that says it is nothing but a view, and has several inputs or outputs."""
    counts = [sum([isinstance(x, nodes.TensorBase) for x in xs]) for xs in (args, outputs)]
    if counts != [1, 1]:
        raise RuntimeError(
            "Pure view custom Function can only have one input Tensor and one output Tensor. Open "
            "an issue if you need to support more. "
            f"Got {counts[0]} and {counts[1]}: leave ctx._is_pure_view off"
        )


def dirty(node: Any, x: Any, inputs: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
    """What forward marked as changed in place is an input, and among what it returned."""
    if nodes.position(x, inputs) is None:
        text = (
            f"{node._function_name}: mark_dirty received a tensor that was not an input. It takes "
            "the inputs that forward changed in place; other tensors need no mark"
        )
        if is_view(x):
            raise RuntimeError(text)
        warn(text)
    if nodes.position(x, outputs) is None:
        raise RuntimeError(
            f"{node.name()}: Some elements marked as dirty during the forward method were not "
            "returned as output. The inputs that are modified inplace must all be outputs of the "
            "Function: return them, or change a clone()"
        )


def any_in_graphs(xs: tuple[Any, ...]) -> bool:
    """Whether there is a Value or a Tensor among them."""
    for x in xs:  # noqa: SIM110  any() makes a generator
        if nodes.is_differentiable(x):
            return True
    return False


def is_view(x: Any) -> bool:
    """Whether x is a view of another Tensor."""
    return isinstance(x, nodes.TensorBase) and nodes.is_view(x)


def guarded(node: Any, given: tuple[Any, ...], grads: tuple[Any, ...]) -> tuple[Any, ...]:
    """The gradients given, with an Error behind those that cannot be differentiated again."""
    hidden = tuple([e for e in [nodes.edge_of(g) for g in grads] if e is not None])
    return tuple(
        [
            g if g is None or edge is None else guard(node, g, edge, hidden)
            for g, edge in zip(given, node._edges, strict=True)
        ]
    )


def guard(node: Node, g: Any, edge: Any, hidden: tuple[Any, ...]) -> Any:
    """g itself, or its numbers with an Error behind them."""
    raw = not nodes.is_differentiable(g)
    if not raw and not node.once_differentiable:
        return g
    text = ONCE if node.once_differentiable else RAW
    g = as_node(g, isinstance(edge[0], Value)) if raw else g.detach()
    error = Error(text.format(node.name()), node._edges, [nodes.shape_of(g)], hidden)
    return nodes.attach(g, error, 0)


def fit(g: Any, edge: Any, node: Node, i: int, create_graph: bool) -> Any:
    """The gradient that a node returned for its input i, in the input's own kind, shape and
    dtype: what broadcasting spread is summed, here and nowhere else. None where it is None."""
    if g is None:
        return None
    target, output = edge
    if isinstance(target, value.Value):
        return fit_number(g, node, i, create_graph)
    if isinstance(g, nodes.TensorBase) and nodes.expects(target, output, nodes.array_of(g)):
        return g
    shape, dtype = nodes.shape_at(target, output)
    if not isinstance(g, nodes.TensorBase):
        g = fit_array(g, shape, node, i)
    array = nodes.array_of(g)
    if not interpreter.has_shape(array, shape):
        if not sums_to(array.shape, shape):
            raise RuntimeError(wrong_shape(array.shape, shape, node, i))
        g = g.sum_to_size(shape)
    found = interpreter.dtype_of(array)
    return g if found is dtype or found == dtype else g.to(dtype)


def fit_number(g: Any, node: Node, i: int, create_graph: bool) -> Any:
    """The gradient of a Value: a float, or a Value where derivatives of it are wanted."""
    if isinstance(g, nodes.TensorBase):
        if g._array.shape != ():
            raise RuntimeError(wrong_shape(g._array.shape, (), node, i))
        return g.as_value() if create_graph else float(g._array)  # type: ignore[attr-defined]
    if isinstance(g, value.Value):
        return g if create_graph else g.data
    if not value.is_number(g) and not (isinstance(g, np.ndarray) and g.shape == ()):
        raise TypeError(
            f"{node.name()}: the gradient of {node._argument(i)} needs to be a Value or a number; "
            f"got {type(g).__name__}{getattr(g, 'shape', '')}"
        )
    return Value(g, requires_grad=False) if create_graph else float(g)


def fit_array(g: Any, shape: tuple[int, ...], node: Node, i: int) -> Any:
    """The gradient of a Tensor that came as an array, or as a number for shape ()."""
    if isinstance(g, value.Value):
        return g.as_tensor()
    if isinstance(g, np.ndarray) or (value.is_number(g) and shape == ()):
        return links.constant(np.asarray(g))
    raise TypeError(
        f"{node.name()}: the gradient of {node._argument(i)} needs to be a Tensor or an array of "
        f"shape {shape}; got {g!r}, a {type(g).__name__}"
    )


def sums_to(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Whether `target` broadcasts to `shape`, so that a gradient can be summed to it."""
    tail = shape[len(shape) - len(target) :]
    return len(shape) >= len(target) and all(t in (n, 1) for n, t in zip(tail, target, strict=True))


def wrong_shape(got: tuple[int, ...], needed: tuple[int, ...], node: Node, i: int) -> str:
    return (
        f"Function {node.name()} returned an invalid gradient at index {i} - got {got} but "
        f"expected shape compatible with {needed}: backward needs to return for "
        f"{node._argument(i)} a gradient of that input's shape"
    )


def arrived(grads: list[Any]) -> int:
    """How many gradients have arrived at a node."""
    count = 0
    for g in grads:
        count += g is not None
    return count


def at_one_place(grads: list[Any]) -> list[Any]:
    """What has arrived at a leaf; in one sum, at its place in the graph, where it came to places
    that the leaf has left, too."""
    if len(grads) == 1:
        return grads
    first, *others = [g for g in grads if g is not None]
    for g in others:
        first = first + g
    return [None] * (len(grads) - 1) + [first]
