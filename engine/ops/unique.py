"""What differs among numbers or slices: unique and unique_consecutive."""

from typing import Any

import numpy as np

from engine.tensors import Operation, Tensor, make, method


class Unique(Operation):
    """The unique slices, for each slice its place among them, and their counts."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, dim: int | None, consecutive: bool) -> Any:
        shape = x._array.shape if dim is None else (-1,)
        array = x._array.reshape(-1) if dim is None else x._array
        axis = 0 if dim is None else dim
        found = runs(array, axis) if consecutive else sorted_unique(array, axis)
        values, places, counts = found
        return make(values), make(places.reshape(shape).astype(np.int64)), make(counts)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise NotImplementedError("the derivative for 'unique' is not implemented.")


def sorted_unique(array: Any, axis: int) -> tuple[Any, Any, Any]:
    """Sorted unique slices along the axis, the place of each slice among them, counts; each nan is
    a number of its own."""
    found = np.unique(array, return_inverse=True, return_counts=True, axis=axis, equal_nan=False)
    return found[0], found[1], found[2]


def runs(array: Any, axis: int) -> tuple[Any, Any, Any]:
    """The first slice of each run of equal ones along the axis, the run of each slice, lengths."""
    rows = np.moveaxis(array, axis, 0)
    n = len(rows)
    starts = np.ones(n, bool)
    starts[1:] = (rows[1:] != rows[:-1]).any(tuple(range(1, rows.ndim)))
    firsts = np.flatnonzero(starts)
    lengths = np.diff(np.append(firsts, n))
    return np.moveaxis(rows[firsts], 0, axis), np.cumsum(starts) - 1, lengths


def answer(found: tuple[Tensor, ...], inverse: bool, counts: bool) -> Any:
    """The values alone, or with what else was asked for."""
    asked = [x for x, wanted in zip(found[1:], (inverse, counts), strict=True) if wanted]
    return (found[0], *asked) if asked else found[0]


@method
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The different numbers of a tensor, sorted whether asked for or not, or along `dim` the
    different slices; each nan counts as different.

    Returns them alone, or in a tuple with, for each number of the input, its place among them
    (int64), and how often each occurs (int64). They have no derivative: backward raises
    NotImplementedError.
    """
    return answer(Unique.apply(input, dim, False), return_inverse, return_counts)


@method
def unique_consecutive(
    input: Tensor,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """Numbers, or along `dim` slices, without those that are equal to the one before.

    Returns as `unique` does, in the order of the input.
    """
    return answer(Unique.apply(input, dim, True), return_inverse, return_counts)


def _unique(input: Tensor, sorted: bool = True, return_inverse: bool = False) -> Any:
    """PyTorch's private name: the unique numbers and the place of each number among them."""
    return Unique.apply(input, None, False)[:2]


def _unique2(
    input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> Any:
    """PyTorch's private name: the unique numbers, the places and the counts."""
    return Unique.apply(input, None, False)
