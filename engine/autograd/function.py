"""torch.autograd.function: Function and what stands around it."""

from typing import Any

from engine.function import (
    Function as Function,
    FunctionNode,
    once_differentiable as once_differentiable,
)

# The ctx of a Function, which is its node.
FunctionCtx = BackwardCFunction = FunctionNode


def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
    """What a Function for PyTorch does with a batch of arguments; nothing here calls it."""
    raise NotImplementedError(
        "vmap: engine has no vmap: batches of gradients (is_grads_batched, vectorize) are loops"
    )


Function.vmap = staticmethod(vmap)  # type: ignore[attr-defined]
Function.generate_vmap_rule = False  # type: ignore[attr-defined]


class InplaceFunction(Function):
    """A Function under the name that PyTorch has for those that change an input in place; what
    marks the input is ctx.mark_dirty in any Function."""
