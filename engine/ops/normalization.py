"""Numbers brought to mean 0 and variance 1 in one step: what layer_norm is made of."""

from typing import Any

import numpy as np

from engine import builds, modes, nodes
from engine.quiet import quiet
from engine.tensors import Operation, Tensor, make

kernels = builds.module("kernels")


class Standardize(Operation):
    """y = (x - mean) / sqrt(variance + eps) over the last `count` dimensions.

    x: float32 or float64, any shape; the variance is that of the numbers themselves, over n. Its
    slope is (g - mean(g) - y mean(g y)) / sqrt(variance + eps).
    Source: the layer normalization of arXiv:1607.06450.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, count: int, eps: float) -> Tensor:
        array = x._array
        ctx.dims, ctx.eps = tuple(range(array.ndim - count, array.ndim)), eps
        with quiet():
            y = kernels.centred(array, ctx.dims)
            ctx.scale = 1.0 / np.sqrt(mean(y * y, ctx.dims) + eps)
            y *= ctx.scale
        out = make(y)
        ctx.counter = nodes.counter_of(out)
        ctx.save_for_backward(x, make(y))
        return out

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        x, y = ctx.saved_tensors
        a, b = g._array, y._array
        if ctx.counter[0]:  # the result was changed in place since
            b = kernels.centred(x._array, ctx.dims) * ctx.scale
        if modes.is_grad_enabled():
            return in_graph(ctx, g, x, nodes.attach(make(b), ctx, 0)), None, None
        slope = kernels.centred(a, ctx.dims)
        slope -= b * mean(a * b, ctx.dims)
        slope *= ctx.scale
        return make(slope), None, None


def mean(array: Any, dims: tuple[int, ...]) -> Any:
    """The mean over some dimensions, which stay with size 1."""
    total = kernels.sum_forward(array, dims, True)
    return np.divide(total, array.size / max(total.size, 1), dtype=array.dtype)


def in_graph(ctx: Any, g: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """The gradient of x with a graph of its own."""
    centred = x - x.mean(ctx.dims, True)
    scale = ((centred * centred).mean(ctx.dims, True) + ctx.eps).rsqrt()
    slope: Tensor = g - g.mean(ctx.dims, True) - y * (g * y).mean(ctx.dims, True)
    return slope * scale
