"""Tensors inside lists, dicts, objects and modules, where autograd does not look."""

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np

from engine.testing.adapter import Library


def tensors_in(thing: Any, library: Library, depth: int = 3) -> Iterator[Any]:
    """Floating tensors and Values in a nest of lists, dicts, objects and modules."""
    if library.is_node(thing):
        if library.is_floating(thing):
            yield thing
    elif depth:
        for inner in _contents(thing):
            yield from tensors_in(inner, library, depth - 1)


def _contents(thing: Any) -> list[Any]:
    if isinstance(thing, (list, tuple, set)):
        return list(thing)
    if isinstance(thing, dict):
        return list(thing.values())
    if callable(getattr(thing, "parameters", None)) and not isinstance(thing, type):
        return list(thing.parameters())
    plain = isinstance(thing, (type, str, bytes, np.ndarray)) or inspect.ismodule(thing)
    return [] if plain else list(getattr(thing, "__dict__", {}).values())
