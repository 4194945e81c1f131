"""Shapes: the same numbers in another arrangement, as views wherever PyTorch gives views.

A view shares memory with its source, and a change in place of either is a change of both.
Dimensions count from 0, negative ones from the end; sizes may be given one by one or as a tuple.
"""

import math
import operator
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from engine import dtypes, interpreter, kernels, modes, views
from engine.devices import contiguous_format, preserve_format
from engine.nodes import Value, array_of
from engine.ops.dims import (
    Sizes,
    axis,
    broadcast,
    complete,
    each_axis,
    inverse,
    reverse,
    sizes,
)
from engine.quiet import quiet
from engine.tensors import (
    Operation,
    Size,
    Tensor,
    ViewOperation,
    applied,
    applied_in_place,
    constant,
    make,
    method,
    operation_node,
    unseen,
    viewed,
)


def as_operand(x: Any, like: Tensor) -> Any:
    """x as a tensor, a number as it is; a Value in the dtype of the tensor beside it."""
    if isinstance(x, Value):
        return x.as_tensor(like._array.dtype if like.is_floating_point() else None)
    return constant(x) if isinstance(x, np.ndarray) else x


# what a tensor is


@method
def dim(input: Tensor) -> int:
    """The number of dimensions."""
    return input.ndim


@method
def ndimension(input: Tensor) -> int:
    """The number of dimensions, by its old name."""
    return input.ndim


@method
def size(input: Tensor, dim: int | None = None) -> Any:
    """The shape, or the size of one dimension."""
    return input.shape if dim is None else input.shape[axis(dim, input.ndim)]


@method
def numel(input: Tensor) -> int:
    """The number of elements."""
    return int(input._array.size)


@method
def nelement(input: Tensor) -> int:
    """The number of elements, by its other name."""
    return int(input._array.size)


@method
def element_size(input: Tensor) -> int:
    """The bytes of one element."""
    return int(input._array.itemsize)


@method
def stride(input: Tensor, dim: int | None = None) -> Any:
    """How many elements lie between neighbours in memory, along each dimension or one."""
    steps = tuple(s // input._array.itemsize for s in input._array.strides)
    return steps if dim is None else steps[axis(dim, input.ndim)]


def address(array: Any) -> int:
    """Where the first element of an array lies."""
    return int(array.__array_interface__["data"][0])


def memory(x: Tensor) -> Any:
    """All that lies between the first and the last element of the base of x, in one row."""
    base = x._array if x._base is None else x._base._array
    steps = [s // base.itemsize for s in base.strides]
    if any(s < 0 for s in steps):
        raise RuntimeError(
            "as_strided: needs memory that is walked forwards; the base of this tensor has the "
            f"strides {steps}, as of a reversed NumPy array: clone() it first"
        )
    span = 1 + sum((n - 1) * s for n, s in zip(base.shape, steps, strict=True))
    return stepping(base, (span if base.size else 0,), (1,))


def stepping(array: Any, size: Any, stride: Any) -> Any:
    """NumPy's view of what lies from the first element of the array on, steps in elements."""
    steps = [s * array.itemsize for s in stride]
    return np.lib.stride_tricks.as_strided(array, size, steps)


@method
def storage_offset(input: Tensor) -> int:
    """Where the first element lies in the memory of the base, counted in elements."""
    base = input if input._base is None else input._base
    return (address(input._array) - address(base._array)) // int(input._array.itemsize)


@method
def is_contiguous(input: Tensor, memory_format: Any = contiguous_format) -> bool:
    """Whether the elements lie in memory row by row without gaps; or in another format so."""
    order = memory_format.order_of(input.ndim)
    array = input._array if isinstance(order, str) else input._array.transpose(order)
    return bool(array.flags.c_contiguous)


@method
def _is_view(input: Tensor) -> bool:
    """Whether this tensor is a view of another, its `_base`."""
    return input._base is not None


# changes in place


class InPlace(Operation):
    """An operation that changes its first argument in place, by `change`, and returns it; what
    must not be changed is refused before anything is."""

    in_place_name = ""
    change: Any

    @staticmethod
    def forward(ctx: Any, x: Tensor, *others: Any) -> Tensor:
        ctx._function.change(x, *others)
        ctx.mark_dirty(x)
        return x

    def __init_subclass__(cls) -> None:
        """masked_fill_ of MaskedFill."""
        cls.in_place_name = re.sub("(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower() + "_"

    @classmethod
    def apply(cls, *args: Any) -> Any:
        return applied_in_place(cls, cls.in_place_name, args)


class Clone(Operation):
    @staticmethod
    def forward(ctx: Any, x: Tensor, order: Any) -> Tensor:
        array = array_of(x)
        return make(kernels.copied(array) if order == "K" else copied(array, order))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return g, None


def copied(array: Any, order: Any) -> Any:
    """A copy in C order, or with the dimensions in memory in the order given."""
    if order == "C":
        return array.copy("C")
    return array.transpose(order).copy("C").transpose(np.argsort(order))


@method
def _laid_out(input: Tensor, order: tuple[int, ...]) -> Tensor:
    """A copy whose dimensions lie in memory in this order, that of the widest steps first."""
    return Clone.apply(input, order)


@method
def clone(input: Tensor, *, memory_format: Any = preserve_format) -> Tensor:
    """A copy with memory of its own, in the graph; it lies there as the tensor does, unless a
    memory_format is given."""
    kept = memory_format is preserve_format
    order = "K" if kept else memory_format.order_of(input._array.ndim)
    return applied(Clone, (input, order))


@method
def contiguous(input: Tensor, memory_format: Any = contiguous_format) -> Tensor:
    """The tensor itself where its elements lie row by row, or as memory_format says; else a copy
    that does."""
    if is_contiguous(input, memory_format):
        return input
    return Clone.apply(input, memory_format.order_of(input.ndim))


def zeros_like(g: Tensor) -> Tensor:
    """The gradient of what was overwritten."""
    return make(np.zeros(g._array.shape, g._array.dtype))


class Copy(InPlace):
    @staticmethod
    def change(x: Tensor, source: Tensor) -> None:
        with quiet():
            np.copyto(x._array, source._array, casting="unsafe")

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return zeros_like(g), g


Copy._backward_cls = operation_node("CopyBackwards", Copy)  # PyTorch's name


@method
def copy_(input: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Set this tensor to src, a tensor or a number that broadcasts to its shape.

    The dtype stays; numbers are converted to it. The slope by src is 1, by the old numbers 0.
    """
    src = as_operand(src, input)
    src = src if isinstance(src, Tensor) else make(np.asarray(src))
    if broadcast(input._array.shape, src._array.shape) != input._array.shape:
        raise RuntimeError(
            f"copy_: src needs to broadcast to the shape {list(input.shape)}; got {list(src.shape)}"
        )
    return Copy.apply(input, src)


def as_array(x: Any) -> Any:
    """The array of a tensor; NumPy's and Python's numbers as they are."""
    return x._array if isinstance(x, Tensor) else x


class Fill(InPlace):
    @staticmethod
    def change(x: Tensor, number: Any) -> None:
        x._array[...] = as_array(number)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return zeros_like(g), g.sum() if ctx.needs_input_grad[1] else None


@method
def fill_(input: Tensor, value: Any) -> Tensor:
    """Set every element to a number, a Value or a 0-d tensor, which get the gradient's sum."""
    return Fill.apply(input, filling("fill_", value, input))


def filling(name: str, x: Any, input: Tensor) -> Any:
    """What elements of input are set to: a 0-d tensor, or an array of one number in its dtype."""
    x = as_operand(x, input)
    if isinstance(x, Tensor):
        if x.ndim:
            raise RuntimeError(
                f"{name} only supports a 0-dimensional value tensor, but got tensor with {x.ndim} "
                "dimension(s)."
            )
        return x
    if not isinstance(x, (int, float, np.number, np.bool_)):
        raise TypeError(
            f"{name}: can't assign a {type(x).__name__} to a tensor: it needs a number, a Value or "
            "a tensor; engine.tensor(...) makes one"
        )
    return dtypes.checked(x, input._array.dtype)


class Zero(InPlace):
    @staticmethod
    def change(x: Tensor) -> None:
        kernels.fill(array_of(x), 0.0)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return zeros_like(g)


@method
def zero_(input: Tensor) -> Tensor:
    """Set every element to 0."""
    return applied_in_place(Zero, "zero_", (input,))


@method
def detach_(input: Any) -> Any:
    """Take this tensor out of the graph, as a leaf that needs no gradient; views are refused."""
    if input._base is not None:
        raise RuntimeError("Can't detach views in-place. Use detach() instead.")
    input._node, input._output_nr, input._requires_grad = None, 0, False
    for observer in modes.observers():
        observer(input, "detach_", ())
    return input


@method
def set_(input: Tensor, source: Tensor) -> Tensor:
    """Let this tensor have the memory, shape and dtype of source from now on; no gradient flows to
    source. RuntimeError on a leaf that requires grad: do it under no_grad; graphs made before then
    lead to what it was, which a GradientEdge taken before stands for."""
    views.check(input, "set_", modes.is_grad_enabled() and input.requires_grad)
    views.leave_place(input)
    input._array = source._array
    input._shared_counter()[0] += 1
    return input


# the same elements in another shape


class View(ViewOperation):
    @staticmethod
    def forward(ctx: Any, x: Tensor, shape: tuple[int, ...]) -> Tensor:
        array = array_of(x)
        ctx.shape = interpreter.shape_of(array)
        return make(array.reshape(shape))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return reshaped(g, ctx.shape), None


def reshaped(g: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A gradient in another shape."""
    return make(array_of(g).reshape(shape)) if unseen() else reshape(g, shape)


class Squeeze(View):
    """A View that drops dimensions of size 1; named as PyTorch's."""


class Unsqueeze(View):
    """A View with one more dimension, of size 1; named as PyTorch's."""


class Alias(View):
    """A View of the same shape; named as PyTorch's."""


class UnsafeView(Operation):
    """A reshape that had to copy, as PyTorch calls it."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, shape: tuple[int, ...]) -> Tensor:
        ctx.shape = x._array.shape
        return make(x._array.reshape(shape))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return reshaped(g, ctx.shape), None


def shares(array: Any, shape: tuple[int, ...]) -> bool:
    """Whether the array in this shape can share its memory."""
    if interpreter.is_contiguous(array) or not array.size:
        return True
    return np.may_share_memory(array.reshape(shape), array)


@method
def view(input: Tensor, *shape: Any) -> Tensor:
    """A view in another shape with as many elements; one size may be -1, then it follows.

    RuntimeError where the elements do not lie in memory as the shape needs: use reshape.
    """
    full = complete(sizes(shape), array_of(input).size)
    if not shares(array_of(input), full):
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two contiguous subspaces). Use .reshape(...) instead."
        )
    return viewed(View, (input, full))


@method
def reshape(input: Tensor, *shape: Any) -> Tensor:
    """In another shape with as many elements: a view where memory allows, else a copy.

    One size may be -1, then it follows.
    """
    array = array_of(input)
    full = complete(sizes(shape), array.size)
    if shares(array, full):
        return viewed(View, (input, full))
    return applied(UnsafeView, (input, full))


@method
def view_as(input: Tensor, other: Tensor) -> Tensor:
    """A view in other's shape."""
    return view(input, other._array.shape)


@method
def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """reshape to other's shape."""
    return reshape(input, other._array.shape)


@method
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The dimensions from start_dim to end_dim as one; a 0-d tensor becomes 1-d."""
    start, end = axis(start_dim, input.ndim), axis(end_dim, input.ndim)
    if start > end:
        raise RuntimeError(
            "flatten() has invalid args: start_dim cannot come after end_dim; "
            f"got {start_dim} and {end_dim}"
        )
    if start == end and input.ndim:
        return input
    shape = input._array.shape
    merged = math.prod(shape[start : end + 1])
    return reshape(input, (*shape[:start], merged, *shape[end + 1 :]))


@method
def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """The dimension dim as several, of these sizes, one of which may be -1."""
    d, shape = axis(dim, input.ndim), input._array.shape
    known = math.prod(s for s in sizes if s != -1)
    if (shape[d] % known if -1 in sizes and known else shape[d] != known) or not len(sizes):
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {d} "
            f"({shape[d]}) in the input tensor"
        )
    return view(input, (*shape[:d], *complete(tuple(sizes), shape[d]), *shape[d + 1 :]))


@method
def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension: a view where memory allows."""
    return reshape(input, -1)


@method
def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    """Without the dimensions of size 1, or without those among dim that have it; a view."""
    shape = interpreter.shape_of(array_of(input))
    dropped = None if dim is None else each_axis(dim, len(shape))
    kept = [s for i, s in enumerate(shape) if s != 1 or (dropped is not None and i not in dropped)]
    return viewed(Squeeze, (input, tuple(kept)))


@method
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """With one more dimension, of size 1, at dim; a view."""
    shape = interpreter.shape_of(array_of(input))
    d = axis(dim, len(shape) + 1)
    return viewed(Unsqueeze, (input, (*shape[:d], 1, *shape[d:])))


# broadcasting


class Expand(ViewOperation):
    @staticmethod
    def forward(ctx: Any, x: Tensor, shape: tuple[int, ...]) -> Tensor:
        array = array_of(x)
        same = interpreter.has_shape(array, shape)
        return make(array[...] if same else kernels.expanded(array, shape))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return g, None


@method
def expand(input: Tensor, *sizes_: Any) -> Tensor:
    """A view in a larger shape: dimensions of size 1, and new ones in front, repeat their numbers.

    A size of -1 stays as it is. Gradients are summed over what was repeated.
    """
    given, shape = sizes(sizes_), input._array.shape
    new = len(given) - len(shape)
    if new < 0:
        raise RuntimeError(
            f"expand: the number of sizes provided ({len(given)}) must be greater or equal to the "
            f"number of dimensions in the tensor ({len(shape)})"
        )
    if -1 in given[:new]:
        raise RuntimeError(
            "expand: The expanded size of the tensor (-1) isn't allowed in a leading, non-existing "
            f"dimension {given.index(-1)}"
        )
    old = given[:new] + shape
    full = tuple([n if s == -1 else s for s, n in zip(given, old, strict=True)])
    check_expanded(full, old, shape, new)
    return viewed(Expand, (input, full))


def check_expanded(full: Any, old: Any, shape: Any, new: int) -> None:
    """Refuse to expand what has neither size 1 nor the size asked for."""
    for d, (s, n) in enumerate(zip(full, old, strict=True)):
        if d >= new and s != n and n != 1:
            raise RuntimeError(
                f"The expanded size of the tensor ({s}) must match the existing size ({n}) at "
                f"non-singleton dimension {d}. Target sizes: {list(full)}. Tensor sizes: "
                f"{list(shape)}"
            )


@method
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """expand to other's shape."""
    return expand(input, other._array.shape)


@method
def broadcast_to(input: Tensor, size: Sequence[int]) -> Tensor:
    """expand to the shape size."""
    return expand(input, tuple(size))


def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Each tensor expanded to the shape that all of them broadcast to."""
    shape = broadcast(*(t._array.shape for t in tensors))
    return tuple(expand(t, shape) for t in tensors)


def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that tensors of these shapes broadcast to."""
    return Size(broadcast(*((s,) if isinstance(s, int) else tuple(s) for s in shapes)))


# the order of dimensions


class Permute(ViewOperation):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dims: tuple[int, ...]) -> Tensor:
        ctx.dims = dims
        return make(array_of(x).transpose(dims))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        back = inverse(ctx.dims)
        if unseen():
            return make(array_of(g).transpose(back)), None
        return viewed(ctx._function, (g, back)), None


class Transpose(Permute):
    """A Permute of two dimensions; named as PyTorch's."""


class T(Permute):
    """The transposed matrix; named as PyTorch's."""


@method
def permute(input: Tensor, *dims: Any) -> Tensor:
    """A view with the dimensions in this order; every one is named once."""
    given = sizes(dims)
    if len(given) != input.ndim:
        raise RuntimeError(
            "permute: number of dimensions in the tensor input does not match the length of the "
            f"desired ordering of dimensions i.e. input.dim() = {input.ndim} is not equal to "
            f"len(dims) = {len(given)}"
        )
    order = tuple([axis(d, input.ndim) for d in given])
    if len(set(order)) < len(order):
        raise RuntimeError(f"permute(): duplicate dims are not allowed. Got {list(given)}")
    return viewed(Permute, (input, order))


@method
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """A view with two dimensions exchanged."""
    ndim = array_of(input).ndim
    i, j = axis(dim0, ndim), axis(dim1, ndim)
    order = list(range(ndim))
    if order:
        order[i], order[j] = order[j], order[i]
    return viewed(Transpose, (input, tuple(order)))


@method
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """transpose, as NumPy calls it."""
    return transpose(input, axis0, axis1)


@method
def swapdims(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """transpose, by its other name."""
    return transpose(input, dim0, dim1)


@method
def t(input: Tensor) -> Tensor:
    """The transposed matrix, a view; a tensor of fewer dimensions as it is."""
    ndim = array_of(input).ndim
    if ndim > 2:
        raise RuntimeError(
            f"t() expects a tensor with <= 2 dimensions, but self is {ndim}D; "
            "use .transpose(dim0, dim1) or .mT"
        )
    return viewed(T, (input, reverse(ndim)))


@method
def movedim(input: Tensor, source: Sizes, destination: Sizes) -> Tensor:
    """A view with the dimensions source moved to destination, the others in their order."""
    old, new = each_axis(source, input.ndim), each_axis(destination, input.ndim)
    if len(old) != len(new):
        raise RuntimeError(
            "movedim: Invalid source or destination dims: source and destination need as many; "
            f"got {source} and {destination}"
        )
    order = [d for d in range(input.ndim) if d not in old]
    for to, d in sorted(zip(new, old, strict=True)):
        order.insert(to, d)
    return permute(input, order[: input.ndim])


@method
def moveaxis(input: Tensor, source: Sizes, destination: Sizes) -> Tensor:
    """movedim, as NumPy calls it."""
    return movedim(input, source, destination)


def reversed_dims(input: Tensor) -> Tensor:
    """A view with the dimensions in reverse order: the transposed matrix."""
    return viewed(Permute, (input, reverse(array_of(input).ndim)))


def matrix_transposed(input: Tensor) -> Tensor:
    """A view with the last two dimensions exchanged: a batch of transposed matrices."""
    if input.ndim == 1:
        raise RuntimeError(
            f"tensor.mT is only supported on matrices or batches of matrices. Got {input.ndim}-D "
            "tensor."
        )
    return transpose(input, -2, -1) if input.ndim else transpose(input, -1, 0)


setattr(Tensor, "T", property(reversed_dims))  # noqa: B010  mypy knows no attribute set later
setattr(Tensor, "mT", property(matrix_transposed))  # noqa: B010


# parts


class PartialView(ViewOperation):
    """A view of part of a tensor, where no element occurs twice: `take` takes it from an array.
    The gradient is put back in its place among zeros."""

    @staticmethod
    def take(array: Any, *how: Any) -> Any:
        """NumPy's view."""
        raise NotImplementedError

    @staticmethod
    def forward(ctx: Any, x: Tensor, *how: Any) -> Tensor:
        array = array_of(x)
        ctx.shape, ctx.how = interpreter.shape_of(array), how
        return make(ctx._function.take(array, *how))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        if unseen():
            whole = make(put_back(array_of(g), ctx._function, ctx.shape, ctx.how))
        else:
            whole = PutBack.apply(g, ctx._function, ctx.shape, ctx.how)
        return (whole, *[None] * len(ctx.how))


class PutBack(Operation):
    """Zeros of the given shape with g where the view lies: the transpose of taking it."""

    @staticmethod
    def forward(ctx: Any, g: Tensor, view: Any, shape: tuple[int, ...], how: Any) -> Tensor:
        ctx.view, ctx.how = view, how
        return make(put_back(array_of(g), view, shape, how))

    @staticmethod
    def backward(ctx: Any, h: Tensor) -> Any:
        return ctx.view.apply(h, *ctx.how), None, None, None


def put_back(array: Any, view: Any, shape: tuple[int, ...], how: tuple[Any, ...]) -> Any:
    """Zeros of the given shape with the array where the view lies."""
    whole = np.zeros(shape, interpreter.dtype_of(array))
    view.take(whole, *how)[...] = array
    return whole


class Slice(PartialView):
    """Basic indexing: a tuple of integers, slices and None, without Ellipsis."""

    @staticmethod
    def take(array: Any, index: tuple[Any, ...]) -> Any:
        return array[(*index, ...)]


class Select(Slice):
    """A Slice at one place of a dimension; named as PyTorch's."""


def along(dim: int, item: Any) -> tuple[Any, ...]:
    """The index that takes `item` of dimension dim and all of the others."""
    return (*(slice(None),) * dim, item)


@method
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """A view of `length` elements from `start` on along dim; a negative start is from the end."""
    d, first = axis(dim, input.ndim), operator.index(start)
    n = input._array.shape[d] if input.ndim else 0
    if length < 0:
        raise RuntimeError(f"narrow(): length must be non-negative; got {length}")
    if not -n <= first <= n:
        raise IndexError(
            f"start out of range (expected to be in range of [{-n}, {n}], but got {first})"
        )
    first += n if first < 0 else 0
    if first + length > n:
        raise RuntimeError(f"start ({first}) + length ({length}) exceeds dimension size ({n}).")
    return viewed(Slice, (input, along(d, slice(first, first + length))))


@method
def select(input: Tensor, dim: int, index: Any) -> Tensor:
    """A view of one place of dimension dim, which goes away."""
    if not input.ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    d, i = axis(dim, input.ndim), operator.index(index)
    n = input._array.shape[d]
    if not -n <= i < n:
        raise IndexError(
            f"select(): index {i} out of range for tensor of size {list(input.shape)} at "
            f"dimension {d}"
        )
    return viewed(Select, (input, along(d, i)))


class Diagonal(PartialView):
    @staticmethod
    def take(array: Any, offset: int, dim1: int, dim2: int) -> Any:
        out = array.diagonal(offset, dim1, dim2)
        out.flags.writeable = array.flags.writeable
        return out


@method
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A view of the diagonal of dim1 and dim2 as a new last dimension; offset > 0 lies above."""
    i, j = axis(dim1, input.ndim), axis(dim2, input.ndim)
    if i == j:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return viewed(Diagonal, (input, offset, i, j))


# memory seen otherwise


class Unfold(ViewOperation):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dim: int, size: int, step: int) -> Tensor:
        ctx.shape, ctx.how = x._array.shape, (dim, size, step)
        return make(windows(x._array, *ctx.how))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return FoldBack.apply(g, ctx.shape, *ctx.how), None, None, None


class FoldBack(Operation):
    """The sum of windows in their places: the transpose of Unfold."""

    @staticmethod
    def forward(ctx: Any, g: Tensor, shape: Any, dim: int, size: int, step: int) -> Tensor:
        ctx.how = dim, size, step
        whole = np.zeros(shape, g._array.dtype)
        for i in range(size):
            at = slice(i, i + g._array.shape[dim] * step, step)
            whole[along(dim, at)] += g._array[..., i]
        return make(whole)

    @staticmethod
    def backward(ctx: Any, h: Tensor) -> Any:
        return Unfold.apply(h, *ctx.how), None, None, None, None


def windows(array: Any, dim: int, size: int, step: int) -> Any:
    """NumPy's view of the windows, which may be written to where they do not overlap."""
    apart = step >= size or step > array.shape[dim] - size
    writeable = apart and array.flags.writeable
    out = np.lib.stride_tricks.sliding_window_view(array, size, dim, writeable=writeable)
    return out[along(dim, slice(None, None, step))]


@method
def unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """A view of all windows of `size` elements along a dimension, `step` apart, each along a new
    last dimension. Windows that overlap may not be changed in place."""
    d = axis(dimension, input.ndim)
    n = input._array.shape[d] if input.ndim else 1
    if size > n:
        raise RuntimeError(f"maximum size for tensor at dimension {d} is {n} but size is {size}")
    if step < 1:
        raise RuntimeError(f"step is {step} but must be > 0")
    if not input.ndim:
        return Unfold.apply(unsqueeze(input, 0), 0, size, step).select(0, 0)
    return Unfold.apply(input, d, size, step)


class AsStrided(ViewOperation):
    @staticmethod
    def forward(ctx: Any, x: Tensor, size: Any, stride: Any, offset: int) -> Tensor:
        row = memory(x)
        ctx.here = places(row.size, x._array.shape, x.stride(), x.storage_offset())
        ctx.there = places(row.size, size, stride, offset)
        ctx.count = np.bincount(ctx.here.ravel(), minlength=row.size)
        out = stepping(row[offset:], size, stride)
        if np.unique(ctx.there).size < out.size or not x._array.flags.writeable:
            out.flags.writeable = False
        return make(out)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        share = 1.0 / np.maximum(ctx.count, 1)
        return Restride.apply(g, ctx.there, ctx.here, share), None, None, None


class Restride(Operation):
    """Adds up in memory what g has for each place, times the share of that place, and reads it at
    others: its transpose is the same with the places exchanged."""

    @staticmethod
    def forward(ctx: Any, g: Tensor, there: Any, here: Any, share: Any) -> Tensor:
        ctx.back = here, there, share
        row = share * np.bincount(there.ravel(), g._array.ravel(), len(share))
        return make(np.asarray(row[here], g._array.dtype))

    @staticmethod
    def backward(ctx: Any, h: Tensor) -> Any:
        return Restride.apply(h, *ctx.back), None, None, None


def places(n: int, size: Any, stride: Any, offset: int) -> Any:
    """Where in a memory of n elements each element of such a view lies."""
    return stepping(np.arange(n)[offset:], size, stride)


@method
def as_strided(
    input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tensor:
    """A view of the memory of the tensor's base with any sizes and strides, counted in elements.

    storage_offset: the first element, counted from the first of the base; by default this tensor's
    own. A view with elements that occur twice may not be changed in place. RuntimeError beyond
    the memory.
    """
    size, stride = sizes((size,)), sizes((stride,))
    offset = input.storage_offset() if storage_offset is None else storage_offset
    check_strided(memory(input).size, size, stride, offset)
    return AsStrided.apply(input, size, stride, offset)


def check_strided(n: int, size: Any, stride: Any, offset: int) -> None:
    """Refuse a view that does not lie within a memory of n elements."""
    if len(size) != len(stride):
        raise RuntimeError(
            f"as_strided: mismatch in length of strides and shape; got {list(size)} and "
            f"{list(stride)}"
        )
    if any(s < 0 for s in (*size, *stride, offset)):
        raise RuntimeError(
            f"as_strided: sizes, strides and offset need to be 0 or more; got {list(size)}, "
            f"{list(stride)} and {offset}"
        )
    needed = offset + 1 + sum((m - 1) * s for m, s in zip(size, stride, strict=True))
    if 0 not in size and needed > n:
        raise RuntimeError(
            f"as_strided: sizes {list(size)}, strides {list(stride)}, storage offset {offset} "
            f"requiring a storage of {needed} elements are out of bounds for storage of {n}"
        )


# copies in another order


class Flip(Operation):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dims: tuple[int, ...]) -> Tensor:
        ctx.dims = dims
        return make(np.flip(x._array, dims).copy() if x.ndim else x._array.copy())

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return Flip.apply(g, ctx.dims), None


@method
def flip(input: Tensor, *dims: Any) -> Tensor:
    """A copy in reverse order along the dimensions."""
    return Flip.apply(input, each_axis(sizes(dims), input.ndim))


@method
def fliplr(input: Tensor) -> Tensor:
    """flip along dimension 1."""
    return flip(input, 1)


@method
def flipud(input: Tensor) -> Tensor:
    """flip along dimension 0."""
    return flip(input, 0)


class Roll(Operation):
    @staticmethod
    def forward(ctx: Any, x: Tensor, shifts: tuple[int, ...], dims: Any) -> Tensor:
        ctx.shifts, ctx.dims = shifts, dims
        array = np.asarray(x._array, order="C")
        return make(np.roll(array, shifts if dims else shifts[0], dims or None))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return Roll.apply(g, tuple(-s for s in ctx.shifts), ctx.dims), None, None


@method
def roll(input: Tensor, shifts: Sizes, dims: Sizes | None = None) -> Tensor:
    """A copy shifted along the dimensions; what leaves at the end comes in at the beginning.

    Without dims all elements are shifted as if they lay in one row.
    """
    by = sizes((shifts,))
    named = () if dims is None else tuple(axis(d, input.ndim) for d in sizes((dims,)))
    if len(by) != (len(named) or 1):
        raise RuntimeError(
            f"roll: shifts and dimensions must align. shifts: {len(by)}, dims: {len(named)}"
        )
    return Roll.apply(input, by, named)


class Repeat(Operation):
    @staticmethod
    def forward(ctx: Any, x: Tensor, times: tuple[int, ...]) -> Tensor:
        ctx.times, ctx.shape = times, (1,) * (len(times) - x.ndim) + x._array.shape
        return make(np.tile(x._array, times))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        pairs = [n for pair in zip(ctx.times, ctx.shape, strict=True) for n in pair]
        copies = tuple(range(0, len(pairs), 2))
        return g.reshape(pairs).sum(copies) if pairs else g, None


@method
def repeat(input: Tensor, *repeats: Any) -> Tensor:
    """A copy that repeats the tensor so many times along each dimension, new ones in front."""
    times = sizes(repeats)
    if len(times) < input.ndim:
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
            f"tensor; got {list(times)} for the shape {list(input.shape)}"
        )
    if any(n < 0 for n in times):
        raise RuntimeError(f"repeat: needs numbers from 0 up; got {list(times)}")
    return Repeat.apply(input, times)


@method
def tile(input: Tensor, *dims: Any) -> Tensor:
    """repeat, where dimensions that are not named, in front, are not repeated."""
    times = sizes(dims)
    return repeat(input, (1,) * (input.ndim - len(times)) + times)


def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Tensor, ...]:
    """One tensor for each of these 1-d ones, with its numbers along a dimension of its own.

    indexing: "ij" keeps the order of the dimensions, "xy" exchanges the first two.
    """
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f'meshgrid: indexing must be "ij" or "xy"; got {indexing!r}')
    swap = indexing == "xy" and len(tensors) > 1
    rows = [*tensors[1::-1], *tensors[2:]] if swap else tensors
    shape = [t.numel() for t in rows]
    grids = [expand(t.reshape(along_axis(i, len(rows))), shape) for i, t in enumerate(rows)]
    return (*grids[1::-1], *grids[2:]) if swap else tuple(grids)


def along_axis(i: int, ndim: int) -> tuple[int, ...]:
    """The shape of a row that lies along dimension i of ndim."""
    return tuple(-1 if d == i else 1 for d in range(ndim))
