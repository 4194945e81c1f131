"""torch.autograd.grad_mode: switching gradients on and off."""

from engine.grad_mode import (
    enable_grad as enable_grad,
    no_grad as no_grad,
    set_grad_enabled as set_grad_enabled,
)
