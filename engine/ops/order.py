"""Largest, smallest and middle elements, and sorting.

nan is greater than any number. Where elements are equal, the first counts as found.
"""

from typing import Any, NamedTuple

import numpy as np

from engine import kernels
from engine.nodes import array_of
from engine.ops.dims import axis
from engine.ops.reduce import Dim, axes, kept, numpy_names, spread
from engine.quiet import quiet
from engine.tensors import Operation, Tensor, applied, make, method


class Selection(NamedTuple):
    """Elements of a tensor, and where they stood along a dimension, as int64."""

    values: Tensor
    indices: Tensor


def nonempty(name: str, x: Tensor, dims: tuple[int, ...]) -> None:
    """Refuse to look for an element among none."""
    for d in dims:
        if not x._array.shape[d]:
            raise IndexError(
                f"{name}(): Expected reduction dim {d} to have non-zero size; the input has shape "
                f"{tuple(x.shape)}"
            )


def nonempty_whole(name: str, x: Tensor, error: type[Exception] = RuntimeError) -> None:
    """The same for all elements of a tensor."""
    if not x._array.size:
        raise error(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
            f"reduction dim with the 'dim' argument; the input has shape {tuple(x.shape)}"
        )


# all elements, or several dimensions: equal ones share the gradient evenly


class Extreme(Operation):
    """An element of many, y; where several are equal to it, they share the gradient evenly.

    ctx.nans: whether a nan that was found counts as equal, as in PyTorch's max, min and median;
    in its amax and amin all gradients are nan then.
    """

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        x, y = ctx.saved_tensors
        x, y = x._array, kernels.spread(y._array, x._array.shape, ctx.dims)
        equal = (x == y) | (x != x) & (y != y) if ctx.nans else x == y
        with quiet():
            share = (equal / np.add.reduce(equal, ctx.dims, keepdims=True)).astype(x.dtype)
        return spread(g, x.shape, ctx.dims) * make(share), None, None, None


def found(ctx: Any, x: Tensor, y: Any, dims: tuple[int, ...], nans: bool) -> Tensor:
    """The tensor of y, and on ctx what its slope needs."""
    out = make(np.asarray(y, x._array.dtype))
    ctx.dims, ctx.nans, ctx._to_save = dims, nans, (x, out)
    return out


class Amax(Extreme):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dims: Any, keepdim: bool, nans: bool) -> Tensor:
        y = kernels.extreme_forward(array_of(x), dims, keepdim, True)
        return found(ctx, x, y, dims, nans)


class Amin(Extreme):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dims: Any, keepdim: bool, nans: bool) -> Tensor:
        y = kernels.extreme_forward(array_of(x), dims, keepdim, False)
        return found(ctx, x, y, dims, nans)


def over(
    name: str, kind: Any, x: Tensor, dim: Dim = None, keepdim: bool = False, nans: bool = False
) -> Tensor:
    """The largest or smallest over all dimensions or some, none of which may be empty."""
    array = array_of(x)
    dims = axes(dim, array.ndim)
    if not array.size:
        if dim is None or dim == ():
            nonempty_whole(name, x)
        nonempty(name, x, dims)
    out: Tensor = applied(kind, (x, dims, keepdim, nans))
    return out


@method
@numpy_names
def amax(input: Tensor, dim: Dim = (), keepdim: bool = False) -> Tensor:
    """The largest of all elements, or over the dimensions dim; nan if any is.

    The gradient is shared evenly by all that are the largest. Raises IndexError for an empty
    dimension, RuntimeError for an empty tensor without dim.
    """
    return over("amax", Amax, input, dim, keepdim)


@method
@numpy_names
def amin(input: Tensor, dim: Dim = (), keepdim: bool = False) -> Tensor:
    """The smallest of all elements, or over the dimensions dim, as amax the largest."""
    return over("amin", Amin, input, dim, keepdim)


# one dimension: elements at places


class Take(Operation):
    """The elements at other places along a dimension; no place is taken twice."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, places: Any, dim: int, keepdim: bool) -> Tensor:
        ctx.shape, ctx.dim = x._array.shape, dim
        ctx.places = places.copy() if ctx.needs_input_grad[0] else places  # those returned change
        return make(without(kernels.taken(array_of(x), places, dim), dim, keepdim))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return Put.apply(g, ctx.places, ctx.dim, ctx.shape), None, None, None


class Put(Operation):
    """Zeros, but for elements put at places along a dimension: the transpose of Take."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, places: Any, dim: int, shape: tuple[int, ...]) -> Tensor:
        ctx.places, ctx.dim, ctx.keepdim = places, dim, x.ndim == places.ndim
        return make(kernels.put_back(array_of(x), places, dim, shape))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return Take.apply(g, ctx.places, ctx.dim, ctx.keepdim), None, None, None


def without(x: Any, dim: int, keepdim: bool) -> Any:
    """The array without the dimension dim, of size 1, unless it is kept."""
    return x if keepdim or not x.ndim else x.squeeze(dim)


class Max(Take):
    """The largest along a dimension."""


class Min(Take):
    """The smallest along a dimension."""


class MedianAlong(Take):
    """The median along a dimension."""


def picked(name: str, kind: Any, where: Any, x: Tensor, dim: int, keepdim: bool) -> Selection:
    """The one element of each line along dim that `where` finds, by an operation of this kind."""
    places, d = at(name, where, x, dim)
    found = applied(kind, (x, places, d, keepdim))
    return Selection(found, make(without(places, d, keepdim)))


def at(name: str, where: Any, x: Tensor, dim: int) -> tuple[Any, int]:
    """Where `where` finds an element in each line along dim, which stays with size 1; and dim
    counted from the front."""
    array = array_of(x)
    d = axis(dim, array.ndim)
    if not array.size:
        nonempty(name, x, (d,))
    places = where(array if array.ndim else array.reshape(1), d)
    return np.asarray(places, order="C").reshape(kept(array.shape, (d,))), d


@method
@numpy_names
def max(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
    """The largest of all elements; with dim, (values, indices) along it; of a and b, maximum.

    nan if any is. The gradient of the largest of all is shared evenly by equal ones; along a
    dimension it goes to the first. Raises IndexError for an empty dimension, RuntimeError for an
    empty tensor without dim.
    """
    other = dim if isinstance(dim, Tensor) else other
    if other is not None:
        return input.maximum(other)
    if dim is None:
        return over("max", Amax, input, nans=True)
    return picked("max", Max, np.ndarray.argmax, input, dim, keepdim)


@method
@numpy_names
def min(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
    """The smallest of all elements; with dim, (values, indices) along it; of a and b, minimum.

    nan, equal elements, gradients and errors are as for max.
    """
    other = dim if isinstance(dim, Tensor) else other
    if other is not None:
        return input.minimum(other)
    if dim is None:
        return over("min", Amin, input, nans=True)
    return picked("min", Min, np.ndarray.argmin, input, dim, keepdim)


def position(name: str, where: Any, x: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    """Where NumPy finds the largest or smallest, outside any graph."""
    if dim is None:
        nonempty_whole(name, x, IndexError)
        found = np.asarray(where(array_of(x)))
        return make(found.reshape((1,) * x.ndim) if keepdim else found)
    places, d = at(name, where, x, dim)
    return make(without(places, d, keepdim))


@method
@numpy_names
def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Where the largest element stands, as int64: along dim, or among all, row by row.

    Raises IndexError for an empty dimension, or an empty tensor without dim.
    """
    return position("argmax", np.ndarray.argmax, input, dim, keepdim)


@method
@numpy_names
def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Where the smallest element stands, as argmax the largest."""
    return position("argmin", np.ndarray.argmin, input, dim, keepdim)


def middle(x: Any, dim: int) -> Any:
    """Where the lower median along dim stands, or the first nan; dim is kept with size 1."""
    n, nans = x.shape[dim], (x != x).sum(dim, keepdims=True)
    return np.take_along_axis(sorting(x, dim), np.where(nans, n - nans, (n - 1) // 2), dim)


def of_none(dtype: Any) -> Any:
    """The median of no numbers: nan, or what C makes of nan in a dtype of integers."""
    with quiet():
        return np.array(np.nan).astype(dtype)


class Median(Extreme):
    """The median of all elements."""

    middle = staticmethod(middle)

    @classmethod
    def forward(cls, ctx: Any, x: Tensor) -> Tensor:
        flat = x._array.reshape(x._array.size)
        y = flat[cls.middle(flat, 0)[0]] if flat.size else of_none(flat.dtype)
        return found(ctx, x, y, tuple(range(x.ndim)), True)


@method
@numpy_names
def median(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The median of all elements; with dim, (values, indices) along it.

    Of an even number it is the lower of the two in the middle; nan if any is, or of none. The
    gradient of the median of all is shared evenly by equal ones; along a dimension it goes to one.
    Raises IndexError for an empty dimension.
    """
    if dim is None:
        return Median.apply(input)
    return picked("median", MedianAlong, middle, input, dim, keepdim)


def middle_number(x: Any, dim: int) -> Any:
    """Where the lower median of what is not nan stands along dim; a nan where there is nothing."""
    n = x.shape[dim] - (x != x).sum(dim, keepdims=True)
    return np.take_along_axis(sorting(x, dim), np.maximum(n - 1, 0) // 2, dim)


class Nanmedian(Median):
    """The median of all elements that are not nan."""

    middle = staticmethod(middle_number)


@method
@numpy_names
def nanmedian(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The median of all elements that are not nan; with dim, (values, indices) along it.

    Of an even number it is the lower of the two in the middle; nan where all are. The gradient of
    the median of all is shared evenly by equal ones; along a dimension it goes to one. Raises
    IndexError for an empty dimension.
    """
    if dim is None:
        return Nanmedian.apply(input)
    return picked("nanmedian", MedianAlong, middle_number, input, dim, keepdim)


# sorting


class Sort(Take):
    """The elements in another order."""


class Kthvalue(Take):
    """One of the elements in another order."""


class Topk(Take):
    """The first of the elements in another order."""


def sorting(x: Any, dim: int, descending: bool = False) -> Any:
    """The places of the elements in their order; equal ones stay in theirs."""
    x = np.atleast_1d(x)
    if not descending:
        return np.argsort(x, dim, "stable")
    return x.shape[dim] - 1 - np.flip(np.argsort(np.flip(x, dim), dim, "stable"), dim)


@method
@numpy_names
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """The places of the elements along dim in ascending or descending order, as int64.

    Equal elements stay in their order, whatever `stable` says.
    """
    return make(sorting(input._array, axis(dim, input.ndim), descending).reshape(input.shape))


@method
@numpy_names
def sort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Selection:
    """(values, indices) in ascending or descending order along dim; nan counts as the largest.

    Equal elements stay in their order, whatever `stable` says. Each gradient goes back to where
    its element came from.
    """
    places = argsort(input, dim, descending)
    values = Sort.apply(input, places._array, axis(dim, input.ndim), True)
    return Selection(values, places)


@method
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Selection:
    """(values, indices) of the k-th smallest along dim, counted from 1; its gradient goes back to
    where it came from. Raises RuntimeError unless k is from 1 to the size of the dimension."""
    d, n = axis(dim, input.ndim), input._array.shape[dim] if input.ndim else 1
    if not 1 <= k <= n:
        raise RuntimeError(
            f"kthvalue: selected number k out of range: it needs to be from 1 to {n}, the size of "
            f"dim {d}; got {k}"
        )

    def kth(x: Any, dim: int) -> Any:
        return sorting(x, dim).take([k - 1], dim)

    return picked("kthvalue", Kthvalue, kth, input, d, keepdim)


@method
def topk(
    input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> Selection:
    """(values, indices) of the k largest, or smallest, along dim, always in order.

    Raises RuntimeError unless k is from 0 to the size of the dimension.
    """
    d, n = axis(dim, input.ndim), input._array.shape[dim] if input.ndim else 1
    if not 0 <= k <= n:
        raise RuntimeError(
            f"topk: selected index k out of range: k must be from 0 to {n}, the size of dim {d}; "
            f"got {k}"
        )
    places = sorting(input._array, d, largest)
    places = places.take(range(k), d) if input.ndim else places.reshape(())
    return Selection(Topk.apply(input, places, d, True), make(places))
