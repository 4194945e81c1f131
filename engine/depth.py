"""Walks inside walks, thousands deep: every sixtieth goes on in a thread with a stack of its own.

A backward whose Function calls backward again uses some fifteen frames a level, and Python allows
a thread about a thousand.
"""

import threading
from typing import Any

from engine import interpreter, modes

LEVELS = 60


def in_walk() -> bool:
    """Whether a walk is under way in this thread."""
    return interpreter.thread.walks > 0


def run(walk: Any) -> None:
    """Run a walk, in a thread of its own where too many are under way in this one."""
    interpreter.thread.walks += 1
    try:
        if interpreter.thread.walks < LEVELS:
            walk.run()
        else:
            in_helper_thread(walk)
    finally:
        interpreter.thread.walks -= 1


def in_helper_thread(walk: Any) -> None:
    """Run a walk in a thread that is given the modes of this one; what it raises is raised here."""
    grad_enabled, observers = modes.is_grad_enabled(), modes.observers()
    raised: list[BaseException] = []

    def go_on() -> None:
        modes.set_grad(grad_enabled)
        modes.set_observers(observers)
        try:
            walk.run()
        except BaseException as error:
            raised.append(error)
        finally:
            modes.set_grad(True)
            modes.set_observers(())

    helper = threading.Thread(target=go_on)
    helper.start()
    helper.join()
    if raised:
        raise raised[0]
