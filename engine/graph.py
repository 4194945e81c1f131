"""The walk back over any graph: Values, Tensors, Functions, hooks, derivatives of any order.

It orders the nodes as the scalar walk does (depth first from the root, first parent first, read
backwards), hands gradients over and reduces broadcasting, once, for everyone; it knows no
operation. All its state lies in the call, so a walk inside a walk, another thread or an exception
finds the nodes clean; `.grad`s are written after the last node.
"""

import threading
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from engine import builds, hooks
from engine.function import Error, Node, TensorBase, edge_of
from engine.registry import RULES

value = builds.module("value")
modes = builds.module("modes")
Value = value.Value

Edge = tuple[Any, int]


def edges(node: Any) -> Sequence[Edge | None]:
    """The edges of a node to what it was made of."""
    if isinstance(node, Value):
        return value_edges(node)
    if isinstance(node, TensorBase):
        return ()
    return (*node._edges, *node.hidden) if isinstance(node, Error) else node._edges


def value_edges(v: Any) -> Sequence[Edge | None]:
    """The edges of a Value: to the Function it is an output of, or to its parents."""
    extra = v._extra
    if isinstance(extra, value.Extra):
        if extra.ctx is not None:
            return ((extra.ctx, extra.index),)
        more = [(p, 0) for p, _ in extra.more]
    else:
        more = []
    return [(p, 0) for p in (v._a, v._b) if p is not None] + more


def topological(roots: Iterable[Edge]) -> list[Any]:
    """Every node below the roots once, parents before children."""
    order: list[Any] = []
    begun: set[int] = set()
    done: set[int] = set()
    open_nodes = [node for node, _ in roots][::-1]
    while open_nodes:
        node = open_nodes.pop()
        key = id(node)
        if key in done:
            continue
        if key in begun:
            done.add(key)
            order.append(node)
            continue
        begun.add(key)
        open_nodes.append(node)
        for edge in reversed(edges(node)):
            if edge is not None and id(edge[0]) not in begun:
                open_nodes.append(edge[0])
    return order


class Walk:
    """One walk back: from roots with their gradients to the leaves, or to the inputs asked for."""

    def __init__(self, roots: list[Edge], inputs: list[Edge] | None, retain: bool, create: bool):
        self.retain_graph = retain
        self.create_graph = create
        self.order = topological(roots)
        self.flight: dict[int, dict[int, Any]] = {}
        self.arrived: list[tuple[Any, Any]] = []  # (leaf, inner Value or retaining tensor; its g)
        self.captured: dict[tuple[int, int], Any] = {}
        self.wanted = None if inputs is None else {(id(node), i) for node, i in inputs}
        self.needed = self.reaching({id(node) for node, _ in inputs or ()})

    def reaching(self, ends: set[int]) -> set[int]:
        """The nodes from which a node asked for can be reached."""
        reach = set(ends)
        needed: set[int] = set()
        for node in self.order if ends else ():
            if any(e is not None and id(e[0]) in reach for e in edges(node)):
                reach.add(id(node))
                needed.add(id(node))
        return needed

    def add(self, edge: Edge, g: Any) -> None:
        """Add g to what has arrived at the edge, where that leads to something asked for."""
        node, i = edge
        if self.wanted is not None and id(node) not in self.needed and edge_key(edge) not in self.wanted:
            return
        arrived = self.flight.setdefault(id(node), {})
        if i in arrived:
            g = arrived[i] + g
        elif type(g) is float:
            g = 0.0 + g  # the scalar walk starts from 0.0 too, which makes 0.0 of -0.0
        arrived[i] = g

    def run(self) -> None:
        """Visit each node that a gradient reaches once, children before parents; leaves last."""
        before = modes.set_grad(self.create_graph)
        try:
            with np.errstate(all="ignore"):
                for node in reversed(self.order):
                    arrived = self.flight.pop(id(node), None)
                    if arrived is not None:
                        self.visit(node, arrived)
                self.arrived = [(x, self.at_leaf(x, g)) for x, g in self.arrived]
        finally:
            modes.set_grad(before)

    def visit(self, node: Any, arrived: dict[int, Any]) -> None:
        """Take what has arrived at a node, and send it on."""
        if isinstance(node, TensorBase) or (isinstance(node, Value) and node.is_leaf):
            self.arrived.append((node, arrived[0]))
        elif isinstance(node, Value):
            self.visit_value(node, hooks.run_on_value(node, arrived[0]))
        else:
            self.visit_node(node, arrived)

    def visit_value(self, v: Any, g: Any) -> None:
        """An operation on Values: its slopes turn its gradient into those of its parents."""
        if self.wanted is None:
            self.arrived.append((v, g))
        if self.goes_on(v, {0: g}):
            for edge, c in value_contributions(v, g, self.create_graph):
                self.add(edge, c)

    def visit_node(self, node: Node, arrived: dict[int, Any]) -> None:
        """A call of a Function: backward turns gradients of outputs into those of inputs."""
        hooked = node._hooks
        if hooked is not None:
            hooked.on_outputs(self, arrived)
        if not self.goes_on(node, arrived):
            return
        grads = [arrived.get(i) for i in range(len(node._shapes))]
        if hooked is not None:
            grads = hooked.before(grads)
        given = node.differentiate(grads)
        if hooked is not None:
            given = hooked.after(given, grads)
        for i, (edge, g) in enumerate(zip(node._edges, given, strict=True)):
            if edge is not None and g is not None:
                self.add(edge, fit(g, edge, node, i, self.create_graph))
        if not self.retain_graph:
            node.release()

    def goes_on(self, node: Any, arrived: dict[int, Any]) -> bool:
        """Keep the gradients that are asked for; whether others lie beyond the node."""
        if self.wanted is None:
            return True
        for i, g in arrived.items():
            if (id(node), i) in self.wanted:
                self.captured[id(node), i] = g
        return id(node) in self.needed

    def at_leaf(self, x: Any, g: Any) -> Any:
        """The gradient of a leaf after its hooks."""
        if isinstance(x, Value):
            g = hooks.run_on_value(x, g) if x.is_leaf else g
        elif x._hooks is not None and x.is_leaf:
            g = x._hooks.on_leaf(g)
        if self.wanted is not None and (id(x), 0) in self.wanted:
            self.captured[id(x), 0] = g
        return g


def edge_key(edge: Edge) -> tuple[int, int]:
    """An edge as a key: nodes are compared by identity."""
    return id(edge[0]), edge[1]


def value_contributions(v: Any, g: Any, create_graph: bool) -> list[tuple[Edge, Any]]:
    """What a Value with gradient g hands to what it was made of."""
    extra = v._extra if isinstance(v._extra, value.Extra) else None
    if extra is not None and extra.ctx is not None:
        return [((extra.ctx, extra.index), g)]
    if create_graph:
        return differentiable_contributions(v, g)
    if extra is not None and extra.push is not None:
        return pushed(v, g, extra)
    pairs = [(v._a, v._slope_a), (v._b, v._slope_b), *(extra.more if extra else ())]
    return [((p, 0), value.contribution(v, g, slope)) for p, slope in pairs if p is not None]


def pushed(v: Any, g: float, extra: Any) -> list[tuple[Edge, Any]]:
    """What the user's own `_backward` adds to the parents' `.grad`, which speaks for it: they
    start from 0.0 and are put back."""
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


def differentiable_contributions(v: Any, g: Any) -> list[tuple[Edge, Any]]:
    """The same for derivatives of derivatives: the rule's slopes again, on Values."""
    op = value.op_of(v)
    if op not in RULES or v._extra != op and v._extra.push is not None:
        raise RuntimeError(
            f"create_graph: the node {op!r} was made by hand, with slopes that are numbers or a "
            "_backward of its own; use operations of engine or a Function for second derivatives"
        )
    rule = RULES[op]
    parents = (v._a, v._b)[: rule.arity]
    numbers = (v._slope_a, v._slope_b)
    operands = [n if p is None else p for p, n in zip(parents, numbers, strict=False)]
    slopes = rule.slopes(*operands, v)
    out = []
    for p, stored, slope in zip(parents, numbers, slopes, strict=False):
        if p is not None:
            unchanged(stored, slope, v, p)
            skip = stored == 0.0 and rule.selection
            out.append(((p, 0), g * 0.0 if skip else g * slope))
    return out


def unchanged(stored: float, slope: Any, v: Any, p: Any) -> None:
    """Check that the slope, worked out again, is bit for bit that of the forward pass."""
    now = float(slope.data if isinstance(slope, Value) else slope)
    if repr(now) != repr(stored):
        raise RuntimeError(
            f"create_graph: the .data of an operand of {value.op_of(v)!r} was changed after it was "
            f"used (its slope by {p!r} was {stored}, it is {now} now); compute the graph again"
        )


def fit(g: Any, edge: Edge, node: Node, i: int, create_graph: bool) -> Any:
    """The gradient that a node returned for its input i, in the input's own kind, shape and
    dtype: what broadcasting spread is summed, here and nowhere else."""
    target, output = edge
    if isinstance(target, Value):
        return fit_number(g, node, i, create_graph)
    shape, dtype = (
        (target._array.shape, target._array.dtype)
        if isinstance(target, TensorBase)
        else target._shapes[output]
    )
    if not isinstance(g, TensorBase):
        g = fit_array(g, shape, node, i)
    if g._array.shape != shape:
        if not sums_to(g._array.shape, shape):
            raise RuntimeError(wrong_shape(g._array.shape, shape, node, i))
        g = g.sum_to_size(shape)
    return g if g._array.dtype == dtype else g.to(dtype)


def fit_number(g: Any, node: Node, i: int, create_graph: bool) -> Any:
    """The gradient of a Value: a float, or a Value where derivatives of it are wanted."""
    if isinstance(g, TensorBase):
        if g._array.shape != ():
            raise RuntimeError(wrong_shape(g._array.shape, (), node, i))
        return g.as_value() if create_graph else float(g._array)
    if isinstance(g, Value):
        return g if create_graph else g.data
    if not value.is_number(g) and not (isinstance(g, np.ndarray) and g.shape == ()):
        raise TypeError(
            f"{node.name()}: the gradient of {node.argument(i)} needs to be a Value or a number; "
            f"got {type(g).__name__}{getattr(g, 'shape', '')}"
        )
    return Value(g, requires_grad=False) if create_graph else float(g)


def fit_array(g: Any, shape: tuple[int, ...], node: Node, i: int) -> Any:
    """The gradient of a Tensor that came as an array, or as a number for shape ()."""
    if isinstance(g, Value):
        return g.as_tensor()
    if isinstance(g, np.ndarray) or (value.is_number(g) and shape == ()):
        return TensorBase.constant(np.asarray(g))
    raise TypeError(
        f"{node.name()}: the gradient of {node.argument(i)} needs to be a Tensor or an array of "
        f"shape {shape}; got {g!r}, a {type(g).__name__}"
    )


def sums_to(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Whether `target` broadcasts to `shape`, so that a gradient can be summed to it."""
    tail = shape[len(shape) - len(target) :]
    return len(shape) >= len(target) and all(
        t in (n, 1) for n, t in zip(tail, target, strict=True)
    )


def wrong_shape(got: tuple[int, ...], needed: tuple[int, ...], node: Node, i: int) -> str:
    return (
        f"Function {node.name()} returned an invalid gradient at index {i} - got {got} but "
        f"expected shape compatible with {needed}: backward needs to return for "
        f"{node.argument(i)} a gradient of that input's shape"
    )


# Two threads may add to the gradient of one leaf.
_adding = threading.Lock()


def accumulate(arrived: list[tuple[Any, Any]], create_graph: bool) -> None:
    """Write the gradients: inner Values set theirs, all others add to theirs."""
    with _adding:
        for x, g in arrived:
            if isinstance(x, Value):
                value.keep(x, g.data if isinstance(g, Value) else g)
            else:
                x._accumulate(g, create_graph)
    for x, _ in arrived:
        if isinstance(x, TensorBase) and x._hooks is not None:
            x._hooks.on_accumulated(x)


def backward(
    roots: Sequence[Any],
    gradients: Sequence[Any],
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Sequence[Any] | None = None,
) -> None:
    """Add the derivatives of the roots to `.grad` of their leaves, or of the inputs given."""
    walk = walked(roots, gradients, retain_graph, create_graph, inputs)
    arrived = walk.arrived
    if inputs is not None:
        keys = [(x, edge_key(edge_of(x))) for x in inputs]
        arrived = [(x, walk.captured[key]) for x, key in keys if key in walk.captured]
    accumulate(arrived, create_graph)


def gradients_of(
    roots: Sequence[Any],
    gradients: Sequence[Any],
    retain_graph: bool | None,
    create_graph: bool,
    inputs: Sequence[Any],
) -> list[Any]:
    """The derivatives of the roots by the inputs, None where there is none; no `.grad` changes."""
    walk = walked(roots, gradients, retain_graph, create_graph, inputs)
    found = [walk.captured.get(edge_key(edge_of(x))) for x in inputs]
    return [Value(g, requires_grad=False) if type(g) is float else g for g in found]


def walked(
    roots: Sequence[Any],
    gradients: Sequence[Any],
    retain_graph: bool | None,
    create_graph: bool,
    inputs: Sequence[Any] | None,
) -> Walk:
    """A walk from the roots with these gradients, done."""
    starts = [edge_of(x) for x in roots]
    ends = None if inputs is None else [edge_of(x) for x in inputs]
    retain = create_graph if retain_graph is None else retain_graph
    walk = Walk(starts, ends, retain, create_graph)
    for start, g in zip(starts, gradients, strict=True):
        walk.add(start, g)
    walk.run()
    return walk


def general(v: Any, gradient: float, retain_graph: bool | None, inputs: Any) -> None:
    """`Value.backward` where the scalar walk does not do: user code, a Tensor, `inputs`."""
    if inputs is not None:
        inputs = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    backward([v], [gradient], retain_graph, False, inputs)
