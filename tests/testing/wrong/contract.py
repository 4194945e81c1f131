"""How many gradients, of which kind, for which argument and which output."""

from tests.testing.collection import wrong
from tests.testing.library import Function, randn, torch


@wrong("grad-count", "", lambda: (randn(3), randn(3)))
class OneGradientForTwo(Function):
    @staticmethod
    def forward(ctx, a, b):
        return a + b

    @staticmethod
    def backward(ctx, g):
        return g


@wrong("grad-count", "", lambda: (randn(3), 2.0))
class NoPlaceForTheConstant(Function):
    @staticmethod
    def forward(ctx, x, constant):
        ctx.constant = constant
        return x * constant

    @staticmethod
    def backward(ctx, g):
        return g * ctx.constant


@wrong("grad-count", "", lambda: (randn(3),))
class GradientForCtxToo(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return None, g * 2


@wrong("grad-for-number", "constant", lambda: (randn(3), 2.0))
class GradientForANumber(Function):
    @staticmethod
    def forward(ctx, x, constant):
        ctx.save_for_backward(x)
        ctx.constant = constant
        return x * constant

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * ctx.constant, (g * x).sum()


@wrong("missing-gradient", "weight", lambda: (randn(2, 3), randn(4, 3)))
class NoneForTheWeight(Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(weight)
        return x @ weight.t()

    @staticmethod
    def backward(ctx, g):
        (weight,) = ctx.saved_tensors
        return g @ weight, None


@wrong("missing-gradient", "b", lambda: (randn(3), randn(3)))
class ZerosForTheSecond(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        (b,) = ctx.saved_tensors
        return g * b, torch.zeros_like(b)


@wrong("grad-type", "x", lambda: (randn(3),))
class AFloatForATensor(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return 2.0


@wrong("backward-arguments", "", lambda: (randn(3),))
class TwoOutputsOneGradient(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x, x + 1

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g


@wrong("backward-arguments", "", lambda: (randn(5),))
class NoGradientForIndices(Function):
    """The indices are no number to differentiate, but backward gets a place for them."""

    @staticmethod
    def forward(ctx, x):
        index = x.argmax()
        ctx.save_for_backward(index)
        ctx.shape = x.shape
        ctx.mark_non_differentiable(index)
        return x[index], index

    @staticmethod
    def backward(ctx, g):
        (index,) = ctx.saved_tensors
        grad = torch.zeros(ctx.shape, dtype=g.dtype)
        grad[index] = g
        return grad


@wrong("output-ignored", "x", lambda: (randn(3),))
class SecondOutputIgnored(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.exp(x)
        ctx.save_for_backward(x)
        return x * x, y

    @staticmethod
    def backward(ctx, g_square, g_exp):
        (x,) = ctx.saved_tensors
        return 2 * x * g_square


@wrong("outputs-swapped", "x", lambda: (randn(3),))
class OutputsInOtherOrder(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sin(x), torch.cos(x)

    @staticmethod
    def backward(ctx, g_cos, g_sin):
        (x,) = ctx.saved_tensors
        return g_sin * torch.cos(x) - g_cos * torch.sin(x)


@wrong("marked-output", "", lambda: (randn(4),))
class GradientOfTheMask(Function):
    """Adds the gradient of an output that it declares to have none."""

    @staticmethod
    def forward(ctx, x):
        mask = (x > 0).to(x.dtype)
        ctx.mark_non_differentiable(mask)
        return x * 2, mask

    @staticmethod
    def backward(ctx, g, g_mask):
        return 2 * g + g_mask


@wrong("none-upstream", "", lambda: (randn(3),))
class UnusedOutputForgotten(Function):
    """Asks for None instead of zeros, and does not expect it."""

    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, g_two, g_three):
        return 2 * g_two + 3 * g_three


@wrong("optional-argument", "", lambda: (randn(2, 3), randn(3)))
class BiasIsAlwaysThere(Function):
    @staticmethod
    def forward(ctx, x, bias=None):
        ctx.save_for_backward(bias)
        return x * 2 if bias is None else x * 2 + bias

    @staticmethod
    def backward(ctx, g):
        (bias,) = ctx.saved_tensors
        return g * 2, g.sum(0).reshape(bias.shape)


@wrong("forward-raises", "", lambda: (randn(3),))
class WithoutCtx(Function):
    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


@wrong("missing-gradient", "x", lambda: (randn(3),))
class ForgetsToReturn(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        g * 2
