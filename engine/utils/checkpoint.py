"""Checkpoints: what backward needs is computed again instead of kept, for less memory.

The non-reentrant kind: the graph is built as always, but its nodes keep places instead of tensors;
when backward asks for the first, the function runs once more and fills the places.
"""

from collections.abc import Callable, Sequence
from contextlib import contextmanager, nullcontext, suppress
from typing import Any
from weakref import WeakKeyDictionary

from engine import random
from engine.attention import warn
from engine.autograd.saved_hooks import saved_tensors_hooks
from engine.grad_mode import enable_grad
from engine.graph import current_walk
from engine.tensors import Tensor

early_stop: bool | None = None  # for all checkpoints made; None: as each was told
debug_enabled: bool | None = None  # for all checkpoints; None: as each was told


EXPLICITLY = (
    "{0}: the use_reentrant parameter should be passed explicitly: use_reentrant=False is the kind "
    "that engine has, and PyTorch's default is the other"
)


class CheckpointError(RuntimeError):
    """The function did something else when it was computed again."""


class Enough(Exception):
    """All places that are needed are filled."""


class Alone:
    """Stands for the walk where a saved tensor is read outside of any."""


class Frame:
    """One checkpointed call: its function, what it saved in order, what was computed again."""

    def __init__(self, call: Callable[[], Any], context: Callable[[], Any], keep_rng: bool):
        self.call, self.context = call, context
        self.rng = random.get_rng_state() if keep_rng else None
        self.checked, self.debug, self.early, self.complete = True, False, True, False
        self.kinds: list[tuple[Any, Any]] = []
        self.found: WeakKeyDictionary[Any, list[Any]] = WeakKeyDictionary()

    def pack(self, x: Tensor) -> int:
        """The place of x in the order of what is saved."""
        self.kinds.append((x.shape, x.dtype))
        return len(self.kinds) - 1

    def unpack(self, place: int) -> Tensor:
        """What stands in the place, computed again once in each walk, and handed out once."""
        walk = current_walk() or Alone()
        if walk not in self.found:
            self.found[walk] = self.again()
        x, self.found[walk][place] = self.found[walk][place], None
        if x is None:
            raise CheckpointError(
                "checkpoint: Unpack is being triggered for a tensor that was already unpacked once "
                "in this backward; read ctx.saved_tensors once, into names"
            )
        return x

    def again(self) -> list[Any]:
        """Run the function once more, and keep what its nodes save."""
        kept: list[Any] = []
        # A backward inside the first run needs what was saved up to here, and no more.
        needed = len(self.kinds) if self.early or not self.complete else -1

        def keep(x: Tensor) -> Tensor:
            kept.append(x if x.grad_fn is None else x.detach())
            if len(kept) == needed:
                raise Enough
            return x

        with self.as_before(), saved_tensors_hooks(keep, lambda x: x), suppress(Enough):
            self.call()
        self.check(kept)
        return kept

    @contextmanager
    def as_before(self) -> Any:
        """The modes and random numbers of the first run."""
        now = random.get_rng_state()
        if self.rng is not None:
            random.set_rng_state(self.rng)
        try:
            with enable_grad(), self.context():
                yield
        finally:
            if self.rng is not None:
                random.set_rng_state(now)

    def check(self, kept: list[Tensor]) -> None:
        """Refuse a second run that saved something else."""
        kinds = [(x.shape, x.dtype) for x in kept]
        if len(kinds) != len(self.kinds):
            more = len(kinds) > len(self.kinds)
            self.refuse(
                "A different number of tensors was saved during the original forward and "
                f"recomputation: {len(self.kinds)} and {len(kinds)}"
                f"{', trying to save more tensors during recomputation' if more else ''}",
                kinds,
            )
        for i, (now, before) in enumerate(zip(kinds, self.kinds, strict=True)):
            if now != before and self.checked:
                self.refuse(
                    "Recomputed values for the following tensors have different metadata than "
                    f"during the forward pass: tensor {i} was {before}, is {now} now",
                    kinds,
                )

    def refuse(self, what: str, kinds: list[tuple[Any, Any]]) -> None:
        """Raise the error for a second run that saved tensors of other kinds."""
        text = f"checkpoint: {what}; the function must do the same each time"
        if self.debug:
            text += (
                ". You are seeing this error because you passed `debug=True` to checkpoint: the "
                f"first run saved {self.kinds}, the second {kinds}"
            )
        raise CheckpointError(text)


def chosen(name: str, told: bool) -> bool:
    """A setting for all checkpoints, or, where there is none, what this one was told."""
    setting = globals()[name]
    return told if setting is None else bool(setting)


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[Any, Any]] | None = None,
    preserve_rng_state: bool = True,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """function(*args, **kwargs), whose intermediate results are computed again for backward.

    The function must do the same both times; random numbers are repeated unless
    preserve_rng_state is off. context_fn: returns two contexts, for the first run and for later
    ones. determinism_check="none": the second run may save other shapes and dtypes. debug: the
    error then tells what both runs saved. early_stop: the second run ends when it has saved what
    is needed. Raises ValueError for use_reentrant=True: this is the
    other kind, with the same gradients. Raises CheckpointError in backward when the second run
    saves something else, or when a saved tensor is read twice in it.
    """
    if use_reentrant:
        raise ValueError(
            "checkpoint: engine has the non-reentrant kind, which gives the same gradients; pass "
            "use_reentrant=False"
        )
    if use_reentrant is None:
        warn(EXPLICITLY.format("checkpoint"))
    first, later = (nullcontext(), nullcontext()) if context_fn is None else context_fn()
    frame = Frame(lambda: function(*args, **kwargs), lambda: later, preserve_rng_state)
    frame.checked, frame.debug = determinism_check != "none", chosen("debug_enabled", debug)
    frame.early = chosen("early_stop", early_stop)
    with saved_tensors_hooks(frame.pack, frame.unpack), first:
        output = function(*args, **kwargs)
    frame.complete = True
    return output


def checkpoint_sequential(
    functions: Sequence[Callable[..., Any]],
    segments: int,
    input: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
) -> Any:
    """The functions one after the other, checkpointed in `segments` parts; the last is kept."""
    if use_reentrant is None:
        warn(EXPLICITLY.format("checkpoint_sequential"))
    functions = list(functions)
    size = len(functions) // segments
    for start in range(0, size * (segments - 1), size):
        part = functions[start : start + size]
        options: Any = {
            "use_reentrant": bool(use_reentrant),
            "preserve_rng_state": preserve_rng_state,
        }
        input = checkpoint(chained, part, input, **options)
    return chained(functions[size * (segments - 1) :], input)


def chained(functions: Sequence[Callable[..., Any]], x: Any) -> Any:
    """The last of the functions of the one before of ... of x."""
    for f in functions:
        x = f(x)
    return x


class set_checkpoint_early_stop:
    """A `with` block for checkpoints whose second run, whenever that is, stops when it has what
    it needs, or does not."""

    def __init__(self, enable: bool | None):
        self.enable = enable

    def __enter__(self) -> None:
        global early_stop
        self.before, early_stop = early_stop, self.enable

    def __exit__(self, *error: object) -> None:
        global early_stop
        early_stop = self.before


class set_checkpoint_debug_enabled:
    """A `with` block for checkpoints whose errors all tell what both runs saved, or none do."""

    def __init__(self, enabled: bool | None):
        self.enabled = enabled

    def __enter__(self) -> None:
        global debug_enabled
        self.before, debug_enabled = debug_enabled, self.enabled

    def __exit__(self, *error: object) -> None:
        global debug_enabled
        debug_enabled = self.before
