"""Modules of torch and micrograd, answered by engine's: what `python -m engine run` imports."""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from engine.builds import __version__, backend

PACKAGES = ("torch", "micrograd")
# torch.NAME is engine.NAME; these are the others. "" is a package with nothing but submodules.
ELSEWHERE = {
    "torch.utils": "",
    "torch.utils.data": "engine.data",
    "micrograd": "",
    "micrograd.engine": "engine",
    "micrograd.nn": "engine.scalar",
}


def say(text: str) -> None:
    print(f"engine run: {text}", file=sys.stderr)


def installed(name: str) -> bool:
    """Whether there is a package of that name which is not answered by a Finder."""
    spec = find_spec(name)
    return spec is not None and not isinstance(spec.loader, Finder)


def answer_missing(names: Sequence[str]) -> None:
    """Has the imports of those of PACKAGES answered that are among the names and not installed."""
    missing = [name for name in names if find_spec(name) is None]
    if missing:
        sys.meta_path.insert(0, Finder(missing))


class Finder(MetaPathFinder, Loader):
    """Answers the imports of packages, all of PACKAGES or some, before any that are installed."""

    def __init__(self, packages: Sequence[str] = PACKAGES) -> None:
        self.packages = packages

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of an Answer; None for a module of no such package."""
        if name.partition(".")[0] not in self.packages:
            return None
        return ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        if spec.name in PACKAGES:
            say(f"`{spec.name}` is engine {__version__}, the {backend()} build")
        return Answer(spec.name, counterpart(spec.name))

    def exec_module(self, module: ModuleType) -> None:
        """Nothing: an Answer is complete when it is made."""


def counterpart(name: str) -> ModuleType:
    """The module of engine that answers for `name`; ModuleNotFoundError names one that has none."""
    ours = ELSEWHERE.get(name, f"engine{name.removeprefix('torch')}")
    if not ours:
        return ModuleType(name)
    try:
        return import_module(ours)
    except ModuleNotFoundError as error:
        if not f"{ours}.".startswith(f"{error.name}."):
            raise
    # Without the attribute `name`, which would let `from torch import name` write its own message.
    raise ModuleNotFoundError(
        f"{name} is not in engine {__version__}, which answers for {name.partition('.')[0]} here"
    )


class Answer(ModuleType):
    """The module `torch.nn`, say, whose names are those of `engine.nn`."""

    def __init__(self, name: str, ours: ModuleType) -> None:
        super().__init__(name, ours.__doc__)
        self._ours = ours

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._ours, name, self)
        if found is not self and not isinstance(found, ModuleType):
            return found
        if name == "__all__":
            return [public for public in dir(self) if not public.startswith("_")]
        if name.startswith("__"):  # asked by the import system itself; no module has such a name
            raise AttributeError(name)
        if found is sys.modules["engine"]:  # torch.autograd.torch
            return import_module("torch")
        try:
            return import_module(f"{self.__name__}.{name}")
        except ModuleNotFoundError as error:
            raise AttributeError(str(error)) from None

    def __dir__(self) -> list[str]:
        return dir(self._ours)
