"""Reductions: many numbers to fewer."""

import math
import operator
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from engine import interpreter, kernels, modes
from engine.attention import warn
from engine.checks import sums_to
from engine.lists import or_list, sum_list
from engine.nodes import array_of, is_floating
from engine.ops.dims import Sizes, axis, each_axis, sizes
from engine.ops.join import cat
from engine.promotion import FLOAT16, in_single
from engine.quiet import quiet
from engine.tensors import LOOPS, Operation, Tensor, applied, make, method

Dim = Sizes | None


multiply, divide, root = LOOPS["mul"], LOOPS["div"], LOOPS["sqrt"]
EVERY = [tuple(range(n)) for n in range(65)]  # of NumPy's most dimensions


def axes(dim: Dim, ndim: int) -> tuple[int, ...]:
    """The dimensions that dim names, counted from the front; all of them for None or ()."""
    found = () if dim is None else each_axis(dim, ndim)
    return found if found and ndim else EVERY[ndim]


def kept(shape: tuple[int, ...], dims: tuple[int, ...]) -> tuple[int, ...]:
    """The shape after a reduction over dims that keeps them with size 1."""
    return tuple([1 if d in dims else n for d, n in enumerate(shape)])


def numpy_names(f: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function take dim and keepdim under NumPy's names too, as PyTorch does."""

    @wraps(f)
    def with_numpy_names(*args: Any, **kwargs: Any) -> Any:
        if not kwargs:
            return f(*args)
        for name, theirs in (("dim", "axis"), ("keepdim", "keepdims")):
            if theirs in kwargs:
                kwargs[name] = kwargs.pop(theirs)
        return f(*args, **kwargs)

    return with_numpy_names


def count(x: Tensor, dims: tuple[int, ...]) -> int:
    """How many elements of x go into each result of a reduction over dims."""
    n, shape = 1, array_of(x).shape
    for d in dims:
        n *= shape[d]
    return n


def spread(g: Tensor, shape: tuple[int, ...], dims: tuple[int, ...]) -> Tensor:
    """The result of a reduction of `shape` over dims, at each element that went into it."""
    if not modes.is_grad_enabled():
        return make(kernels.spread(array_of(g), shape, dims))
    if g.ndim not in (0, len(shape)):
        g = g.reshape(kept(shape, dims))
    return g.expand(shape)


class Sum(Operation):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
        array = array_of(x)
        ctx.shape, ctx.dims = array.shape, dims
        return make(kernels.sum_forward(array, dims, keepdim))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return spread(g, ctx.shape, ctx.dims), None, None


@or_list(sum_list)
@method
@numpy_names
def sum(input: Tensor, dim: Dim = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The sum over all elements, or over the dimensions dim.

    input: any shape; integers and booleans are summed as int64. dim: one or several, negative
    ones count from the end. keepdim: keep them with size 1. The slope is 1 everywhere.
    """
    if dtype is not None:
        input = input.to(dtype)
    out: Tensor = applied(Sum, (input, axes(dim, array_of(input).ndim), keepdim))
    return out if dtype is None else out.to(dtype)


@method
def nansum(input: Tensor, dim: Dim = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """sum with nan counted as 0, which gets the gradient 0."""
    if input._array.dtype.kind == "f":
        input = make(np.isnan(input._array)).where_else(0.0, input)
    return sum(input, dim, keepdim, dtype=dtype)


class SumToSize(Operation):
    @staticmethod
    def forward(ctx: Any, x: Tensor, size: tuple[int, ...]) -> Tensor:
        ctx.shape = shape = x._array.shape
        first = len(shape) - len(size)
        dims = (*range(first), *(d + first for d, n in enumerate(size) if n == 1))
        return make(kernels.sum_forward(x._array, dims, False).reshape(size))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return g.expand(ctx.shape), None


@method
def sum_to_size(input: Tensor, size: Sizes, *more: int) -> Tensor:
    """The sum over the dimensions along which a tensor of this size was spread to input's shape.

    size: given as one tuple or as numbers; it must broadcast to input's shape.
    """
    wanted = sizes((size, *more))
    shape = input._array.shape
    if shape == wanted:
        return input
    if not sums_to(shape, wanted):
        raise RuntimeError(
            f"sum_to_size: size {list(wanted)} is not expandable to size {list(shape)}: each of "
            "its sizes, counted from the end, must be 1 or that of the input"
        )
    return SumToSize.apply(input, wanted)


def floating(x: Tensor, name: str) -> Tensor:
    """x, or an error where a mean of its numbers is not one of its kind."""
    if not is_floating(x):
        raise RuntimeError(
            f"{name}(): Input dtype must be a floating point dtype. Got: {x.dtype}; "
            "convert it first, with .float() or .double()"
        )
    return x


def scores(name: str, x: Tensor, dim: int, dtype: Any) -> tuple[Tensor, tuple[int, ...]]:
    """x, of a floating dtype, and dim as NumPy wants it: none for a 0-d tensor."""
    n = array_of(x).ndim
    dims = (axis(dim, n),)[:n]
    x = x if dtype is None else x.to(dtype)
    if not is_floating(x):
        raise NotImplementedError(
            f"{name}: not implemented for {x.dtype!r}: input must be floating; convert it first, "
            "with .float() or dtype="
        )
    return x, dims


def mean_of(ctx: Any, x: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    """The mean, and on ctx what its slope needs to know."""
    ctx.count, a = count(x, dims), array_of(x)
    if a.dtype is FLOAT16:
        with quiet():
            y = a.mean(dims, np.float32, keepdims=keepdim)
            return make(np.asarray(y, FLOAT16, order="C"))
    return make(divide.run(kernels.sum_forward(a, dims, keepdim), float(ctx.count)))


class Mean(Operation):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
        ctx.shape, ctx.dims = array_of(x).shape, dims
        return mean_of(ctx, x, dims, keepdim)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return spread(g / ctx.count, ctx.shape, ctx.dims), None, None


@method
@numpy_names
def mean(input: Tensor, dim: Dim = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The mean over all elements, or over the dimensions dim; nan of none.

    input: floating, any shape. dim, keepdim: as for sum. The slope is 1 / n everywhere.
    Raises RuntimeError for integers and booleans.
    """
    input = floating(input if dtype is None else input.to(dtype), "mean")
    out: Tensor = applied(Mean, (input, axes(dim, array_of(input).ndim), keepdim))
    return out


def freedom(
    name: str, x: Tensor, dim: Any, unbiased: bool | None, correction: float | None
) -> tuple[tuple[int, ...], float]:
    """The dimensions of a variance, and its divisor: the number of elements less the correction."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if unbiased is not None and correction is not None:
        raise TypeError(f"{name}(): unbiased and correction say the same; give one of them")
    if correction is None:
        correction = 1 if unbiased is None or unbiased else 0
    dims = axes(dim, x.ndim)
    n = count(x, dims) - correction
    if n <= 0:
        warn(
            f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the "
            "reduction factor (input numel divided by output numel)."
        )
    return dims, float(n) if n > 0 else 0.0


def as_of(x: Tensor, array: Any) -> Tensor:
    """A tensor of the array, in the dtype of x."""
    kind = interpreter.dtype_of(array_of(x))
    return make(array if interpreter.dtype_of(array) is kind else array.astype(kind))


def variance(ctx: Any, x: Any, dims: tuple[int, ...], divisor: float, keepdim: bool) -> Any:
    """The variance of an array, and on ctx what its slope needs to know."""
    ctx.shape, ctx.dims, ctx.divisor = x.shape, dims, divisor
    off = kernels.centred(x, dims)
    return divide.run(kernels.sum_forward(multiply.run(off, off), dims, keepdim), divisor)


def through_variance(ctx: Any, g: Tensor, x: Tensor) -> Tensor:
    """The gradient of x, given that of its variance."""
    if not modes.is_grad_enabled():
        g, off = array_of(spread(g, ctx.shape, ctx.dims)), kernels.centred(array_of(x), ctx.dims)
        return make(divide.run(multiply.run(multiply.run(g, off), 2.0), ctx.divisor))
    off = x - x.mean(ctx.dims, keepdim=True)
    return spread(g, ctx.shape, ctx.dims) * off * 2.0 / ctx.divisor


class Var(Operation):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dims: Any, divisor: float, keepdim: bool) -> Tensor:
        ctx._to_save = (x,)
        return as_of(x, variance(ctx, array_of(x), dims, divisor, keepdim))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return through_variance(ctx, g, x), None, None, None


class Std(Operation):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dims: Any, divisor: float, keepdim: bool) -> Tensor:
        y = as_of(x, root.run(variance(ctx, array_of(x), dims, divisor, keepdim)))
        ctx._to_save = (x, y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        x, y = ctx.saved_tensors
        flat = y == 0.0
        g = flat.where_else(0.0, g / (2.0 * flat.where_else(1.0, y)))
        return through_variance(ctx, g, x), None, None, None


class VarMean(Var):
    """The variance and the mean of the same elements: one node with two outputs."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, dims: Any, divisor: float, keepdim: bool) -> Any:
        return Var.forward(ctx, x, dims, divisor, keepdim), mean_of(ctx, x, dims, keepdim)

    @staticmethod
    def backward(ctx: Any, g: Tensor, h: Tensor) -> Any:  # type: ignore[override]
        slope, *nothing = Var.backward(ctx, g)
        return slope + spread(h / ctx.count, ctx.shape, ctx.dims), *nothing


class StdMean(Std):
    """The standard deviation and the mean of the same elements: one node with two outputs."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, dims: Any, divisor: float, keepdim: bool) -> Any:
        return Std.forward(ctx, x, dims, divisor, keepdim), mean_of(ctx, x, dims, keepdim)

    @staticmethod
    def backward(ctx: Any, g: Tensor, h: Tensor) -> Any:  # type: ignore[override]
        slope, *nothing = Std.backward(ctx, g)
        return slope + spread(h / ctx.count, ctx.shape, ctx.dims), *nothing


@method
@numpy_names
def var(
    input: Tensor,
    dim: Dim = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> Tensor:
    """The variance over all elements, or over the dimensions dim.

    input: floating, any shape. correction: what is taken from the number of elements n before
    the sum of squares is divided by it, 1 by default; unbiased=False is correction=0.
    nan, or inf, and a UserWarning where n - correction <= 0. Raises RuntimeError for integers.
    """
    dims, divisor = freedom("var", floating(input, "var"), dim, unbiased, correction)
    return Var.apply(input, dims, divisor, keepdim)


@method
@numpy_names
def std(
    input: Tensor,
    dim: Dim = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> Tensor:
    """The standard deviation, the square root of var, with its arguments; its slope at 0 is 0."""
    dims, divisor = freedom("std", floating(input, "std"), dim, unbiased, correction)
    return Std.apply(input, dims, divisor, keepdim)


@numpy_names
def var_mean(
    input: Tensor,
    dim: Dim = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> tuple[Tensor, Tensor]:
    """var and mean of the same elements, with the arguments of var."""
    dims, divisor = freedom("var_mean", floating(input, "var_mean"), dim, unbiased, correction)
    return VarMean.apply(input, dims, divisor, keepdim)


@numpy_names
def std_mean(
    input: Tensor,
    dim: Dim = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> tuple[Tensor, Tensor]:
    """std and mean of the same elements, with the arguments of std."""
    dims, divisor = freedom("std_mean", floating(input, "std_mean"), dim, unbiased, correction)
    return StdMean.apply(input, dims, divisor, keepdim)


class Prod(Operation):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
        ctx.save_for_backward(x)
        ctx.dims = dims
        wide = None if x._array.dtype.kind == "f" else np.int64
        with quiet():
            y = np.asarray(in_single(x._array).prod(dims, wide, keepdims=keepdim), order="C")
            return make(y if wide else y.astype(x._array.dtype, copy=False))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        shape = x._array.shape
        if len(ctx.dims) == len(shape):
            others = products_of_others(x.reshape(x._array.size)).reshape(shape)
        else:
            others = products_of_others(x.transpose(ctx.dims[0], -1)).transpose(ctx.dims[0], -1)
        return spread(g, shape, ctx.dims) * others, None, None


def products_of_others(x: Tensor) -> Tensor:
    """For each element along the last dimension, the product of all the others there.

    Elements are multiplied in pairs, pairs of pairs and so on; the product of what a pair is not
    in, times its other half, is the answer. Nothing is divided, so zeros give right derivatives
    of any order.
    """
    n = x._array.shape[-1]
    if n < 2:
        return make(np.ones_like(x._array))
    half = n // 2
    left, right = x.narrow(-1, 0, half), x.narrow(-1, half, half)
    single = x.narrow(-1, 2 * half, n % 2)
    others = products_of_others(cat((left * right, single), -1))
    above = others.narrow(-1, 0, half)
    return cat((above * right, above * left, others.narrow(-1, half, n % 2)), -1)


@method
@numpy_names
def prod(
    input: Tensor, dim: int | None = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """The product of all elements, or along the dimension dim; 1 of none.

    input: any shape; integers and booleans are multiplied as int64. The slope by each element is
    the product of the others, with zeros among them too.
    """
    if dtype is not None:
        input = input.to(dtype)
    dims = axes(None if dim is None else operator.index(dim), input.ndim)
    out: Tensor = Prod.apply(input, dims, keepdim)
    return out if dtype is None else out.to(dtype)


class Norm(Operation):
    @staticmethod
    def forward(ctx: Any, x: Tensor, p: float, dims: tuple[int, ...], keepdim: bool) -> Tensor:
        ctx.shape, ctx.dims, ctx.p = array_of(x).shape, dims, p
        with quiet():
            y = as_of(x, np.asarray(norm_of(in_single(array_of(x)), p, dims, keepdim), order="C"))
        ctx._to_save = (x, y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        x, y = ctx.saved_tensors
        if ctx.p == 0:
            return None, None, None, None
        y, g = spread(y, ctx.shape, ctx.dims), spread(g, ctx.shape, ctx.dims)
        return through_norm(g, x, y, ctx.p, ctx.dims), None, None, None


def norm_of(x: Any, p: float, dims: tuple[int, ...], keepdim: bool) -> Any:
    """The p-norm of an array over dims."""
    if p == 0:
        return (x != 0).sum(dims, x.dtype, keepdims=keepdim)
    if p == 2:
        return root.run(kernels.sum_forward(multiply.run(x, x), dims, keepdim))
    size = LOOPS["abs"].run(x)
    if math.isinf(p):
        return kernels.extreme_forward(size, dims, keepdim, p > 0)
    return (size**p).sum(dims, keepdims=keepdim) ** (1.0 / p)


def through_norm(g: Tensor, x: Tensor, y: Tensor, p: float, dims: tuple[int, ...]) -> Tensor:
    """The gradient of x, given that of its p-norm y; 0 where y is 0."""
    if p == 2:
        return g * quotient(x, y)
    sign = np.sign(x._array)
    if p == 1:
        return g * make(sign)
    if math.isinf(p):
        found = np.abs(x._array) == y._array
        with quiet():
            share = sign * found / found.sum(dims, keepdims=True)
        return g * make(share.astype(sign.dtype))
    parts = make(sign) * (x == 0.0).where_else(0.0, x.abs() ** (p - 1.0))
    return parts * (y == 0.0).where_else(0.0, g * y ** (1.0 - p))


def quotient(x: Tensor, y: Tensor) -> Tensor:
    """x / y, but 0 where y is 0."""
    if modes.is_grad_enabled():
        return (y == 0.0).where_else(0.0, x / y)
    a, b = array_of(x), array_of(y)
    with quiet():
        return make(np.where(b == 0.0, 0.0, a / b))


@method
@numpy_names
def norm(
    input: Tensor,
    p: float | str | None = "fro",
    dim: Dim = None,
    keepdim: bool = False,
    dtype: Any = None,
) -> Tensor:
    """(sum of |x| ** p) ** (1 / p) over all elements, or over the dimensions dim.

    input: floating, any shape. p: 2 by default, also called "fro"; inf is the largest |x|, -inf
    the smallest, 0 the number of elements that are not 0. The slope at 0 is 0; where several |x|
    are the largest they share it evenly.
    Raises RuntimeError for integers, and where p <= 0 or inf is asked of no elements.
    """
    p = 2.0 if p in ("fro", None) else p
    if isinstance(p, str):
        raise RuntimeError(f"norm: p must be a number, 'fro' or inf; got {p!r}, of matrices only")
    input = floating(input if dtype is None else input.to(dtype), "norm")
    dims = axes(dim, input.ndim)
    if (p < 0 or math.isinf(p)) and count(input, dims) == 0:
        raise RuntimeError(
            f"norm: cannot compute the {p:g} norm of no elements (shape {tuple(input.shape)}, "
            f"dim {dim}), as there is no such number; use another p"
        )
    return Norm.apply(input, float(p), dims, keepdim)


def logical(function: Any, x: Tensor, dim: Dim, keepdim: bool) -> Tensor:
    """A bool tensor, of uint8 a uint8 one, outside any graph."""
    kind = np.uint8 if x._array.dtype == np.uint8 else np.bool_
    found = function(x._array, axes(dim, x.ndim), keepdims=keepdim)
    return make(np.array(found, kind, order="C"))


@method
@numpy_names
def all(input: Tensor, dim: Dim = None, keepdim: bool = False) -> Tensor:
    """Whether all elements, or all along the dimensions dim, are not 0; True of none."""
    return logical(np.all, input, dim, keepdim)


@method
@numpy_names
def any(input: Tensor, dim: Dim = None, keepdim: bool = False) -> Tensor:
    """Whether an element, or one along the dimensions dim, is not 0; False of none."""
    return logical(np.any, input, dim, keepdim)


@method
def count_nonzero(input: Tensor, dim: Dim = None) -> Tensor:
    """How many elements, or how many along the dimensions dim, are not 0, as int64."""
    return make(np.asarray((input._array != 0).sum(axes(dim, input.ndim), np.int64), order="C"))
