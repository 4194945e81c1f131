"""Tensors that autograd does not see."""

from tests.testing.collection import wrong
from tests.testing.library import Function, randn, torch


@wrong("hidden-tensor", "tensors", lambda: ([randn(3), randn(3)],))
class ProductOfAList(Function):
    @staticmethod
    def forward(ctx, tensors):
        return tensors[0] * tensors[1]

    @staticmethod
    def backward(ctx, g):
        return None


@wrong(
    "hidden-tensor", "weights", lambda: (randn(3), {"scale": randn(3).requires_grad_()})
)
class WeightsInADict(Function):
    @staticmethod
    def forward(ctx, x, weights):
        ctx.scale = weights["scale"].detach().clone()
        return x * weights["scale"]

    @staticmethod
    def backward(ctx, g):
        return g * ctx.scale, None


WEIGHT = torch.tensor([0.5, -1.5, 2.0], dtype=torch.float64).requires_grad_()


@wrong("hidden-tensor", "WEIGHT", lambda: (randn(3),))
class WeightFromOutside(Function):
    @staticmethod
    def forward(ctx, x):
        return x * WEIGHT

    @staticmethod
    def backward(ctx, g):
        return g * WEIGHT.detach()


class Layer:
    """Holds a weight, as a module would."""

    def __init__(self):
        self.weight = randn(3).requires_grad_()


@wrong("hidden-tensor", "layer", lambda: (randn(3), Layer()))
class WeightOfAnObject(Function):
    @staticmethod
    def forward(ctx, x, layer):
        ctx.layer = layer
        return x * layer.weight

    @staticmethod
    def backward(ctx, g):
        return g * ctx.layer.weight.detach(), None


@wrong("marked-non-differentiable", "", lambda: (randn(3),))
class MarksItsOnlyOutput(Function):
    @staticmethod
    def forward(ctx, x):
        y = x * 2
        ctx.mark_non_differentiable(y)
        return y

    @staticmethod
    def backward(ctx, g):
        return g * 2


@wrong("output-type", "", lambda: (randn(3),))
class RoundsToIntegers(Function):
    """An integer result carries no gradient."""

    @staticmethod
    def forward(ctx, x):
        return x.round().long()

    @staticmethod
    def backward(ctx, g):
        return g
