"""Watches one application of a Function: what it kept, what it read, what it returned.

A Function is watched through a subclass whose forward and backward get the real ctx behind a
stand-in. The stand-in passes everything on and writes it down.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial, wraps
from typing import Any

from engine.testing.adapter import Array, Library

NOTHING = object()  # stands for the result of a backward that raised


@dataclass
class Log:
    """What was seen of one application.

    inputs, outputs: the very objects that forward was given and returned.
    saved: the arguments of each call of save_for_backward.
    kept: the attributes that forward put on ctx.
    read: the attributes of ctx that backward read.
    upstream, returned: the arguments and the result of the last backward.
    upstream_changed: which arguments of backward had other numbers after it.
    calls: how often backward ran.
    marked_counts: whether its result depends on the gradient of an output that is marked
    non-differentiable.
    """

    inputs: tuple[Any, ...] = ()
    outputs: tuple[Any, ...] = ()
    saved: list[tuple[Any, ...]] = field(default_factory=list)
    kept: dict[str, Any] = field(default_factory=dict)
    dirty: tuple[Any, ...] = ()
    marked: tuple[Any, ...] = ()
    read: set[str] = field(default_factory=set)
    upstream: tuple[Any, ...] = ()
    returned: Any = NOTHING
    upstream_changed: list[int] = field(default_factory=list)
    calls: int = 0
    marked_counts: bool = False

    def is_input(self, thing: Any) -> bool:
        return any(thing is known for known in self.inputs)

    def is_output(self, thing: Any) -> bool:
        return any(thing is known for known in self.outputs)

    @property
    def gradients(self) -> tuple[Any, ...]:
        """What backward returned, as a tuple."""
        many = isinstance(self.returned, (tuple, list))
        return tuple(self.returned) if many else (self.returned,)


class Context:
    """The real ctx behind a stand-in that writes into a log."""

    def __init__(self, ctx: Any, log: Log) -> None:
        object.__setattr__(self, "_ctx", ctx)
        object.__setattr__(self, "_log", log)

    def __getattr__(self, name: str) -> Any:
        self._log.read.add(name)
        return getattr(self._ctx, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._log.kept[name] = value
        setattr(self._ctx, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._ctx, name)

    def save_for_backward(self, *tensors: Any) -> None:
        self._log.saved.append(tensors)
        self._ctx.save_for_backward(*tensors)

    def mark_dirty(self, *tensors: Any) -> None:
        self._log.dirty = tensors
        self._ctx.mark_dirty(*tensors)

    def mark_non_differentiable(self, *tensors: Any) -> None:
        self._log.marked = tensors
        self._ctx.mark_non_differentiable(*tensors)


def spied(function: Any, library: Library, log: Log) -> type:
    """A subclass of a Function, with its name, that writes into a log."""
    members: dict[str, Any] = {"__module__": function.__module__}
    members["__qualname__"] = function.__qualname__
    with_context = takes_context(function, library)
    forward = _watched_forward(function.forward, log, with_context)
    members["forward"] = staticmethod(forward)
    if not with_context:
        members["setup_context"] = staticmethod(_watched_setup(function.setup_context, log))
    name = backward_name(function, library)
    members[name] = staticmethod(_watched_backward(getattr(function, name), library, log))
    made: type = type(function)(function.__name__, (function,), members)
    return made


def takes_context(function: Any, library: Library) -> bool:
    """True unless the Function splits forward from setup_context."""
    mine = getattr(function, "setup_context", None)
    return mine is None or mine is getattr(library.Function, "setup_context", None)


def backward_name(function: Any, library: Library) -> str:
    """The name under which a Function has its backward: "backward" or "vjp"."""
    vjp = getattr(library.Function, "vjp", None)
    return "vjp" if vjp is not None and function.vjp is not vjp else "backward"


def _watched_forward(forward: Callable[..., Any], log: Log, with_context: bool) -> Any:
    @wraps(forward)
    def watched(*args: Any) -> Any:
        given = args[1:] if with_context else args
        log.inputs = given
        first = (Context(args[0], log),) if with_context else ()
        result = forward(*first, *given)
        log.outputs = result if isinstance(result, tuple) else (result,)
        log.read.clear()
        return result

    return watched


def _watched_setup(setup_context: Callable[..., Any], log: Log) -> Any:
    @wraps(setup_context)
    def watched(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        log.inputs = inputs
        log.outputs = output if isinstance(output, tuple) else (output,)
        setup_context(Context(ctx, log), inputs, output)
        log.read.clear()

    return watched


def _watched_backward(backward: Callable[..., Any], library: Library, log: Log) -> Any:
    @wraps(backward)
    def watched(ctx: Any, *grads: Any) -> Any:
        before = [_numbers(g, library) for g in grads]
        log.upstream = grads
        log.calls += 1
        log.returned = NOTHING
        log.returned = backward(Context(ctx, log), *grads)
        if log.marked:
            log.marked_counts = _depends_on_marked(backward, ctx, grads, log, library)
        after = [_numbers(g, library) for g in grads]
        changed = [i for i, pair in enumerate(zip(before, after, strict=True)) if differ(*pair)]
        log.upstream_changed = changed
        return log.returned

    return watched


def _depends_on_marked(
    backward: Callable[..., Any], ctx: Any, grads: tuple[Any, ...], log: Log, library: Library
) -> bool:
    """Runs backward again with ones for the outputs that are marked non-differentiable."""
    other = list(grads)
    for k, output in enumerate(log.outputs[: len(grads)]):
        marked = any(output is t for t in log.marked)
        if marked and library.is_tensor(grads[k]) and library.is_floating(grads[k]):
            other[k] = grads[k] * 0 + 1
    try:
        returned = backward(ctx, *other)
    except Exception:
        return False
    again = returned if isinstance(returned, (tuple, list)) else (returned,)
    pairs = zip(map(partial(_numbers, library=library), log.gradients), again, strict=False)
    return any(differ(one, _numbers(two, library)) for one, two in pairs)


def _numbers(thing: Any, library: Library) -> Array | None:
    return library.array(thing) if library.is_node(thing) else None


def differ(one: Array | None, other: Array | None) -> bool:
    """True when two copies of one tensor hold other bits, or have another shape."""
    if one is None or other is None:
        return False
    return one.shape != other.shape or one.tobytes() != other.tobytes()
