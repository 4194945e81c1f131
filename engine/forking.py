"""A process made by fork starts with no lock held by a thread that it does not have.

Another thread may be walking, counting modes or adding to a `.grad` at the moment of the fork. In
the child it is gone, and whoever waited for its lock would wait for ever. What it was about to
count or add is lost there too: the count of modes can only be too high, which costs speed and
nothing else.
"""

import os
from typing import Any

from engine import differentiation, free_threading, value

LOCKS: tuple[Any, ...] = (free_threading._counting, differentiation._adding, value._free)


def release() -> None:
    """Give back, in the child, what other threads held; this one does not fork inside of them."""
    for lock in LOCKS:
        lock._at_fork_reinit()  # as threading does with its own


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=release)
