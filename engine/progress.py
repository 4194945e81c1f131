"""A progress bar for a loop: tqdm's on a terminal if it is installed, else a plain line.

And `NowAndThen`, for what a loop does seldom.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

WIDTH = 24


def progress(steps: int, unit: str = "step") -> Any:
    """A bar over range(steps): iterate over it, and set_postfix_str(text) shows a text behind it.

    Written to standard error. tqdm draws it where tqdm is installed and that is a terminal.
    """
    if not sys.stderr.isatty():
        return PlainBar(steps, unit)
    try:
        from tqdm import tqdm
    except ModuleNotFoundError:
        return PlainBar(steps, unit)
    return tqdm(range(steps), unit=unit, ncols=88)


class PlainBar:
    """A line that is written over as the loop goes on; where it cannot be, ten lines in all."""

    def __init__(self, steps: int, unit: str) -> None:
        self.steps, self.unit, self.text = steps, unit, ""
        self.rewrites = sys.stderr.isatty()
        self.start = time.perf_counter()

    def __iter__(self) -> Iterator[int]:
        try:
            for step in range(self.steps):
                yield step
                self._show(step + 1)
        finally:
            if self.rewrites:
                print(file=sys.stderr)

    def set_postfix_str(self, text: str) -> None:
        """The text to show behind the bar from the next step on."""
        self.text = text

    def _show(self, done: int) -> None:
        tenth = max(self.steps // 10, 1)
        if self.rewrites or done % tenth == 0 or done == self.steps:
            end = "" if self.rewrites else "\n"
            print(("\r" if self.rewrites else "") + self._line(done), end=end, file=sys.stderr)
            sys.stderr.flush()

    def _line(self, done: int) -> str:
        filled = WIDTH * done // self.steps
        bar = "#" * filled + "." * (WIDTH - filled)
        seconds = time.perf_counter() - self.start
        return f"[{bar}] {done}/{self.steps} {self.unit}s, {seconds:.1f} s  {self.text}"


class NowAndThen:
    """Calls a function again and again, but seldom enough: at most once in `seconds`, and for at
    most a fifth of the time that passes. The first call counts from when this was made."""

    def __init__(self, function: Callable[..., Any], seconds: float = 1.0) -> None:
        self.function, self.seconds = function, seconds
        self.next = time.perf_counter() + seconds

    def __call__(self, *arguments: Any) -> bool:
        """Whether it was time, and the function was called."""
        start = time.perf_counter()
        if start < self.next:
            return False
        self.function(*arguments)
        end = time.perf_counter()
        self.next = end + max(self.seconds, 4 * (end - start))
        return True
