"""The memory of an array: who owns it, whether it may be written, whether elements overlap."""

from typing import Any

import numpy as np


def owner(array: Any) -> Any:
    """The array whose memory this one views: itself, if it views none."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def seen_in(other: Any, whole: Any, array: Any) -> Any:
    """The part of `other` that `array` is of `whole`, an array without gaps of the same layout."""
    start = array.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    flat = other.ravel(order="K")
    return np.ndarray(array.shape, array.dtype, flat, start, array.strides)


def writeable(array: Any) -> Any:
    """The same memory for writing; NumPy makes what expand gives read-only. None if all is."""
    whole = owner(array)
    if array.flags.writeable or not whole.flags.writeable:
        return array if array.flags.writeable else None
    return seen_in(whole, whole, array)


def overlaps(array: Any) -> bool:
    """Whether two elements lie in the same place."""
    layout = list(zip(array.shape, array.strides, strict=True))[::-1]
    places = sum((np.arange(n) * s)[(...,) + (None,) * k] for k, (n, s) in enumerate(layout))
    return bool(np.unique(places).size < array.size)
