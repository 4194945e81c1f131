"""Tensors changed in place that belong to somebody else."""

from tests.testing.collection import wrong
from tests.testing.library import Function, randn, torch


@wrong("upstream-changed", "", lambda: (randn(4, 3),))
class ReluWithoutClone(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_output[x < 0] = 0
        return grad_output


@wrong("upstream-changed", "", lambda: (randn(4),))
class ScalesTheUpstream(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 3

    @staticmethod
    def backward(ctx, g):
        g *= 3
        return g


@wrong("input-changed", "x", lambda: (randn(4),))
class ReluInPlace(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.clamp_(min=0)
        ctx.save_for_backward(y)
        return y * 1.0

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * (y > 0)


@wrong("input-changed", "x", lambda: (randn(4),))
class ShiftsItsInput(Function):
    @staticmethod
    def forward(ctx, x):
        x += 1
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


@wrong("saved-changed", "x", lambda: (randn(4),))
class OverwritesTheSavedInput(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        x[x < 0] = 0
        x[x > 0] = 1
        return g * x


@wrong("second-backward", "", lambda: (randn(4),))
class OverwritesTheKeptMask(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mask = (x > 0).to(x.dtype)
        return x * ctx.mask

    @staticmethod
    def backward(ctx, g):
        grad = ctx.mask
        grad *= g
        return grad


@wrong("second-backward", "", lambda: (randn(4),))
class DeletesWhatItKept(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mask = x > 0
        return torch.where(ctx.mask, x, torch.zeros_like(x))

    @staticmethod
    def backward(ctx, g):
        grad = torch.where(ctx.mask, g, torch.zeros_like(g))
        del ctx.mask
        return grad
