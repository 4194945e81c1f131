"""Right for ordinary numbers; wrong at ties, at zero, for large numbers, in other dtypes."""

import numpy as np

from tests.testing.collection import wrong
from tests.testing.library import Function, once_differentiable, rand, randn, torch


@wrong("nan-gradient", "x", lambda: (randn(4),))
class AbsByDivision(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.abs()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x / x.abs()


@wrong("nan-gradient", "x", lambda: (randn(4),))
class NormAtZero(Function):
    @staticmethod
    def forward(ctx, x):
        y = (x * x).sum().sqrt()
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * x / y


@wrong("repeated-input", "a", lambda: (randn(4), randn(4)))
class MaximumToBoth(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return torch.maximum(a, b)

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g * (a >= b), g * (b >= a)


@wrong("ties", "x", lambda: (randn(3, 4),))
class RowMaximumToAll(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.amax(1)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g.unsqueeze(1) * (x == y.unsqueeze(1))


@wrong("kink", "x", lambda: (randn(5),))
class ReluTwiceAtZero(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * ((x > 0).to(g.dtype) + 2 * (x == 0).to(g.dtype))


@wrong("nan-gradient", "x", lambda: (randn(5),))
class LogSumExpNaiveBackward(Function):
    """Forward is stable, backward overflows."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.logsumexp(0)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * torch.exp(x) / torch.exp(x).sum()


@wrong("nan-gradient", "x", lambda: (randn(5),))
class SigmoidByExp(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sigmoid(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        e = torch.exp(-x)
        return g * e / (1 + e) ** 2


@wrong("grad-dtype", "x", lambda: (randn(5),))
class SingleInside(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sin(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g.float() * torch.cos(x.float())


@wrong("grad-dtype", "x", lambda: (randn(5).float(),))
class DoubleConstants(Function):
    """A float64 array among float32 ones makes everything float64."""

    @staticmethod
    def forward(ctx, x):
        return x * 0.5

    @staticmethod
    def backward(ctx, g):
        half = torch.from_numpy(np.full(tuple(g.shape), 0.5))
        return g * half


@wrong("output-dtype", "", lambda: (randn(4),))
class BufferInDefaultDtype(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.zeros(x.shape)
        y[:] = x * 2
        return y

    @staticmethod
    def backward(ctx, g):
        return g * 2


@wrong("precision", "x", lambda: (rand(6).float(),))
class TinySteps(Function):
    """A slope from a difference whose step is too small for float32."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.exp(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (torch.exp(x + 1e-6) - torch.exp(x - 1e-6)) / 2e-6


@wrong("precision", "x", lambda: (randn(6),))
class VarianceBySquares(Function):
    """n x - sum(x) instead of x - mean(x), and a sum of squares: fine around 0, not around 1000."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return ((x - x.mean()) ** 2).sum().sqrt()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        n = x.numel()
        spread = ((x * x).sum() - x.sum() ** 2 / n).clamp(min=1e-12).sqrt()
        return g * (x - x.mean()) / spread


@wrong("non-deterministic", "", lambda: (randn(6), 0.5))
class DropoutTwice(Function):
    """backward draws a mask of its own."""

    @staticmethod
    def forward(ctx, x, p):
        ctx.p = p
        return x * (torch.rand(x.shape) > p).to(x.dtype) / (1 - p)

    @staticmethod
    def backward(ctx, g):
        return g * (torch.rand(g.shape) > ctx.p).to(g.dtype) / (1 - ctx.p), None


@wrong("non-deterministic", "", lambda: (randn(6),))
class NoiseInBackward(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        noise = torch.from_numpy(np.random.normal(size=tuple(g.shape)))
        return 2 * g + 0.01 * noise.to(g.dtype)


@wrong("few-digits", "x", lambda: (randn(6),))
class HalfPrecisionInside(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.tanh(x)

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        y = torch.tanh(x.half()).to(x.dtype)
        return g * (1 - y * y)


@wrong("nan-gradient", "x", lambda: (randn(4),))
class ProductByDivision(Function):
    """The product of the others is not the product divided by this one, where this one is 0."""

    @staticmethod
    def forward(ctx, x):
        y = x.prod()
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * y / x
