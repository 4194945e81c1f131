"""Marks the Functions of the collections: which finding a wrong one must give, on which example."""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Example = Callable[[], tuple[Any, ...]]


@dataclass(frozen=True)
class Entry:
    """A Function with its example; kind and argument of the finding that it must give.

    kind is "" for a right one.
    """

    function: Any
    example: Example
    kind: str = ""
    argument: str = ""

    @property
    def name(self) -> str:
        return f"{self.function.__module__.rsplit('.', 1)[-1]}.{self.function.__name__}"


ENTRIES: dict[str, Entry] = {}


def wrong(kind: str, argument: str, example: Example) -> Callable[[Any], Any]:
    """Declares a wrong Function."""

    def declare(function: Any) -> Any:
        entry = Entry(function, example, kind, argument)
        ENTRIES[f"wrong.{entry.name}"] = entry
        return function

    return declare


def right(example: Example) -> Callable[[Any], Any]:
    """Declares a right Function."""

    def declare(function: Any) -> Any:
        entry = Entry(function, example)
        ENTRIES[f"right.{entry.name}"] = entry
        return function

    return declare


def entries(folder: str) -> list[Entry]:
    """The Functions of a folder, "wrong" or "right"."""
    package = importlib.import_module(f"tests.testing.{folder}")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"tests.testing.{folder}.{module.name}")
    return [entry for key, entry in ENTRIES.items() if key.startswith(f"{folder}.")]
