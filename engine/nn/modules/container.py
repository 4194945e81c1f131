"""Modules that hold modules or parameters: Sequential, ModuleList, ModuleDict, ParameterList."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from engine.nn.modules.module import Module, bracketed
from engine.nn.parameter import Parameter
from engine.tensors import Tensor


class _Row(Module):
    """What Sequential and ModuleList share: modules in a row, named "0", "1", ..."""

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._like(list(self._modules.items())[index])
        return self._modules[self._name(index)]

    def __setitem__(self, index: int, module: Module) -> None:
        self.register_module(self._name(index), module)

    def __delitem__(self, index: Any) -> None:
        rest = list(self)
        del rest[index]
        self._refill(rest)

    def append(self, module: Module) -> Any:
        """Adds one module at the end; returns the container."""
        self.register_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Any:
        """Adds modules at the end; returns the container."""
        for module in iterable(f"{type(self).__name__}.extend", modules):
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Any:
        """Puts a module before the one at `index`; returns the container."""
        rest = list(self)
        rest.insert(index, module)
        self._refill(rest)
        return self

    def pop(self, index: int = -1) -> Any:
        """Takes a module out and returns it."""
        taken = self[index]
        del self[index]
        return taken

    def __add__(self, other: Iterable[Module]) -> Any:
        return self._like([]).extend(self).extend(other)

    def _like(self, pairs: list[tuple[str, Any]]) -> Any:
        """A container of the same kind with these modules."""
        return type(self)().extend([module for _, module in pairs])

    def _name(self, index: Any) -> str:
        names, place = list(self._modules), operator.index(index)
        if not -len(names) <= place < len(names):
            raise IndexError(
                f"{type(self).__name__}: index {place} is out of range; it holds {len(names)}"
            )
        return names[place]

    def _refill(self, modules: list[Any]) -> None:
        self._modules.clear()
        for module in modules:
            self.append(module)


class Sequential(_Row):
    """Modules run one after the other, each on the output of the one before.

    Sequential(first, second, ...), or Sequential({"name": first, ...}) to choose their names.
    """

    def __init__(self, *modules: Any) -> None:
        super().__init__()
        one = len(modules) == 1 and isinstance(modules[0], Mapping)
        named = modules[0] if one else {str(i): module for i, module in enumerate(modules)}
        for name, module in named.items():
            self.register_module(name, module)

    def forward(self, input: Any) -> Any:
        for module in self:
            input = module(input)
        return input

    def _like(self, pairs: list[tuple[str, Any]]) -> Any:
        return type(self)(dict(pairs))


class ModuleList(_Row):
    """A list of modules whose parameters are found; it has no forward of its own."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        self.extend(() if modules is None else modules)

    def __repr__(self) -> str:
        """As torch's: equal neighbours share a line, "(0-2): 3 x Linear(...)"."""
        lines, start = [], 0
        for text, run in itertools.groupby(map(repr, self)):
            size = len(list(run))
            end = start + size - 1
            lines.append(f"({start}): {text}" if size == 1 else f"({start}-{end}): {size} x {text}")
            start += size
        return bracketed(type(self).__name__, [], lines)


class ModuleDict(Module):
    """A dict of modules whose parameters are found; it has no forward of its own."""

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        self.update({} if modules is None else modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.register_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._modules.keys()

    def values(self) -> Iterable[Any]:
        """The modules."""
        return self._modules.values()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Pairs of name and module."""
        return self._modules.items()

    def clear(self) -> None:
        """Takes all modules out."""
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Takes a module out and returns it."""
        return self._modules.pop(key)

    def update(self, modules: Any) -> None:
        """Adds or replaces modules, from a mapping or from pairs of name and module."""
        pairs = modules.items() if isinstance(modules, Mapping | ModuleDict) else modules
        for pair in iterable(f"{type(self).__name__}.update", pairs):
            if not (isinstance(pair, tuple | list) and len(pair) == 2):
                raise TypeError(
                    f"ModuleDict: modules must be a dict, or pairs (name, module); "
                    f"got an item of type {type(pair).__name__}"
                )
            self[pair[0]] = pair[1]


class ParameterList(Module):
    """A list of parameters that are found; a plain Tensor that is put in becomes a Parameter."""

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self.extend(() if values is None else values)

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._parameters.values())

    def __getitem__(self, index: Any) -> Any:
        held = list(self)
        return type(self)(held[index]) if isinstance(index, slice) else held[index]

    def __setitem__(self, index: int, value: Any) -> None:
        self._parameters[str(range(len(self))[index])] = as_parameter(value)

    def append(self, value: Any) -> ParameterList:
        """Adds one parameter at the end; returns the list."""
        self._parameters[str(len(self))] = as_parameter(value)
        return self

    def extend(self, values: Iterable[Any]) -> ParameterList:
        """Adds parameters at the end; returns the list."""
        for value in iterable("ParameterList.extend", values):
            self.append(value)
        return self

    def extra_repr(self) -> str:
        return "\n".join(
            f"  ({i}): Parameter containing: [{param.dtype} of size {_times(param)}]"
            for i, param in enumerate(self)
        )


def _times(param: Tensor) -> str:
    return "x".join(str(size) for size in param.shape)


def as_parameter(value: Any) -> Parameter:
    if not isinstance(value, Tensor):
        raise TypeError(f"ParameterList holds Parameters and Tensors; got {type(value).__name__}")
    return value if isinstance(value, Parameter) else Parameter(value)


def iterable(method: str, things: Any) -> Iterable[Any]:
    if not isinstance(things, Iterable):
        raise TypeError(
            f"{method} should be called with an iterable, but got {type(things).__name__}"
        )
    return things
