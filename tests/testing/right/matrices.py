"""Products, layers and everything with matrices."""

from tests.testing.collection import right
from tests.testing.library import Function, randn, torch


@right(lambda: (randn(5, 4), randn(3, 4), randn(3)))
class Linear(Function):
    """y = x w^T + b, weight stored as (out, in)."""

    @staticmethod
    def forward(ctx, input, weight, bias=None):
        ctx.save_for_backward(input, weight, bias)
        output = input.mm(weight.t())
        if bias is not None:
            output += bias.unsqueeze(0).expand_as(output)
        return output

    @staticmethod
    def backward(ctx, grad_output):
        input, weight, bias = ctx.saved_tensors
        grad_input = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_input = grad_output.mm(weight)
        if ctx.needs_input_grad[1]:
            grad_weight = grad_output.t().mm(input)
        if bias is not None and ctx.needs_input_grad[2]:
            grad_bias = grad_output.sum(0)
        return grad_input, grad_weight, grad_bias


@right(lambda: (randn(5, 4), randn(4, 3), randn(3)))
class LinearInOut(Function):
    """y = x w + b, weight stored as (in, out)."""

    @staticmethod
    def forward(ctx, input, weight, bias=None):
        ctx.save_for_backward(input, weight, bias)
        output = torch.mm(input, weight)
        if bias is not None:
            output += bias.unsqueeze(0).expand_as(output)
        return output

    @staticmethod
    def backward(ctx, grad_outputs):
        input, weight, bias = ctx.saved_tensors
        grad_input = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_input = grad_outputs @ (weight.t())
        if ctx.needs_input_grad[1]:
            grad_weight = input.t() @ grad_outputs
        if bias is not None and ctx.needs_input_grad[2]:
            grad_bias = grad_outputs.sum(0)
        return grad_input, grad_weight, grad_bias


@right(lambda: (randn(3, 3), randn(3, 3)))
class SquareProduct(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a @ b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g @ b.t(), a.t() @ g


@right(lambda: (randn(2, 3, 4), randn(2, 4, 2)))
class BatchedProduct(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a @ b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g @ b.transpose(1, 2), a.transpose(1, 2) @ g


@right(lambda: (randn(3), randn(4)))
class Outer(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a.unsqueeze(1) * b.unsqueeze(0)

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return (g * b.unsqueeze(0)).sum(1), (g * a.unsqueeze(1)).sum(0)


@right(lambda: (randn(3), randn(3, 4), randn(4)))
class Bilinear(Function):
    @staticmethod
    def forward(ctx, x, matrix, y):
        ctx.save_for_backward(x, matrix, y)
        return (x.unsqueeze(1) * matrix * y.unsqueeze(0)).sum()

    @staticmethod
    def backward(ctx, g):
        x, matrix, y = ctx.saved_tensors
        column, row = x.unsqueeze(1), y.unsqueeze(0)
        return g * (matrix * row).sum(1), g * column * row, g * (matrix * column).sum(0)


@right(lambda: (randn(2, 2) + 3 * torch.eye(2, dtype=torch.float64),))
class DeterminantOfTwo(Function):
    @staticmethod
    def forward(ctx, m):
        if tuple(m.shape) != (2, 2):
            raise ValueError("DeterminantOfTwo: m must have shape (2, 2)")
        ctx.save_for_backward(m)
        return m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0]

    @staticmethod
    def backward(ctx, g):
        (m,) = ctx.saved_tensors
        rows = [torch.stack([m[1, 1], -m[1, 0]]), torch.stack([-m[0, 1], m[0, 0]])]
        return g * torch.stack(rows)


@right(lambda: (randn(3, 4),))
class Transposed(Function):
    @staticmethod
    def forward(ctx, x):
        return x.t() * 1.0

    @staticmethod
    def backward(ctx, g):
        return g.t()


@right(lambda: (randn(3, 2), randn(4, 2)))
class Stacked(Function):
    """One under the other; each gets its rows back."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.count = a.shape[0]
        return torch.cat([a, b])

    @staticmethod
    def backward(ctx, g):
        return g[: ctx.count], g[ctx.count :]


@right(lambda: (randn(2), randn(3), randn(4)))
class AnyNumberOfVectors(Function):
    @staticmethod
    def forward(ctx, *vectors):
        ctx.sizes = [v.shape[0] for v in vectors]
        return torch.cat(vectors)

    @staticmethod
    def backward(ctx, g):
        grads, start = [], 0
        for size in ctx.sizes:
            grads.append(g[start : start + size])
            start += size
        return tuple(grads)


@right(lambda: (randn(7), randn(3)))
class Convolution(Function):
    """A one-dimensional convolution without padding."""

    @staticmethod
    def forward(ctx, signal, kernel):
        ctx.save_for_backward(signal, kernel)
        count = signal.shape[0] - kernel.shape[0] + 1
        parts = [signal[k : k + count] * kernel[k] for k in range(kernel.shape[0])]
        return sum(parts[1:], start=parts[0])

    @staticmethod
    def backward(ctx, g):
        signal, kernel = ctx.saved_tensors
        count, zeros = g.shape[0], torch.zeros(signal.shape, dtype=g.dtype)
        grad_signal, taps = zeros, []
        for k in range(kernel.shape[0]):
            before, after = zeros[:k], zeros[k + count :]
            grad_signal = grad_signal + torch.cat([before, g * kernel[k], after])
            taps.append((signal[k : k + count] * g).sum())
        return grad_signal, torch.stack(taps)


@right(lambda: (randn(2, 3), randn(4, 3), randn(4, 2)))
class Attention(Function):
    """softmax(q k^T) v for one head."""

    @staticmethod
    def forward(ctx, q, k, v):
        ctx.save_for_backward(q, k, v)
        return (q @ k.t()).softmax(1) @ v

    @staticmethod
    def backward(ctx, g):
        q, k, v = ctx.saved_tensors
        weights = (q @ k.t()).softmax(1)
        inner = g @ v.t()
        scores = weights * (inner - (inner * weights).sum(1, keepdim=True))
        return scores @ k, scores.t() @ q, weights.t() @ g


@right(lambda: (randn(4, 4),))
class Trace(Function):
    @staticmethod
    def forward(ctx, m):
        if m.dim() != 2 or m.shape[0] != m.shape[1]:
            raise ValueError("Trace: m must be square")
        ctx.size = m.shape[0]
        return (m * torch.eye(ctx.size, dtype=m.dtype)).sum()

    @staticmethod
    def backward(ctx, g):
        return g * torch.eye(ctx.size, dtype=g.dtype)
