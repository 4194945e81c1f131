"""Warnings that point at the user's line, through however many frames of ours there are."""

import sys
import warnings


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn of the line outside of engine that led here; compiled functions have no frames."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and is_ours(frame.f_globals.get("__name__", "")):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def is_ours(module: str) -> bool:
    """Whether the module is one of engine's."""
    return module.partition(".")[0] in ("engine", "engine_fast")
