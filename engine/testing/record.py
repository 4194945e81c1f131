"""Runs a script and records the first calls of every custom Function in it."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass, field
from time import monotonic
from types import ModuleType
from typing import Any

from engine.answers import PACKAGES, answer_missing, installed
from engine.testing.adapter import Library, libraries, library

OWN = ("engine", "torch")  # packages whose own Functions are not recorded


class Enough(BaseException):
    """Stops a script when its Functions have been seen; no Exception, so that none catches it."""


@dataclass
class Recorder:
    """The arguments of the first calls of each Function.

    calls: how many calls of other shapes are kept for a Function.
    patience: the script is stopped when so many calls in a row, and seconds, brought nothing new.
    only: the name of the one Function to record; "" for all. paused: nothing is recorded now.
    """

    calls: int = 2
    patience: int = 100
    seconds: float = 3.0
    only: str = ""
    paused: bool = False
    seen: dict[type, list[tuple[Any, ...]]] = field(default_factory=dict)
    idle: int = 0
    latest: float = 0.0

    def see(self, function: type, arguments: Sequence[Any], own: Library) -> None:
        """Keeps a copy of a call's arguments when it is new; raises Enough after the last one."""
        if self.paused or self.only not in ("", function.__name__):
            return
        if function.__module__.split(".")[0] in OWN:
            return
        known = self.seen.setdefault(function, [])
        forms = [form(call, own) for call in known]
        if len(known) < self.calls and form(arguments, own) not in forms:
            known.append(tuple(copied(x, own) for x in arguments))
            self.idle, self.latest = 0, monotonic()
        self.idle += 1
        if self.idle > self.patience and monotonic() - self.latest > self.seconds:
            raise Enough

    @contextmanager
    def watching(self, own: Library) -> Iterator[None]:
        """Sees every apply of a library's Functions."""
        function, see = own.Function, self.see
        before = function.__dict__.get("apply")
        original = function.apply.__func__

        def apply(cls: type, *arguments: Any, **named: Any) -> Any:
            see(cls, arguments, own)
            return original(cls, *arguments, **named)

        function.apply = classmethod(apply)
        try:
            yield
        finally:
            if before is None:
                del function.apply
            else:
                function.apply = before


def form(arguments: Sequence[Any], own: Library) -> tuple[Any, ...]:
    """What makes one call another kind of call: the rank of tensors, the type of the rest."""
    return tuple(
        (len(x.shape), tuple(n == 1 for n in x.shape)) if own.is_tensor(x) else type(x)
        for x in arguments
    )


def copied(thing: Any, own: Library) -> Any:
    """A tensor's copy without its graph, a Value's likewise; other things as they are."""
    if own.is_value(thing):
        return own.value(float(thing.data), True)
    if not own.is_tensor(thing):
        return thing
    copy = thing.detach().clone()
    return copy.requires_grad_() if thing.requires_grad else copy


@dataclass
class Recording:
    """A script that ran: its Functions with their calls, and how it ended.

    error: the exception that ended it, None when it ended well or was stopped.
    """

    script: str
    calls: dict[type, list[tuple[Any, ...]]]
    error: BaseException | None = None


@contextmanager
def recorded(script: str, arguments: Sequence[str], recorder: Recorder) -> Iterator[Recording]:
    """Runs a script as `python script.py arguments` would, and stays in it while it is looked at.

    What it prints goes to stderr. Raises OSError or SyntaxError when it cannot be run.
    """
    code = compile(_read(script), os.path.abspath(script), "exec", dont_inherit=True)
    with _as_main(script, arguments):
        with ExitStack() as stack:
            for own in _libraries_for(script):
                stack.enter_context(recorder.watching(own))
            error = _run(code)
        yield Recording(script, recorder.seen, error)


def _read(script: str) -> bytes:
    with open(script, "rb") as file:
        return file.read()


def _run(code: Any) -> BaseException | None:
    main = vars(sys.modules["__main__"])
    try:
        with redirect_stdout(sys.stderr):
            exec(code, main)
    except Enough:
        return None
    except SystemExit as end:
        return end if end.code not in (None, 0) else None
    except Exception as error:
        return error
    return None


@contextmanager
def _as_main(script: str, arguments: Sequence[str]) -> Iterator[None]:
    """Puts a fresh __main__, argv and path in place, and the old ones back."""
    kept = sys.modules["__main__"], sys.argv, sys.path[:]
    main = sys.modules["__main__"] = ModuleType("__main__")
    main.__file__ = os.path.abspath(script)
    sys.argv = [script, *arguments]
    sys.path.insert(0, os.path.dirname(main.__file__))
    try:
        yield
    finally:
        sys.modules["__main__"], sys.argv, sys.path[:] = kept


def _libraries_for(script: str) -> list[Library]:
    """engine, and torch when the script (or a file beside it) speaks of it."""
    spoken_of = mentioned(script)
    answer_missing(spoken_of)
    if "torch" in spoken_of and installed("torch"):
        library("torch")
    return libraries()


def mentioned(script: str) -> list[str]:
    """Which of torch and micrograd a script speaks of, or a file beside it."""
    folder = os.path.dirname(os.path.abspath(script))
    files = [script, *(os.path.join(folder, f) for f in os.listdir(folder) if f.endswith(".py"))]
    texts = [_read(file) for file in files[:200]]
    return [name for name in PACKAGES if any(name.encode() in text for text in texts)]
