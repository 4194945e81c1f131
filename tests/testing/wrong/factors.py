"""A number that is too much, or missing."""

import math

from tests.testing.collection import wrong
from tests.testing.library import Function, rand, randn, torch


@wrong("factor", "x", lambda: (randn(4),))
class SquareWithoutTwo(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x


@wrong("factor", "x", lambda: (randn(3, 2),))
class HalfSquareWithTwo(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 0.5 * x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g


@wrong("factor", "x", lambda: (rand(5),))
class Log2WithoutLn2(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.log(x) / math.log(2)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g / x


@wrong("factor", "x", lambda: (rand(5),))
class Log10Multiplied(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.log(x) / math.log(10)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * math.log(10) / x


@wrong("factor", "degrees", lambda: (30 * randn(4),))
class SineOfDegrees(Function):
    @staticmethod
    def forward(ctx, degrees):
        radians = degrees * (math.pi / 180)
        ctx.save_for_backward(degrees)
        return torch.sin(radians)

    @staticmethod
    def backward(ctx, g):
        (degrees,) = ctx.saved_tensors
        return g * torch.cos(degrees * (math.pi / 180))


@wrong("sign", "x", lambda: (randn(4),))
class CosineWithoutMinus(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.cos(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * torch.sin(x)


@wrong("sign", "b", lambda: (randn(2, 3), randn(2, 3)))
class DifferenceWithTwoPluses(Function):
    @staticmethod
    def forward(ctx, a, b):
        return a - b

    @staticmethod
    def backward(ctx, g):
        return g, g


@wrong("factor", "tensor", lambda: (randn(4), 5.0))
class ScaledWithoutScale(Function):
    @staticmethod
    def forward(ctx, tensor, constant):
        return tensor * constant

    @staticmethod
    def backward(ctx, g):
        return g, None


@wrong("factor", "x", lambda: (randn(4), 3.0))
class DividedMultipliesBack(Function):
    @staticmethod
    def forward(ctx, x, constant):
        ctx.constant = constant
        return x / constant

    @staticmethod
    def backward(ctx, g):
        return g * ctx.constant, None


@wrong("count-factor", "x", lambda: (randn(3, 4),))
class MeanLikeSum(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.shape = x.shape
        return x.mean()

    @staticmethod
    def backward(ctx, g):
        return g.expand(ctx.shape)


@wrong("count-factor", "x", lambda: (randn(3, 4),))
class SumLikeMean(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.shape, ctx.count = x.shape, x.numel()
        return x.sum()

    @staticmethod
    def backward(ctx, g):
        return (g / ctx.count).expand(ctx.shape)


@wrong("count-factor", "prediction", lambda: (randn(3, 2), randn(3, 2)))
class MeanSquaredErrorLikeSum(Function):
    @staticmethod
    def forward(ctx, prediction, target):
        ctx.save_for_backward(prediction, target)
        return ((prediction - target) ** 2).mean()

    @staticmethod
    def backward(ctx, g):
        prediction, target = ctx.saved_tensors
        slope = 2 * (prediction - target) * g
        return slope, -slope


@wrong("factor", "target", lambda: (randn(5), randn(5)))
class SquaredErrorWithoutTwo(Function):
    @staticmethod
    def forward(ctx, prediction, target):
        ctx.save_for_backward(prediction, target)
        return ((prediction - target) ** 2).sum()

    @staticmethod
    def backward(ctx, g):
        prediction, target = ctx.saved_tensors
        return g * (prediction - target), g * (target - prediction)


@wrong("count-factor", "x", lambda: (randn(6),))
class VarianceOverN(Function):
    """Divides by n - 1 forward and by n backward."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.var()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2 * (x - x.mean()) / x.numel()


@wrong("count-factor", "x", lambda: (randn(4, 4),))
class RowMeanOverColumns(Function):
    """Divides by the number of rows, which is that of columns in the example."""

    @staticmethod
    def forward(ctx, x):
        ctx.shape = x.shape
        return x.mean(1)

    @staticmethod
    def backward(ctx, g):
        return g.unsqueeze(1).expand(ctx.shape) / ctx.shape[0]


@wrong("count-factor", "query", lambda: (randn(3, 4), randn(5, 4)))
class ScoresWithoutScale(Function):
    """Attention's scores: only one of the two gradients is divided by the root of the width."""

    @staticmethod
    def forward(ctx, query, key):
        ctx.save_for_backward(query, key)
        return query @ key.t() / math.sqrt(query.shape[1])

    @staticmethod
    def backward(ctx, g):
        query, key = ctx.saved_tensors
        return g @ key, g.t() @ query / math.sqrt(query.shape[1])
