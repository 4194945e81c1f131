"""Hooks of modules: what runs before and after a forward, and around a backward.

A module without hooks never comes here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import engine
from engine.attention import warn
from engine.function import Function
from engine.hooks import RemovableHandle
from engine.tensors import Tensor

if TYPE_CHECKING:
    from engine.nn.modules.module import Module


class Hook(NamedTuple):
    """A user's function and how it wants to be called."""

    call: Callable[..., Any]
    with_kwargs: bool = False
    always_call: bool = False


def register(table: dict[int, Hook], hook: Hook, prepend: bool) -> RemovableHandle:
    """Puts the hook at the end of the table, or at its front."""
    others = list(table) if prepend else []
    handle = RemovableHandle(table, hook)  # type: ignore[arg-type]
    for key in others:
        table[key] = table.pop(key)
    return handle


def call(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`module.forward` with the hooks that are registered on the module."""
    waiting = dict(module._hooks.get("forward", {}))
    try:
        return _call(module, args, kwargs, waiting)
    except Exception:
        for hook in [hook for hook in waiting.values() if hook.always_call]:
            _run(hook, module, args, kwargs, None)
        raise


def _call(
    module: Module, args: tuple[Any, ...], kwargs: dict[str, Any], waiting: dict[int, Hook]
) -> Any:
    for hook in list(module._hooks.get("forward_pre", {}).values()):
        args, kwargs = _before(hook, module, args, kwargs)
    if not (module._hooks.get("backward_pre") or module._hooks.get("backward")):
        return _after(module, args, kwargs, module.forward(*args, **kwargs), waiting)
    watch = _Watch(module, args)
    args = watch.inputs(args)
    return watch.outputs(_after(module, args, kwargs, module.forward(*args, **kwargs), waiting))


def _before(
    hook: Hook, module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if not hook.with_kwargs:
        result = hook.call(module, args)
        return (args if result is None else _tuple(result)), kwargs
    result = hook.call(module, args, kwargs)
    if result is None:
        return args, kwargs
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(
            f"{type(module).__name__}: a forward pre-hook with with_kwargs=True must return None "
            f"or a pair (args, kwargs); got {type(result).__name__}"
        )
    return _tuple(result[0]), result[1]


def _after(
    module: Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    output: Any,
    waiting: dict[int, Hook],
) -> Any:
    for key in list(waiting):
        result = _run(waiting.pop(key), module, args, kwargs, output)
        output = output if result is None else result
    return output


def _run(
    hook: Hook, module: Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any
) -> Any:
    if hook.with_kwargs:
        return hook.call(module, args, kwargs, output)
    return hook.call(module, args, output)


def _tuple(thing: Any) -> tuple[Any, ...]:
    return thing if isinstance(thing, tuple) else (thing,)


class _Boundary(Function):
    """Passes tensors on unchanged, and on the way back shows their gradients to `reached`.

    zeros: whether a gradient that did not arrive is shown as 0, else as None.
    """

    @staticmethod
    def forward(
        ctx: Any, reached: Callable[..., Any], zeros: bool, *tensors: Tensor
    ) -> tuple[Tensor, ...]:
        ctx.reached = reached
        ctx.set_materialize_grads(zeros)
        return tensors

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Any, ...]:
        return (None, None, *ctx.reached(grads))


class _Watch:
    """The backward hooks of one call: keeps grad_output until grad_input arrives."""

    def __init__(self, module: Module, args: tuple[Any, ...]) -> None:
        self.module = module
        self.blank_inputs = [None] * len(args)
        self.inputs_tracked = any(_tracked(arg) for arg in args)
        self.grad_output: tuple[Any, ...] | None = None

    def inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        return _through(self._inputs_reached, args, zeros=True)

    def outputs(self, output: Any) -> Any:
        passed = _through(self._outputs_reached, _tuple(output), zeros=False)
        return passed if isinstance(output, tuple) else passed[0]

    def _outputs_reached(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        for hook in list(self.module._hooks.get("backward_pre", {}).values()):
            grads = self._replaced(grads, hook.call(self.module, grads))
        self.grad_output = grads
        if not self.inputs_tracked:
            self._without_inputs()
        return grads

    def _inputs_reached(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        if self.grad_output is None:  # a second derivative: it did not come through the outputs
            return grads
        for hook in list(self.module._hooks.get("backward", {}).values()):
            grads = self._replaced(grads, hook.call(self.module, grads, self.grad_output))
        self.grad_output = None
        return grads

    def _without_inputs(self) -> None:
        warn(
            f"{type(self.module).__name__}: no input of the module requires a gradient, so its "
            "backward hook runs when its outputs get theirs, with grad_input None"
        )
        for hook in list(self.module._hooks.get("backward", {}).values()):
            hook.call(self.module, tuple(self.blank_inputs), self.grad_output)

    def _replaced(self, grads: tuple[Any, ...], result: Any) -> tuple[Any, ...]:
        if result is None:
            return grads
        if len(_tuple(result)) != len(grads):
            raise RuntimeError(
                f"{type(self.module).__name__}: a backward hook must return None or "
                f"{len(grads)} gradients; got {len(_tuple(result))}"
            )
        return _tuple(result)


def _tracked(thing: Any) -> bool:
    return isinstance(thing, Tensor) and thing.requires_grad


def _through(reached: Callable[..., Any], things: tuple[Any, ...], zeros: bool) -> tuple[Any, ...]:
    """`things`, those that require a gradient passed through a _Boundary that calls `reached`.

    What is no tensor has None among the gradients that `reached` sees; a tensor that requires no
    gradient has 0 or None.
    """
    places = [i for i, thing in enumerate(things) if _tracked(thing)]
    if not places:
        return things

    def spread(grads: tuple[Any, ...]) -> tuple[Any, ...]:
        row = [_zero(thing) if zeros else None for thing in things]
        for i, grad in zip(places, grads, strict=True):
            row[i] = grad
        answer = reached(tuple(row))
        return tuple(answer[i] for i in places)

    passed = list(things)
    outputs = _Boundary.apply(spread, zeros, *(things[i] for i in places))
    for i, output in zip(places, outputs, strict=True):
        passed[i] = output
    return tuple(passed)


def _zero(thing: Any) -> Tensor | None:
    return engine.zeros_like(thing) if isinstance(thing, Tensor) else None
