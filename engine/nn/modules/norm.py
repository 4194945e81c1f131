"""BatchNorm1d and BatchNorm2d."""

from __future__ import annotations

from typing import Any

import engine
from engine.nn import functional
from engine.nn.modules.module import Module
from engine.nn.parameter import Parameter
from engine.tensors import Tensor


class BatchNorm(Module):
    """Each channel (dimension 1) brought to mean 0 and variance 1 over all else, then scaled by
    `weight` and moved by `bias` where affine.

    In training by the batch's own mean and variance, which running_mean and running_var follow by
    the part `momentum` (None: all batches count the same); in evaluation by the running ones.
    """

    dimensions: tuple[int, ...] = ()

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        ones, zeros = (f(num_features, dtype=dtype) for f in (engine.ones, engine.zeros))
        self.weight = Parameter(ones) if affine else None
        self.bias = Parameter(zeros) if affine and bias else None
        tracked = track_running_stats
        self.register_buffer("running_mean", zeros.clone() if tracked else None)
        self.register_buffer("running_var", ones.clone() if tracked else None)
        self.register_buffer("num_batches_tracked", engine.tensor(0) if tracked else None)

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim not in self.dimensions:
            needed = " or ".join(f"{n}D" for n in self.dimensions)
            raise ValueError(
                f"{type(self).__name__}: expected {needed} input (got {input.ndim}D input)"
            )
        own = self.training or self.running_mean is None
        mean, var = (self.running_mean, self.running_var) if self.tracks() else (None, None)
        part = self.counted() if self.training and self.track_running_stats else self.momentum
        return functional.batch_norm(
            input, mean, var, self.weight, self.bias, own, part or 0.0, self.eps
        )

    def tracks(self) -> bool:
        """Whether this call reads the running numbers or moves them."""
        return not self.training or self.track_running_stats

    def counted(self) -> float:
        """The part by which the running numbers follow this batch, which is counted."""
        self.num_batches_tracked.add_(1)
        return 1.0 / self.num_batches_tracked.item() if self.momentum is None else self.momentum

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"affine={self.affine}, bias={self.bias is not None}, "
            f"track_running_stats={self.track_running_stats}"
        )


class BatchNorm1d(BatchNorm):
    """BatchNorm of shape (n, channels) or (n, channels, length)."""

    dimensions = (2, 3)


class BatchNorm2d(BatchNorm):
    """BatchNorm of shape (n, channels, height, width)."""

    dimensions = (4,)
