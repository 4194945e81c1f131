"""Functions with steps, such as floor, whose slope is 0, and remainders, which are made of them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from engine import dtypes, elementary, modes, views
from engine.convert import cast
from engine.creation import zeros_like
from engine.nodes import any_needs_grad
from engine.ops.dims import broadcast
from engine.quiet import quiet
from engine.tensors import (
    FLAT,
    Operation,
    Tensor,
    as_operands,
    checked_operand,
    make,
    method,
    operand,
    put_in_place,
)

Number = float | Tensor


def in_place(f: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Give Tensor the method NAME_ too, which puts the result of the function into the tensor."""
    name = f"{f.__name__}_"

    def changed(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        operands = (self, *args)
        views.check(self, name, modes.is_grad_enabled() and any_needs_grad(operands))
        return put_in_place(self, f(self, *args, **kwargs), name)

    changed.__name__, changed.__doc__ = name, f"{f.__name__}, in place."
    method(changed)
    return f


class Stepwise(Operation):
    """An operation whose slope is 0; whole numbers stay as they are."""

    of: Any = None

    @classmethod
    def forward(cls, ctx: Any, x: Tensor) -> Tensor:
        floats = x._array.dtype.kind == "f"
        if x._array.dtype.kind == "b":
            raise NotImplementedError(
                f"{cls.__name__.lower()}: not implemented for bool: needs integers or floats"
            )
        return make(np.asarray(cls.of(x._array)) if floats else x._array.copy())

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return zeros_like(g)


class Floor(Stepwise):
    of = np.floor


@in_place
@method
def floor(input: Tensor) -> Tensor:
    """The largest whole number not above each element; the slope is 0."""
    return Floor.apply(input)


class Ceil(Stepwise):
    of = np.ceil


@in_place
@method
def ceil(input: Tensor) -> Tensor:
    """The smallest whole number not below each element; the slope is 0."""
    return Ceil.apply(input)


class Trunc(Stepwise):
    of = np.trunc


@in_place
@method
def trunc(input: Tensor) -> Tensor:
    """Each element cut off towards 0; the slope is 0."""
    return Trunc.apply(input)


fix = trunc


class Round(Stepwise):
    of = np.rint


@in_place
@method
def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """The nearest whole number, the even one of two; the slope is 0.

    decimals: keep this many digits after the point, or round off before it if negative.
    """
    if not decimals:
        return Round.apply(input)
    return Round.apply(input * 10.0**decimals) / 10.0**decimals


class Sign(Stepwise):
    @classmethod
    def forward(cls, ctx: Any, x: Tensor) -> Tensor:
        if x._array.dtype.kind == "b":
            return make(x._array.copy())
        return make(np.asarray(np.where(np.isnan(x._array), 0, np.sign(x._array))))


@in_place
@method
def sign(input: Tensor) -> Tensor:
    """-1, 0 or 1 by the sign of each element, 0 for nan; the slope is 0."""
    return Sign.apply(input)


sgn = method(sign)


class StepOf(Stepwise):
    of = elementary.step


class SignOf(Stepwise):
    of = elementary.sign


# The slopes of relu and abs: their own derivative is 0, as in PyTorch, and no error.
FLAT.update(step=StepOf.apply, sign=SignOf.apply)


@in_place
@method
def frac(input: Tensor) -> Tensor:
    """What trunc cuts off: input - trunc(input); the slope is 1. Floats only."""
    if not input.is_floating_point():
        raise NotImplementedError(f"frac: needs a floating tensor; got {input.dtype}")
    return input - trunc(input)


class NanToNum(Operation):
    @staticmethod
    def forward(ctx: Any, x: Tensor, nan: float, posinf: Any, neginf: Any) -> Tensor:
        ctx.finite = make(np.isfinite(x._array))
        array = np.nan_to_num(x._array, nan=nan, posinf=posinf, neginf=neginf)
        return make(np.asarray(array, x._array.dtype))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return g * ctx.finite, None, None, None


@in_place
@method
def nan_to_num(
    input: Tensor,
    nan: float | None = None,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Tensor:
    """Numbers in the place of nan (0), inf and -inf (the largest of the dtype), with slope 0."""
    return NanToNum.apply(input, nan or 0.0, posinf, neginf)


def alike(*operands: Any) -> list[Any]:
    """Tensors and numbers as tensors of the one dtype that PyTorch's promotion gives."""
    found = as_operands(tuple(map(checked_operand, operands)))
    arrays = [x._array for x in found if isinstance(x, Tensor)]
    broadcast(*(array.shape for array in arrays))
    wanted = dtypes.promoted(arrays, [x for x in found if not isinstance(x, Tensor)])
    return [cast(x, wanted) if isinstance(x, Tensor) else number(x, wanted) for x in found]


def number(x: Any, wanted: Any) -> Tensor:
    """A number as a 0-dim tensor; an integer wraps around."""
    if wanted.kind != "f":
        return make(np.asarray(dtypes.wrapped(x, wanted)))
    with quiet():
        return make(np.asarray(dtypes.within_64_bits(x), wanted))


def on_whole_numbers(name: str, b: Tensor) -> None:
    """Refuse whole numbers divided by 0, which have no inf or nan to give, and bools."""
    if b._array.dtype.kind == "b":
        raise NotImplementedError(
            f"{name}: not implemented for bool: needs integers or floats; use x.int() or x.float()"
        )
    if b._array.dtype.kind in "iu" and not b._array.all():
        raise RuntimeError(f"{name}: ZeroDivisionError: whole numbers divided by 0")


@in_place
@method
def floor_divide(input: Tensor, other: Number) -> Tensor:
    """input / other rounded down to whole numbers, outside the graph."""
    a, b = alike(input, other)
    on_whole_numbers("floor_divide", b)
    with quiet():
        return make(np.asarray(np.floor_divide(a._array, b._array)))


class Remainder(Operation):
    """a - b * q with a whole q that does not change in small steps of a and b."""

    of: Any = np.remainder
    whole: Any = np.floor

    @classmethod
    def forward(cls, ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        with quiet():
            if ctx.needs_input_grad[1]:
                ctx.whole = make(np.asarray(cls.whole(a._array / b._array)))
            return make(np.asarray(cls.of(a._array, b._array)))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return g, -g * ctx.whole if ctx.needs_input_grad[1] else None


@in_place
@method
def remainder(input: Number, other: Number) -> Tensor:
    """What is left of input after whole multiples of other, with other's sign: a % b.

    The slopes are 1 and -floor(input / other). Raises RuntimeError for whole numbers by 0.
    """
    a, b = alike(input, other)
    on_whole_numbers("remainder", b)
    return Remainder.apply(a, b)


class Fmod(Remainder):
    of = np.fmod
    whole = np.trunc


@in_place
@method
def fmod(input: Number, other: Number) -> Tensor:
    """What is left of input after whole multiples of other, with input's sign.

    The slopes are 1 and -trunc(input / other). Raises RuntimeError for whole numbers by 0.
    """
    a, b = alike(input, other)
    on_whole_numbers("fmod", b)
    return Fmod.apply(a, b)


def operator(f: Callable[[Any, Any], Tensor], reflected: bool = False) -> Callable[[Any, Any], Any]:
    """The method of an operator that the function computes."""

    def of(self: Tensor, other: Any) -> Any:
        other = operand(other)
        if other is NotImplemented:
            return other
        return f(other, self) if reflected else f(self, other)

    return of


for _name, _f in {"floordiv": floor_divide, "mod": remainder}.items():
    setattr(Tensor, f"__{_name}__", operator(_f))
    setattr(Tensor, f"__r{_name}__", operator(_f, True))
    setattr(Tensor, f"__i{_name}__", getattr(Tensor, f"{_f.__name__}_"))


class Nextafter(Operation):
    @staticmethod
    def forward(ctx: Any, x: Tensor, other: Tensor) -> Tensor:
        return make(np.asarray(np.nextafter(x._array, other._array)))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        raise NotImplementedError("the derivative for 'nextafter' is not implemented.")


@method
def nextafter(input: Tensor, other: Tensor) -> Tensor:
    """The next number of the dtype after input in the direction of other; it has no derivative:
    backward raises NotImplementedError."""
    return Nextafter.apply(input, other)
