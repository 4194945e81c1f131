"""First derivatives right, second ones silently wrong or needlessly refused."""

from tests.testing.collection import wrong
from tests.testing.library import Function, once_differentiable, rand, randn, torch


@wrong("missing-once-differentiable", "x", lambda: (randn(4),))
class CubeByNumpy(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return torch.from_numpy(3 * x.detach().numpy() ** 2 * g.detach().numpy())


@wrong("missing-once-differentiable", "x", lambda: (randn(4),))
class SineByData(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sin(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * torch.cos(x.data)


@wrong("missing-once-differentiable", "x", lambda: (randn(4),))
class SquareDetached(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x.detach() * g


@wrong("missing-once-differentiable", "x", lambda: (randn(4),))
class ExpWithoutGrad(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.exp(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        with torch.no_grad():
            return g * torch.exp(x)


@wrong("missing-once-differentiable", "x", lambda: (randn(2),))
class NumberByNumber(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        grads = [2 * a * b for a, b in zip(x.tolist(), g.tolist(), strict=True)]
        return torch.tensor(grads, dtype=x.dtype)


@wrong("missing-once-differentiable", "weight", lambda: (randn(2, 3), randn(4, 3)))
class LinearWithDataGradient(Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x @ weight.t()

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        return g @ weight.data, g.t() @ x


@wrong("saved-intermediate", "x", lambda: (randn(4),))
class SquareOfSaved(Function):
    @staticmethod
    def forward(ctx, x):
        double = 2 * x
        ctx.save_for_backward(double)
        return double * double

    @staticmethod
    def backward(ctx, g):
        (double,) = ctx.saved_tensors
        return 4 * double * g


@wrong("saved-intermediate", "x", lambda: (randn(4),))
class SwishKeepsSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        s = torch.sigmoid(x)
        ctx.save_for_backward(x, s)
        return x * s

    @staticmethod
    def backward(ctx, g):
        x, s = ctx.saved_tensors
        return g * (s + x * s * (1 - s))


@wrong("saved-intermediate", "x", lambda: (rand(4),))
class LogKeepsSlope(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.slope = 1 / x
        return torch.log(x)

    @staticmethod
    def backward(ctx, g):
        return g * ctx.slope


@wrong("saved-intermediate", "x", lambda: (randn(3),))
class NormAsNumber(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.norm = ((x * x).sum() + 1).sqrt().item()
        return ((x * x).sum() + 1).sqrt()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x / ctx.norm


@wrong("saved-intermediate", "x", lambda: (randn(4),))
class SavesACopy(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x.clone())
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g


@wrong("needless-once-differentiable", "", lambda: (randn(4),))
class CubeOnce(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x * x * g


@wrong("needless-once-differentiable", "", lambda: (randn(2, 3), randn(4, 3)))
class LinearOnce(Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x @ weight.t()

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        return g @ weight, g.t() @ x


class CubeGradient(Function):
    """Right by itself at first order; its own backward lost a factor."""

    @staticmethod
    def forward(ctx, g, x):
        ctx.save_for_backward(g, x)
        return 3 * g * x * x

    @staticmethod
    def backward(ctx, h):
        g, x = ctx.saved_tensors
        return 3 * h * x * x, 3 * h * g * x


@wrong("wrong-second-derivative", "x", lambda: (randn(4),))
class CubeInTwoFunctions(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return CubeGradient.apply(g, x)


@wrong("second-raises", "", lambda: (randn(4),))
class NumpyOfTheGradient(Function):
    """With create_graph the upstream gradient has a graph, and NumPy refuses it."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return torch.from_numpy(2 * x.detach().numpy() * g.numpy())


@wrong("missing-once-differentiable", "x", lambda: (randn(3),))
class GraphOfItsOwn(Function):
    """Backward by a graph that it makes itself, as checkpoints do: right, and only once."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sin(x) * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            z = x.detach().requires_grad_()
            y = torch.sin(z) * z
        return torch.autograd.grad(y, z, g.detach())[0]
