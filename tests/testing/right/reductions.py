"""Sums, means, norms, and what is divided by them."""

from tests.testing.collection import right
from tests.testing.library import Function, randn, torch


@right(lambda: (randn(3, 4),))
class Mean(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.shape, ctx.count = x.shape, x.numel()
        return x.mean()

    @staticmethod
    def backward(ctx, g):
        return (g / max(ctx.count, 1)).expand(ctx.shape)


@right(lambda: (randn(3, 4), 1))
class SumOverOne(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.shape, ctx.dim = x.shape, dim
        return x.sum(dim)

    @staticmethod
    def backward(ctx, g):
        return g.unsqueeze(ctx.dim).expand(ctx.shape), None


@right(lambda: (randn(6),))
class Variance(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return ((x - x.mean()) ** 2).sum() / (x.numel() - 1)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2 * (x - x.mean()) / (x.numel() - 1)


@right(lambda: (randn(4),))
class Norm(Function):
    """0 for the gradient at 0, as any number from -1 to 1 would do."""

    @staticmethod
    def forward(ctx, x):
        y = (x * x).sum().sqrt()
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        safe = torch.where(y == 0, torch.ones_like(y), y)
        return g * x / safe


@right(lambda: (randn(2, 4),))
class Softmax(Function):
    @staticmethod
    def forward(ctx, x):
        shifted = torch.exp(x - x.amax(-1, keepdim=True))
        y = shifted / shifted.sum(-1, keepdim=True)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return y * (g - (g * y).sum(-1, keepdim=True))


@right(lambda: (randn(2, 4),))
class LogSoftmax(Function):
    @staticmethod
    def forward(ctx, x):
        y = x - x.logsumexp(-1, keepdim=True)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g - torch.exp(y) * g.sum(-1, keepdim=True)


@right(lambda: (randn(5),))
class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.logsumexp(0)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * torch.exp(x - y)


@right(lambda: (randn(5),))
class RunningSum(Function):
    @staticmethod
    def forward(ctx, x):
        return x.cumsum(0)

    @staticmethod
    def backward(ctx, g):
        return g.sum(0, keepdim=True) - g.cumsum(0) + g


@right(lambda: (randn(3, 4), randn(4), randn(4), 1e-5))
class LayerNorm(Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        ctx.save_for_backward(x, weight)
        ctx.eps = eps
        deviation = x - x.mean(-1, keepdim=True)
        scale = ((deviation**2).mean(-1, keepdim=True) + eps).sqrt()
        return deviation / scale * weight + bias

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        deviation = x - x.mean(-1, keepdim=True)
        scale = ((deviation**2).mean(-1, keepdim=True) + ctx.eps).sqrt()
        normal = deviation / scale
        inner = g * weight
        mean = inner.mean(-1, keepdim=True)
        along = (inner * normal).mean(-1, keepdim=True)
        grad_x = (inner - mean - normal * along) / scale
        return grad_x, (g * normal).sum(0), g.sum(0), None


@right(lambda: (randn(5, 3),))
class BatchNorm(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        deviation = x - x.mean(0)
        return deviation / ((deviation**2).mean(0) + 1e-3).sqrt()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        deviation = x - x.mean(0)
        scale = ((deviation**2).mean(0) + 1e-3).sqrt()
        normal = deviation / scale
        return (g - g.mean(0) - normal * (g * normal).mean(0)) / scale


@right(lambda: (randn(3, 4), randn(4)))
class RmsNorm(Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x / ((x * x).mean(1, keepdim=True) + 1e-6).sqrt() * weight

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        scale = ((x * x).mean(1, keepdim=True) + 1e-6).sqrt()
        inner = g * weight
        along = (inner * x).mean(1, keepdim=True)
        return inner / scale - x * along / scale**3, (g * x / scale).sum(0)


@right(lambda: (randn(3, 4),))
class Centered(Function):
    @staticmethod
    def forward(ctx, x):
        return x - x.mean(0, keepdim=True)

    @staticmethod
    def backward(ctx, g):
        return g - g.mean(0, keepdim=True)


@right(lambda: (randn(4), randn(4)))
class CosineSimilarity(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return (a * b).sum() / ((a * a).sum() * (b * b).sum()).sqrt()

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        aa, bb, ab = (a * a).sum(), (b * b).sum(), (a * b).sum()
        both = (aa * bb).sqrt()
        grad_a = g * (b - a * ab / aa) / both
        grad_b = g * (a - b * ab / bb) / both
        return grad_a, grad_b


@right(lambda: (randn(3, 4),))
class RowMaximum(Function):
    """The gradient goes to the first of the largest entries."""

    @staticmethod
    def forward(ctx, x):
        index = x.argmax(1, keepdim=True)
        ctx.save_for_backward(index)
        ctx.shape = x.shape
        return x.gather(1, index).squeeze(1)

    @staticmethod
    def backward(ctx, g):
        (index,) = ctx.saved_tensors
        place = torch.arange(ctx.shape[1]).unsqueeze(0) == index
        return torch.where(place, g.unsqueeze(1), torch.zeros_like(g).unsqueeze(1))


@right(lambda: (randn(3, 4),))
class SharedMaximum(Function):
    """Equal entries share the gradient."""

    @staticmethod
    def forward(ctx, x):
        y = x.amax(1)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        equal = (x == y.unsqueeze(1)).to(x.dtype)
        return g.unsqueeze(1) * equal / equal.sum(1, keepdim=True)
