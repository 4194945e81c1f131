"""set_warn_always: PyTorch's switch between warning each time and once."""

_always = False


def set_warn_always(b: bool) -> None:
    """Nothing but what is_warn_always_enabled answers: engine warns through Python's `warnings`,
    whose filters say what is shown once and what always."""
    global _always
    _always = bool(b)


def is_warn_always_enabled() -> bool:
    """What set_warn_always was last given; False before."""
    return _always
