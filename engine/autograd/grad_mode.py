"""torch.autograd.grad_mode: switching gradients on and off."""

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

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass
