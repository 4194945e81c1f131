"""Reductions of many sources into the places of a tensor: scatter_reduce and index_reduce."""

from typing import Any

import numpy as np

from engine import modes
from engine.nodes import Error, attach, shape_of
from engine.ops.dims import axis
from engine.ops.index import (
    Index,
    IndexPut,
    check_rows,
    coordinates,
    covering,
    row_index,
    save_index,
    saved_index,
)
from engine.ops.shape import copy_
from engine.tensors import Operation, Tensor, make, method

UFUNCS = {
    "sum": np.add,
    "mean": np.add,
    "prod": np.multiply,
    "amax": np.maximum,
    "amin": np.minimum,
}
# What does not change the result, in the place of the tensor's own number where it is left out.
NEUTRAL = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "amax": -np.inf, "amin": np.inf}

TWO_ZEROS = (
    "{0}: Double backward is unsupported for src when >1 zeros in src are scattered to the same "
    "position in self"
)


class Collect(Operation):
    """x with the sources reduced into its places, an index that may name one several times."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, src: Tensor, places: Any, how: str, own: bool) -> Tensor:
        array = x._array.copy()
        UFUNCS[how].at(array, places, src._array)
        if how == "mean":
            ctx.count = counted(places, x._array, own)
            whole = array.dtype.kind != "f"
            array = array // ctx.count._array if whole else array / ctx.count._array
        out = make(array.astype(x._array.dtype, copy=False))
        ctx.how = how
        save_index(ctx, places, (x, src, out))
        return out

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        x, src, out = ctx.saved_tensors[:3]
        places = saved_index(ctx)
        if ctx.how == "prod":
            pair = of_product(ctx, places, g, x, src, out)
        elif ctx.how in ("amax", "amin"):
            pair = of_extreme(places, g, x, src, out)
        else:
            share = g / ctx.count if ctx.how == "mean" else g
            pair = share, Index.apply(share, places)
        return (*pair, None, None, None)


class ScatterReduce(Collect):
    """Collect at one place along a dimension for each element; named as PyTorch's."""


class IndexReduce(Collect):
    """Collect at whole rows; named as PyTorch's."""


def counted(places: Any, like: Any, own: bool) -> Tensor:
    """How many numbers go into each place, 1 where there is none."""
    count = np.full(like.shape, float(own))
    np.add.at(count, places, 1.0)
    return make(np.maximum(count, 1.0).astype(like.dtype))


def of_extreme(places: Any, g: Tensor, x: Tensor, src: Tensor, out: Tensor) -> Any:
    """The gradients of amax and amin: equal shares for all that are equal to the result."""
    mine = x._array == out._array
    theirs = (src._array == out._array[places]).astype(x._array.dtype)
    count = mine.astype(x._array.dtype)
    np.add.at(count, places, theirs)
    share = g / make(np.maximum(count, 1))
    return share * make(mine.astype(count.dtype)), Index.apply(share, places) * make(theirs)


def of_product(ctx: Any, places: Any, g: Tensor, x: Tensor, src: Tensor, out: Tensor) -> Any:
    """The gradients of a product: for each number that of all others, zeros among them or not."""
    kind = type(ctx)._function
    zeros = make(src._array == 0)
    count = np.zeros(x._array.shape)
    np.add.at(count, places, zeros._array)
    rest = kind.apply(x.new_ones(x.shape), src, places, "prod", True)
    without = kind.apply(x, zeros.where_else(1.0, src), places, "prod", True)
    only = make(count[places] == 1).where_else(Index.apply(without, places), 0.0)
    others = zeros.where_else(only, Index.apply(out, places) / zeros.where_else(1.0, src))
    of_src = Index.apply(g, places) * others
    if modes.is_grad_enabled() and (count > 1).any():
        cut = Error(TWO_ZEROS.format(ctx.name()), ctx._edges, [shape_of(of_src)])
        of_src = attach(of_src.detach(), cut, 0)
    return g * rest, of_src


def collect(
    kind: Any, name: str, input: Tensor, src: Tensor, places: Any, how: str, own: bool
) -> Tensor:
    """The sources reduced into a copy of input, its own numbers being left out unless `own`."""
    if how not in UFUNCS or (kind is IndexReduce and how == "sum"):
        names = ", ".join(UFUNCS)
        raise RuntimeError(f"{name}: reduce argument must be one of {names}; got {how!r}")
    if not own:
        limits = None if input.is_floating_point() else np.iinfo(input._array.dtype)
        fill = NEUTRAL[how] if limits is None else np.clip(NEUTRAL[how], limits.min, limits.max)
        input = IndexPut.apply(input.clone(), fill, places, False)
    return kind.apply(input, src, places, how, own)


@method
def scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """A copy of input into which each element of src is reduced at the place that index gives
    along dim.

    reduce: "sum", "prod", "mean", "amax" or "amin"; ties of the last two share their gradient.
    include_self: whether input's own number counts where a source arrives. index: as scatter's.
    """
    places = coordinates("scatter_reduce", input, axis(dim, input.ndim), index)
    src = covering("scatter_reduce", src, input, index)
    return collect(ScatterReduce, "scatter_reduce", input, src, places, reduce, include_self)


@method
def scatter_reduce_(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """scatter_reduce in place."""
    return copy_(input, scatter_reduce(input, dim, index, src, reduce, include_self=include_self))


@method
def index_reduce(
    input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *,
    include_self: bool = True,
) -> Tensor:  # fmt: skip
    """A copy of input into whose rows along dim, given by index, those of source are reduced.

    reduce: "prod", "mean", "amax" or "amin"; ties of the last two share their gradient.
    """
    places = row_index("index_reduce", input, axis(dim, input.ndim), index)
    check_rows("index_reduce", input, axis(dim, input.ndim), index.numel(), source)
    return collect(IndexReduce, "index_reduce", input, source, places, reduce, include_self)


@method
def index_reduce_(
    input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *,
    include_self: bool = True,
) -> Tensor:  # fmt: skip
    """index_reduce in place."""
    new = index_reduce(input, dim, index, source, reduce, include_self=include_self)
    return copy_(input, new)
