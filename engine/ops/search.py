"""Where numbers stand among others: results are places or bools, outside any graph."""

from typing import Any

import numpy as np

from engine.tensors import Tensor, checked_operand, make


def array_of(x: Any) -> Any:
    """The array of a tensor, a Value or a number."""
    x = checked_operand(x)
    return x._array if isinstance(x, Tensor) else np.asarray(getattr(x, "data", x))


def places(sorted_numbers: Any, numbers: Any, after: bool, small: bool) -> Tensor:
    """How many of a sorted row stand before each number; after: equal ones count too."""
    found = np.searchsorted(sorted_numbers, numbers, "right" if after else "left")
    return make(np.asarray(found, np.int32 if small else np.int64))


def searchsorted(
    sorted_sequence: Tensor,
    input: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
) -> Tensor:
    """The place in a sorted row before which each number of input would go.

    sorted_sequence: shape (n,), or (..., n) with one row for each row of input. right, or
    side="right": behind equal numbers, else before them. Returns int64, or int32.
    Raises RuntimeError when the shapes before the last dimension differ.
    """
    rows, numbers, after = sorted_sequence._array, array_of(input), right or side == "right"
    if rows.ndim == 1:
        return places(rows, numbers, after, out_int32)
    if rows.shape[:-1] != numbers.shape[:-1]:
        raise RuntimeError(
            "searchsorted: sorted_sequence needs one row for each row of input; got shapes "
            f"{list(rows.shape)} and {list(numbers.shape)}"
        )
    found = np.empty(numbers.shape, np.int32 if out_int32 else np.int64)
    for i in np.ndindex(rows.shape[:-1]):
        found[i] = places(rows[i], numbers[i], after, out_int32)._array
    return make(found)


def bucketize(
    input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False
) -> Tensor:
    """The number of the bucket that each number of input falls in, between sorted boundaries of
    shape (n,): 0 up to n. right: a bucket includes its left boundary, else its right one."""
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


def isin(
    elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False
) -> Tensor:
    """Whether each element is among test_elements (invert: is not): a bool tensor."""
    found = np.isin(array_of(elements), array_of(test_elements), assume_unique, invert)
    return make(np.asarray(found))
