"""Python without its global lock: python3.13t and the like, where nothing has switched it on.

The scalar walk adds to leaves with no lock that the general walk of another thread takes too, and
modes are counted with none. The global lock made up for it; without it 279 of 16,000 backwards of a
leaf were lost. The Python build therefore does both under a lock here. The compiled build has the
interpreter switch the global lock on when it is imported.
"""

import sys
import threading
from typing import Any

from engine import differentiation, locks, modes, value
from engine.leaves import keep_all
from engine.modes import count

_counting = threading.RLock()


def gil_enabled() -> bool:
    """Whether only one thread at a time runs Python; before Python 3.13 always."""
    asked = getattr(sys, "_is_gil_enabled", None)
    return asked is None or bool(asked())


def keep_alone(leaves: list[Any]) -> None:
    """`value.keep_all` while no other thread writes a gradient."""
    locks.alone(differentiation._adding, keep_all, leaves)


def count_alone(change: int) -> None:
    """`modes.count` while no other thread counts."""
    locks.alone(_counting, count, change)


if not gil_enabled():
    modes.count = count_alone
    value.keep_all = keep_alone
