"""torch.autograd.grad_mode: switching gradients on and off."""

import threading
from typing import Any

from engine.differentiation import as_tuple
from engine.grad_mode import (
    enable_grad as enable_grad,
    inference_mode as inference_mode,
    no_grad as no_grad,
    set_grad_enabled as set_grad_enabled,
)


class set_multithreading_enabled:
    """Whether backward may use threads of its own, as a plain call or a block: it never does here,
    a walk runs in the thread that asks for it, so that either choice gives the same."""

    def __init__(self, mode: bool):
        self.mode = bool(mode)
        self.before, _threads.allowed = is_multithreading_enabled(), self.mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        _threads.allowed = self.before


_threads = threading.local()


def is_multithreading_enabled() -> bool:
    """What set_multithreading_enabled was last given in this thread; True before."""
    return getattr(_threads, "allowed", True)


class _unsafe_preserve_version_counter:
    """A `with` block after which tensors are at the versions they had before it, whatever was
    changed in place in it; backward then does not notice the change."""

    def __init__(self, tensors: Any):
        self.tensors = as_tuple(tensors)
        self.before = [t._version for t in self.tensors]

    def __enter__(self) -> None:
        """The versions were noted already."""

    def __exit__(self, *error: object) -> None:
        for t, version in zip(self.tensors, self.before, strict=True):
            t._shared_counter()[0] = version
