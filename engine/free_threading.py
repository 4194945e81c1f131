"""Python without its global lock: python3.13t and the like, where nothing has switched it on.

The scalar walk adds to leaves with no lock that the general walk of another thread takes too. The
global lock made up for it; without it 279 of 16,000 backwards of a leaf were lost. The Python build
therefore adds under that lock here. The compiled build has the interpreter switch the global lock
on when it is imported.
"""

import sys
from typing import Any

from engine import differentiation, value
from engine.leaves import keep_all


def gil_enabled() -> bool:
    """Whether only one thread at a time runs Python; before Python 3.13 always."""
    asked = getattr(sys, "_is_gil_enabled", None)
    return asked is None or bool(asked())


def keep_alone(leaves: list[Any]) -> None:
    """`value.keep_all` while no other thread writes a gradient."""
    with differentiation._adding:
        keep_all(leaves)


if not gil_enabled():
    value.keep_all = keep_alone
