"""Sums over broadcast dimensions, transposes, lost dimensions, places mixed up."""

from tests.testing.collection import wrong
from tests.testing.library import Function, randn, torch


class Linear(Function):
    """y = x w^T + b; what its backward does to g for the bias is up to its subclasses."""

    @staticmethod
    def forward(ctx, input, weight, bias=None):
        ctx.save_for_backward(input, weight, bias)
        output = input.mm(weight.t())
        if bias is not None:
            output += bias.unsqueeze(0).expand_as(output)
        return output


def unless_none(bias, grad):
    return None if bias is None else grad


def linear_example():
    return randn(5, 4), randn(3, 4), randn(3)


@wrong("grad-shape", "bias", linear_example)
class LinearSqueezed(Linear):
    """Loses the only dimension of the bias of a layer with one output."""

    @staticmethod
    def backward(ctx, grad_output):
        input, weight, bias = ctx.saved_tensors
        grad_input = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_input = grad_output.mm(weight)
        if ctx.needs_input_grad[1]:
            grad_weight = grad_output.t().mm(input)
        if bias is not None and ctx.needs_input_grad[2]:
            grad_bias = grad_output.sum(0).squeeze(0)
        return grad_input, grad_weight, grad_bias


@wrong("missing-sum", "bias", linear_example)
class LinearWithoutSum(Linear):
    @staticmethod
    def backward(ctx, grad_output):
        input, weight, bias = ctx.saved_tensors
        return grad_output.mm(weight), grad_output.t().mm(input), unless_none(bias, grad_output)


@wrong("missing-sum", "bias", linear_example)
class LinearFirstRow(Linear):
    @staticmethod
    def backward(ctx, grad_output):
        input, weight, bias = ctx.saved_tensors
        return grad_output.mm(weight), grad_output.t().mm(input), unless_none(bias, grad_output[0])


@wrong("count-factor", "bias", linear_example)
class LinearMeanBias(Linear):
    @staticmethod
    def backward(ctx, grad_output):
        input, weight, bias = ctx.saved_tensors
        grad_bias = unless_none(bias, grad_output.mean(0))
        return grad_output.mm(weight), grad_output.t().mm(input), grad_bias


@wrong("transposed", "weight", linear_example)
class LinearWeightTransposed(Linear):
    @staticmethod
    def backward(ctx, grad_output):
        input, weight, bias = ctx.saved_tensors
        grad_bias = unless_none(bias, grad_output.sum(0))
        return grad_output.mm(weight), input.t().mm(grad_output), grad_bias


@wrong("transposed", "weight", lambda: (randn(4, 3), randn(3, 3)))
class SquareLinearTransposed(Function):
    """Right in shape, as the example's weight is square."""

    @staticmethod
    def forward(ctx, input, weight):
        ctx.save_for_backward(input, weight)
        return input.mm(weight.t())

    @staticmethod
    def backward(ctx, g):
        input, weight = ctx.saved_tensors
        return g.mm(weight), input.t().mm(g)


@wrong("transposed", "a", lambda: (randn(3, 3), randn(3, 3)))
class ProductWithoutTranspose(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a @ b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g @ b, a.t() @ g


@wrong("transposed", "x", lambda: (randn(3, 3),))
class TransposeThatPassesOn(Function):
    @staticmethod
    def forward(ctx, x):
        return x.t() * 1.0

    @staticmethod
    def backward(ctx, g):
        return g


@wrong("transposed", "x", lambda: (randn(3, 3),))
class RowSumAcross(Function):
    """Hands the gradient of row sums back along the columns."""

    @staticmethod
    def forward(ctx, x):
        ctx.shape = x.shape
        return x.sum(1)

    @staticmethod
    def backward(ctx, g):
        return g.expand(ctx.shape)


@wrong("swapped", "a", lambda: (randn(4), randn(4)))
class ProductInOtherOrder(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g * a, g * b


@wrong("swapped", "a", lambda: (randn(3), randn(3)))
class JoinedInOtherOrder(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.count = a.shape[0]
        return torch.cat([a, b])

    @staticmethod
    def backward(ctx, g):
        return g[ctx.count :], g[: ctx.count]


@wrong("missing-sum", "table", lambda: (randn(5, 2), torch.tensor([1, 3, 1, 0])))
class LookupAssigned(Function):
    """A row that is looked up twice gets the gradient of one look-up."""

    @staticmethod
    def forward(ctx, table, index):
        ctx.save_for_backward(index)
        ctx.shape = table.shape
        return table[index]

    @staticmethod
    def backward(ctx, g):
        (index,) = ctx.saved_tensors
        grad = torch.zeros(ctx.shape, dtype=g.dtype)
        grad[index] = g
        return grad, None


@wrong("missing-sum", "x", lambda: (randn(3),))
class RepeatedFirstHalf(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.count = x.shape[0]
        return torch.cat([x, x])

    @staticmethod
    def backward(ctx, g):
        return g[: ctx.count]


@wrong("missing-sum", "scale", lambda: (randn(4, 3), randn(3)))
class ScaledColumnsWithoutSum(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x, scale)
        return x * scale

    @staticmethod
    def backward(ctx, g):
        x, scale = ctx.saved_tensors
        return g * scale, g * x


@wrong("missing-sum", "scale", lambda: (randn(4, 3), randn(1)))
class ScaledByOneNumber(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x, scale)
        return x * scale

    @staticmethod
    def backward(ctx, g):
        x, scale = ctx.saved_tensors
        return g * scale, (g * x)[0, :1]


@wrong("misplaced", "x", lambda: (randn(5),))
class TailPaddedBehind(Function):
    """Forward drops the first entry, backward puts the zero at the end."""

    @staticmethod
    def forward(ctx, x):
        return x[1:] * 1.0

    @staticmethod
    def backward(ctx, g):
        return torch.cat([g, torch.zeros(1, dtype=g.dtype)])


@wrong("summed-too-much", "x", lambda: (randn(4, 3), randn(3)))
class InputSummedToo(Function):
    """Sums both gradients over the rows, and spreads the input's again."""

    @staticmethod
    def forward(ctx, x, bias):
        ctx.shape = x.shape
        return x + bias

    @staticmethod
    def backward(ctx, g):
        return g.sum(0, keepdim=True).expand(ctx.shape), g.sum(0)


@wrong("grad-shape", "x", lambda: (randn(3, 1),))
class SqueezedForGood(Function):
    """The dimension that forward squeezes away does not come back."""

    @staticmethod
    def forward(ctx, x):
        return x.squeeze(1) * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


@wrong("layout", "", lambda: (randn(3, 4),))
class FlattenedByView(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return (2 * x.view(-1) * g.reshape(-1)).view(x.shape)


@wrong("upstream-layout", "", lambda: (randn(3, 4),))
class UpstreamByView(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.shape = x.shape
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return (2 * g.view(-1)).view(ctx.shape)


@wrong("adjoint", "x", lambda: (randn(5), 2))
class RollsOnInsteadOfBack(Function):
    @staticmethod
    def forward(ctx, x, count):
        ctx.count = count
        return torch.roll(x, count)

    @staticmethod
    def backward(ctx, g):
        return torch.roll(g, ctx.count), None


@wrong("misplaced", "a", lambda: (randn(3, 3), randn(3, 3)))
class RowProductsAcross(Function):
    """The gradient of a row meets the columns, which works while there are as many."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return (a * b).sum(1)

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g * b, g * a


@wrong("flipped", "signal", lambda: (randn(7), randn(3)))
class ConvolutionNotFlipped(Function):
    @staticmethod
    def forward(ctx, signal, kernel):
        ctx.save_for_backward(signal, kernel)
        count = signal.shape[0] - kernel.shape[0] + 1
        parts = [signal[k : k + count] * kernel[k] for k in range(kernel.shape[0])]
        return sum(parts[1:], start=parts[0])

    @staticmethod
    def backward(ctx, g):
        signal, kernel = ctx.saved_tensors
        size, count = kernel.shape[0], g.shape[0]
        zeros = torch.zeros(size - 1, dtype=g.dtype)
        padded = torch.cat([zeros, g, zeros])
        total = signal.shape[0]
        parts = [padded[k : k + total] * kernel[k] for k in range(size)]
        taps = [(signal[k : k + count] * g).sum() for k in range(size)]
        return sum(parts[1:], start=parts[0]), torch.stack(taps)


@wrong("layout", "", lambda: (randn(3, 4),))
class ForwardByView(Function):
    """Takes the example, and raises for its transpose."""

    @staticmethod
    def forward(ctx, x):
        ctx.shape = x.shape
        return x.view(-1) * 2

    @staticmethod
    def backward(ctx, g):
        return (g * 2).reshape(ctx.shape)


@wrong("swapped", "x", lambda: (randn(5, 4), randn(3, 4)))
class LinearInOtherOrder(Function):
    """The shapes tell that each gradient is the other one's."""

    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x @ weight.t()

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        return g.t() @ x, g @ weight


@wrong("flipped", "kernel", lambda: (randn(6), randn(3)))
class KernelGradientFlipped(Function):
    """A correlation whose kernel gets its gradient from the last entry to the first."""

    @staticmethod
    def forward(ctx, x, kernel):
        ctx.save_for_backward(x, kernel)
        k = len(kernel)
        return torch.stack([(x[i : i + k] * kernel).sum() for i in range(len(x) - k + 1)])

    @staticmethod
    def backward(ctx, g):
        x, kernel = ctx.saved_tensors
        k, n = len(kernel), len(g)
        pads = [torch.zeros(i, dtype=g.dtype) for i in range(n)]
        parts = [torch.cat([pads[i], g[i] * kernel, pads[n - 1 - i]]) for i in range(n)]
        of_kernel = torch.stack([(g * x[i : i + n]).sum() for i in range(k)])
        return sum(parts[1:], parts[0]), of_kernel.flip(0)
