"""Derivatives of functions as functions: torch.func's grad, vjp, jvp, jacrev, jacfwd, hessian.

They may be nested: grad(grad(f)), jacfwd(jacrev(f)). What they return stays in the graph of what
else it was made of, and stands outside of any where that is nothing. Arguments may be Tensors,
Values, or lists, tuples and dicts of them; argnums says which are differentiated by.
"""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from engine.autograd.columns import jacobians_by
from engine.autograd.forward_ad import detached, levels, make_dual, nested_level, same
from engine.creation import zeros_like
from engine.differentiation import grad as gradients
from engine.grad_mode import enable_grad
from engine.graph import topological
from engine.habits import Value
from engine.nodes import DIFFERENTIABLE, edge_of, needs_grad
from engine.ops.join import stack

Argnums = int | tuple[int, ...]


def leaves_of(tree: Any) -> list[Any]:
    """The Tensors and Values in nested lists, tuples and dicts, in order."""
    if isinstance(tree, (list, tuple)):
        return [x for item in tree for x in leaves_of(item)]
    if isinstance(tree, dict):
        return [x for item in tree.values() for x in leaves_of(item)]
    if not isinstance(tree, DIFFERENTIABLE):
        raise TypeError(f"func: needs Tensors, Values or lists of them; got {type(tree).__name__}")
    return [tree]


def filled(tree: Any, items: Any) -> Any:
    """The same nest with the next of the items in the place of each Tensor and Value."""
    if isinstance(tree, dict):
        return {name: filled(item, items) for name, item in tree.items()}
    if isinstance(tree, (list, tuple)):
        made = [filled(item, items) for item in tree]
        return type(tree)(*made) if hasattr(tree, "_fields") else type(tree)(made)
    return next(items)


def like(tree: Any, items: list[Any]) -> Any:
    """The items in the nest of the tree."""
    return filled(tree, iter(items))


def fresh(x: Any) -> Any:
    """An input to differentiate by: in the graph of x if it has one, with the tangents of x."""
    return same(x) if needs_grad(x) else detached(x).requires_grad_()


class Inputs:
    """The arguments of one call; those that argnums names are replaced by fresh inputs."""

    def __init__(self, args: tuple[Any, ...], argnums: Argnums):
        self.single = isinstance(argnums, int)
        self.places = (argnums,) if isinstance(argnums, int) else tuple(argnums)
        for i in self.places:
            if not -len(args) <= i < len(args):
                raise RuntimeError(f"func: got argnum={i}, but only {len(args)} positional inputs")
        self.chosen = [args[i] for i in self.places]
        self.inputs = [fresh(x) for x in leaves_of(self.chosen)]
        self.given = args
        self.args = self.with_(self.inputs)

    def with_(self, inputs: Sequence[Any]) -> list[Any]:
        """The arguments with these in the place of the chosen ones."""
        args = list(self.given)
        for i, x in zip(self.places, like(self.chosen, list(inputs)), strict=True):
            args[i] = x
        return args

    def shaped(self, items: list[Any]) -> Any:
        """One item per input in the structure of the arguments."""
        found = like(self.chosen, items)
        return found[0] if self.single else tuple(found)


def released(x: Any, inputs: list[Any]) -> Any:
    """x, and its tangents, outside the graph where they depend on nothing but these inputs."""
    out = x.detach() if needs_grad(x) and ends_in(x, inputs) else x
    for level in levels():
        t = level.tangent(x)
        if t is not None:
            level.put(out, released(t, inputs))
    return out


def ends_in(x: Any, inputs: list[Any]) -> bool:
    """Whether all leaves of the graph of x are among the inputs."""
    ours = {id(v) for v in inputs}
    nodes: list[Any] = topological([edge_of(x)])
    ends = [n for n in nodes if isinstance(n, DIFFERENTIABLE)]
    return all(id(n) in ours for n in ends if n.is_leaf)


def released_all(tree: Any, inputs: list[Any]) -> Any:
    """The same for nested lists, tuples and dicts; what is no Tensor or Value stays as it is."""
    if isinstance(tree, dict):
        return {name: released_all(item, inputs) for name, item in tree.items()}
    if isinstance(tree, (list, tuple)) and not hasattr(tree, "_fields"):
        return type(tree)(released_all(item, inputs) for item in tree)
    return released(tree, inputs) if isinstance(tree, DIFFERENTIABLE) else tree


def split(returned: Any, has_aux: bool) -> tuple[Any, Any]:
    """What a function returned, and beside it, if it has that, something of no derivative."""
    if not has_aux:
        return returned, None
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise RuntimeError(
            "func: has_aux needs a function that returns (output, aux); got "
            f"{type(returned).__name__}"
        )
    return returned


def grad_and_value(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """The function that returns the gradient of func by its arguments, and func's value.

    func: returns one Tensor of one number, or one Value; with has_aux also something else, and
    the value is a pair then.
    """

    @wraps(func)
    def derivative(*args: Any, **kwargs: Any) -> Any:
        with enable_grad():
            given = Inputs(args, argnums)
            output, aux = split(func(*given.args, **kwargs), has_aux)
            check_scalar(output)
            found = by_inputs(output, given.inputs, None)
        found = [released(g, given.inputs) for g in found]
        value = released(output, given.inputs)
        aux = released_all(aux, given.inputs)
        return given.shaped(found), (value, aux) if has_aux else value

    return derivative


def check_scalar(x: Any) -> None:
    if not isinstance(x, DIFFERENTIABLE) or getattr(x, "ndim", 0) > 0:
        shape = f" of shape {tuple(x.shape)}" if hasattr(x, "shape") else ""
        raise RuntimeError(
            "grad: Expected the given func to return a scalar tensor, of no dimensions; got "
            f"{type(x).__name__}{shape}: reduce it, or use jacrev"
        )


def by_inputs(output: Any, inputs: list[Any], weight: Any) -> list[Any]:
    """The derivatives of an output by the inputs in the graph, zeros where it does not depend."""
    if not needs_grad(output):
        return [zero(x) for x in inputs]
    found = gradients(output, inputs, weight, create_graph=True, materialize_grads=True)
    return list(found)


def zero(x: Any) -> Any:
    return Value(0.0, requires_grad=False) if isinstance(x, Value) else zeros_like(x)


def grad(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """The function that returns the gradient of func, which returns one number.

    argnums: by which arguments, a number or a tuple. has_aux: func returns (output, aux), and the
    new function (gradient, aux).
    """
    both = grad_and_value(func, argnums, has_aux)

    @wraps(func)
    def derivative(*args: Any, **kwargs: Any) -> Any:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return derivative


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """func(*primals), and the function that takes gradients of the outputs to those of the
    primals, as a tuple; with has_aux also what func returned beside."""
    with enable_grad():
        given = Inputs(primals, tuple(range(len(primals))))
        output, aux = split(func(*given.args), has_aux)

    def pull(cotangents: Any) -> Any:
        found = pulled(leaves_of(output), given.inputs, leaves_of(cotangents))
        return given.shaped([released(g, given.inputs) for g in found])

    value, aux = (released_all(x, given.inputs) for x in (output, aux))
    return (value, pull, aux) if has_aux else (value, pull)


def pulled(outputs: list[Any], inputs: list[Any], weights: list[Any]) -> list[Any]:
    """The gradients of the inputs for these of the outputs; the graph stays for the next."""
    pairs = [(o, w) for o, w in zip(outputs, weights, strict=True) if needs_grad(o)]
    if not pairs:
        return [zero(x) for x in inputs]
    found, given = zip(*pairs, strict=True)
    with enable_grad():
        return list(gradients(found, inputs, given, create_graph=True, materialize_grads=True))


def jvp(
    func: Callable[..., Any],
    primals: tuple[Any, ...],
    tangents: tuple[Any, ...],
    *,
    strict: bool = False,
    has_aux: bool = False,
) -> tuple[Any, ...]:
    """func(*primals), and its derivative along the tangents, in the structure of the output.

    strict: an output that does not depend on the primals is a RuntimeError instead of zeros.
    """
    if not isinstance(primals, tuple) or not isinstance(tangents, tuple):
        raise RuntimeError("jvp: primals and tangents need to be tuples of the arguments")
    with nested_level() as level:
        pairs = zip(leaves_of(primals), leaves_of(tangents), strict=True)
        duals = [make_dual(x, t) for x, t in pairs]
        output, aux = split(func(*like(primals, duals)), has_aux)
        found = [level.tangent(x) for x in leaves_of(output)]
    if strict and any(t is None for t in found):
        raise RuntimeError("jvp: with strict=True all outputs must depend on the primals")
    filled_in = [zero(x) if t is None else t for x, t in zip(leaves_of(output), found, strict=True)]
    derivative = like(output, filled_in)
    return (output, derivative, aux) if has_aux else (output, derivative)


def jacrev(
    func: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """The function that returns the Jacobian of func, by one walk back per number of its output.

    Of a Tensor by a Tensor its shape is output.shape + input.shape; otherwise outputs' structure
    holds arguments' structure. chunk_size: accepted; rows are computed one by one.
    """

    @wraps(func)
    def derivative(*args: Any, **kwargs: Any) -> Any:
        with enable_grad():
            given = Inputs(args, argnums)
            output, aux = split(func(*given.args, **kwargs), has_aux)
            rows = [given.shaped(rows_of(o, given.inputs)) for o in leaves_of(output)]
        found = like(output, rows)
        return (found, released_all(aux, given.inputs)) if has_aux else found

    return derivative


def rows_of(output: Any, inputs: list[Any]) -> list[Any]:
    """The Jacobian of one output by each input."""
    if isinstance(output, Value):
        return [released(g, inputs) for g in by_inputs(output, inputs, None)]
    rows = [by_inputs(number, inputs, None) for number in output.reshape(-1).unbind(0)]
    found = []
    for k, x in enumerate(inputs):
        shape = (*output.shape, *getattr(x, "shape", ()))
        joined = stack([row[k] for row in rows]).reshape(shape) if rows else output.new_zeros(shape)
        found.append(released(joined, inputs))
    return found


def jacfwd(
    func: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
) -> Callable[..., Any]:
    """The function that returns the Jacobian of func, by one call of it per number of its input.

    The result is jacrev's; it is the cheaper where there are fewer inputs than outputs.
    """

    @wraps(func)
    def derivative(*args: Any, **kwargs: Any) -> Any:
        with enable_grad():
            given = Inputs(args, argnums)

            def flat(*inputs: Any) -> tuple[Any, ...]:
                return tuple(leaves_of(split(func(*given.with_(inputs), **kwargs), has_aux)[0]))

            inputs = tuple(leaves_of(given.chosen))
            output, aux = split(func(*given.with_(inputs), **kwargs), has_aux)
            outputs = tuple(leaves_of(output))
            by = [jacobians_by(flat, inputs, j, outputs) for j in range(len(inputs))]
        rows = [given.shaped([column[i] for column in by]) for i in range(len(outputs))]
        found = like(output, rows)
        return (found, aux) if has_aux else found

    return derivative


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The function that returns the second derivatives of func: jacfwd(jacrev(func))."""
    return jacfwd(jacrev(func, argnums), argnums)
