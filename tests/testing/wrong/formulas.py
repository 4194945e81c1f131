"""A formula that is not that of forward: branches, coupling, terms, the wrong tensor."""

from tests.testing.collection import wrong
from tests.testing.library import Function, rand, randn, torch


@wrong("wrong-tensor", "x", lambda: (randn(4),))
class SigmoidOfInput(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sigmoid(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x * (1 - x)


@wrong("wrong-tensor", "x", lambda: (randn(4),))
class TanhOfInput(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.tanh(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (1 - x * x)


@wrong("wrong-tensor", "x", lambda: (randn(4),))
class ExpOfInput(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.exp(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x


@wrong("wrong-tensor", "x", lambda: (rand(4),))
class RootOfInput(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sqrt(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g / (2 * x)


@wrong("coupling-missing", "x", lambda: (randn(2, 4),))
class SoftmaxDiagonal(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.softmax(-1)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y * (1 - y)


@wrong("coupling-missing", "x", lambda: (randn(3, 4),))
class NormalizedByConstants(Function):
    """Treats mean and standard deviation as if they did not depend on x."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x - x.mean(1, keepdim=True)) / (x.var(1, keepdim=True, unbiased=False) + 1).sqrt()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g / (x.var(1, keepdim=True, unbiased=False) + 1).sqrt()


@wrong("coupling-missing", "x", lambda: (randn(5),))
class CenteredPassesOn(Function):
    @staticmethod
    def forward(ctx, x):
        return x - x.mean()

    @staticmethod
    def backward(ctx, g):
        return g


@wrong("missing-term", "x", lambda: (randn(4),))
class SwishWithoutFirstTerm(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return g * x * s * (1 - s)


@wrong("missing-term", "x", lambda: (randn(4),))
class XExpXWithoutSecondTerm(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.exp(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * torch.exp(x)


@wrong("missing-factor", "x", lambda: (rand(4), 3))
class PowerNotLowered(Function):
    @staticmethod
    def forward(ctx, x, n):
        ctx.save_for_backward(x)
        ctx.n = n
        return x**n

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * ctx.n * x**ctx.n, None


@wrong("missing-factor", "b", lambda: (randn(4), 1 + rand(4)))
class QuotientNotSquared(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a / b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g / b, -g * a / b


@wrong("missing-factor", "x", lambda: (randn(4),))
class ExpOfSquareOuterOnly(Function):
    """The outer derivative without the inner one."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.exp(x * x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * torch.exp(x * x)


@wrong("branch", "x", lambda: (randn(8),))
class LeakyReluLikeRelu(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x > 0, x, 0.2 * x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (x > 0)


@wrong("branch", "x", lambda: (2 * randn(10),))
class ClampFromBelowOnly(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(-1, 1)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (x > -1)


@wrong("branch", "x", lambda: (randn(8),))
class AbsWithoutSign(Function):
    @staticmethod
    def forward(ctx, x):
        return x.abs()

    @staticmethod
    def backward(ctx, g):
        return g


@wrong("constant-argument", "x", lambda: (randn(8), 1.0))
class EluWithoutAlpha(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.save_for_backward(x)
        return torch.where(x > 0, x, alpha * (torch.exp(x) - 1))

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, g, g * torch.exp(x)), None


@wrong("constant-argument", "x", lambda: (3 * randn(8), 1.0))
class HuberWithoutDelta(Function):
    @staticmethod
    def forward(ctx, x, delta):
        ctx.save_for_backward(x)
        return torch.where(x.abs() < delta, 0.5 * x * x, delta * (x.abs() - 0.5 * delta))

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x.clamp(-1, 1), None


@wrong("wrong-derivative", "x", lambda: (randn(4), 2.0))
class SoftplusWithoutBeta(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x)
        return torch.log1p(torch.exp(beta * x)) / beta

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * torch.sigmoid(x), None


@wrong("wrong-derivative", "x", lambda: (randn(4),))
class GeluOtherFormula(Function):
    """Forward exact, backward that of another approximation."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 0.5 * x * (1 + torch.erf(x * 0.5**0.5))

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(1.702 * x)
        return g * (s + 1.702 * x * s * (1 - s))


@wrong("wrong-derivative", "x", lambda: (randn(5),))
class ForwardDifferences(Function):
    """A slope from a difference whose step is too large."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sin(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (torch.sin(x + 1e-2) - torch.sin(x)) / 1e-2


@wrong("adjoint", "x", lambda: (randn(5),))
class RunningSumForwards(Function):
    """The gradient of a running sum runs backwards."""

    @staticmethod
    def forward(ctx, x):
        return x.cumsum(0)

    @staticmethod
    def backward(ctx, g):
        return g.cumsum(0)
