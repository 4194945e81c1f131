"""Losses of classes in one step each: what `nn.functional` builds its losses on."""

from typing import Any

import numpy as np

from engine import builds, modes
from engine.function import new_node
from engine.ops.order import Put
from engine.ops.probabilities import Softmax
from engine.promotion import in_single
from engine.quiet import quiet
from engine.tensors import Operation, Tensor, joined, make

kernels = builds.module("kernels")


def extremes(classes: Tensor) -> tuple[int, int]:
    """The smallest and the largest of some whole numbers."""
    array = classes._array
    return int(np.minimum.reduce(array, None)), int(np.maximum.reduce(array, None))


def all_count(classes: Tensor, count: int, ignored: int) -> bool:
    """Whether all classes are whole numbers from 0 to count-1, and none is `ignored`."""
    if classes.is_floating_point():
        return False
    low, high = extremes(classes) if classes._array.size else (0, 0)
    return low >= 0 and high < count and not low <= ignored <= high


def with_dim(array: Any, dim: int) -> Any:
    """The array with a new dimension of size 1 at dim."""
    return array.reshape(*array.shape[:dim], 1, *array.shape[dim:])


def chosen(classes: Tensor, used: Tensor | None, dim: int) -> tuple[Any, Any]:
    """The classes as places along dim, 0 for those that are not used; and, if any, which these
    are."""
    places = with_dim(classes._array, dim)
    if used is None:
        return places, None
    out = ~with_dim(used._array, dim)
    return np.where(out, 0, places), out


class CrossEntropy(Operation):
    """Minus the log-probability of the right class, from scores, for each class given.

    scores: floating, the classes along dim; classes: int64, of the same shape without dim, each
    from 0 to k-1; used: of that shape, which of them count, None for all. The loss and the slope
    of others are 0. The slope is softmax - one_hot.
    """

    @staticmethod
    def forward(ctx: Any, scores: Tensor, classes: Tensor, used: Tensor | None, dim: int) -> Tensor:
        ctx.dim, ctx.used = dim, used
        places, out = chosen(classes, used, dim)
        with quiet():
            losses, y = kernels.cross_entropy_forward(in_single(scores._array), places, dim)
        losses = losses.astype(scores._array.dtype, copy=False)
        if out is not None:
            losses[out] = 0.0
        ctx.save_for_backward(make(y), classes)
        return make(losses.squeeze(dim))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        y, classes = ctx.saved_tensors
        places, out = chosen(classes, ctx.used, ctx.dim)
        if not modes.is_grad_enabled():
            g_array = with_dim(g._array, ctx.dim)
            slope = kernels.cross_entropy_backward(g_array, y._array, places, ctx.dim)
            return make(slope if out is None else np.where(out, 0, slope)), None, None, None
        right = np.zeros(y._array.shape, y._array.dtype)
        np.put_along_axis(right, places, 1.0, ctx.dim)
        slope = g.unsqueeze(ctx.dim) * (in_graph(ctx, y) - make(right))
        if out is not None:
            slope = make(out).where_else(0.0, slope)
        return slope, None, None, None


def in_graph(ctx: Any, y: Tensor) -> Tensor:
    """The softmax y as the result of a node of its own on the scores as they were: its slope is
    made of y alone, so the scores may have been changed in place since."""
    node, out = new_node(Softmax), make(y._array)
    node.dims = (ctx.dim,)
    node.save_for_backward(out)
    joined(node, (), out)
    node._edges = (ctx._edges[0], None)
    return out


class NllLoss(Operation):
    """Minus the log-probability of the right class, for each class given.

    logs: log-probabilities, floating, the classes along dim; the other arguments as for
    CrossEntropy. The slope is -1 at the right class, 0 elsewhere.
    """

    @staticmethod
    def forward(ctx: Any, logs: Tensor, classes: Tensor, used: Tensor | None, dim: int) -> Tensor:
        ctx.dim, ctx.used, ctx.shape = dim, used, logs._array.shape
        ctx.save_for_backward(classes)
        places, out = chosen(classes, used, dim)
        losses = -np.take_along_axis(logs._array, places, dim)
        if out is not None:
            losses[out] = 0.0
        return make(losses.squeeze(dim))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        (classes,) = ctx.saved_tensors
        places, out = chosen(classes, ctx.used, ctx.dim)
        g = -g.unsqueeze(ctx.dim)
        if out is not None:
            g = make(out).where_else(0.0, g)
        return Put.apply(g, places, ctx.dim, ctx.shape), None, None, None
