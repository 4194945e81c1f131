"""Stands in for Cython's names where nothing is compiled, so that Cython need not be there."""

import functools
from collections.abc import Callable
from typing import Any

compiled = False


def cclass(cls: Any) -> Any:
    """A compiled class keeps and finds users' attributes by `__setattr__` and its like. Here
    it has a `__dict__`, and without the two Python 3.11 reads a field six times faster. Subclasses,
    whose constructors may leave fields unset, find these as the compiled ones do."""
    if "__setattr__" in vars(cls):
        inherited = cls.__getattr__
        del cls.__setattr__, cls.__getattr__, cls.__delattr__

        def init_subclass(sub: Any, /, **options: Any) -> None:
            super(cls, sub).__init_subclass__(**options)
            if not hasattr(sub, "__getattr__"):
                sub.__getattr__ = inherited
            elif "__getattr__" in vars(sub):
                sub.__getattr__ = after_fields(cls.__slots__, inherited, sub.__getattr__)

        cls.__init_subclass__ = classmethod(init_subclass)
    return cls


def after_fields(fields: Any, inherited: Any, own: Any) -> Any:
    """A subclass's `__getattr__`, which is not asked for fields that are unset."""

    @functools.wraps(own)
    def found(self: Any, name: str) -> Any:
        return (inherited if name in fields else own)(self, name)

    return found


def trashcan(on: bool) -> Callable[[Any], Any]:
    """Compiled: freeing a chain of any length takes no stack. Python's own classes do it."""
    return lambda cls: cls


def freelist(size: int) -> Callable[[Any], Any]:
    """Compiled: so many freed objects are kept for use again."""
    return lambda cls: cls


class Found:
    """An attribute that `lookup` finds in an instance by its name, unless a program has set it."""

    def __init__(self, name: str, lookup: Callable[[Any, str], Any]) -> None:
        self.name = name
        self.lookup = lookup

    def __get__(self, instance: Any, owner: Any) -> Any:
        if instance is None:  # a compiled class does not show it either
            raise AttributeError(f"type object {owner.__name__!r} has no attribute {self.name!r}")
        return self.lookup(instance, self.name)


def find(cls: Any, name: str, lookup: Callable[[Any, str], Any]) -> None:
    """Have an interpreted class find an attribute by `lookup`, as a compiled one does anyway."""
    if cls.__module__.startswith("engine.") and name not in vars(cls):
        setattr(cls, name, Found(name, lookup))
