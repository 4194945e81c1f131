"""Elementwise Functions."""

import math

from tests.testing.collection import right
from tests.testing.library import Function, rand, randn, torch


@right(lambda: (randn(5, 4),))
class Relu(Function):
    """The ReLU of the tutorials: passes the gradient at exactly 0."""

    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        grad_input = grad_output.clone()
        grad_input[input < 0] = 0
        return grad_input


@right(lambda: (randn(4),))
class Exp(Function):
    @staticmethod
    def forward(ctx, i):
        result = i.exp()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return grad_output * result


@right(lambda: (randn(4), 5.0))
class MulConstant(Function):
    @staticmethod
    def forward(ctx, tensor, constant):
        ctx.constant = constant
        return tensor * constant

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.constant, None


@right(lambda: (randn(3, 2),))
class Sigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y * (1 - y)


@right(lambda: (randn(6),))
class Tanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * (1 - y * y)


@right(lambda: (randn(8),))
class Swish(Function):
    """Saves its input alone and computes the sigmoid again."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return g * s * (1 + x * (1 - s))


@right(lambda: (randn(8),))
class Gelu(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        cdf = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        pdf = torch.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)
        return g * (cdf + x * pdf)


@right(lambda: (randn(8), 0.1))
class LeakyRelu(Function):
    @staticmethod
    def forward(ctx, x, slope):
        ctx.save_for_backward(x)
        ctx.slope = slope
        return torch.where(x > 0, x, slope * x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, g, ctx.slope * g), None


@right(lambda: (randn(8), 1.0))
class Elu(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.save_for_backward(x)
        ctx.alpha = alpha
        return torch.where(x > 0, x, alpha * (torch.exp(x.clamp(max=0)) - 1))

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, g, g * ctx.alpha * torch.exp(x.clamp(max=0))), None


@right(lambda: (2 * randn(8), -1.0, 1.0))
class Hardtanh(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x)
        ctx.low, ctx.high = low, high
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        inside = (x > ctx.low) & (x < ctx.high)
        return torch.where(inside, g, torch.zeros_like(g)), None, None


@right(lambda: (randn(6),))
class Abs(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.abs()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * torch.sign(x)


@right(lambda: (rand(5),))
class Log(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.log(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g / x


@right(lambda: (rand(5),))
class Sqrt(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sqrt(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g / (2 * y)


@right(lambda: (rand(4), 3))
class Power(Function):
    @staticmethod
    def forward(ctx, x, n):
        ctx.save_for_backward(x)
        ctx.n = n
        return x**n

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * ctx.n * x ** (ctx.n - 1), None


@right(lambda: (1 + rand(4), randn(4)))
class PowerOfTensors(Function):
    @staticmethod
    def forward(ctx, base, exponent):
        ctx.save_for_backward(base, exponent)
        return base**exponent

    @staticmethod
    def backward(ctx, g):
        base, exponent = ctx.saved_tensors
        return g * exponent * base ** (exponent - 1), g * base**exponent * torch.log(base)


@right(lambda: (randn(4), 1 + rand(4)))
class Quotient(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a / b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g / b, -g * a / (b * b)


@right(lambda: (randn(3, 4), randn(3, 4)))
class Product(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        grad_a = g * b if ctx.needs_input_grad[0] else None
        grad_b = g * a if ctx.needs_input_grad[1] else None
        return grad_a, grad_b


@right(lambda: (randn(5), 2.0))
class Softplus(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x)
        ctx.beta = beta
        z = beta * x
        return (z.clamp(min=0) + torch.log1p(torch.exp(-z.abs()))) / beta

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * torch.sigmoid(ctx.beta * x), None


@right(lambda: (30 * randn(4),))
class SineOfDegrees(Function):
    @staticmethod
    def forward(ctx, degrees):
        ctx.save_for_backward(degrees)
        return torch.sin(degrees * (math.pi / 180))

    @staticmethod
    def backward(ctx, g):
        (degrees,) = ctx.saved_tensors
        return g * torch.cos(degrees * (math.pi / 180)) * (math.pi / 180)


@right(lambda: (randn(5),))
class GaussianBell(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.exp(-x * x)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return -2 * x * y * g


@right(lambda: (randn(6),))
class LegendreP3(Function):
    """The third Legendre polynomial."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 0.5 * (5 * x**3 - 3 * x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 1.5 * (5 * x**2 - 1)


@right(lambda: (randn(4), randn(4), rand(4)))
class Lerp(Function):
    @staticmethod
    def forward(ctx, start, end, weight):
        ctx.save_for_backward(start, end, weight)
        return start + weight * (end - start)

    @staticmethod
    def backward(ctx, g):
        start, end, weight = ctx.saved_tensors
        return g * (1 - weight), g * weight, g * (end - start)
