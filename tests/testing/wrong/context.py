"""What belongs on ctx, what belongs in save_for_backward, and what belongs nowhere else."""

import collections

from tests.testing.collection import wrong
from tests.testing.library import Function, randn, torch


@wrong("tensor-on-ctx", "x", lambda: (randn(4),))
class InputOnCtx(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x * x

    @staticmethod
    def backward(ctx, g):
        return 2 * ctx.x * g


@wrong("tensor-on-ctx", "", lambda: (randn(4),))
class OutputOnCtx(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.exp(x)
        ctx.result = y
        return y

    @staticmethod
    def backward(ctx, g):
        return g * ctx.result


@wrong("tensor-on-ctx", "a", lambda: (randn(4), randn(4)))
class InputsInAList(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.inputs = [a, b]
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.inputs
        return g * b, g * a


@wrong("saved-twice", "", lambda: (randn(4), randn(4)))
class SavesOneByOne(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a)
        ctx.save_for_backward(b)
        return a * 2 + b * b

    @staticmethod
    def backward(ctx, g):
        (b,) = ctx.saved_tensors
        return 2 * g, 2 * b * g


@wrong("saved-object", "", lambda: (randn(4), 2.0))
class SavesANumber(Function):
    @staticmethod
    def forward(ctx, x, constant):
        ctx.save_for_backward(constant)
        return x * constant

    @staticmethod
    def backward(ctx, g):
        (constant,) = ctx.saved_tensors
        return g * constant, None


@wrong("saved-unused", "", lambda: (randn(4),))
class SavesForNothing(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


@wrong("hidden-state", "", lambda: (randn(4),))
class InputOnTheClass(Function):
    last = None

    @staticmethod
    def forward(ctx, x):
        InputOnTheClass.last = x.detach().clone()
        return x * x

    @staticmethod
    def backward(ctx, g):
        return 2 * InputOnTheClass.last * g


CACHE: dict = {}


@wrong("hidden-state", "", lambda: (randn(3), randn(3)))
class InputsInAGlobal(Function):
    @staticmethod
    def forward(ctx, a, b):
        CACHE["a"], CACHE["b"] = a.detach().clone(), b.detach().clone()
        return a * b

    @staticmethod
    def backward(ctx, g):
        return g * CACHE["b"], g * CACHE["a"]


SEEN = collections.deque()


@wrong("memory", "", lambda: (randn(4),))
class KeepsEveryGradient(Function):

    @staticmethod
    def forward(ctx, x):
        return x * 3

    @staticmethod
    def backward(ctx, g):
        SEEN.append(g.detach().clone())
        return g * 3


@wrong("non-deterministic", "", lambda: (randn(4),))
class CountsItsCalls(Function):
    """A scale that warms up: every call gives other numbers."""

    calls = 0

    @staticmethod
    def forward(ctx, x):
        CountsItsCalls.calls += 1
        ctx.scale = 1 - 0.5**CountsItsCalls.calls if CountsItsCalls.calls < 40 else 1 / 3
        if CountsItsCalls.calls % 2:
            ctx.scale *= 2
        return x * ctx.scale

    @staticmethod
    def backward(ctx, g):
        return g * ctx.scale


@wrong("needs-input-grad", "b", lambda: (randn(4), randn(4)))
class OneTestForBoth(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        grad_a = grad_b = None
        if ctx.needs_input_grad[0]:
            grad_a, grad_b = g * b, g * a
        return grad_a, grad_b


@wrong("needs-input-grad", "a", lambda: (randn(4), randn(4)))
class TestsInOtherOrder(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        grad_a = g * b if ctx.needs_input_grad[1] else None
        grad_b = g * a if ctx.needs_input_grad[0] else None
        return grad_a, grad_b


@wrong("missing-gradient", "weight", lambda: (randn(4), 2.0, randn(4)))
class ForgetsThatNumbersCount(Function):
    """needs_input_grad has a place for the number too."""

    @staticmethod
    def forward(ctx, x, power, weight):
        ctx.save_for_backward(x, weight)
        return 2 * x * weight

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        grad_x = 2 * g * weight if ctx.needs_input_grad[0] else None
        grad_weight = 2 * g * x if ctx.needs_input_grad[1] else None
        return grad_x, None, grad_weight


@wrong("needs-input-grad", "", lambda: (randn(4), randn(4)))
class SavesWhenTheFirstNeeds(Function):
    @staticmethod
    def forward(ctx, a, b):
        if ctx.needs_input_grad[0]:
            ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g * b, g * a


class Keeper:
    """Any object that a ctx may hold."""


@wrong("tensor-on-ctx", "x", lambda: (randn(4),))
class InputInAnObject(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.keeper = Keeper()
        ctx.keeper.x = x
        return x * x

    @staticmethod
    def backward(ctx, g):
        return 2 * g * ctx.keeper.x


@wrong("tensor-on-ctx", "", lambda: (randn(4),))
class OutputInADict(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.cache = {"y": torch.sigmoid(x)}
        return ctx.cache["y"]

    @staticmethod
    def backward(ctx, g):
        y = ctx.cache["y"]
        return g * y * (1 - y)


BUFFERS = {}


@wrong("hidden-state", "", lambda: (randn(4),))
class ReturnsTheSameBuffer(Function):
    """Every call of one shape returns the same memory, so that it changes earlier results."""

    @staticmethod
    def forward(ctx, x):
        buffer = BUFFERS.setdefault((tuple(x.shape), x.dtype), torch.zeros_like(x))
        return buffer.copy_(2 * x)

    @staticmethod
    def backward(ctx, g):
        return 2 * g
