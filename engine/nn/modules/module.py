"""Module: a tree of parameters, buffers and other modules, with a forward."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

import engine
from engine.attention import warn
from engine.hooks import RemovableHandle
from engine.nn import hooks
from engine.nn.hooks import Hook
from engine.nn.parameter import Parameter
from engine.tensors import Tensor

Self = TypeVar("Self", bound="Module")

TABLES = ("_parameters", "_buffers", "_modules")
PRIVATE = (*TABLES, "_hooks", "_unsaved", "training")


class IncompatibleKeys(NamedTuple):
    """What load_state_dict found to be missing, and what it had no use for."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not (self.missing_keys or self.unexpected_keys):
            return "<All keys matched successfully>"
        return (
            f"IncompatibleKeys(missing_keys={self.missing_keys}, "
            f"unexpected_keys={self.unexpected_keys})"
        )


class Module:
    """Base of every layer and every model.

    A subclass calls `super().__init__()` first and has a `forward`; calling the module runs it.
    A Parameter, or a Module, that is assigned to an attribute is registered under its name:
    `parameters()` finds it, `state_dict()` saves it, `to()` converts it. Those kept in a plain
    list, tuple or dict are not found, and `parameters()` warns of them by name.
    """

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]
    _hooks: dict[str, dict[int, Hook]]

    def __init__(self) -> None:
        for name in (*TABLES, "_hooks"):
            object.__setattr__(self, name, {})
        object.__setattr__(self, "_unsaved", set())
        object.__setattr__(self, "training", True)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._hooks:
            return hooks.call(self, args, kwargs)
        return self.forward(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes; every subclass writes its own."""
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    # Attributes: parameters, buffers and modules live in tables of their own.

    def __getattr__(self, name: str) -> Any:
        if name in PRIVATE:
            raise AttributeError(
                f"{type(self).__name__}: Module.__init__() has not run; call super().__init__() "
                "first in __init__, before parameters and modules are assigned"
            )
        for table in TABLES:
            held = self.__dict__.get(table, {})
            if name in held:
                return held[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        home = _home(self, name, value)
        if home is None:
            object.__setattr__(self, name, value)
            return
        for table in (self.__dict__, *(getattr(self, table) for table in TABLES)):
            if table is not home:
                table.pop(name, None)
        home[name] = value

    def __delattr__(self, name: str) -> None:
        for table in TABLES:
            if name in getattr(self, table):
                del getattr(self, table)[name]
                self._unsaved.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        held = [name for table in TABLES for name in self.__dict__.get(table, {})]
        return sorted({*super().__dir__(), *held})

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Adds a parameter, or None: an optional one that is absent."""
        _check_name(self, "parameter", name, self._parameters)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{type(param).__name__}' object to parameter '{name}' "
                "(nn.Parameter or None required)"
            )
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Adds a tensor that is not trained, such as a running mean.

        persistent: whether state_dict() holds it.
        """
        _check_name(self, "buffer", name, self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{type(tensor).__name__}' object to buffer '{name}' "
                "(Tensor or None required)"
            )
        self._buffers[name] = tensor
        (self._unsaved.discard if persistent else self._unsaved.add)(name)

    def register_module(self, name: str, module: Module | None) -> None:
        """Adds a child module under `name`, or None."""
        _check_name(self, "module", name, self._modules)
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{type(module).__name__} is not a Module subclass")
        self._modules[name] = module

    add_module = register_module

    # The tree

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """This module and all below it, each once, with the dotted name of each."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, _join(prefix, name), remove_duplicate)

    def modules(self) -> Iterator[Module]:
        """This module and all below it, each once."""
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules right below this one, each once, with their names."""
        seen: set[Module] = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        """The modules right below this one, each once."""
        return (module for _, module in self.named_children())

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """All parameters, each once, with the dotted name of each.

        Warns of parameters and modules kept in a plain list, tuple or dict: they do not train.
        """
        _warn_of_unregistered(self)
        return self._members("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """All parameters, each once: what an optimizer takes. Warns as named_parameters does."""
        _warn_of_unregistered(self)
        return (param for _, param in self._members("_parameters", "", recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """All buffers, each once, with the dotted name of each."""
        return self._members("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """All buffers, each once."""
        return (buffer for _, buffer in self._members("_buffers", "", recurse))

    def _members(
        self, table: str, prefix: str, recurse: bool, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        tree = self.named_modules(None, prefix, remove_duplicate) if recurse else [(prefix, self)]
        for path, module in tree:
            for name, member in getattr(module, table).items():
                if member is not None and id(member) not in seen:
                    if remove_duplicate:
                        seen.add(id(member))
                    yield _join(path, name), member

    def get_submodule(self, target: str) -> Module:
        """The module with that dotted name; "" is this one. Raises AttributeError."""
        module: Any = self
        for name in target.split(".") if target else ():
            if name not in module._modules:
                raise AttributeError(f"{type(module).__name__} has no submodule `{name}`")
            module = module._modules[name]
        return module

    def get_parameter(self, target: str) -> Parameter:
        """The parameter with that dotted name. Raises AttributeError."""
        found: Parameter = self._get(target, "_parameters", "parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer with that dotted name. Raises AttributeError."""
        found: Tensor = self._get(target, "_buffers", "buffer")
        return found

    def _get(self, target: str, table: str, kind: str) -> Any:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if name not in getattr(module, table):
            raise AttributeError(f"{type(module).__name__} has no {kind} `{name}`")
        return getattr(module, table)[name]

    # Saving and loading

    def state_dict(self, *, prefix: str = "", keep_vars: bool = False) -> dict[str, Tensor]:
        """Every parameter and persistent buffer by dotted name.

        The tensors share memory with the module; keep_vars=True gives the very Parameters.
        """
        state: dict[str, Tensor] = {}
        for path, module in self.named_modules(None, prefix.removesuffix("."), False):
            for name, held in {**module._parameters, **module._buffers}.items():
                if held is not None and name not in module._unsaved:
                    state[_join(path, name)] = held if keep_vars else held.detach()
        return state

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True
    ) -> IncompatibleKeys:
        """Copies the numbers of `state_dict` into the tensors of the same names.

        strict: names must match exactly; with False those that only one side has are returned.
        Raises RuntimeError, with every fault named and nothing copied, when names (if strict) or
        shapes differ or an entry is no tensor; TypeError unless `state_dict` is a mapping.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(
                f"Expected state_dict to be dict-like, got {type(state_dict).__name__}."
            )
        own = self.state_dict(keep_vars=True)
        keys = IncompatibleKeys(
            [key for key in own if key not in state_dict],
            [key for key in state_dict if key not in own],
        )
        faults = [*(_key_faults(keys) if strict else ()), *_entry_faults(own, state_dict)]
        if faults:
            title = f"Error(s) in loading state_dict for {type(self).__name__}:"
            raise RuntimeError("\n\t".join([title, *faults]))
        with engine.no_grad():
            for key in own.keys() & state_dict.keys():
                own[key].copy_(state_dict[key])
        return keys

    # Modes and conversions

    def train(self: Self, mode: bool = True) -> Self:
        """Sets `training` here and below: Dropout drops only in training."""
        if not isinstance(mode, bool):
            raise ValueError(f"training mode is expected to be boolean; got {type(mode).__name__}")
        for module in self.modules():
            module.training = mode
        return self

    def eval(self: Self) -> Self:
        """Leaves training: `train(False)`."""
        return self.train(False)

    def requires_grad_(self: Self, requires_grad: bool = True) -> Self:
        """Switches gradients of all parameters on or off."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the gradients of all parameters; with set_to_none=False fills them with 0."""
        for param in self.parameters():
            if param.grad is not None and not set_to_none:
                param.grad = param.grad.detach().zero_()
            elif set_to_none:
                param.grad = None

    def apply(self: Self, fn: Callable[[Module], Any]) -> Self:
        """Calls `fn` on every module below, then on this one."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def to(self: Self, *args: Any, **kwargs: Any) -> Self:
        """Converts in place what `Tensor.to` names: a dtype, a device, or another tensor's.

        A dtype, which must be floating, reaches the floating parameters and buffers only.
        """
        example = engine.empty(0).to(*args, **kwargs)
        if not example.is_floating_point():
            raise TypeError(
                "nn.Module.to only accepts floating point dtypes, but got desired "
                f"dtype={example.dtype}"
            )
        integers = {"device": example.device}
        return self._convert(
            lambda t: t.to(*args, **kwargs) if t.is_floating_point() else t.to(**integers)
        )

    def type(self: Self, dst_type: Any) -> Self:
        """Converts every parameter and buffer, integers too, to that dtype, in place."""
        return self._convert(lambda t: t.type(dst_type))

    def float(self: Self) -> Self:
        """Converts floating parameters and buffers to float32, in place."""
        return self._convert(lambda t: t.float() if t.is_floating_point() else t)

    def double(self: Self) -> Self:
        """Converts floating parameters and buffers to float64, in place."""
        return self._convert(lambda t: t.double() if t.is_floating_point() else t)

    def half(self: Self) -> Self:
        """Converts floating parameters and buffers to float16, in place."""
        return self._convert(lambda t: t.half() if t.is_floating_point() else t)

    def cpu(self: Self) -> Self:
        """Does nothing: engine computes on the CPU."""
        return self

    def cuda(self: Self, device: Any = None) -> Self:
        """Refused as `Tensor.cuda` is: engine computes on the CPU."""
        return self._convert(lambda t: t.cuda(device))

    def _convert(self: Self, fn: Callable[[Tensor], Tensor]) -> Self:
        for module in self.modules():
            for param in module._parameters.values():
                if param is not None:
                    _convert_parameter(param, fn)
            for name, buffer in module._buffers.items():
                if buffer is not None:
                    module._buffers[name] = fn(buffer)
        return self

    # Hooks

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """`hook(module, args)` runs before forward; what it returns, unless None, replaces args.

        with_kwargs: `hook(module, args, kwargs)`, which returns None or a pair (args, kwargs).
        """
        return self._hook("forward_pre", Hook(hook, with_kwargs), prepend)

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """`hook(module, args, output)` runs after forward; what it returns replaces output.

        with_kwargs: `hook(module, args, kwargs, output)`.
        always_call: it also runs, with output None, when the forward raises.
        """
        return self._hook("forward", Hook(hook, with_kwargs, always_call), prepend)

    def register_full_backward_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """`hook(module, grad_output)` runs when the gradients of the outputs are there.

        What it returns, unless None, replaces them.
        """
        return self._hook("backward_pre", Hook(hook), prepend)

    def register_full_backward_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """`hook(module, grad_input, grad_output)` runs when the gradients of the inputs are there.

        Both are tuples, with None for what is no tensor and for an output that has no gradient;
        only positional inputs are seen. What it returns, unless None, replaces grad_input. If no
        input requires a gradient it runs when the outputs' gradients are there, with a warning.
        """
        return self._hook("backward", Hook(hook), prepend)

    def _hook(self, kind: str, hook: Hook, prepend: bool) -> RemovableHandle:
        return hooks.register(self._hooks.setdefault(kind, {}), hook, prepend)

    # Text

    def extra_repr(self) -> str:
        """What repr shows between the brackets; a subclass writes its own."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        children = [f"({name}): {child!r}" for name, child in self._modules.items()]
        return bracketed(type(self).__name__, extra.split("\n") if extra else [], children)


def bracketed(title: str, extra: list[str], children: list[str]) -> str:
    """`title(extra)` on one line if that is all there is, else a line for each, indented."""
    if not children and len(extra) <= 1:
        return f"{title}({''.join(extra)})"
    lines = "\n".join([*extra, *children]).split("\n")
    return "\n".join([title + "(", *("  " + line for line in lines), ")"])


def _join(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name


def _home(module: Module, name: str, value: Any) -> Any:
    """The table that `module.name = value` writes to; None for an ordinary attribute."""
    if isinstance(value, Parameter):
        return module._parameters
    if name in module.__dict__.get("_parameters", ()):
        return _checked(module._parameters, name, value, "parameter", Parameter)
    if isinstance(value, Module):
        return module._modules
    if name in module.__dict__.get("_modules", ()):
        return _checked(module._modules, name, value, "child module", Module)
    if name in module.__dict__.get("_buffers", ()):
        return _checked(module._buffers, name, value, "buffer", Tensor)
    return None


def _checked(table: dict[str, Any], name: str, value: Any, kind: str, needed: type) -> Any:
    if value is not None and not isinstance(value, needed):
        raise TypeError(
            f"cannot assign '{type(value).__name__}' as {kind} '{name}' "
            f"({needed.__name__} or None expected)"
        )
    return table


def _check_name(module: Module, kind: str, name: Any, table: dict[str, Any]) -> None:
    if not isinstance(name, str):
        raise TypeError(f"{kind} name should be a string. Got {type(name).__name__}")
    if "." in name or not name:
        raise KeyError(f"{kind} name must not be empty or contain '.'; got {name!r}")
    if hasattr(module, name) and name not in table:
        raise KeyError(f"attribute '{name}' already exists")


def _convert_parameter(param: Parameter, fn: Callable[[Tensor], Tensor]) -> None:
    """Writes fn(param) into the same Parameter, and fn of its gradient likewise."""
    grad = param.grad
    param.grad = None
    param.data = fn(param.data)
    if grad is not None:
        param.grad = fn(grad.detach())


def _key_faults(keys: IncompatibleKeys) -> Iterator[str]:
    for title, names in (("Missing", keys.missing_keys), ("Unexpected", keys.unexpected_keys)):
        if names:
            listed = ", ".join(f'"{name}"' for name in names)
            yield f"{title} key(s) in state_dict: {listed}. "


def _entry_faults(own: Mapping[str, Tensor], given: Mapping[str, Any]) -> Iterator[str]:
    for key in (key for key in own if key in given):
        entry = given[key]
        if not isinstance(entry, Tensor):
            yield (
                f'"{key}" must be a Tensor; got {type(entry).__name__}: '
                "engine.from_numpy(...) makes one of an array"
            )
        elif entry.shape != own[key].shape:
            yield (
                f"size mismatch for {key}: copying a param with shape {tuple(entry.shape)} from "
                f"checkpoint, the shape in current model is {tuple(own[key].shape)}."
            )


def _warn_of_unregistered(root: Module) -> None:
    """Warns of each plain list, tuple or dict that holds what `root` cannot find otherwise."""
    known = {id(module) for module in root.modules()}
    known |= {id(param) for _, param in root._members("_parameters", "", True)}
    for module in root.modules():
        for name, held in vars(module).items():
            kind = _unregistered(held, known)
            if kind is not None:
                _warn(module, name, held, kind)


def _unregistered(held: Any, known: set[int]) -> str | None:
    if not isinstance(held, list | tuple | dict):
        return None
    for item in held.values() if isinstance(held, dict) else held:
        if isinstance(item, Module | Parameter) and id(item) not in known:
            return "Module" if isinstance(item, Module) else "Parameter"
    return None


def _warn(module: Module, name: str, held: Any, kind: str) -> None:
    cure = f"nn.{kind}{'Dict' if isinstance(held, dict) else 'List'}"
    warn(
        f"{type(module).__name__}.{name} is a plain {type(held).__name__}: what it holds is not "
        f"registered, and will neither train nor be saved; write {cure}(...)"
    )
