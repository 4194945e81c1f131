"""Operations in place that are their own result copied back, and PyTorch's other names in place.

`x.cumsum_(0)` is `x.copy_(x.clone().cumsum(0))`: the same numbers, graph, version and checks.
"""

from collections.abc import Callable
from typing import Any

from engine.ops.linear import addmm, addmv, baddbmm, tril, triu
from engine.ops.logic import (
    bitwise_and,
    bitwise_not,
    bitwise_or,
    bitwise_xor,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
)
from engine.ops.scans import cumprod, cumsum
from engine.tensors import Tensor, method, put_in_place


def copied_back(operation: Callable[..., Tensor]) -> None:
    """Give Tensor the form in place of an operation."""

    def in_place(input: Tensor, *args: Any, **options: Any) -> Tensor:
        return put_in_place(input, operation(input.clone(), *args, **options), name)

    name = in_place.__name__ = f"{operation.__name__}_"
    in_place.__doc__ = f"{operation.__name__} in place."
    method(in_place)


for _operation in (
    *(cumsum, cumprod, tril, triu, addmm, addmv, baddbmm),
    *(bitwise_and, bitwise_or, bitwise_xor, bitwise_not),
    *(logical_and, logical_or, logical_xor, logical_not),
):
    copied_back(_operation)


for _name, _old in (
    ("absolute_", "abs_"),
    ("clip_", "clamp_"),
    ("divide_", "div_"),
    ("true_divide_", "div_"),
    ("multiply_", "mul_"),
    ("negative_", "neg_"),
    ("subtract_", "sub_"),
):
    setattr(Tensor, _name, getattr(Tensor, _old))
