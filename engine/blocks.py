"""Blocks in which gradients are on or off."""

from typing import Any

from engine import interpreter, modes


class Entered:
    """Switches gradients on or off from `with` to its end, in this thread."""

    __slots__ = ("__dict__", "__weakref__", "before", "mode")
    before: list[bool]
    mode: bool

    def __enter__(self) -> None:
        before = modes.is_grad_enabled()
        try:
            self.before.append(before)
            modes.set_grad(self.mode)
        except BaseException:  # a Ctrl-C: the block is not entered, and so never left
            modes.set_grad(before)
            raise

    def __exit__(self, *error: object) -> None:
        before = self.before[-1]
        try:
            modes.set_grad(before)
        except BaseException:
            modes.set_grad(before)
            raise
        self.before.pop()


class Block(Entered):
    """The block of a class that says its mode, or a function that is called in it each time."""

    wanted = True

    def __new__(cls, function: Any = None) -> Any:
        self: Any = interpreter.new(Entered, cls)
        self.before, self.mode = [], cls.wanted
        return self if function is None else self(function)
