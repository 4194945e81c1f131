"""Every part of the contract, used as it is meant."""

import math

from tests.testing.collection import right
from tests.testing.library import Function, once_differentiable, rand, randn, torch


@right(lambda: (randn(6), 0.5))
class Dropout(Function):
    """Draws in forward, keeps the mask on ctx: a constant, not something computed from x."""

    @staticmethod
    def forward(ctx, x, p):
        ctx.scale = (torch.rand(x.shape) > p).to(x.dtype) / (1 - p)
        return x * ctx.scale

    @staticmethod
    def backward(ctx, g):
        return g * ctx.scale, None


@right(lambda: (randn(4),))
class WithSetupContext(Function):
    @staticmethod
    def forward(x):
        return torch.exp(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y


@right(lambda: (randn(4),))
class TwoOutputs(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sin(x), torch.cos(x)

    @staticmethod
    def backward(ctx, g_sin, g_cos):
        (x,) = ctx.saved_tensors
        return g_sin * torch.cos(x) - g_cos * torch.sin(x)


@right(lambda: (randn(3), randn(3)))
class NoneForUnusedOutputs(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.set_materialize_grads(False)
        return a * 2, b * 3

    @staticmethod
    def backward(ctx, g_a, g_b):
        grad_a = None if g_a is None else g_a * 2
        grad_b = None if g_b is None else g_b * 3
        return grad_a, grad_b


@right(lambda: (randn(5),))
class MaximumWithIndex(Function):
    @staticmethod
    def forward(ctx, x):
        index = x.argmax()
        ctx.save_for_backward(index)
        ctx.count = x.shape[0]
        ctx.mark_non_differentiable(index)
        return x[index] * 1.0, index

    @staticmethod
    def backward(ctx, g, g_index):
        (index,) = ctx.saved_tensors
        return g * (torch.arange(ctx.count) == index).to(g.dtype)


@right(lambda: (randn(4),))
class ChangesInPlace(Function):
    """Says so by mark_dirty, and returns the tensor that it changed."""

    @staticmethod
    def forward(ctx, x):
        x.mul_(3)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 3


@right(lambda: (randn(4),))
class NumpyOnce(Function):
    """Leaves the graph in backward, and says so."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return torch.from_numpy(3 * x.detach().numpy() ** 2 * g.detach().numpy())


@right(lambda: (randn(3),))
class PlainPythonOnce(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        flat = [math.sin(v) for v in x.reshape(-1).tolist()]
        return torch.tensor(flat, dtype=x.dtype).reshape(x.shape)

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        pairs = zip(x.reshape(-1).tolist(), g.reshape(-1).tolist(), strict=True)
        flat = [math.cos(v) * w for v, w in pairs]
        return torch.tensor(flat, dtype=x.dtype).reshape(x.shape)


@right(lambda: (3 * randn(5),))
class RoundStraightThrough(Function):
    """A surrogate gradient for a step function."""

    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, g):
        return g * 1.0


@right(lambda: (randn(6),))
class SignStraightThrough(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sign(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (x.abs() <= 1).to(g.dtype)


@right(lambda: (randn(4),))
class Identity(Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return g


@right(lambda: (randn(4),))
class Recomputed(Function):
    """Takes the gradient of its forward by autograd, as checkpointing does."""

    @staticmethod
    def compute(x):
        return torch.sin(x) * torch.exp(x)

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return Recomputed.compute(x)

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        inner = x.detach().requires_grad_()
        with torch.enable_grad():
            y = Recomputed.compute(inner)
        return torch.autograd.grad(y, inner, g)[0]


class Sine(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sin(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * Cosine.apply(x)


class Cosine(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.cos(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return -g * Sine.apply(x)


right(lambda: (randn(4),))(Sine)
right(lambda: (randn(4),))(Cosine)


@right(lambda: (rand(3), "log"))
class ChosenByName(Function):
    """An argument that is a text."""

    @staticmethod
    def forward(ctx, x, name):
        ctx.save_for_backward(x)
        ctx.name_of_function = name
        return torch.log(x) if name == "log" else torch.exp(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        slope = 1 / x if ctx.name_of_function == "log" else torch.exp(x)
        return g * slope, None


@right(lambda: (randn(4), True))
class OffInTraining(Function):
    @staticmethod
    def forward(ctx, x, training):
        ctx.factor = 0.5 if training else 1.0
        return x * ctx.factor

    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor, None


@right(lambda: (randn(2, 3, 4),))
class Flattened(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.shape = x.shape
        return x.reshape(-1) * 2

    @staticmethod
    def backward(ctx, g):
        return 2 * g.reshape(ctx.shape)


@right(lambda: (randn(3, 1),))
class Squeezed(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.shape = x.shape
        return x.squeeze(1) * 1.0

    @staticmethod
    def backward(ctx, g):
        return g.reshape(ctx.shape)


@right(lambda: (randn(5), 2))
class Shifted(Function):
    """Moves entries to the right; what falls off is lost."""

    @staticmethod
    def forward(ctx, x, count):
        ctx.count = min(count, x.shape[0])
        zeros = torch.zeros(ctx.count, dtype=x.dtype)
        return torch.cat([zeros, x[: x.shape[0] - ctx.count]])

    @staticmethod
    def backward(ctx, g):
        zeros = torch.zeros(ctx.count, dtype=g.dtype)
        return torch.cat([g[ctx.count :], zeros]), None
