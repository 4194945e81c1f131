"""`grad` and `backward`: derivatives of given outputs by given inputs."""

import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

from engine import depth, graph, interpreter, kernels, modes, nodes, quiet, value
from engine.attention import warn
from engine.habits import Value
from engine.nodes import zero


class GradientEdge(NamedTuple):
    """A place in a graph, output `output_nr` of `node`: stands for a Value or Tensor in grad and
    backward, and keeps the graph without it."""

    node: Any
    output_nr: int


def as_tuple(x: Any) -> tuple[Any, ...]:
    """x alone, or the items of a sequence."""
    return tuple(x) if isinstance(x, (tuple, list)) and not is_edge(x) else (x,)


def is_edge(x: Any) -> bool:
    return isinstance(x, GradientEdge)


def differentiated(x: Any) -> tuple[Any, ...]:
    """The Values or Tensors that grad or backward was given, alone or in a sequence."""
    if isinstance(x, nodes.TensorBase):
        return (x,)
    return tuple([stand_in(y) if is_edge(y) else y for y in as_tuple(x)])


def stand_in(edge: GradientEdge) -> Any:
    """What stands at an edge: the leaf or Value itself, or a Tensor of zeros in the same place."""
    node, i = edge
    leaf = getattr(node, "variable", None)
    if leaf is not None and (isinstance(leaf, value.Value) or leaf._output_nr == i):
        return leaf
    node = node if leaf is None else leaf
    numbers = node._shapes if isinstance(node._shapes, dict) else range(len(node._shapes))
    if i not in numbers:
        raise IndexError(
            f"GradientEdge: output_nr needs to be that of an output of {type(node).__name__}, one "
            f"of {list(numbers)}; got {i!r}"
        )
    return nodes.attach(zero(node._shapes[i]), node, i)


def seeds(
    outputs: tuple[Any, ...], given: Any, where: str, constants: bool = False
) -> tuple[list[Any], list[Any]]:
    """The outputs and the gradients that a walk starts from: as given, or 1 for an output of one
    number. Outputs that require no gradient are left out, or refused unless `constants`."""
    given = (None,) * len(outputs) if given is None else as_tuple(given)
    if len(given) != len(outputs):
        raise RuntimeError(
            f"{where}: got {len(outputs)} tensors and {len(given)} gradients; give one for each"
        )
    roots, gradients = [], []
    for i, x in enumerate(outputs):
        if nodes.needs_grad(x) or (not constants and refuse_constant(i, where)):
            roots.append(x)
            gradients.append(seed(x, given[i], where, i))
    return roots, gradients


def refuse_constant(i: int, where: str) -> bool:
    """The error for an output without a graph."""
    raise RuntimeError(
        f"{where}: element {i} of tensors does not require grad and does not have a grad_fn: it "
        "does not depend on anything that requires grad (as the derivative of something linear), "
        "or was made under no_grad or by detach()"
        + ("; with allow_unused=True its derivatives are None" if where == "grad" else "")
    )


def seed(x: Any, g: Any, where: str, i: int) -> Any:
    """The gradient of output i: as given, checked, or 1 where it is one number."""
    if not isinstance(x, value.Value):
        return x._seed(g, where, i)
    return 1.0 if g is None else g if isinstance(g, value.Value) else value.as_float(g, where)


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Add the derivatives of the sum of the tensors to `.grad` of their leaves, or of `inputs`.

    grad_tensors: what each is weighted with; needed for a Tensor of more than one number.
    """
    tensors = differentiated(tensors)
    if inputs is not None:
        inputs = differentiated(inputs)
        if not inputs:
            raise RuntimeError("backward: `inputs` argument cannot be empty; leave it out for all")
        refuse_constants(inputs, "backward")
    if create_graph:
        warn(
            "Using backward() with create_graph=True will create a reference cycle between the "
            "parameter and its gradient which can cause a memory leak. We recommend using "
            "autograd.grad when creating the graph to avoid this. If you have to use this "
            "function, make sure to reset the .grad fields of your parameters to None after use "
            "to break the cycle and avoid the leak."
        )
    given = grad_tensors if grad_tensors is not None else grad_variables
    outputs, starts = seeds(tensors, given, "backward")
    accumulated(outputs, starts, retain_graph, create_graph, inputs)


def kind_of_walk() -> Any:
    """Walk, or what an observer of this thread (anomaly detection) has in its place."""
    for observer in modes.observers():
        if hasattr(observer, "walk"):
            return observer.walk
    return graph.Walk


def walked(
    roots: Sequence[Any],
    gradients: Sequence[Any],
    inputs: Any,
    retain: bool | None,
    create: bool,
    writes: bool = False,
) -> graph.Walk:
    """A walk from the roots with these gradients, done."""
    starts = [nodes.edge_of(x) for x in roots]
    ends = None if inputs is None else [nodes.edge_of(x) for x in inputs]
    walk = kind_of_walk()(starts, ends, create if retain is None else retain, create)
    if writes:
        walk.let_write(ends)
    for i, g in enumerate(gradients):
        walk.add(starts[i], g.data if isinstance(g, value.Value) and not create else g)
    before, outer, said = modes.is_grad_enabled(), graph.current_walk(), quiet.setting()
    try:
        depth.run(walk)
    except BaseException:  # a Ctrl-C may have come in while the walk put these back
        modes.set_grad(before)
        graph.set_walk(outer)
        quiet.restore(said)
        raise
    return walk


def accumulated(
    roots: list[Any], gradients: list[Any], retain: bool | None, create: bool, inputs: Any
) -> None:
    """Add the derivatives of the roots to `.grad` of their leaves, or of the inputs given."""
    walk = walked(roots, gradients, inputs, retain, create, writes=True)
    arrived = walk.arrived
    if inputs is not None:
        asked = {nodes.edge_key(nodes.edge_of(x)): x for x in inputs}
        arrived = [(x, walk.captured[key]) for key, x in asked.items() if key in walk.captured]
    accumulate(arrived, create)


# Two threads may add to the gradient of one leaf.
_adding = threading.RLock()


def accumulate(arrived: list[tuple[Any, Any]], create_graph: bool) -> None:
    """Write the gradients: inner Values set theirs, all others add to theirs. Hooks run then."""
    if not create_graph:  # nothing looks at the mode but hooks
        hooked = interpreter.alone(_adding, added, arrived, False)
        if not hooked:
            return
    before = modes.set_grad(create_graph)
    try:
        if create_graph:
            hooked = interpreter.alone(_adding, added, arrived, True)
        for x, g in hooked:
            x._hooks.on_accumulated(x, g)
    finally:
        modes.set_grad(before)


def added(arrived: list[tuple[Any, Any]], create_graph: bool) -> list[tuple[Any, Any]]:
    """Write the gradients, all of them, or none where something stops it before; those with hooks
    that wait for it, each with what it got. One thread at a time, for they may share leaves."""
    hooked, grads = [], []
    for x, g in arrived:
        if isinstance(x, value.Value):
            grads.append(g.data if isinstance(g, value.Value) else g)
            continue
        leaf = x
        grads.append(leaf._grad if adds(leaf, g, create_graph) else x._sum(g, create_graph))
        if leaf._hooks is not None:
            hooked.append((x, leaf._grad is None and nodes.wants_grad(leaf), g))
    write(arrived, grads)
    return [(x, x._grad if first else g) for x, first, g in hooked]


def write(arrived: list[tuple[Any, Any]], grads: list[Any]) -> None:
    """Give each Tensor its new gradient, or add what has arrived to the one that it has; add
    numbers to the gradients of leaf Values, 0.0 before any, and set those of others."""
    for i, (x, g) in enumerate(arrived):
        if isinstance(x, value.Value):
            give_number(x, grads[i])
        else:
            give(x, grads[i], g)


def give_number(v: Any, g: float) -> None:
    """Write the gradient of a Value, unless it stopped requiring one."""
    if v._requires_grad:
        v._grad = v._grad + g if v.is_leaf else g
        v._requires_grad = 2


def adds(leaf: Any, g: Any, create_graph: bool) -> bool:
    """Whether g is to be added to the gradient of a Tensor where that is."""
    if leaf._grad is None or create_graph:
        return False
    into = nodes.array_of(leaf._grad)
    return interpreter.same_shape(nodes.array_of(g), into) and interpreter.can_write(into)


def give(leaf: Any, grad: Any, g: Any) -> None:
    """Write the gradient of a Tensor, or add g to the one that it has."""
    if not nodes.wants_grad(leaf):  # it stopped requiring one after the graph was made
        return
    if grad is leaf._grad:
        add_in_place(grad, g)
    else:
        leaf._grad = grad


def add_in_place(grad: Any, g: Any) -> None:
    """Add g to the gradient of a Tensor where it is."""
    kernels.add_to(nodes.array_of(grad), nodes.array_of(g))
    nodes.count_change(grad)


def refuse_constants(inputs: tuple[Any, ...], where: str) -> None:
    """Refuse inputs that have no gradient."""
    for x in inputs:
        if not nodes.needs_grad(x):
            raise RuntimeError(
                f"{where}: One of the differentiated Tensors does not require grad; make it with "
                "requires_grad=True"
            )


def general(v: Any, gradient: float, retain_graph: bool | None, inputs: Any) -> None:
    """`Value.backward` where the scalar walk does not do: user code, a Tensor, `inputs`."""
    inputs = None if inputs is None else as_tuple(inputs)
    accumulated([v], [gradient], retain_graph, False, inputs)


def joined(g: Any) -> Any:
    """A derivative by a Value as a Value; a Tensor, or None, as it is."""
    return Value(g, requires_grad=False) if type(g) is float else g


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """The derivatives of the sum of outputs by each input, as a tuple; no `.grad` changes.

    outputs, inputs: one Value or Tensor, or a sequence. grad_outputs: what each output is
    weighted with; needed for a Tensor of more than one number. create_graph: make the result part
    of the graph, for derivatives of derivatives. An input that the outputs do not depend on is a
    RuntimeError, or None with allow_unused, or zeros with materialize_grads.
    """
    asked = as_tuple(inputs)
    outputs, inputs = differentiated(outputs), differentiated(inputs)
    if not inputs:
        raise ValueError("grad requires non-empty inputs.")
    refuse_constants(inputs, "grad")
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "grad: Expected allow_unused to be True or not passed when materialize_grads=True, "
            "but got: allow_unused=False"
        )
    outputs, starts = seeds(outputs, grad_outputs, "grad", bool(allow_unused or materialize_grads))
    walk = walked(outputs, starts, inputs, retain_graph, create_graph)
    found = [walk.captured.get(nodes.edge_key(nodes.edge_of(x))) for x in inputs]
    return tuple(
        answer(i, x, g, materialize_grads, allow_unused)
        for i, (x, g) in enumerate(zip(asked, map(joined, found), strict=True))
    )


def answer(i: int, x: Any, g: Any, materialize: bool, allow_unused: bool | None) -> Any:
    """What grad says of input i, whose derivative is g, or None where there is no path to it."""
    if g is not None:
        return g
    if materialize and is_edge(x):
        raise RuntimeError(
            "grad: materialize_grads cannot be used when the given input is a GradientEdge; give "
            "the Tensor, whose shape the zeros are to have"
        )
    if materialize:
        return zero(nodes.shape_of(x))
    if not allow_unused:
        raise RuntimeError(
            f"grad: input {i} appears to not have been used in the graph: the outputs have no path "
            "to it. Set allow_unused=True if this is the desired behavior: its derivative is None"
        )
    return None
