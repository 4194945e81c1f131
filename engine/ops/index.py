"""Indexing: elements taken out of a tensor, and put into one.

An index of integers, slices, Ellipsis and None gives a view; lists, integer tensors and masks
(bool tensors) give a copy. Elements that are taken more than once get the sum of the gradients.
"""

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from engine import dtypes, interpreter, kernels, modes, nodes
from engine.attention import warn
from engine.nodes import array_of
from engine.ops.dims import axis, broadcast
from engine.ops.shape import (
    Alias,
    Diagonal,
    InPlace,
    PutBack,
    Select,
    Slice,
    along,
    as_operand,
    copy_,
    fill_,
    filling,
    unsqueeze,
)
from engine.promotion import FLOAT32, FLOAT64
from engine.quiet import quiet
from engine.tensors import (
    Operation,
    Tensor,
    applied,
    applied_in_place,
    is_mask_of,
    make,
    method,
    unseen,
    viewed,
)
from engine.value import is_number

EVERY = slice(None)
ndarray = np.ndarray


# what stands in the brackets


def as_item(item: Any) -> Any:
    """One item of an index as an int, a slice, None, Ellipsis, or an array of integers or bools."""
    if item is None or item is Ellipsis or type(item) is int:
        return item
    if isinstance(item, slice):
        if item.step is not None and operator.index(item.step) < 1:
            raise ValueError(f"step must be greater than zero; got {item.step}; flip reverses")
        return item
    if isinstance(item, nodes.TensorBase):
        return as_places(array_of(item))
    if isinstance(item, (bool, int, np.integer, np.bool_)):
        return np.asarray(item) if isinstance(item, (bool, np.bool_)) else int(item)
    return as_places(item if isinstance(item, ndarray) else listed(item))


def listed(item: Any) -> Any:
    """A list of places, or of bools, as an array."""
    if not isinstance(item, (list, tuple, range)):
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are "
            f"valid indices (got {type(item).__name__})"
        )
    array = np.asarray([x.tolist() if isinstance(x, Tensor) else x for x in item])
    return array if array.size else array.astype(np.int64)


def as_places(array: Any) -> Any:
    """An array of places or a mask, or one place as an int."""
    kind = interpreter.dtype_of(array).kind
    if kind not in "iub":
        raise IndexError(
            f"tensors used as indices must be long, int, byte or bool tensors; got {array.dtype}"
        )
    if kind == "u" and array.dtype == np.uint8:
        return array.astype(bool)
    return int(array) if array.ndim == 0 and kind != "b" else array


def as_tuple(index: Any) -> tuple[Any, ...]:
    """The items of an index. As in PyTorch a list counts as a tuple if it holds more than numbers;
    NumPy takes a list of lists as one array, so there is a warning."""
    if isinstance(index, list) and any(map(is_item, index)):
        if False not in [isinstance(x, (list, tuple)) for x in index]:
            warn(
                "an index that is a list of lists is read as a tuple of lists; write "
                "x[tuple(index)], or x[engine.tensor(index)] for one index of several dimensions"
            )
        return tuple(index)
    return index if isinstance(index, tuple) else (index,)


def is_item(x: Any) -> bool:
    """Whether x, in a list, is not a number."""
    return x is None or x is Ellipsis or isinstance(x, (slice, list, tuple, Tensor, np.ndarray))


def separated(index: Any, shape: tuple[int, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...] | None]:
    """The index in two steps: first a basic one, of integers, slices and None, then one of arrays
    on its result, or None where there are none."""
    items = filled([as_item(x) for x in as_tuple(index)], shape)
    if not hold_arrays(items):
        return within(items, shape), None
    basic: list[Any] = []
    advanced: list[Any] = []
    d = 0
    for item in items:
        for_basic, for_advanced, width = halves(item, shape, d)
        basic += for_basic
        advanced += for_advanced
        d += width
    return tuple(basic), tuple(advanced)


def hold_arrays(items: list[Any]) -> bool:
    """Whether an array is among the items of an index."""
    for x in items:  # noqa: SIM110  any() makes a generator
        if isinstance(x, ndarray):
            return True
    return False


def within(items: list[Any], shape: tuple[int, ...]) -> tuple[Any, ...]:
    """A basic index, whose places the shape has."""
    d = 0
    for item in items:
        if type(item) is int:
            check_place(item, shape[d], d)
        if item is not None:
            d += 1
    return tuple(items)


def halved(index: Any, x: Any) -> tuple[tuple[Any, ...], tuple[Any, ...] | None]:
    """An index of a Tensor in two steps, at once for a mask of its own shape."""
    if isinstance(index, nodes.TensorBase) and is_mask_of(index, x):
        return (), (array_of(index),)
    return separated(index, interpreter.shape_of(array_of(x)))


def filled(items: list[Any], shape: tuple[int, ...]) -> list[Any]:
    """The items with the first Ellipsis as the slices it stands for, and without the others."""
    used, ellipsis = 0, False
    for x in items:
        if x is Ellipsis:
            ellipsis = True
        elif x is not None:
            used += x.ndim if is_mask(x) else 1
    if used > len(shape):
        if not shape and items == [x for x in items if type(x) is int]:
            raise IndexError(
                "invalid index of a 0-dim tensor. Use `tensor.item()` to convert it to a number"
            )
        raise IndexError(f"too many indices for tensor of dimension {len(shape)}; got {used}")
    if not ellipsis:
        return items
    rest = [EVERY] * (len(shape) - used)
    out: list[Any] = []
    for item in items:
        out += [item] if item is not Ellipsis else rest
        rest = [] if item is Ellipsis else rest
    return out


def is_mask(item: Any) -> bool:
    return isinstance(item, ndarray) and interpreter.dtype_of(item).kind == "b"


def halves(item: Any, shape: tuple[int, ...], d: int) -> tuple[list[Any], list[Any], int]:
    """What an item that stands at dimension d gives to the basic and to the array index, and the
    number of dimensions it takes."""
    if type(item) is int:
        check_place(item, shape[d], d)
        return [item], [], 1
    if is_mask(item):
        check_mask(item, shape, d)
        return ([EVERY] * item.ndim, [item], item.ndim) if item.ndim else ([None], [item[None]], 0)
    if isinstance(item, ndarray):
        return [EVERY], [item], 1
    return [item], [EVERY], item is not None


def check_place(i: int, n: int, d: int) -> None:
    if not -n <= i < n:
        raise IndexError(f"index {i} is out of bounds for dimension {d} with size {n}")


def check_mask(mask: Any, shape: tuple[int, ...], d: int) -> None:
    """Refuse a mask whose shape is not that of the dimensions it stands at."""
    for i, n in enumerate(mask.shape):
        if n != shape[d + i]:
            raise IndexError(
                f"The shape of the mask {list(mask.shape)} at index {i} does not match the shape "
                f"of the indexed tensor {list(shape)} at index {d + i}"
            )


def trivial(basic: tuple[Any, ...]) -> bool:
    """Whether a basic index takes everything as it is."""
    return last_part(basic) is EVERY


def last_part(basic: tuple[Any, ...]) -> Any:
    """The last item that is no slice of all of a dimension; EVERY where there is none."""
    for x in reversed(basic):
        if not is_every(x):
            return x
    return EVERY


def is_every(x: Any) -> bool:
    """Whether an item is a slice of all of a dimension."""
    return type(x) is slice and x.start is None and x.stop is None and x.step is None


# taking


def save_index(ctx: Any, index: tuple[Any, ...], others: tuple[Any, ...] = ()) -> None:
    """Keep an index for backward, and other tensors. Its arrays are copied: changing the tensor
    that they came from must not change a gradient."""
    if True in ctx.needs_input_grad and modes.is_grad_enabled():
        ctx.index = tuple([None if isinstance(x, ndarray) else x for x in index])
        arrays = [make(x.copy()) for x in index if isinstance(x, ndarray)]
        ctx.save_for_backward(*others, *arrays)


def saved_index(ctx: Any) -> tuple[Any, ...]:
    """The index that save_index kept."""
    arrays = iter(ctx.saved_tensors[-ctx.index.count(None) :])
    return tuple(next(arrays)._array if x is None else x for x in ctx.index)


class Index(Operation):
    """Indexing by a tuple with arrays in it."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, index: tuple[Any, ...]) -> Tensor:
        array = array_of(x)
        ctx.shape = interpreter.shape_of(array)
        save_index(ctx, index)
        return make(taken(array, index))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        index = saved_index(ctx)
        if unseen():
            return make(add_back(array_of(g), index, ctx.shape)), None
        return AddBack.apply(g, index, ctx.shape), None


class AddBack(Operation):
    """Zeros of the given shape with each element of g added at its place: Index transposed."""

    @staticmethod
    def forward(ctx: Any, g: Tensor, index: tuple[Any, ...], shape: tuple[int, ...]) -> Tensor:
        ctx.index = index
        return make(add_back(array_of(g), index, shape))

    @staticmethod
    def backward(ctx: Any, h: Tensor) -> Any:
        return Index.apply(h, ctx.index), None, None


def add_back(array: Any, index: tuple[Any, ...], shape: tuple[int, ...]) -> Any:
    """Zeros of the given shape with each element of the array added at its place."""
    whole = np.zeros(shape, interpreter.dtype_of(array))
    put_into(whole, index, array, True)
    return whole


def taken(array: Any, index: tuple[Any, ...]) -> Any:
    """The elements of an array, row by row; IndexError as PyTorch's."""
    try:
        found = array[index]
    except IndexError as error:
        raise IndexError(str(error).replace("axis", "dimension")) from None
    if isinstance(found, ndarray) and interpreter.is_contiguous(found):
        return found
    return np.asarray(found, order="C")  # of places without dimensions NumPy returns a number


def only_masks(index: tuple[Any, ...]) -> bool:
    """Whether an index has no places in it, so that none occurs twice."""
    return False not in [is_mask(x) or isinstance(x, slice) for x in index]


def put_into(array: Any, index: tuple[Any, ...], values: Any, accumulate: bool) -> None:
    """Put values into an array, or add them, each as often as its place occurs."""
    mask = index[0]
    if type(values) is float and not accumulate and is_mask(mask) and mask.ndim == array.ndim:
        kernels.put_number(array, mask, values)
        return
    values = np.asarray(values)
    try:
        if not accumulate and values.ndim == 0 and is_mask(mask):
            number = values if values.dtype is array.dtype else values.astype(array.dtype)
            if mask.ndim == array.ndim:
                kernels.put_number(array, mask, number)
            else:
                array[index] = number
        elif not accumulate:
            array[index] = values
        elif only_masks(index):
            array[index] += values
        else:
            np.add.at(array, index, values)
    except IndexError as error:
        raise IndexError(str(error).replace("axis", "dimension")) from None
    except (TypeError, ValueError):
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(np.shape(values))} cannot be broadcast "
            f"to indexing result of shape {list(array[index].shape)}"
        ) from None


def getitem(input: Tensor, index: Any) -> Tensor:
    """input[index]: a view for integers, slices, Ellipsis and None, else a copy.

    As in NumPy, but that integers beside lists and tensors are applied first. IndexError for
    places beyond the shape, ValueError for steps below 1.
    """
    basic, advanced = halved(index, input)
    if advanced is None:
        return basic_view(input, basic)
    source = input if trivial(basic) else viewed(Slice, (input, basic))
    return applied(Index, (source, advanced))


def basic_view(input: Tensor, basic: tuple[Any, ...]) -> Tensor:
    """The view that a basic index takes; its node is named as PyTorch's last step of it."""
    last = last_part(basic)
    if last is EVERY:
        return viewed(Alias, (input, array_of(input).shape))
    if last is None and len(basic) == 1:
        return unsqueeze(input, 0)
    return viewed(Select if type(last) is int else Slice, (input, basic))


class IndexPut(InPlace):
    """Assignment to, or with accumulate addition at, places given by a tuple with arrays in it."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, values: Any, index: Any, accumulate: bool) -> Tensor:
        ctx.accumulate = accumulate
        save_index(ctx, index)
        return InPlace.forward(ctx, x, values, index, accumulate)

    @staticmethod
    def change(x: Tensor, values: Any, index: Any, accumulate: bool) -> None:
        values = values._array if isinstance(values, Tensor) else values
        put_into(x._array, index, values, accumulate)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        index = saved_index(ctx)
        old = g if ctx.accumulate else IndexPut.apply(g.clone(), 0.0, index, False)
        if not ctx.needs_input_grad[1]:
            return old, None, None, None
        new = Index.apply(g, index)
        return old, new if ctx.accumulate else staying(new, index, g._array.shape), None, None


def staying(new: Tensor, index: tuple[Any, ...], shape: tuple[int, ...]) -> Tensor:
    """The gradients of values assigned to these places, 0 for those that a later one replaced."""
    if only_masks(index):
        return new
    places = np.arange(math.prod(shape)).reshape(shape)[index].ravel()
    last = np.zeros(math.prod(shape), int)
    last[places] = np.arange(places.size)
    stays = last[places] == np.arange(places.size)
    return new if stays.all() else new * make(stays.reshape(new._array.shape))


def setitem(input: Tensor, index: Any, value: Any) -> None:
    """input[index] = value, in place; value is a number, a Value, or a tensor that broadcasts.

    Where a place occurs twice the last value stays, and gets the gradient. Sizes of 1 in front of
    the value's shape do not matter.
    """
    basic, advanced = halved(index, input)
    target = input if not basic or trivial(basic) else Slice.apply(input, basic)
    value = assigned(value, target, advanced)
    if advanced is not None:
        applied_in_place(IndexPut, "index_put_", (target, value, advanced, False))
    elif isinstance(value, Tensor):
        copy_(target, value)
    else:
        fill_(target, value)


def assigned(x: Any, target: Tensor, index: tuple[Any, ...] | None) -> Any:
    """What is assigned, at places given by arrays if index is given, as a number or a tensor
    without more dimensions than it needs."""
    if isinstance(x, (int, float)):
        dtype = array_of(target).dtype
        if (dtype is FLOAT32 or dtype is FLOAT64) and -65504 <= x <= 65504:
            return float(x)
        return dtypes.checked(x, dtype)
    x = as_operand(x, target)
    if not isinstance(x, Tensor) or not x.ndim:
        return filling("setitem", x, target)
    if index is not None:
        if x._array.size == 1 and is_one_mask(index):
            return x.reshape(())
        check_dtype("Index put", target, x)
    extra = next((i for i, n in enumerate(x._array.shape) if n != 1), x.ndim)
    return x.reshape(x._array.shape[extra:]) if extra else x


def is_one_mask(index: tuple[Any, ...]) -> bool:
    """Whether one mask is all that an index has beside slices: PyTorch fills it with one number of
    any dtype."""
    return [is_mask(x) for x in index if isinstance(x, ndarray)] == [True]


def check_dtype(name: str, x: Tensor, source: Tensor) -> None:
    """Refuse a source of another dtype, which PyTorch does not convert."""
    if x._array.dtype != source._array.dtype:
        raise RuntimeError(
            f"{name} requires the source and destination dtypes match, got {x.dtype} for the "
            f"destination and {source.dtype} for the source; convert it with .to({x.dtype})"
        )


setattr(Tensor, "__getitem__", getitem)  # noqa: B010
setattr(Tensor, "__setitem__", setitem)  # noqa: B010


@method
def index_put_(
    input: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: bool = False
) -> Tensor:
    """input[indices] = values in place, or += with accumulate, where repeated places add up.

    indices: a tuple of integer or bool tensors. values: a tensor of input's dtype that broadcasts.
    """
    _, index = separated(tuple(indices), input._array.shape)
    check_dtype("Index put", input, values)
    return IndexPut.apply(input, values, index, accumulate)


@method
def index_put(
    input: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: bool = False
) -> Tensor:
    """A copy of input changed as by index_put_."""
    return index_put_(input.clone(), indices, values, accumulate)


# one place for each element: gather and scatter


def check_places(name: str, places: Tensor, n: int, dim: int, error: Any = RuntimeError) -> None:
    """Refuse what are not integers from 0 to n - 1."""
    array = places._array
    if array.dtype.kind not in "iu":
        raise RuntimeError(
            f"{name}(): Expected dtype int32/int64 for index; got {places.dtype}; use .long()"
        )
    wrong = array[(array < 0) | (array >= n)]
    if wrong.size:
        raise error(f"{name}: index {wrong[0]} is out of bounds for dimension {dim} with size {n}")


def coordinates(name: str, x: Tensor, dim: int, index: Tensor) -> tuple[Any, ...]:
    """The array index that replaces dimension dim of each place by what `index` says there."""
    if index.ndim != x.ndim:
        raise RuntimeError(
            f"{name}: Index tensor must have the same number of dimensions as input tensor; got "
            f"{index.ndim} and {x.ndim}"
        )
    check_places(name, index, x._array.shape[dim], dim)
    for d, (n, most) in enumerate(zip(index._array.shape, x._array.shape, strict=True)):
        if d != dim and n > most:
            raise RuntimeError(
                f"{name}: Size does not match at dimension {d} expected index {list(index.shape)} "
                f"to be no larger than self {list(x.shape)} apart from dimension {dim}"
            )
    places = list(np.ogrid[tuple(slice(n) for n in index._array.shape)])
    places[dim] = index._array
    return tuple(places)


def rows(x: Tensor) -> Tensor:
    """A 0-d tensor as one of one dimension, which these operations need."""
    return x if x.ndim else unsqueeze(x, 0)


class Gather(Index):
    """Indexing by one place along a dimension for each element; named as PyTorch's."""


@method
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """For each element of index the element of input at that place along dim.

    For dim 0 of 2: out[i, j] = input[index[i, j], j]. index: integers from 0 up, as many
    dimensions as input, no larger than it but along dim. Returns the shape of index.
    """
    d = axis(dim, input.ndim)
    places = coordinates("gather", rows(input), d, rows(index))
    out = Gather.apply(rows(input), places)
    return out if index.ndim else out.reshape(())


@method
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """gather with input and indices broadcast; without dim from all elements in one row."""
    if dim is None:
        return gather(input.reshape(-1), 0, indices.reshape(-1))
    d = axis(dim, input.ndim)
    a, b = list(input._array.shape), list(indices._array.shape)
    a[d] = b[d] = 1
    common = list(broadcast(tuple(a), tuple(b)))
    a, b = common.copy(), common
    a[d], b[d] = input._array.shape[d], indices._array.shape[d]
    return gather(input.expand(a), d, indices.expand(b))


class Scatter(IndexPut):
    """Assignment to one place along a dimension for each element; named as PyTorch's."""


class ScatterAdd(IndexPut):
    """Addition at one place along a dimension for each element; named as PyTorch's."""


def spread(
    kind: Any, name: str, input: Tensor, dim: int, index: Tensor, src: Any, accumulate: bool
) -> Tensor:
    """Put src, or add it, at the places that index gives along dim."""
    d = axis(dim, input.ndim)
    target, index = rows(input), rows(index)
    places = coordinates(name, target, d, index)
    if isinstance(src, Tensor) and (src.ndim or index.ndim > 1):
        src = covering(name, src, input, index)
    else:
        src = filling(name, src, input)
    kind.apply(target, src, places, accumulate)
    return input


def covering(name: str, src: Any, input: Tensor, index: Tensor) -> Any:
    """The part of src that index covers."""
    check_dtype(name, input, src)
    if src.ndim != index.ndim or any(map(operator.gt, index._array.shape, src._array.shape)):
        raise RuntimeError(
            f"{name}: Expected index {list(index.shape)} to be no larger size than src "
            f"{list(src.shape)}"
        )
    return src if src.shape == index.shape else src[tuple(slice(n) for n in index.shape)]


@method
def scatter_(
    input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None,
    reduce: str | None = None,
) -> Tensor:  # fmt: skip
    """For each element of index put that of src, or a number, at that place along dim, in place.

    For dim 0 of 2: input[index[i, j], j] = src[i, j]. index: integers from 0 up, no larger than
    src, and than input but along dim; where a place occurs twice the last value stays, and gets
    the gradient. reduce: "add" adds instead.
    """
    if reduce not in (None, "add"):
        raise RuntimeError(f'scatter_: reduce needs to be None or "add"; got {reduce!r}')
    kind = Scatter if reduce is None else ScatterAdd
    src = value if src is None else src
    return spread(kind, "scatter_", input, dim, index, src, reduce == "add")


@method
def scatter(
    input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None,
    reduce: str | None = None,
) -> Tensor:  # fmt: skip
    """A copy of input changed as by scatter_."""
    return scatter_(input.clone(), dim, index, src, value=value, reduce=reduce)


@method
def scatter_add_(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """scatter_, but added to what is there, as often as a place occurs."""
    return spread(ScatterAdd, "scatter_add_", input, dim, index, src, True)


@method
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """A copy of input changed as by scatter_add_."""
    return scatter_add_(input.clone(), dim, index, src)


# whole rows


class IndexSelect(Index):
    """Indexing by places along one dimension; named as PyTorch's."""


def row_index(name: str, x: Tensor, dim: int, index: Tensor) -> tuple[Any, ...]:
    """The array index that takes these places of dimension dim."""
    if index.ndim > 1:
        raise IndexError(f"{name}(): Index is supposed to be a vector; got {index.ndim} dimensions")
    kind = RuntimeError if name == "index_add_" else IndexError
    check_places(name, index, rows(x)._array.shape[dim], dim, kind)
    return along(dim, index._array.reshape(-1))


@method
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The places of dimension dim that index, a row of integers from 0 up, names, in its order."""
    d = axis(dim, input.ndim)
    if not input.ndim and index.numel() != 1:
        raise RuntimeError(
            f"index_select(): Index to scalar can have only 1 value, got {index.numel()} value(s)"
        )
    out = IndexSelect.apply(rows(input), row_index("index_select", input, d, index))
    return out if input.ndim else out.reshape(())


@method
def repeat_interleave(
    input: Tensor, repeats: Any, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """A copy with each place of dimension dim repeated on the spot: so many times, or as many as
    the row `repeats` says of it. Without dim all elements lie in one row."""
    x, d = (input.reshape(-1), 0) if dim is None else (rows(input), axis(dim, input.ndim))
    times, n = getattr(repeats, "_array", repeats), x._array.shape[d]
    if np.ndim(times) and len(times) not in (1, n):
        raise RuntimeError(
            "repeat_interleave: repeats must have the same size as input along dim, but got "
            f"repeats.size(0) = {len(times)} and input.size({d}) = {n}"
        )
    return index_select(x, d, make(np.repeat(np.arange(n), times)))


class IndexAdd(IndexPut):
    """Addition of whole rows; named as PyTorch's."""


class IndexCopy(IndexPut):
    """Assignment of whole rows; named as PyTorch's."""


class IndexFill(IndexPut):
    """Assignment of one number to whole rows; named as PyTorch's."""


def put_rows(
    kind: Any, name: str, input: Tensor, dim: int, index: Tensor, source: Tensor
) -> Tensor:
    """Put or add the rows of source at the places of dimension dim that index names."""
    d = axis(dim, input.ndim)
    places = row_index(name, input, d, index)
    check_dtype(name, input, source)
    check_rows(name, rows(input), d, index.numel(), rows(source))
    kind.apply(rows(input), rows(source), places, kind is IndexAdd)
    return input


def check_rows(name: str, x: Tensor, dim: int, n: int, source: Tensor) -> None:
    """Refuse a source that has not n rows, each of the shape of x's."""
    needed = list(x._array.shape)
    needed[dim] = n
    if list(source._array.shape) != needed:
        raise (IndexError if name == "index_copy_" else RuntimeError)(
            f"{name}: Number of indices ({n}) should be equal to source.size(dim), and source must "
            f"match self in the other dimensions: it needs the shape {needed}, for dim: {dim}; got "
            f"{list(source.shape)}"
        )


@method
def index_add_(
    input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: float = 1
) -> Tensor:
    """Add alpha * source to the places of dimension dim that index names, in place; a place that
    occurs twice gets both."""
    source = source if alpha == 1 else source * alpha
    return put_rows(IndexAdd, "index_add_", input, dim, index, source)


@method
def index_add(
    input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: float = 1
) -> Tensor:
    """A copy of input changed as by index_add_."""
    return index_add_(input.clone(), dim, index, source, alpha=alpha)


@method
def index_copy_(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """Set the places of dimension dim that index names to those of source, in place."""
    return put_rows(IndexCopy, "index_copy_", input, dim, index, source)


@method
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """A copy of input changed as by index_copy_."""
    return index_copy_(input.clone(), dim, index, source)


@method
def index_fill_(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """Set the places of dimension dim that index names to one number, in place."""
    d = axis(dim, input.ndim)
    value = filling("index_fill_", value, input)
    IndexFill.apply(rows(input), value, row_index("index_fill_", input, d, index), False)
    return input


@method
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """A copy of input changed as by index_fill_."""
    return index_fill_(input.clone(), dim, index, value)


# masks


class MaskedFill(IndexPut):
    """Assignment of one number where a mask holds; named as PyTorch's."""


class MaskedScatter(IndexPut):
    """Assignment in order where a mask holds; named as PyTorch's."""


class MaskedSelect(Index):
    """Indexing by a mask; named as PyTorch's."""


def mask_index(name: str, mask: Tensor, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """The array index that takes the places of the shape where the mask, broadcast, holds."""
    if mask._array.dtype.kind != "b":
        raise RuntimeError(
            f"{name} only supports boolean masks, but got mask with dtype {mask.dtype}; compare, "
            "or use .bool()"
        )
    if broadcast(mask._array.shape, shape) != shape:
        raise RuntimeError(
            f"{name}: the mask needs to broadcast to the shape {list(shape)}; got "
            f"{list(mask.shape)}"
        )
    return (np.broadcast_to(mask._array, shape),)


@method
def masked_fill_(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """Set the elements where the mask holds to one number, in place; a Value or a 0-d tensor gets
    the sum of their gradients."""
    value = filling("masked_fill_", value, input)
    index = mask_index("masked_fill_", mask, input._array.shape)
    return MaskedFill.apply(input, value, index, False)


@method
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """A copy of input, broadcast with the mask, changed as by masked_fill_."""
    return masked_fill_(spread_over(input, mask), mask, value)


def spread_over(input: Tensor, mask: Tensor) -> Tensor:
    """A copy of input in the shape that it and the mask broadcast to."""
    shape = broadcast(mask._array.shape, input._array.shape)
    return input.clone() if shape == input._array.shape else input.expand(shape).clone()


@method
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where the mask holds, in one row; input and mask are broadcast."""
    shape = broadcast(mask._array.shape, input._array.shape)
    index = mask_index("masked_select", mask, shape)
    return MaskedSelect.apply(input.expand(shape), index)


@method
def masked_scatter_(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """Set the elements where the mask holds to the first ones of source, in order, in place."""
    index = mask_index("masked_scatter_", mask, input._array.shape)
    check_dtype("masked_scatter_", input, source)
    n = int(index[0].sum())
    if source.numel() < n:
        raise RuntimeError(
            "masked_scatter_: Number of elements of source < number of ones in mask; got "
            f"{source.numel()} and {n}"
        )
    return MaskedScatter.apply(input, source.reshape(-1)[:n], index, False)


@method
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """A copy of input, broadcast with the mask, changed as by masked_scatter_."""
    return masked_scatter_(spread_over(input, mask), mask, source)


# the rest


class Take(Index):
    """Indexing as if all elements lay in one row; named as PyTorch's."""


def in_one_row(name: str, input: Tensor, index: Tensor) -> tuple[Any, ...]:
    """The array index of these places of all elements in one row."""
    n, places = input.numel(), index._array
    if places.dtype.kind not in "iu":
        raise RuntimeError(f"{name}(): Expected a long tensor for index, but got {index.dtype}")
    wrong = places[(places < -n) | (places >= n)]
    if wrong.size:
        raise IndexError(
            f"out of range: tried to access index {wrong[0]} on a tensor of {n} elements."
        )
    return np.unravel_index(places % max(n, 1), input._array.shape or (1,))


@method
def take(input: Tensor, index: Tensor) -> Tensor:
    """The elements at these places of all elements in one row; the shape is that of index."""
    return Take.apply(rows(input), in_one_row("take", input, index))


class Put(IndexPut):
    """Assignment to places among all elements in one row; named as PyTorch's."""


@method
def put_(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """Set the elements at the places that index names, counted row by row, to those of source, in
    place; with accumulate add them."""
    check_dtype("put_", input, source)
    places = in_one_row("put_", input, index.reshape(-1))
    Put.apply(rows(input), source.reshape(-1), places, accumulate)
    return input


@method
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """A copy of input changed as by put_."""
    return put_(input.clone(), index, source, accumulate)


class Where(Operation):
    @staticmethod
    def forward(ctx: Any, condition: Tensor, a: Any, b: Any) -> Tensor:
        ctx.save_for_backward(condition)
        wanted = common_dtype(a, b)
        with quiet():
            both = [side(x, wanted) for x in (a, b)]
        return make(np.asarray(np.where(condition._array, *both)))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        (condition,) = ctx.saved_tensors
        _, for_a, for_b = ctx.needs_input_grad
        a = where(condition, g, 0.0) if for_a else None
        b = where(condition, 0.0, g) if for_b else None
        return None, a, b


def side(x: Any, wanted: Any) -> Any:
    """The array of one side of a choice in this dtype."""
    if isinstance(x, Tensor):
        return x._array.astype(wanted, copy=False)
    return np.asarray(x, wanted) if wanted.kind == "f" else dtypes.checked(x, wanted)


def common_dtype(a: Any, b: Any) -> Any:
    """The NumPy dtype of a choice between two tensors or numbers."""
    found = {x._array.dtype for x in (a, b) if isinstance(x, Tensor)}
    same = found.pop() if len(found) == 1 else None
    return same if same is not None and same.kind == "f" else dtypes.result_type(a, b).numpy


def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """input where the condition holds, other elsewhere: tensors or numbers, all broadcast.

    condition: a bool tensor. Each side gets the gradient where it was taken and 0 elsewhere, even
    where the other side is nan. With the condition alone: nonzero as a tuple.
    """
    if input is None and other is None:
        return nonzero(condition, as_tuple=True)
    if condition._array.dtype.kind != "b":
        raise RuntimeError(
            "where expected condition to be a boolean tensor, but got a tensor with dtype "
            f"{condition.dtype}; compare, or use .bool()"
        )
    a, b = choices(input, other)
    broadcast(*(x._array.shape for x in (condition, a, b) if isinstance(x, Tensor)))
    return Where.apply(condition, a, b)


def choices(a: Any, b: Any) -> tuple[Any, Any]:
    """Both sides of where as tensors or numbers; a Value takes the dtype of the tensor beside."""
    like = next((x for x in (a, b) if isinstance(x, Tensor)), make(np.zeros(())))
    sides = as_operand(a, like), as_operand(b, like)
    for x in sides:
        if not isinstance(x, (Tensor, np.bool_)) and not is_number(x):
            raise TypeError(f"where: input and other must be tensors, Values or numbers; got {x!r}")
    return sides


@method
def where_else(condition: Tensor, a: Any, b: Any) -> Tensor:
    """a where this bool tensor holds, b elsewhere."""
    return where(condition, a, b)


def chosen_where(input: Tensor, condition: Tensor, other: Any) -> Tensor:
    """This tensor where the condition holds, other elsewhere: see engine.where."""
    return where(condition, input, other)


setattr(Tensor, "where", chosen_where)  # noqa: B010


@method
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """The places of the elements that are not 0, one row each; or a row for each dimension."""
    if as_tuple:
        return tuple(map(make, np.nonzero(rows(input)._array)))
    return make(np.argwhere(input._array))


@method
def argwhere(input: Tensor) -> Tensor:
    """The places of the elements that are not 0, one row each."""
    return nonzero(input)


class DiagEmbed(PutBack):
    """Zeros with the numbers on a diagonal; named as PyTorch's."""


@method
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Zeros with the last dimension of input as the diagonal of dim1 and dim2; the others stay.

    offset > 0 lies above the main diagonal.
    """
    ndim = input.ndim + 1
    i, j = axis(dim1, ndim), axis(dim2, ndim)
    if i == j:
        raise RuntimeError(f"diag_embed: dim1 and dim2 must differ; got {dim1} and {dim2}")
    n = input._array.shape[-1] + abs(offset)
    shape = list(input._array.shape[:-1])
    for d in sorted((i, j)):
        shape.insert(d, n)
    return DiagEmbed.apply(input, Diagonal, tuple(shape), (offset, i, j))
