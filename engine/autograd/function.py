"""torch.autograd.function: Function and what stands around it."""

from engine.function import (
    Function as Function,
    FunctionNode,
    once_differentiable as once_differentiable,
)

# The ctx of a Function, which is its node.
FunctionCtx = FunctionNode


class InplaceFunction(Function):
    """A Function under the name that PyTorch has for those that change an input in place; what
    marks the input is ctx.mark_dirty in any Function."""
