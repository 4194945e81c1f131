"""no_grad, enable_grad, set_grad_enabled: gradients on or off for a block or a function."""

import functools
import inspect
import threading
import types
from collections.abc import Callable, Generator
from typing import Any, TypeVar

from engine import modes
from engine.attention import warn
from engine.blocks import Block

set_grad: Any = modes.set_grad
is_grad_enabled: Callable[[], bool] = modes.is_grad_enabled
F = TypeVar("F", bound=Callable[..., Any])


class GradMode(Block):
    """Switches gradients on or off for a block, or for every call of the function it decorates.

    Per thread: a thread started inside the block begins with gradients on. The body of a
    decorated generator or coroutine keeps its own mode from step to step, its caller another.
    """

    def __call__(self, function: F) -> F:
        if inspect.isclass(function):
            warn(
                f"{type(self).__name__}: Decorating classes is deprecated and will be disabled; "
                "decorate the methods",
                FutureWarning,
            )
        if inspect.isgeneratorfunction(function):
            return decorate_generator(function, self.mode)
        if inspect.iscoroutinefunction(function):
            return decorate_coroutine(function, self.mode)
        return decorate_function(function, self.mode)


class no_grad(GradMode):
    """No operation in here is recorded: its results do not require grad. A block or a decorator."""

    wanted = False


class enable_grad(GradMode):
    """Operations in here are recorded, also inside a no_grad block. A block or a decorator."""


class inference_mode(GradMode):
    """no_grad under another name: tensors made in here may be used in a graph later, which
    PyTorch refuses. inference_mode(False) is enable_grad."""

    def __new__(cls, mode: Any = True) -> Any:
        if callable(mode):
            return cls()(mode)
        self = GradMode.__new__(cls)
        self.mode = not mode
        return self

    def __enter__(self) -> None:
        GradMode.__enter__(self)
        self.before.append(is_inference_mode_enabled())
        _inference.on = not self.mode

    def __exit__(self, *error: object) -> None:
        _inference.on = self.before.pop()
        GradMode.__exit__(self)

    def __call__(self, function: F) -> F:
        """Decorates a function; the body of a generator or coroutine has its gradients off, too,
        but does not say is_inference_mode_enabled()."""
        decorated: Any = GradMode.__call__(self, function)
        if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
            return decorated

        @functools.wraps(decorated, updated=())
        def in_mode(*args: Any, **kwargs: Any) -> Any:
            with type(self)(not self.mode):
                return decorated(*args, **kwargs)

        return in_mode  # type: ignore[return-value]


_inference = threading.local()


def is_inference_mode_enabled() -> bool:
    """Whether the program is in an inference_mode block of this thread."""
    return getattr(_inference, "on", False)


class set_grad_enabled(GradMode):
    """Switch gradients on or off at once: as a plain call for good, as a block until its end,
    as a decorator for the calls of the function."""

    def __new__(cls, mode: bool) -> Any:
        self = GradMode.__new__(cls)
        self.mode = bool(mode)
        self.before.append(set_grad(self.mode))
        return self

    def __enter__(self) -> None:
        pass

    def __call__(self, function: F) -> F:
        set_grad(self.before.pop())
        return GradMode.__call__(self, function)


def decorate_function(function: Any, mode: bool) -> Any:
    @functools.wraps(function, updated=())
    def in_mode(*args: Any, **kwargs: Any) -> Any:
        before = is_grad_enabled()
        try:
            set_grad(mode)
            return function(*args, **kwargs)
        finally:
            set_grad(before)

    return in_mode


def decorate_generator(function: Any, mode: bool) -> Any:
    @functools.wraps(function)
    def in_mode(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        return (yield from stepwise(function(*args, **kwargs), mode))

    return in_mode


def decorate_coroutine(function: Any, mode: bool) -> Any:
    @functools.wraps(function)
    @types.coroutine
    def in_mode(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        return (yield from stepwise(function(*args, **kwargs), mode))

    return in_mode


def stepwise(body: Any, mode: bool) -> Generator[Any, Any, Any]:
    """Drive a generator or coroutine, in `mode` while its body runs and not in between."""
    step, argument = body.send, None
    while True:
        before = is_grad_enabled()
        try:
            set_grad(mode)
            out = step(argument)
        except StopIteration as end:
            return end.value
        finally:
            mode = set_grad(before)
        try:
            step, argument = body.send, (yield out)
        except BaseException as error:  # GeneratorExit too: close() reaches the body this way
            step, argument = body.throw, error
