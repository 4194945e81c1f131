"""Functions on engine's Values are checked too."""

import math

import pytest

from engine.testing import check
from tests.testing.library import NAME, Function, once_differentiable, torch

if NAME != "engine":
    pytest.skip("only engine has Values", allow_module_level=True)

Value = torch.Value


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x * x * g


class Sine(Function):
    """Leaves the graph for plain floats, forward and backward."""

    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return math.sin(x.data) * scale

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g.data * ctx.scale * math.cos(x.data), None


class SineUnmarked(Sine):
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g.data * ctx.scale * math.cos(x.data), None


class Shift(Function):
    @staticmethod
    def forward(ctx, x):
        return x + 1.0

    @staticmethod
    def backward(ctx, g):
        return 1.0


class Product(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g * b, -g * a


def test_right_functions_of_values_raise_no_alarm():
    assert check(Cube, Value(1.5))
    assert check(Sine, Value(1.5), 3.0)


@pytest.mark.parametrize(
    ("function", "example", "kind", "argument"),
    [
        (Shift, (Value(0.5),), "upstream-ignored", "x"),
        (SineUnmarked, (Value(0.5), 2.0), "missing-once-differentiable", "x"),
        (Product, (Value(0.5), Value(2.0)), "sign", "b"),
    ],
    ids=["upstream", "graph", "sign"],
)
def test_wrong_functions_of_values_are_found(function, example, kind, argument):
    (finding,) = check(function, *example).findings
    assert (finding.kind, finding.argument) == (kind, argument)
    with pytest.raises((AssertionError, RuntimeError)):
        exec(compile(finding.program, "<program>", "exec"), {"__name__": "pasted"})


def test_one_function_is_checked_on_values_and_on_tensors():
    assert check(Cube, Value(0.7))
    assert check(Cube, torch.randn(3, dtype=torch.float64))
