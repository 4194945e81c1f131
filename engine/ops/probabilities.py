"""The soft maximum and probabilities made of scores, without overflow.

Source: the shifted log-sum-exp of doi:10.1093/imanum/draa038.
"""

from typing import Any

import numpy as np

from engine import builds, dtypes, modes
from engine.checks import saved_tensors
from engine.lists import logsumexp_list, or_list, softmax_list
from engine.nodes import array_of
from engine.ops.reduce import Dim, axes, numpy_names, scores, spread
from engine.promotion import in_single
from engine.quiet import quiet
from engine.tensors import Operation, Tensor, applied, make, method

kernels = builds.module("kernels")


class Logsumexp(Operation):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
        ctx.dims, a = dims, in_single(x._array)
        with quiet():
            top = np.maximum.reduce(a, dims, keepdims=True, initial=-np.inf)
            top = np.where(np.isfinite(top), top, a.dtype.type(0.0))
            total = np.add.reduce(np.exp(a - top), dims, keepdims=True)
            y = np.asarray(np.log(total) + top, x._array.dtype, order="C")
        out = make(y if keepdim else y.squeeze(dims))
        ctx.save_for_backward(x, out)
        return out

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        x, y = ctx.saved_tensors
        shape = x._array.shape
        return spread(g, shape, ctx.dims) * (x - spread(y, shape, ctx.dims)).exp(), None, None


@or_list(logsumexp_list)
@method
@numpy_names
def logsumexp(input: Tensor, dim: Dim, keepdim: bool = False) -> Tensor:
    """log(sum(exp(input))) over the dimensions dim; -inf of none.

    input: any shape and size of numbers; integers become floats. The slope is softmax(input).
    """
    if input._array.dtype.kind != "f":
        input = input.to(dtypes.get_default_dtype())
    return Logsumexp.apply(input, axes(dim, input.ndim), keepdim)


class Softmax(Operation):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dims: tuple[int, ...]) -> Tensor:
        ctx.dims = dims
        ctx._to_save = (out,) = (make(kernels.softmax_forward(array_of(x), dims, False)),)
        return out

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        (y,) = saved_tensors(ctx)
        if not modes.is_grad_enabled():
            return make(kernels.softmax_backward(array_of(g), array_of(y), ctx.dims, False)), None
        g = g * y
        return g - y * g.sum(ctx.dims, True), None


class LogSoftmax(Operation):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dims: tuple[int, ...]) -> Tensor:
        ctx.dims = dims
        ctx._to_save = (out,) = (make(kernels.softmax_forward(array_of(x), dims, True)),)
        return out

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        (y,) = saved_tensors(ctx)
        if not modes.is_grad_enabled():
            return make(kernels.softmax_backward(array_of(g), array_of(y), ctx.dims, True)), None
        return g - y.exp() * g.sum(ctx.dims, True), None


@or_list(softmax_list)
@method
def softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """exp(input) / sum(exp(input)) along dim: from 0 to 1, with sum 1.

    input: floating, any shape; nan where all along dim are -inf or one is inf. dtype: what input
    is converted to first. Raises NotImplementedError for integers.
    """
    out: Tensor = applied(Softmax, scores("softmax", input, dim, dtype))
    return out


@method
def log_softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """log(softmax(input, dim)), at most 0, without loss of digits; arguments as for softmax."""
    out: Tensor = applied(LogSoftmax, scores("log_softmax", input, dim, dtype))
    return out
