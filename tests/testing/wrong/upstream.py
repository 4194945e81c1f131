"""The incoming gradient, forgotten or misused."""

from tests.testing.collection import wrong
from tests.testing.library import Function, randn, torch


@wrong("upstream-ignored", "x", lambda: (randn(4),))
class ExpAlone(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.exp(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return y


@wrong("upstream-ignored", "x", lambda: (randn(3, 3),))
class ReluMaskAlone(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return (x > 0).to(x.dtype)


@wrong("upstream-ignored", "prediction", lambda: (randn(4), randn(4)))
class LossThatIsAlwaysLast(Function):
    """A loss whose author never multiplies it by anything afterwards."""

    @staticmethod
    def forward(ctx, prediction, target):
        ctx.save_for_backward(prediction, target)
        return ((prediction - target) ** 2).sum()

    @staticmethod
    def backward(ctx, g):
        prediction, target = ctx.saved_tensors
        return 2 * (prediction - target), 2 * (target - prediction)


@wrong("upstream-squared", "x", lambda: (randn(4),))
class SineTwiceUpstream(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sin(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        slope = g * torch.cos(x)
        return g * slope


@wrong("upstream-reduced", "x", lambda: (randn(4),))
class TanhOfSum(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g.sum() * (1 - y * y)


@wrong("upstream-reduced", "x", lambda: (randn(2, 3),))
class ExpOfMean(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.exp(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g.mean() * y


@wrong("upstream-nonlinear", "x", lambda: (randn(4),))
class SignOfUpstream(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * torch.sign(g)


@wrong("upstream-nonlinear", "x", lambda: (randn(4),))
class ClippedInside(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 10 * x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return (20 * x * g).clamp(-1, 1)


@wrong("upstream-nonlinear", "x", lambda: (randn(4),))
class MaskOfUpstream(Function):
    """Tests the gradient where it should test the input."""

    @staticmethod
    def forward(ctx, x):
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, g):
        return torch.where(g > 0, g, torch.zeros_like(g))


@wrong("upstream-nonlinear", "x", lambda: (randn(5),))
class UnitLengthGradient(Function):
    @staticmethod
    def forward(ctx, x):
        return 3 * x

    @staticmethod
    def backward(ctx, g):
        return 3 * g / ((g * g).sum() + 1e-8).sqrt()


@wrong("slope-missing", "x", lambda: (randn(4),))
class SineThatPassesOn(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.sin(x)

    @staticmethod
    def backward(ctx, g):
        return g


@wrong("upstream-reduced", "x", lambda: (randn(3),))
class FirstUpstreamOnly(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return (g.sum() * 2).expand(g.shape)
