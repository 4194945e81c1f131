"""NumPy without its warnings on inf and nan, which are results here and not accidents."""

from contextlib import AbstractContextManager
from typing import Any

import numpy as np

try:  # what np.errstate is made of; asking for it anew takes a microsecond each time
    from numpy._core._ufunc_config import (  # type: ignore[attr-defined]
        _extobj_contextvar as _setting,
    )
    from numpy._core.umath import _make_extobj

    _IGNORE: Any = _make_extobj(all="ignore")
except ImportError:  # a NumPy that is built otherwise
    _IGNORE = None


class Quiet:
    """What `quiet` gives where NumPy's own setting can be reached."""

    __slots__ = ("before",)

    def __enter__(self) -> None:
        self.before = _setting.set(_IGNORE)

    def __exit__(self, *error: object) -> None:
        _setting.reset(self.before)


def quiet() -> AbstractContextManager[None]:
    """For a `with` block around arithmetic on arrays; per thread, and put back at its end."""
    return Quiet() if _IGNORE is not None else np.errstate(all="ignore")
