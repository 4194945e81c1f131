"""Comparisons and questions: results are bool tensors, or one bool, outside any graph."""

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.ops.dims import broadcast
from engine.ops.stepwise import alike
from engine.quiet import quiet
from engine.tensors import Tensor, checked_operand, make, method, operand, put_in_place

Number = float | Tensor


def comparison(name: str, words: str) -> Callable[[Any, Any], Tensor]:
    """The function of a comparison of two tensors, or of a tensor and a number."""

    def compare(input: Tensor, other: Number) -> Tensor:
        return getattr(input, f"__{name}__")(checked_operand(other))

    compare.__name__ = name
    compare.__doc__ = f"Whether input {words} other, elementwise: a bool tensor."
    return compare


eq, ne = comparison("eq", "is equal to"), comparison("ne", "is not equal to")
lt, le = comparison("lt", "is below"), comparison("le", "is not above")
gt, ge = comparison("gt", "is above"), comparison("ge", "is not below")
less, less_equal, greater, greater_equal, not_equal = lt, le, gt, ge, ne


def in_place(compare: Callable[[Any, Any], Tensor]) -> None:
    """Give Tensor the form in place of a comparison."""

    def compare_(input: Tensor, other: Number) -> Tensor:
        return input.copy_(compare(input, other))

    compare_.__name__ = f"{compare.__name__}_"
    compare_.__doc__ = f"{compare.__doc__} Set in place, as 1 and 0; no gradient passes."
    method(compare_)


for _compare in (eq, ne, lt, le, gt, ge):
    method(_compare)
    in_place(_compare)


@method
def isnan(input: Tensor) -> Tensor:
    """Whether each element is nan."""
    return make(np.asarray(np.isnan(input._array)))


@method
def isinf(input: Tensor) -> Tensor:
    """Whether each element is inf or -inf."""
    return make(np.asarray(np.isinf(input._array)))


@method
def isfinite(input: Tensor) -> Tensor:
    """Whether each element is neither inf nor nan."""
    return make(np.asarray(np.isfinite(input._array)))


@method
def signbit(input: Tensor) -> Tensor:
    """Whether each element has a minus sign, -0.0 too."""
    kind = input._array.dtype.kind
    return make(np.asarray(np.signbit(input._array) if kind == "f" else input._array < 0))


@method
def isclose(
    input: Tensor,
    other: Tensor,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> Tensor:
    """Whether |input - other| <= atol + rtol * |other|, elementwise, or both are equal.

    equal_nan: two nans are close too. Raises RuntimeError for tensors of different dtypes.
    """
    for x in (input, other):
        if not isinstance(x, Tensor):
            raise TypeError(f"isclose: needs two tensors; got {type(x).__name__}")
    if input.dtype is not other.dtype:
        raise RuntimeError(
            f"isclose: needs tensors of one dtype; got {input.dtype} and {other.dtype}: "
            f"{input.dtype.letter} did not match {other.dtype.letter}; convert one with .to(dtype)"
        )
    broadcast(input.shape, other.shape)
    with quiet():
        return make(np.asarray(np.isclose(input._array, other._array, rtol, atol, equal_nan)))


@method
def allclose(
    input: Tensor,
    other: Tensor,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> bool:
    """Whether isclose holds for every element."""
    return bool(isclose(input, other, rtol, atol, equal_nan)._array.all())


@method
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have one shape and equal elements; nan equals nothing."""
    if not isinstance(other, Tensor):
        raise TypeError(f"equal: needs two tensors; got {type(other).__name__}")
    return bool(np.array_equal(input._array, other._array))


def both(name: str, input: Tensor, other: Any) -> tuple[Any, Any]:
    """The arrays of two tensors."""
    if not isinstance(other, Tensor):
        raise TypeError(
            f"{name}: other must be a Tensor; got {type(other).__name__}: use engine.tensor(...)"
        )
    return input._array, other._array


@method
def logical_not(input: Tensor) -> Tensor:
    """Whether each element is 0 or False."""
    return make(np.asarray(np.logical_not(input._array)))


@method
def logical_and(input: Tensor, other: Tensor) -> Tensor:
    """Whether both elements are not 0."""
    return make(np.asarray(np.logical_and(*both("logical_and", input, other))))


@method
def logical_or(input: Tensor, other: Tensor) -> Tensor:
    """Whether at least one of both elements is not 0."""
    return make(np.asarray(np.logical_or(*both("logical_or", input, other))))


@method
def logical_xor(input: Tensor, other: Tensor) -> Tensor:
    """Whether exactly one of both elements is not 0."""
    return make(np.asarray(np.logical_xor(*both("logical_xor", input, other))))


def whole_numbers(name: str, *operands: Any) -> list[Any]:
    """The arrays of bool or integer operands, in one dtype."""
    found = [x._array for x in alike(*operands)]
    if found[0].dtype.kind == "f":
        raise NotImplementedError(
            f"{name}: needs tensors of bool or integer dtype; got floats: compare first, as (x > 0)"
        )
    return found


@method
def bitwise_not(input: Tensor) -> Tensor:
    """~input: not, of bools; each bit turned over, of integers."""
    return make(np.asarray(np.bitwise_not(*whole_numbers("bitwise_not", input))))


@method
def bitwise_and(input: Tensor, other: Number) -> Tensor:
    """input & other: both, of bools; bit by bit, of integers."""
    return make(np.asarray(np.bitwise_and(*whole_numbers("bitwise_and", input, other))))


@method
def bitwise_or(input: Tensor, other: Number) -> Tensor:
    """input | other: at least one, of bools; bit by bit, of integers."""
    return make(np.asarray(np.bitwise_or(*whole_numbers("bitwise_or", input, other))))


@method
def bitwise_xor(input: Tensor, other: Number) -> Tensor:
    """input ^ other: exactly one, of bools; bit by bit, of integers."""
    return make(np.asarray(np.bitwise_xor(*whole_numbers("bitwise_xor", input, other))))


def operators(name: str, f: Callable[[Any, Any], Tensor]) -> None:
    """Give Tensor the operator `name`, its reflected form and its form in place."""

    def of(self: Tensor, other: Any) -> Any:
        other = operand(other)
        return other if other is NotImplemented else f(self, other)

    def in_place(self: Tensor, other: Any) -> Tensor:
        return put_in_place(self, f(self, checked_operand(other)), f"{f.__name__}_")

    setattr(Tensor, f"__{name}__", of)
    setattr(Tensor, f"__r{name}__", of)
    setattr(Tensor, f"__i{name}__", in_place)


operators("and", bitwise_and)
operators("or", bitwise_or)
operators("xor", bitwise_xor)


def invert(self: Tensor) -> Tensor:
    """~self; TypeError for floats."""
    if self.is_floating_point():
        raise TypeError("~: needs a tensor of bool or integer dtype; got floats: use -x, or x <= 0")
    return bitwise_not(self)


setattr(Tensor, "__invert__", invert)  # noqa: B010
