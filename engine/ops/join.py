"""Joining tensors, one after the other or along a new dimension, and taking them apart again."""

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from engine import dtypes, interpreter, kernels, modes
from engine.nodes import array_of
from engine.ops import scalars
from engine.ops.dims import Sizes, axis
from engine.ops.scalars import Value
from engine.ops.shape import Slice, along, narrow
from engine.tensors import Operation, Tensor, ViewOperation, applied, make, method

Tensors = Sequence[Tensor]


def of_one_dtype(arrays: list[Any]) -> list[Any]:
    """The arrays, in the dtype that all of them are promoted to."""
    kind = interpreter.dtype_of(arrays[0])
    for a in arrays:
        if interpreter.dtype_of(a) is not kind:
            kind = dtypes.promoted(arrays, ())
            return [a.astype(kind, copy=False) for a in arrays]
    return arrays


class Cat(Operation):
    @staticmethod
    def forward(ctx: Any, *args: Any) -> Tensor:
        *tensors, dim = args
        arrays = [array_of(t) for t in tensors]
        ctx.dim, ctx.lengths = dim, [interpreter.shape_of(a)[dim] for a in arrays]
        return make(kernels.joined(of_one_dtype(arrays), dim, False))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        parts, start = [], 0
        for needed, n in zip(ctx.needs_input_grad[:-1], ctx.lengths, strict=True):
            parts.append(part(g, ctx.dim, start, n) if needed else None)
            start += n
        return *parts, None


def part(g: Tensor, dim: int, start: int, n: int) -> Tensor:
    """The gradient of one of several tensors, n long, given that of all in a row."""
    if modes.is_grad_enabled():
        return narrow(g, dim, start, n)
    return make(array_of(g)[along(dim, slice(start, start + n))])


def listed(tensors: Any, where: str) -> list[Tensor]:
    """The tensors as a list, checked; Values among them become 0-d tensors."""
    if not isinstance(tensors, (tuple, list)):
        raise TypeError(
            f"{where}(): argument 'tensors' (position 1) must be tuple of Tensors, not "
            f"{type(tensors).__name__}: put them in a list"
        )
    found = []
    for i, t in enumerate(tensors):
        if isinstance(t, Value):
            t = t.as_tensor()
        elif not isinstance(t, Tensor):
            raise TypeError(
                f"{where}: expected Tensor as element {i} in argument 0, but got "
                f"{type(t).__name__}: make a tensor of it with engine.tensor(...)"
            )
        found.append(t)
    return found


def some(tensors: Any, where: str) -> list[Tensor]:
    """The tensors as a list, one at least."""
    if isinstance(tensors, (tuple, list)) and not tensors:
        raise RuntimeError(f"{where} expects a non-empty TensorList")
    return listed(tensors, where)


def cat(tensors: Tensors, dim: int = 0) -> Tensor:
    """The tensors one after the other along dim; their other dimensions agree.

    The dtype is the widest of theirs. Tensors of shape (0,) are left out. Each gets its part of
    the gradient.
    """
    given = listed(tensors, "cat")
    if not given:
        raise ValueError("cat(): expected a non-empty list of Tensors")
    kept = [t for t in given if not interpreter.has_shape(array_of(t), (0,))] or given[:1]
    n = array_of(kept[0]).ndim
    if not n:
        raise RuntimeError("cat: zero-dimensional tensor (at position 0) cannot be concatenated")
    d = axis(dim, n)
    check_aligned(kept, d)
    out: Tensor = applied(Cat, (*kept, d))
    return out


def check_aligned(tensors: list[Tensor], dim: int) -> None:
    """Refuse tensors that differ in more than dimension dim."""
    first = array_of(tensors[0]).shape
    for i, t in enumerate(tensors):
        if interpreter.has_shape(array_of(t), first):
            continue
        shape = array_of(t).shape
        if len(shape) != len(first):
            raise RuntimeError(
                f"cat: Tensors must have same number of dimensions: got {len(first)} and {t.ndim}"
            )
        for d, (n, m) in enumerate(zip(first, shape, strict=True)):
            if n != m and d != dim:
                raise RuntimeError(
                    f"cat: Sizes of tensors must match except in dimension {dim}. Expected size "
                    f"{n} but got size {m} for tensor number {i} in the list."
                )


def concat(tensors: Tensors, dim: int = 0) -> Tensor:
    """cat, by its longer name."""
    return cat(tensors, dim)


def concatenate(tensors: Tensors, dim: int = 0) -> Tensor:
    """cat, as NumPy calls it."""
    return cat(tensors, dim)


class Stack(Operation):
    @staticmethod
    def forward(ctx: Any, *args: Any) -> Tensor:
        *tensors, dim = args
        ctx.dim = dim
        return make(kernels.joined(of_one_dtype([array_of(t) for t in tensors]), dim, True))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        if modes.is_grad_enabled():
            return *unbind(g, ctx.dim), None
        needed, array, dim = ctx.needs_input_grad[:-1], array_of(g), ctx.dim
        places = [(*along(dim, i), ...) if wanted else None for i, wanted in enumerate(needed)]
        return *[None if i is None else make(array[i]) for i in places], None


def stack(tensors: Sequence[Any], dim: int = 0) -> Tensor:
    """The tensors, all of one shape, along a new dimension at dim, each with its part of the
    gradient; or Values, and numbers among them, as a float64 tensor of the same graph.

    Values may stand in nested lists of equal lengths; the result has as many dimensions.
    """
    if not isinstance(tensors, Tensor) and not holds_tensor(tensors) and holds_value(tensors):
        return scalars.stack_values(tensors)
    given = some(tensors, "stack")
    shape = interpreter.shape_of(array_of(given[0]))
    for i, t in enumerate(given):
        if not interpreter.has_shape(array_of(t), shape):
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(given[0].shape)} at "
                f"entry 0 and {list(t.shape)} at entry {i}"
            )
    out: Tensor = applied(Stack, (*given, axis(dim, len(shape) + 1)))
    return out


def holds_tensor(tensors: Any) -> bool:
    """Whether a Tensor stands among them."""
    for t in tensors:  # noqa: SIM110  any() makes a generator
        if isinstance(t, Tensor):
            return True
    return False


def holds_value(x: Any) -> bool:
    """Whether a Value stands in x or its lists."""
    return isinstance(x, Value) or (isinstance(x, (tuple, list)) and any(map(holds_value, x)))


def hstack(tensors: Tensors) -> Tensor:
    """The tensors side by side: along dimension 1, numbers and rows along dimension 0."""
    rows = [t if t.ndim else t.reshape(1) for t in some(tensors, "hstack")]
    return cat(rows, 0 if rows[0].ndim == 1 else 1)


def vstack(tensors: Tensors) -> Tensor:
    """The tensors below each other: along dimension 0, where each has two at least."""
    return cat([t if t.ndim > 1 else t.reshape(1, -1) for t in some(tensors, "vstack")])


# parts


class Unbind(ViewOperation):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dim: int) -> tuple[Tensor, ...]:
        ctx.dim = dim
        return tuple(make(x._array[(*along(dim, i), ...)]) for i in range(x._array.shape[dim]))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return Stack.apply(*grads, ctx.dim), None


@method
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """A tuple of views, one for each place of dimension dim; they may not be changed in place."""
    if not input.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return Unbind.apply(input, axis(dim, input.ndim))


class Split(ViewOperation):
    @staticmethod
    def forward(ctx: Any, x: Tensor, lengths: tuple[int, ...], dim: int) -> tuple[Tensor, ...]:
        ctx.dim = dim
        ends = np.cumsum(lengths).tolist()
        parts = zip(ends, lengths, strict=True)
        return tuple(make(x._array[along(dim, slice(e - n, e))]) for e, n in parts)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return Cat.apply(*grads, ctx.dim), None, None


class SplitWithSizes(Split):
    """A Split into given lengths; named as PyTorch's."""


class UnsafeSplit(Operation):
    """A Split whose parts are not followed as views, so that they may be changed in place."""

    forward = staticmethod(Split.forward)
    backward = staticmethod(Split.backward)


def equal_lengths(input: Tensor, length: int, dim: int) -> tuple[int, ...]:
    """Parts of this length along dim, the last one shorter where they do not fit."""
    if not input.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    n = input._array.shape[dim]
    if length < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={length}")
    if not length and n:
        raise RuntimeError(
            f"split_size can only be 0 if dimension size is 0, but got dimension size of {n}"
        )
    return tuple(min(length, n - i) for i in range(0, n, length or 1)) or (0,)


def given_lengths(input: Tensor, lengths: Sequence[int], dim: int) -> tuple[int, ...]:
    """The lengths, checked to make up dimension dim."""
    n = input._array.shape[dim] if input.ndim else 0
    if sum(lengths) != n or any(length < 0 for length in lengths):
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {n} (input tensor's size at "
            f"dimension {dim}), but got split_sizes={list(lengths)}"
        )
    return tuple(lengths)


@method
def split(input: Tensor, split_size_or_sections: Sizes, dim: int = 0) -> tuple[Tensor, ...]:
    """A tuple of views along dim: parts of one length (the last may be shorter), or of each of
    several; they may not be changed in place."""
    if not isinstance(split_size_or_sections, int):
        return split_with_sizes(input, split_size_or_sections, dim)
    d = axis(dim, input.ndim)
    return Split.apply(input, equal_lengths(input, split_size_or_sections, d), d)


@method
def split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """A tuple of views along dim, of these lengths, which make up the dimension."""
    d = axis(dim, input.ndim)
    return SplitWithSizes.apply(input, given_lengths(input, split_sizes, d), d)


def chunk_length(input: Tensor, chunks: int, dim: int) -> int:
    """The length of one of so many parts."""
    if chunks < 1:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    if not input.ndim:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    return -(-input._array.shape[dim] // chunks)


@method
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """split into so many parts of equal length; the last may be shorter, or there are fewer."""
    d = axis(dim, input.ndim)
    if 0 in input._array.shape[d : d + 1] and chunks > 0:
        return split_with_sizes(input, (0,) * chunks, d)
    return split(input, chunk_length(input, chunks, d), d)


@method
def unsafe_split(input: Tensor, split_size: Sizes, dim: int = 0) -> tuple[Tensor, ...]:
    """split, and the parts may be changed in place: the gradient is right only if neither input
    nor another part that overlaps is used afterwards."""
    d = axis(dim, input.ndim)
    if isinstance(split_size, int):
        return UnsafeSplit.apply(input, equal_lengths(input, split_size, d), d)
    return UnsafeSplit.apply(input, given_lengths(input, split_size, d), d)


@method
def unsafe_split_with_sizes(
    input: Tensor, split_sizes: Sequence[int], dim: int = 0
) -> tuple[Tensor, ...]:
    """unsafe_split into these lengths."""
    return unsafe_split(input, split_sizes, dim)


@method
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """chunk, with parts as those of unsafe_split."""
    d = axis(dim, input.ndim)
    return unsafe_split(input, chunk_length(input, chunks, d), d)


@method
def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """A tuple of views along dim: so many parts, the first ones longer by one where they do not
    fit, or parts that end before each of the given places."""
    d = axis(dim, input.ndim)
    if not input.ndim:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor; got 0-d")
    n = input._array.shape[d]
    ends = section_ends(indices_or_sections, n)
    parts = zip((0, *ends), (*ends, n), strict=True)
    return tuple(Slice.apply(input, along(d, slice(a, b))) for a, b in parts)


def section_ends(given: Any, n: int) -> tuple[int, ...]:
    """Where the parts of n elements end, without the last: for so many parts, or as given."""
    if isinstance(given, Tensor):
        given = given.tolist()
    if not isinstance(given, int):
        return tuple(map(operator.index, given))
    if given < 1:
        raise RuntimeError(f"number of sections must be larger than 0, got {given}")
    return tuple(i * (n // given) + min(i, n % given) for i in range(1, given))
