"""Losses, with targets that need no gradient and some that do."""

from tests.testing.collection import right
from tests.testing.library import Function, rand, randn, torch


@right(lambda: (randn(3, 2), randn(3, 2)))
class MeanSquaredError(Function):
    @staticmethod
    def forward(ctx, prediction, target):
        difference = prediction - target
        ctx.save_for_backward(prediction, target)
        ctx.count = difference.numel()
        return (difference**2).mean()

    @staticmethod
    def backward(ctx, g):
        prediction, target = ctx.saved_tensors
        slope = g * 2 * (prediction - target) / max(ctx.count, 1)
        return slope, -slope


@right(lambda: (randn(4), randn(4)))
class SquaredErrorOfPrediction(Function):
    """No gradient for the target, which is what a target is for."""

    @staticmethod
    def forward(ctx, prediction, target):
        ctx.save_for_backward(prediction, target)
        return ((prediction - target) ** 2).sum()

    @staticmethod
    def backward(ctx, g):
        prediction, target = ctx.saved_tensors
        return g * 2 * (prediction - target), None


@right(lambda: (randn(4, 3), torch.tensor([0, 2, 1, 2])))
class CrossEntropy(Function):
    @staticmethod
    def forward(ctx, logits, labels):
        ctx.save_for_backward(logits, labels)
        chosen = logits.gather(1, labels.unsqueeze(1)).squeeze(1)
        return (logits.logsumexp(1) - chosen).mean()

    @staticmethod
    def backward(ctx, g):
        logits, labels = ctx.saved_tensors
        hot = torch.arange(logits.shape[1]).unsqueeze(0) == labels.unsqueeze(1)
        slope = logits.softmax(1) - hot.to(logits.dtype)
        return g * slope / max(logits.shape[0], 1), None


@right(lambda: (randn(5), (randn(5) > 0).to(torch.float64)))
class BinaryCrossEntropyWithLogits(Function):
    @staticmethod
    def forward(ctx, logit, target):
        ctx.save_for_backward(logit, target)
        return (logit.clamp(min=0) - logit * target + torch.log1p(torch.exp(-logit.abs()))).sum()

    @staticmethod
    def backward(ctx, g):
        logit, target = ctx.saved_tensors
        return g * (torch.sigmoid(logit) - target), -g * logit


@right(lambda: (3 * randn(8), 1.0))
class Huber(Function):
    @staticmethod
    def forward(ctx, x, delta):
        ctx.save_for_backward(x)
        ctx.delta = delta
        return torch.where(x.abs() < delta, 0.5 * x * x, delta * (x.abs() - 0.5 * delta))

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x.clamp(-ctx.delta, ctx.delta), None


@right(lambda: (randn(6), torch.tensor([1.0, -1, 1, 1, -1, -1], dtype=torch.float64)))
class Hinge(Function):
    @staticmethod
    def forward(ctx, score, label):
        ctx.save_for_backward(score, label)
        return (1 - score * label).clamp(min=0).sum()

    @staticmethod
    def backward(ctx, g):
        score, label = ctx.saved_tensors
        active = (score * label < 1).to(g.dtype)
        return -g * label * active, -g * score * active


@right(lambda: (rand(4), rand(4)))
class KullbackLeibler(Function):
    @staticmethod
    def forward(ctx, p, q):
        ctx.save_for_backward(p, q)
        return (p * (torch.log(p) - torch.log(q))).sum()

    @staticmethod
    def backward(ctx, g):
        p, q = ctx.saved_tensors
        return g * (torch.log(p) - torch.log(q) + 1), -g * p / q


@right(lambda: (randn(5, 2), torch.tensor([1, 3, 1, 0])))
class Lookup(Function):
    """Rows of a table; a row that is used twice gets both gradients."""

    @staticmethod
    def forward(ctx, table, index):
        ctx.save_for_backward(index)
        ctx.count = table.shape[0]
        return table[index]

    @staticmethod
    def backward(ctx, g):
        (index,) = ctx.saved_tensors
        hot = torch.arange(ctx.count).unsqueeze(1) == index.unsqueeze(0)
        return hot.to(g.dtype) @ g, None


@right(lambda: (randn(3, 4), randn(3, 4) > 0, -1.0))
class MaskedFill(Function):
    @staticmethod
    def forward(ctx, x, mask, value):
        ctx.save_for_backward(mask)
        return torch.where(mask, torch.zeros_like(x) + value, x)

    @staticmethod
    def backward(ctx, g):
        (mask,) = ctx.saved_tensors
        return torch.where(mask, torch.zeros_like(g), g), None, None


@right(lambda: (randn(4), randn(4), randn(4) > 0))
class Select(Function):
    @staticmethod
    def forward(ctx, a, b, condition):
        ctx.save_for_backward(condition)
        return torch.where(condition, a, b)

    @staticmethod
    def backward(ctx, g):
        (condition,) = ctx.saved_tensors
        zero = torch.zeros_like(g)
        return torch.where(condition, g, zero), torch.where(condition, zero, g), None
