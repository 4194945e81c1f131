"""Dimensions and sizes as a program names them: counted, checked, completed."""

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

Sizes = int | Sequence[int]


def axis(dim: int, ndim: int) -> int:
    """dim counted from the front; a 0-d tensor takes 0 and -1, as if it had one dimension."""
    n, d = max(ndim, 1), dim if type(dim) is int else operator.index(dim)
    if not -n <= d < n:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {d})"
        )
    return d % n


def each_axis(dims: Sizes, ndim: int) -> tuple[int, ...]:
    """Several dimensions counted from the front, each named once; none for ()."""
    if isinstance(dims, int) or not isinstance(dims, Sequence):
        return (axis(dims, ndim),)
    found = tuple([axis(d, ndim) for d in dims])
    for d in found:
        if found.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims; name it once")
    return found


def sizes(given: tuple[Any, ...]) -> tuple[int, ...]:
    """The sizes of `f(2, 3)` or `f((2, 3))`."""
    if len(given) == 1 and isinstance(given[0], (tuple, list)):
        given = tuple(given[0])
    for n in given:
        if type(n) is not int:
            return tuple(map(operator.index, given))
    return given


def fills(shape: tuple[int, ...], n: int) -> bool:
    """Whether n elements fill a shape that has no size below 0."""
    known = 1
    for s in shape:
        if s < 0:
            return False
        known *= s
    return known == n


def complete(shape: tuple[int, ...], n: int) -> tuple[int, ...]:
    """The shape with its one -1 replaced by what n elements leave for it."""
    if fills(shape, n):
        return shape
    known = math.prod([s for s in shape if s != -1])
    if shape.count(-1) > 1:
        raise RuntimeError(f"only one dimension can be inferred; got the shape {list(shape)}")
    if -1 in shape and not known:
        raise RuntimeError(
            f"cannot reshape tensor of {n} elements into shape {list(shape)}: the size -1 could be "
            "any; write the number"
        )
    full = tuple([n // known if s == -1 else s for s in shape])
    if not fills(full, n):
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {n}")
    return full


def inverse(order: tuple[int, ...]) -> tuple[int, ...]:
    """The order of dimensions that undoes this one."""
    back = [0] * len(order)
    for i, d in enumerate(order):
        back[d] = i
    return tuple(back)


def reverse(ndim: int) -> tuple[int, ...]:
    """The dimensions from the last to the first."""
    return tuple(range(ndim - 1, -1, -1))


def broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that these broadcast to."""
    if shapes.count(shapes[0]) == len(shapes):
        return shapes[0]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise RuntimeError(misfit(shapes)) from None


def misfit(shapes: tuple[tuple[int, ...], ...]) -> str:
    """The error for two shapes that do not broadcast, with the last dimension that differs."""
    a, b = next((a, b) for i, a in enumerate(shapes) for b in shapes[i:] if clash(a, b))
    d = clash(a, b)
    return (
        f"The size of tensor a ({a[-d]}) must match the size of tensor b ({b[-d]}) at "
        f"non-singleton dimension {max(len(a), len(b)) - d}; got the shapes {list(a)} and {list(b)}"
    )


def clash(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    """The place, counted from the end, where a and b cannot be broadcast; 0 if they can."""
    pairs = enumerate(zip(a[::-1], b[::-1], strict=False), 1)
    return next((i for i, (m, n) in pairs if m != n and 1 not in (m, n)), 0)
