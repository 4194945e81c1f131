"""Modules of torch and micrograd, answered by engine's: what `python -m engine run` imports."""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
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


class Finder(MetaPathFinder, Loader):
    """Answers the imports of PACKAGES, before any that are installed."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of an Answer; None for a module that is none of PACKAGES'."""
        if name.partition(".")[0] not in PACKAGES:
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
