"""Python without its global lock: python3.13t and the like, where nothing has switched it on.

The scalar walk adds to leaves with no lock of its own, beside the general walk of another thread:
without the global lock 558 of 16,000 gradients were lost. Its lock is therefore taken here for
good, so that every backward is a general walk, which adds under a lock.
"""

import sys

from engine import value


def gil_enabled() -> bool:
    """Whether only one thread at a time runs Python; before Python 3.13 always."""
    asked = getattr(sys, "_is_gil_enabled", None)
    return asked is None or asked()


if not gil_enabled():
    value._free.acquire(False)
