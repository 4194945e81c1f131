"""NumPy without its warnings on inf and nan, which are results here and not accidents."""

from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from engine import interpreter

try:  # what np.errstate is made of; asking for it anew takes a microsecond each time
    from numpy._core._ufunc_config import (  # type: ignore[attr-defined]
        _extobj_contextvar as _setting,
    )
    from numpy._core.umath import _make_extobj

    _IGNORE: Any = _make_extobj(all="ignore")
except ImportError:  # a NumPy that is built otherwise
    _IGNORE = None


def begin() -> Any:
    """Have NumPy say nothing in this thread until `end` is given what this returns."""
    if _IGNORE is None:
        setting = np.errstate(all="ignore")
        setting.__enter__()
        return setting
    if interpreter.variable(_setting) is _IGNORE:
        return None
    return interpreter.set_variable(_setting, _IGNORE)


def end(before: Any) -> None:
    """Have NumPy warn again as before."""
    if _IGNORE is None:
        before.__exit__(None, None, None)
    elif before is not None:
        interpreter.reset_variable(_setting, before)


def setting() -> Any:
    """What NumPy says in this thread, for `restore`."""
    return None if _IGNORE is None else interpreter.variable(_setting)


def restore(setting: Any) -> None:
    """Have NumPy say what it said, whatever `begin` was stopped in since."""
    if setting is not None:
        interpreter.set_variable(_setting, setting)


class Quiet:
    """`begin` and `end` as a block."""

    __slots__ = ("before",)

    def __enter__(self) -> None:
        self.before = begin()

    def __exit__(self, *error: object) -> None:
        end(self.before)


def quiet() -> AbstractContextManager[None]:
    """For a `with` block around arithmetic on arrays; per thread, and put back at its end."""
    return Quiet()
