"""The user's line, through however many frames of ours there are: compiled functions have none."""

import sys
import warnings
from types import FrameType
from typing import Any


def is_ours(namespace: dict[str, Any]) -> bool:
    """Whether code with these globals belongs to engine."""
    package = str(namespace.get("__name__", "")).partition(".")[0]
    return package in ("engine", "engine_fast")


def users_frame() -> tuple[FrameType, int]:
    """The innermost frame outside of engine, and how far it lies above who asks: 1 for its own
    caller."""
    frame, level = sys._getframe(1), 0
    while frame.f_back is not None and is_ours(frame.f_globals):
        frame, level = frame.f_back, level + 1
    return frame, level


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn of the user's line that led here."""
    _, level = users_frame()
    warnings.warn(message, category, stacklevel=level + 1)
