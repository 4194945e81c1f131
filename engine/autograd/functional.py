"""Derivatives of functions: vjp, jvp, jacobian, hessian, vhp, hvp.

A function takes and returns Values or Tensors, one or a tuple; results have the structure of the
inputs and outputs: jacobian(f, (a, b)) of one output is a pair. create_graph makes results part of
the graph of the inputs; otherwise they stand outside. strict makes an output that does not depend
on an input, which otherwise has derivatives of 0, a RuntimeError.
"""

from collections.abc import Callable, Sequence
from typing import Any

from engine import modes
from engine.autograd.columns import jacobians_by
from engine.creation import eye, ones_like, zeros_like
from engine.differentiation import grad
from engine.grad_mode import enable_grad, set_grad_enabled
from engine.habits import Value
from engine.nodes import DIFFERENTIABLE, needs_grad
from engine.ops.join import stack
from engine.tensors import Tensor

Found = tuple[Any, ...]

IN_STRICT = "This is not allowed in strict mode"
LINEAR = (
    "While computing the hessian, found that the jacobian of the user-provided function with "
    f"respect to input {{0}} is independent of the input. {IN_STRICT}: the function needs to be "
    "twice differentiable, and not linear"
)


def as_found(x: Any, what: str, where: str) -> Found:
    """x as a tuple of Values or Tensors, or a TypeError that says what else is in it."""
    for i, item in enumerate(x if isinstance(x, tuple) else (x,)):
        if not isinstance(item, DIFFERENTIABLE):
            found = f"value at index {i}" if isinstance(x, tuple) else f"given {what}"
            raise TypeError(
                f"The {what} given to {where} must be either a Tensor or a tuple of Tensors but "
                f"the {found} has type {type(item)}."
            )
    return x if isinstance(x, tuple) else (x,)


def shape_of(x: Any) -> tuple[int, ...]:
    return () if isinstance(x, Value) else x.shape


def size_of(x: Any) -> int:
    """How many numbers a Value or Tensor holds."""
    return 1 if isinstance(x, Value) else x.numel()


def filled(x: Any, number: float, requires_grad: bool = False) -> Any:
    """A number in the kind, shape and dtype of x."""
    if isinstance(x, Value):
        return Value(number, requires_grad=requires_grad)
    like = ones_like if number else zeros_like
    return like(x, requires_grad=requires_grad)


def fresh(x: Any, create_graph: bool) -> Any:
    """An input to differentiate by: in the graph of x, or a leaf of its own."""
    if not create_graph:
        return x.detach().requires_grad_()
    x = x if needs_grad(x) else x.detach().requires_grad_()
    return x * 1.0 if isinstance(x, Value) else x.view_as(x)


def result(found: Found, like: Any, create_graph: bool) -> Any:
    """What a function here returns: one or a tuple, as `like` is, outside the graph unless
    asked for."""
    out = found if create_graph else tuple(x.detach() for x in found)
    return out if isinstance(like, tuple) else out[0]


class Problem:
    """A function called at inputs: `inputs` to differentiate by, `outputs` made of them."""

    def __init__(
        self, func: Callable[..., Any], inputs: Any, where: str, create_graph: bool, strict: bool
    ):
        self.where, self.create_graph, self.strict = where, create_graph, strict
        self.given = inputs
        self.inputs = tuple(fresh(x, create_graph) for x in as_found(inputs, "inputs", where))
        self.returned = func(*self.inputs)
        self.outputs = as_found(self.returned, "outputs of the user-provided function", where)
        if strict:
            self.check_outputs()

    def check_outputs(self) -> None:
        for i, x in enumerate(self.outputs):
            if not needs_grad(x):
                raise RuntimeError(
                    f"Output {i} of the user-provided function does not require gradients. The "
                    "outputs must be computed in a differentiable manner from the input when "
                    "running in strict mode."
                )

    def check_found(self, found: Found, text: str) -> None:
        """In strict mode, refuse derivatives that are missing, or that are constants."""
        for i, g in enumerate(found if self.strict else ()):
            if g is None:
                raise RuntimeError(
                    f"The output of the user-provided function is independent of input {i}. "
                    f"{IN_STRICT}."
                )
            if not needs_grad(g):
                raise RuntimeError(text.format(i))

    def vector(self, v: Any, like: Found, absent: str) -> Found:
        """The vector v, checked against what it must be like; 1 for a single number."""
        if v is None:
            if len(like) != 1 or size_of(like[0]) != 1:
                raise RuntimeError(f"The vector v can only be None if {absent}.")
            return (filled(like[0], 1.0),)
        v = as_found(v, "v", self.where)
        if len(v) != len(like):
            needed = "a single Tensor" if len(like) == 1 else f"{len(like)} Tensors"
            raise RuntimeError(f"The given v should contain {needed}.")
        for x, y in zip(v, like, strict=True):
            if shape_of(x) != shape_of(y):
                needed, got = (f"torch.Size({list(shape_of(z))})" for z in (y, x))
                raise RuntimeError(f"v has invalid size: should be {needed} but got {got}.")
        return v

    def complete(self, found: Found, like: Found, second: bool = False) -> Found:
        """Derivatives with zeros for those that do not depend; an error in strict mode."""
        text = (
            LINEAR
            if second
            else (
                f"The jacobian of the user-provided function is independent of input {{0}}. "
                f"{IN_STRICT} when create_graph=True."
            )
        )
        if self.strict:
            self.check_missing(found, second)
            self.check_found(found if self.create_graph else (), text)
        return tuple(filled(x, 0.0) if g is None else g for g, x in zip(found, like, strict=True))

    def check_missing(self, found: Found, second: bool) -> None:
        for i, g in enumerate(found):
            if g is None:
                what = "jacobian" if second else "output"
                raise RuntimeError(
                    f"The {what} of the user-provided function is independent of input {i}. "
                    f"{IN_STRICT}."
                )

    def scalar(self) -> None:
        """Refuse all but one output of one element."""
        if len(self.outputs) != 1 or isinstance(self.returned, tuple):
            raise RuntimeError(f"The function given to {self.where} should return a single Tensor")
        if size_of(self.outputs[0]) != 1:
            raise RuntimeError(
                f"The Tensor returned by the function given to {self.where} should contain a "
                "single element"
            )


def derivatives(
    outputs: Sequence[Any], inputs: Found, weights: Any, create_graph: bool, retain: bool = False
) -> Found:
    """grad of those outputs that have a graph; None for inputs that they do not depend on."""
    weights = weights or (None,) * len(outputs)
    pairs = [
        (o, w) for o, w in zip(outputs, weights, strict=True) if o is not None and needs_grad(o)
    ]
    if not pairs:
        return (None,) * len(inputs)
    found, given = zip(*pairs, strict=True)
    return grad(found, inputs, given, retain or create_graph, create_graph, allow_unused=True)


ONE_OUTPUT = "the user-provided function returns a single Tensor with a single element"
ONE_INPUT = "the input to the user-provided function is a single Tensor with a single element"


def vjp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """func(*inputs), and v times its Jacobian, in the structure of the inputs.

    v: like the outputs; may be left out for one output of one element.
    """
    with enable_grad():
        p = Problem(func, inputs, "vjp", create_graph, strict)
        v = p.vector(v, p.outputs, ONE_OUTPUT)
    with set_grad_enabled(create_graph or modes.is_grad_enabled()):
        found = p.complete(derivatives(p.outputs, p.inputs, v, create_graph), p.inputs)
    return result(p.outputs, p.returned, create_graph), result(found, inputs, create_graph)


def jvp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """func(*inputs), and its Jacobian times v, in the structure of the outputs.

    v: like the inputs; may be left out for one input of one element. Two walks back: the
    gradient is linear in the gradients of the outputs, and its derivative by them is wanted.
    """
    with enable_grad():
        p = Problem(func, inputs, "jvp", create_graph, strict)
        v = p.vector(v, p.inputs, ONE_INPUT)
        weights = tuple(filled(o, 0.0, True) for o in p.outputs)
        grads = derivatives(p.outputs, p.inputs, weights, True)
        p.check_found(grads, "The gradient by input {0} is a constant. " + IN_STRICT)
    with set_grad_enabled(create_graph or modes.is_grad_enabled()):
        found = p.complete(derivatives(grads, weights, v, create_graph), p.outputs)
    return result(p.outputs, p.returned, create_graph), result(found, p.returned, create_graph)


def check_strategy(strategy: str, vectorize: bool, create_graph: bool, strict: bool) -> None:
    """Refuse what PyTorch refuses of the ways to compute a Jacobian."""
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode"; the first does with '
            "few inputs, the second with few outputs"
        )
    if strategy == "forward-mode" and create_graph:
        raise NotImplementedError(
            'jacobian: `create_graph=True` and `strategy="forward-mode"` are not supported '
            "together; use reverse-mode"
        )
    if strict and vectorize:
        raise RuntimeError(
            "jacobian: `strict=True` and `vectorized=True` are not supported together; set one of "
            "them to False"
        )


def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The derivatives of every number of the outputs by every number of the inputs.

    For one output and one input: of shape output.shape + input.shape; a tuple for several of
    either, of tuples for both, outputs first. vectorize: accepted; the result is the same.
    strategy: "reverse-mode" walks back once per number of the outputs, "forward-mode" calls func
    once per number of the inputs.
    """
    check_strategy(strategy, vectorize, create_graph, strict)
    with enable_grad():
        p = Problem(func, inputs, "jacobian", create_graph, strict)
        if strategy == "forward-mode":
            by = [jacobians_by(func, p.inputs, j, p.outputs) for j in range(len(p.inputs))]
            rows = tuple(zip(*by, strict=True))
        else:
            rows = tuple(rows_of(p, i) for i in range(len(p.outputs)))
    parts = tuple(result(row, inputs, create_graph) for row in rows)
    return parts if isinstance(p.returned, tuple) else parts[0]


def rows_of(p: Problem, i: int) -> Found:
    """The Jacobians of output i by each input."""
    output = p.outputs[i]
    numbers = (output,) if isinstance(output, Value) else output.reshape(-1).unbind(0)
    rows = [one_row(p, i, number) for number in numbers]
    if isinstance(output, Value):
        return rows[0]
    return tuple(joined([row[j] for row in rows], output, x) for j, x in enumerate(p.inputs))


def one_row(p: Problem, i: int, number: Any) -> Found:
    """The derivatives of one number of output i by each input."""
    found = derivatives((number,), p.inputs, None, p.create_graph, retain=True)
    for j, g in enumerate(found if p.strict else ()):
        if g is None:
            raise RuntimeError(
                f"Output {i} of the user-provided function is independent of input {j}. "
                f"{IN_STRICT}."
            )
    return p.complete(found, p.inputs)


def joined(rows: list[Any], output: Tensor, x: Any) -> Tensor:
    """Rows of a Jacobian as one Tensor."""
    shape = (*output.shape, *shape_of(x))
    if not rows:
        return zeros_like(output).reshape(shape)
    return stack(rows).reshape(shape)


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The second derivatives of a function that returns one number.

    For one input: of shape input.shape + input.shape; for several a tuple of tuples.
    """
    check_strategy(outer_jacobian_strategy, vectorize, False, strict)
    as_found(inputs, "inputs", "hessian")

    def gradient(*args: Any) -> Any:
        p = Problem(func, args, "hessian", True, strict)
        p.scalar()
        found = derivatives(p.outputs, p.inputs, None, True)
        if strict:
            for i, g in enumerate(found):
                if g is None or not needs_grad(g):
                    raise RuntimeError(LINEAR.format(i))
        return result(p.complete(found, p.inputs), inputs, True)

    return jacobian(gradient, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)


def vhp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """func(*inputs), one number, and v times its Hessian, in the structure of the inputs."""
    with enable_grad():
        p = Problem(func, inputs, "vhp", create_graph, strict)
        v = p.vector(v, p.inputs, ONE_INPUT)
        p.scalar()
        first = derivatives(p.outputs, p.inputs, None, True)
        p.check_found(first, LINEAR)
    with set_grad_enabled(create_graph or modes.is_grad_enabled()):
        found = p.complete(derivatives(first, p.inputs, v, create_graph), p.inputs, True)
    return result(p.outputs, p.returned, create_graph), result(found, inputs, create_graph)


def hvp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """func(*inputs), one number, and its Hessian times v, in the structure of the inputs.

    The same as vhp where second derivatives are continuous; vhp is faster.
    """
    with enable_grad():
        p = Problem(func, inputs, "hvp", create_graph, strict)
        v = p.vector(v, p.inputs, ONE_INPUT)
        p.scalar()
        first = derivatives(p.outputs, p.inputs, None, True)
        p.check_found(first, LINEAR)
        weights = tuple(filled(x, 0.0, True) for x in p.inputs)
        second = derivatives(first, p.inputs, weights, True)
    with set_grad_enabled(create_graph or modes.is_grad_enabled()):
        found = p.complete(derivatives(second, weights, v, create_graph), p.inputs, True)
    return result(p.outputs, p.returned, create_graph), result(found, inputs, create_graph)


def _construct_standard_basis_for(tensors: Found, tensor_numels: Sequence[int]) -> Found:
    """The rows of the identity of all numbers of the tensors, cut into one matrix for each: entry
    i of the matrices is the unit vector in direction i. A name of PyTorch's own."""
    rows = eye(sum(tensor_numels)).split(list(tensor_numels), 1)
    return tuple(part.to(t.dtype) for part, t in zip(rows, tensors, strict=True))
