"""Stands in for Cython's names where nothing is compiled, so that Cython need not be there."""

from collections.abc import Callable
from typing import Any

compiled = False


def cclass(cls: Any) -> Any:
    """A compiled class keeps users' attributes by its `__setattr__`; here it has a `__dict__`."""
    if "__setattr__" in vars(cls):
        del cls.__setattr__
    return cls


def trashcan(on: bool) -> Callable[[Any], Any]:
    """Compiled: freeing a chain of any length takes no stack. Python's own classes do it."""
    return lambda cls: cls


def freelist(size: int) -> Callable[[Any], Any]:
    """Compiled: so many freed objects are kept for use again."""
    return lambda cls: cls
