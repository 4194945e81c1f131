"""Losses of classes in one step each: what `nn.functional` builds its losses on."""

from typing import Any

import numpy as np

from engine import builds, modes
from engine.ops.order import Put
from engine.promotion import in_single
from engine.quiet import quiet
from engine.tensors import Operation, Tensor, make

kernels = builds.module("kernels")


def chosen(classes: Tensor, ignored: int, dim: int) -> tuple[Any, Any]:
    """The classes as places along dim, 0 for those that are ignored; and, if any are, which."""
    places = np.expand_dims(classes._array, dim)
    out = places == ignored
    return (np.where(out, 0, places), out) if out.any() else (places, None)


class CrossEntropy(Operation):
    """Minus the log-probability of the right class, from scores, for each class given.

    scores: floating, the classes along dim; classes: int64, of the same shape without dim, each
    from 0 to k-1 or `ignored`, whose loss and slope are 0. The slope is softmax - one_hot.
    """

    @staticmethod
    def forward(ctx: Any, scores: Tensor, classes: Tensor, ignored: int, dim: int) -> Tensor:
        ctx.dim, ctx.ignored = dim, ignored
        places, out = chosen(classes, ignored, dim)
        with quiet():
            losses, y = kernels.cross_entropy_forward(in_single(scores._array), places, dim)
        losses = losses.astype(scores._array.dtype, copy=False)
        if out is not None:
            losses[out] = 0.0
        ctx.save_for_backward(scores, make(y), classes)
        return make(losses.squeeze(dim))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        scores, y, classes = ctx.saved_tensors
        places, out = chosen(classes, ctx.ignored, ctx.dim)
        if not modes.is_grad_enabled():
            g_array = np.expand_dims(g._array, ctx.dim)
            slope = kernels.cross_entropy_backward(g_array, y._array, places, ctx.dim)
            return make(slope if out is None else np.where(out, 0, slope)), None, None, None
        right = np.zeros(scores._array.shape, scores._array.dtype)
        np.put_along_axis(right, places, 1.0, ctx.dim)
        slope = g.unsqueeze(ctx.dim) * (scores.softmax(ctx.dim) - make(right))
        if out is not None:
            slope = make(out).where_else(0.0, slope)
        return slope, None, None, None


class NllLoss(Operation):
    """Minus the log-probability of the right class, for each class given.

    logs: log-probabilities, floating, the classes along dim; the other arguments as for
    CrossEntropy. The slope is -1 at the right class, 0 elsewhere.
    """

    @staticmethod
    def forward(ctx: Any, logs: Tensor, classes: Tensor, ignored: int, dim: int) -> Tensor:
        ctx.dim, ctx.ignored, ctx.shape = dim, ignored, logs._array.shape
        ctx.save_for_backward(classes)
        places, out = chosen(classes, ignored, dim)
        losses = -np.take_along_axis(logs._array, places, dim)
        if out is not None:
            losses[out] = 0.0
        return make(losses.squeeze(dim))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        (classes,) = ctx.saved_tensors
        places, out = chosen(classes, ctx.ignored, ctx.dim)
        g = -g.unsqueeze(ctx.dim)
        if out is not None:
            g = make(out).where_else(0.0, g)
        return Put.apply(g, places, ctx.dim, ctx.shape), None, None, None
