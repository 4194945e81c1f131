"""Linear and Identity."""

from __future__ import annotations

import math
from typing import Any

import engine
from engine.nn import functional, init
from engine.nn.modules.module import Module
from engine.nn.parameter import Parameter
from engine.tensors import Tensor


class Linear(Module):
    """y = x W^T + b.

    Input of shape (*, in_features), output (*, out_features); `weight` has the shape
    (out_features, in_features), `bias` (out_features,) or is None. Both start uniform within
    1 / sqrt(in_features) of 0.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(engine.empty(out_features, in_features, device=device, dtype=dtype))
        self.register_parameter("bias", None)
        if bias:
            self.bias = Parameter(engine.empty(out_features, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws weight and bias anew."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0.0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return functional.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class Identity(Module):
    """Gives its input back; takes any arguments and ignores them."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        return input
