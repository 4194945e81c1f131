"""Operations made of a few elementwise ones, under PyTorch's names."""

from typing import Any

from engine.ops.index import where
from engine.ops.stepwise import in_place
from engine.tensors import Tensor, method


@in_place
@method
def lerp(input: Tensor, end: Tensor, weight: Any) -> Tensor:
    """input + weight * (end - input): from input at weight 0 to end at weight 1.

    Tensors that broadcast; weight a number or a tensor. Differentiable in all three. Where
    abs(weight) is 0.5 or more it is computed from the end, end + (weight - 1) * (end - input).
    """
    near: Any = abs(weight) < 0.5
    if isinstance(near, Tensor):
        start, factor = where(near, input, end), where(near, weight, weight - 1)
    else:
        start, factor = (input, weight) if near else (end, weight - 1)
    return start + factor * (end - input)


@in_place
@method
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    """input + value * tensor1 * tensor2, of tensors that broadcast."""
    return input + value * tensor1 * tensor2


@in_place
@method
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    """input + value * tensor1 / tensor2, of tensors that broadcast."""
    return input + value * tensor1 / tensor2
