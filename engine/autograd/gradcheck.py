"""gradcheck and gradgradcheck: backward against small steps of the inputs, in double precision."""

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from engine import modes
from engine.attention import warn
from engine.autograd.causes import Mismatch, described
from engine.autograd.jacobians import Point, numbers, of_floats, shape_of, size_of
from engine.differentiation import as_tuple, grad
from engine.function import FunctionNode
from engine.habits import Value
from engine.memory import overlaps, writeable
from engine.nodes import DIFFERENTIABLE, differentiate, needs_grad, zero
from engine.quiet import quiet
from engine.tensors import Operation, make


class GradcheckError(RuntimeError):
    """What gradcheck found wrong; errors of the function's own pass through as they are."""


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether func's backward gives the derivatives that its values have; True, or GradcheckError.

    func: takes the inputs, returns Values or Tensors. inputs: one, or a tuple; checked are those
    that require grad, which should be double precision. eps: the step of the central differences;
    numbers a and n agree when |a - n| <= atol + rtol * |n|. raise_exception: False returns False
    instead. nondet_tol: by how much two backwards may differ. check_undefined_grad: whether a
    Function's backward must do with outputs that got no gradient. fast_mode: compare in one random
    direction, which costs two evaluations an input. check_forward_ad: check jvp, too.

    Gradients have their input's dtype and batches of gradients are loops, always, so that
    check_grad_dtypes and the check_batched_* have nothing left to check.
    Raises ValueError when no input requires grad, RuntimeError for inputs whose elements share
    memory, AssertionError when outputs change their shape or dtype.
    """
    if not check_forward_ad and not check_backward_ad:
        raise AssertionError(
            "gradcheck: Expected at least one of check_forward_ad or check_backward_ad to be True"
        )
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError(
            "Setting check_batched_forward_grad=True requires check_forward_ad to be True"
        )
    check = Check(func, as_tuple(inputs), eps, atol, rtol, nondet_tol)
    try:
        check.run(check_backward_ad, check_forward_ad, fast_mode)
        if check_backward_ad and check_undefined_grad:
            check_undefined(check.outputs)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


class Check:
    """One gradcheck: a function, its inputs and the tolerances."""

    def __init__(
        self,
        func: Callable[..., Any],
        inputs: tuple[Any, ...],
        eps: float,
        atol: float,
        rtol: float,
        nondet_tol: float,
    ):
        self.eps, self.atol, self.rtol, self.nondet_tol = eps, atol, rtol, nondet_tol
        wanted = [j for j, x in enumerate(inputs) if needs_grad(x)]
        check_inputs(inputs, wanted)
        self.point = Point(func, inputs, wanted)
        self.outputs = self.point.outputs

    def close(self, a: Any, n: Any, factor: float = 1.0) -> Any:
        """Where analytical and numerical entries agree."""
        return np.isclose(a, n, self.rtol, self.atol * factor)

    def run(self, backward: bool, forward: bool, fast: bool) -> None:
        """Raise GradcheckError unless the derivatives agree."""
        with quiet():
            self.checks(backward, forward, fast)

    def checks(self, backward: bool, forward: bool, fast: bool) -> None:
        if backward and self.outputs and not any(map(needs_grad, self.outputs)):
            self.without_graph()
        elif backward:
            (self.fast if fast else self.slow)()
            self.zero_in()
        if forward:
            self.forward()

    def numericals(self) -> dict[int, list[Any]]:
        """For each wanted input the Jacobians of all outputs, by differences."""
        return {j: self.point.numerical(j, self.eps) for j in self.point.wanted}

    def slow(self) -> None:
        """Compare every entry of every Jacobian."""
        numerical = self.numericals()
        for i, output in enumerate(self.outputs):
            if needs_grad(output):
                analytical = self.repeated(i)
                for a, j in zip(analytical, self.point.wanted, strict=True):
                    self.compare(i, j, a, numerical[j][i])

    def repeated(self, i: int) -> list[Any]:
        """The Jacobians of output i by backward, which must come out the same again."""
        analytical = self.point.analytical(i)
        for a, again in zip(analytical, self.point.analytical(i), strict=True):
            self.same(a, again)
        return analytical

    def same(self, a: Any, again: Any) -> None:
        """Refuse two results of one backward that differ by more than nondet_tol."""
        apart = float(np.nan_to_num(np.abs(a - again)).max(initial=0.0))
        if apart > self.nondet_tol:
            raise GradcheckError(
                "Backward is not reentrant, i.e., running backward with same input and "
                "grad_output multiple times gives different values; they differ by up to "
                f"{apart:.3g}, and the tolerance for nondeterminism was {self.nondet_tol}. Random "
                "numbers in backward must be drawn in forward and saved"
            )

    def compare(
        self, i: int, j: int, analytical: Any, numerical: Any, forward: bool = False
    ) -> None:
        """Refuse two Jacobians of output i by input j that differ."""
        if not self.close(analytical, numerical).all():
            pair = (analytical, numerical)
            raise GradcheckError(described(Mismatch(self.point, i, j, pair, self.close, forward)))

    def forward(self) -> None:
        """Compare forward mode with differences, entry by entry."""
        for j, numerical in self.numericals().items():
            for i, a in enumerate(self.point.forward(j)):
                self.compare(i, j, a, numerical[i], forward=True)

    def fast(self) -> None:
        """Compare u @ J @ v of each Jacobian J for random unit vectors of positive numbers."""
        rng = np.random.default_rng(0)
        us = [unit(rng, size_of(o)) for o in self.outputs]
        vs = {j: unit(rng, size_of(self.point.inputs[j])) for j in self.point.wanted}
        steps = {j: self.point.difference(j, v, self.eps) for j, v in vs.items()}
        for i, u in enumerate(us):
            if needs_grad(self.outputs[i]):
                pulled, again = (self.point.pulled_back(i, u) for _ in range(2))
                for k, j in enumerate(self.point.wanted):
                    self.same(pulled[k], again[k])
                    pair = (pulled[k] @ vs[j], steps[j][i] @ u)
                    self.compare_fast(i, j, pair, u.sum() * vs[j].sum())

    def compare_fast(self, i: int, j: int, pair: tuple[float, float], factor: float) -> None:
        """Refuse projections that differ; the message shows the whole Jacobians if it can."""
        if self.close(*pair, factor):
            return
        k = self.point.wanted.index(j)
        self.compare(i, j, self.point.analytical(i)[k], self.point.numerical(j, self.eps)[i])
        raise GradcheckError(
            f"Jacobian mismatch for output {i} with respect to input {j} in fast mode: numerical "
            f"{pair[1]:.9g}, analytical {pair[0]:.9g} along a random direction; entry by entry "
            "they agree within atol and rtol: use fast_mode=False, or larger tolerances"
        )

    def without_graph(self) -> None:
        """Outputs without a graph must not depend on the inputs."""
        for j, jacobians in self.numericals().items():
            if any(jacobian.any() for jacobian in jacobians):
                raise GradcheckError(
                    "Numerical gradient for function expected to be zero: its outputs do not "
                    f"require grad, but depend on input {j}; the way to it is cut (detach(), "
                    ".data, NumPy, no_grad)"
                )

    def zero_in(self) -> None:
        """A gradient of 0 for each output must give 0 for each input."""
        for i, output in enumerate(self.outputs):
            if needs_grad(output):
                pulled = self.point.pulled_back(i, np.zeros(size_of(output)))
                for j, g in zip(self.point.wanted, pulled, strict=True):
                    self.nothing(i, j, g)

    def nothing(self, i: int, j: int, g: Any) -> None:
        """Refuse a gradient made out of nothing."""
        if (g != 0.0).any():
            raise GradcheckError(
                f"backward not multiplied by grad_output: the gradient of input {j} is not 0 for "
                f"a gradient of 0 of output {i}"
            )


def unit(rng: Any, n: int) -> Any:
    """A random vector of n positive numbers, of length 1."""
    v = rng.random(n)
    return v / max(float(np.linalg.norm(v)), 1e-300)


def check_inputs(inputs: tuple[Any, ...], wanted: list[int]) -> None:
    """Refuse inputs whose derivatives cannot be told by differences."""
    if not wanted:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of the "
            "them have requires_grad=True."
        )
    tensors = [(j, inputs[j]) for j in wanted if not isinstance(inputs[j], Value)]
    for j, x in tensors:
        check_precision(j, x)
        check_overlap(j, x._array)
    for (i, x), (j, y) in combinations(tensors, 2):
        if x is not y and np.shares_memory(x._array, y._array):
            raise RuntimeError(f"Inputs {i} and {j} share memory, and cannot be moved one by one")


def check_precision(j: int, x: Any) -> None:
    """Warn of an input that is not double precision."""
    if x._array.itemsize < 8:
        warn(
            f"Input #{j} requires gradient and is not a double precision floating point; it is "
            f"{x.dtype}, and this check will likely fail: make it double precision, "
            "x.detach().double().requires_grad_()"
        )


def check_overlap(j: int, array: Any) -> None:
    """Refuse an input that cannot be moved one element at a time."""
    strides = [s for s, n in zip(array.strides, array.shape, strict=True) if n > 1]
    cure = (
        "gradcheck only supports inputs that are non-overlapping to be able to compute the "
        "numerical gradients correctly. Call .contiguous() or .clone() on the input before "
        "passing it to gradcheck"
    )
    if 0 in strides and array.size:
        raise RuntimeError(f"The {j}th input has a dimension with stride 0. {cure}")
    if overlaps(array):
        raise RuntimeError(f"The {j}th input has elements that overlap in memory. {cure}")
    if writeable(array) is None:
        raise RuntimeError(f"The {j}th input is read-only, and cannot be perturbed: clone() it")


def check_undefined(outputs: Sequence[Any]) -> None:
    """Functions must do with outputs that got no gradient: with none at all, and with all but
    one; the gradient of an input is then nothing or 0."""
    nodes = {id(node): node for node in (o.grad_fn for o in outputs) if is_custom(node)}
    for node in nodes.values():
        zeros = [zero(shape) for shape in node._shapes]
        undefined(node, [None] * len(zeros))
        for i in range(len(zeros) if len(zeros) > 1 else 0):
            undefined(node, [None if k == i else z for k, z in enumerate(zeros)])
    for o in outputs:
        hooked(o)


def hooked(output: Any) -> None:
    """The hooks of an output must do with None, which PyTorch gives them for no gradient."""
    own = getattr(output.grad_fn, "_hooks", None)
    table = {} if own is None else own.outputs.get(output.output_nr, {})
    for hook in table.values():
        try:
            hook(None)
        except Exception as error:
            warn_of_undefined()
            raise GradcheckError(
                "Expected backward function to handle undefined output grads: a hook got None for "
                f"a gradient and raised {type(error).__name__}: {error}. Test for None"
            ) from error


def is_custom(node: Any) -> bool:
    """Whether the node is a call of a Function that a program defined."""
    return isinstance(node, FunctionNode) and not issubclass(node._function, Operation)


def undefined(node: Any, grads: list[Any]) -> None:
    """Call backward with these gradients, which are None or 0."""
    before = modes.set_grad(False)
    try:
        found = differentiate(node, grads)
    except Exception as error:
        warn_of_undefined()
        raise GradcheckError(
            f"Expected backward function to handle undefined output grads: {node.name()} got None "
            f"for an output without a gradient and raised {type(error).__name__}: {error}. Test "
            "for None, or leave set_materialize_grads as it is"
        ) from error
    finally:
        modes.set_grad(before)
    for i, g in enumerate(found):
        if isinstance(g, DIFFERENTIABLE) and numbers(g).any():
            raise GradcheckError(
                "Expected all input grads to be undefined or zero when all output grads are "
                f"undefined or zero; {node.name()} returned a gradient for {node._argument(i)}"
            )


def warn_of_undefined() -> None:
    """Say how a program that cannot handle missing gradients yet is checked all the same."""
    warn(
        "Backwards compatibility: New undefined gradient support checking feature is on by "
        "default; check_undefined_grad=False leaves it out"
    )


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """gradcheck of func's gradients: whether its second derivatives are right.

    grad_outputs: the gradients of the outputs, random ones if not given; derivatives by them are
    checked too. The other arguments are gradcheck's.
    """
    inputs = as_tuple(inputs)
    if grad_outputs is None:
        found = [o for o in of_floats(func(*inputs)) if needs_grad(o)]
        grad_outputs = random_gradients(found, gen_non_contig_grad_outputs)
    grad_outputs = as_tuple(grad_outputs)
    return gradcheck(
        derivative(func, len(inputs), inputs),
        (*inputs, *grad_outputs),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
    )


def derivative(func: Callable[..., Any], n: int, inputs: tuple[Any, ...]) -> Callable[..., Any]:
    """The function of func's n inputs and of gradients of its outputs that gives the gradients of
    those inputs that require grad."""
    wanted = [j for j, x in enumerate(inputs) if needs_grad(x)]

    def gradients(*args: Any) -> tuple[Any, ...]:
        outputs = [o for o in of_floats(func(*args[:n])) if needs_grad(o)]
        asked = [args[j] for j in wanted]
        found = grad(outputs, asked, args[n:], create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradients


def random_gradients(outputs: Sequence[Any], non_contiguous: bool) -> tuple[Any, ...]:
    """A gradient like each output, of normal numbers, that requires grad."""
    rng = np.random.default_rng(1)
    return tuple(random_gradient(rng, o, non_contiguous) for o in outputs)


def random_gradient(rng: Any, output: Any, non_contiguous: bool) -> Any:
    if isinstance(output, Value):
        return Value(float(rng.standard_normal()))
    array = rng.standard_normal(shape_of(output)).astype(output._array.dtype)
    if non_contiguous:
        array = np.stack([array, array], -1)[..., 0]
    return make(np.asarray(array)).requires_grad_()


def get_numerical_jacobian(
    fn: Callable[..., Any],
    inputs: Any,
    target: Any = None,
    eps: float = 1e-3,
    grad_out: float = 1.0,
) -> Any:
    """The Jacobians of fn(inputs)'s first output, for old programs; use functional.jacobian."""
    old_name("get_numerical_jacobian", grad_out)
    inputs = as_tuple(inputs)
    asked = inputs if target is None else as_tuple(target)
    wanted = [j for j, x in enumerate(inputs) if any(x is t for t in asked)]
    point = Point(lambda *args: fn(args), inputs, wanted)
    return tuple(make(point.numerical(j, eps)[0]) for j in wanted)


def get_analytical_jacobian(
    inputs: Any, output: Any, nondet_tol: float = 0.0, grad_out: float = 1.0
) -> Any:
    """The Jacobians of an output, whether backward repeats itself, and two times True."""
    old_name("get_analytical_jacobian", grad_out)
    inputs = as_tuple(inputs)
    wanted = [j for j, x in enumerate(inputs) if needs_grad(x)]
    point = Point(lambda *args: output, inputs, wanted)
    first, again = point.analytical(0), point.analytical(0)
    pairs = zip(first, again, strict=True)
    repeats = all(float(np.abs(a - b).max(initial=0.0)) <= nondet_tol for a, b in pairs)
    return tuple(map(make, first)), repeats, True, True


def old_name(name: str, grad_out: float) -> None:
    """Warn of a function that PyTorch has given up."""
    warn(
        f"`{name}` was part of PyTorch's private API and not meant to be exposed; use "
        "engine.autograd.functional.jacobian",
        FutureWarning,
    )
    if grad_out != 1.0:
        raise ValueError(
            f"Expected grad_out to be 1.0; {name} no longer supports values of grad_out != 1.0."
        )
