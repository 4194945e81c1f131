"""torch.autograd.function: Function and what stands around it."""

from engine.function import Function as Function
from engine.function import once_differentiable as once_differentiable


class InplaceFunction(Function):
    """A Function, by the name that older programs use for those that change their input."""
