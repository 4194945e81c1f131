"""`check` itself: what it takes, how it behaves, what it says beside findings."""

import sys
import time

import numpy as np
import pytest

from engine.testing import check
from tests.testing.collection import entries
from tests.testing.library import Function, rand, randn, torch
from tests.testing.right.elementwise import Exp, MulConstant, Relu
from tests.testing.right.matrices import Linear
from tests.testing.right.styles import Dropout, RoundStraightThrough
from tests.testing.wrong.factors import SquareWithoutTwo
from tests.testing.wrong.shapes import LinearSqueezed


def kinds(report):
    return [finding.kind for finding in report]


def test_apply_of_a_class_is_taken_for_the_class():
    assert kinds(check(SquareWithoutTwo.apply, randn(3), examples=0)) == ["factor"]


def test_any_callable_can_be_checked():
    assert check(lambda x, y: Exp.apply(x) * y, randn(3), randn(3), examples=0)
    report = check(lambda x: SquareWithoutTwo.apply(x).sum(), randn(3), examples=0)
    assert kinds(report) == ["factor"]


def test_seed_of_the_tutorial_is_wrong_only_for_one_output():
    report = check(LinearSqueezed, randn(5, 4), randn(3, 4), randn(3), examples=0)
    (finding,) = report.findings
    assert finding.level.label == "wrong for other shapes"
    assert finding.argument == "bias"
    assert "(1,)" in finding.message
    assert "squeeze" in finding.message


def test_kink_is_noted_with_the_number_that_backward_takes():
    (note,) = [n for n in check(Relu, randn(4), examples=0).notes if "kink" in n]
    assert "`input` = 0" in note
    assert "0 and 1" in note
    assert "takes 1" in note


def test_random_forward_is_compared_and_noted():
    report = check(Dropout, randn(5), 0.5, examples=0)
    assert report
    assert any("random" in note for note in report.notes)


class SlowDropout(Dropout):
    """Waits before it draws, so that a thread beside it draws first."""

    @staticmethod
    def forward(ctx, x, p):
        time.sleep(0.001)
        return Dropout.forward(ctx, x, p)


def test_random_forward_is_not_blamed_for_generators_that_threads_share():
    report = check(SlowDropout, randn(5), 0.5, examples=0)
    assert report, str(report)
    assert any("threads" in note for note in report.notes)


def test_step_function_is_noted_as_one():
    report = check(RoundStraightThrough, 3 * randn(4), examples=0)
    assert report
    assert any("step function" in note for note in report.notes)


class Reversal(Function):
    """Turns gradients round on purpose."""

    @staticmethod
    def forward(ctx, x):
        return x * 1.0

    @staticmethod
    def backward(ctx, g):
        return -g


def test_deliberate_gradient_is_allowed_on_request():
    assert kinds(check(Reversal, randn(3), examples=0)) == ["sign"]
    assert check(Reversal, randn(3), surrogate=True)


def test_generators_are_left_as_they_were():
    torch.manual_seed(3)
    before = torch.rand(2).tolist()
    torch.manual_seed(3)
    state = np.random.get_state()[1].tolist()
    check(Dropout, randn(5), 0.5, examples=0)
    assert torch.rand(2).tolist() == before
    assert np.random.get_state()[1].tolist() == state


def test_example_is_left_as_it_was():
    x = randn(4)
    before = x.tolist()
    check(Exp, x, examples=0)
    assert x.tolist() == before
    assert x.grad is None


def test_what_forward_prints_is_not_shown(capsys):
    class Chatty(Function):
        @staticmethod
        def forward(ctx, x):
            print("forward!")
            return x * 2

        @staticmethod
        def backward(ctx, g):
            print(type(g))
            return g * 2

    assert check(Chatty, randn(3), examples=0)
    assert capsys.readouterr().out == ""


def test_time_is_kept():
    class Slow(Function):
        @staticmethod
        def forward(ctx, x):
            time.sleep(0.01)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    start = time.perf_counter()
    report = check(Slow, randn(30), seconds=1.0)
    assert time.perf_counter() - start < 10
    assert any("stopped after 1 s" in note for note in report.notes)


def test_example_without_a_tensor_is_refused():
    with pytest.raises(ValueError, match="MulConstant needs an example with a floating tensor"):
        check(MulConstant, 2.0, 3.0)
    with pytest.raises(TypeError, match="needs a Function of engine or torch"):
        check(lambda x: x, 2.0)


def test_only_asked_arguments_are_held_to_a_gradient():
    class ForOne(Function):
        @staticmethod
        def forward(ctx, x, scale):
            ctx.save_for_backward(scale)
            return x * scale

        @staticmethod
        def backward(ctx, g):
            (scale,) = ctx.saved_tensors
            return g * scale, None

    assert kinds(check(ForOne, randn(3), randn(3), examples=0)) == ["missing-gradient"]
    assert check(ForOne, randn(3).requires_grad_(), randn(3), examples=0)


def test_function_that_refuses_float64_is_checked_in_float32():
    class Single(Function):
        scale = 2.0

        @staticmethod
        def forward(ctx, x):
            if x.dtype != torch.float32:
                raise TypeError("Single takes float32")
            ctx.save_for_backward(x)
            return torch.sin(x)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * torch.cos(x)

    class WrongSingle(Single):
        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 1.1 * torch.cos(x)

    assert check(Single, randn(4).float(), examples=20)
    assert kinds(check(WrongSingle, randn(4).float(), examples=0)) == ["factor"]


def test_domain_of_the_example_is_kept():
    class LogOfPositive(Function):
        @staticmethod
        def forward(ctx, x):
            if (x <= 0).any():
                raise ValueError("x must be positive")
            ctx.save_for_backward(x)
            return torch.log(x)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g / x

    assert check(LogOfPositive, rand(4))


def test_large_example_is_checked_at_its_own_size_and_at_small_ones():
    start = time.perf_counter()
    assert check(Relu, randn(64, 100), examples=10)
    assert time.perf_counter() - start < 60


def test_fixed_size_that_forward_insists_on_is_kept():
    class FourOnly(Function):
        @staticmethod
        def forward(ctx, x):
            if tuple(x.shape) != (4, 40):
                raise ValueError("x must have shape (4, 40)")
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 3 * x * g

    assert kinds(check(FourOnly, randn(4, 40), examples=0)) == ["factor"]


def test_optional_bias_is_also_left_out():
    assert check(Linear, randn(5, 4), randn(3, 4), randn(3), examples=0)


def test_wrong_jvp_is_found():
    if not hasattr(Function, "jvp"):
        pytest.skip("no forward mode here")

    class Sine(Function):
        @staticmethod
        def forward(x):
            return torch.sin(x)

        @staticmethod
        def setup_context(ctx, inputs, output):
            (x,) = inputs
            ctx.save_for_backward(x)
            ctx.save_for_forward(x)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * torch.cos(x)

        @staticmethod
        def jvp(ctx, tangent):
            (x,) = ctx.saved_tensors
            return -tangent * torch.cos(x)

    assert "wrong-jvp" in kinds(check(Sine, randn(3), examples=0))


def test_what_cannot_be_decided_is_said():
    class Rough(Function):
        """A ripple of a millionth makes every difference of its values another one."""

        @staticmethod
        def forward(ctx, x):
            return x + 1e-2 * torch.sin(1e6 * x)

        @staticmethod
        def backward(ctx, g):
            return g * 1.0

    report = check(Rough, randn(4), examples=0)
    assert report
    assert any("did not settle" in note for note in report.notes)


def test_without_hypothesis_the_rest_is_still_checked(monkeypatch):
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    report = check(Exp, randn(3))
    assert report
    assert any("pip install hypothesis" in note for note in report.notes)


def test_every_kind_of_the_collection_has_a_level_and_a_message():
    for entry in entries("wrong")[:5]:
        for finding in check(entry.function, *entry.example(), examples=0):
            assert finding.message.endswith((".", ")"))
            assert finding.level in range(1, 5)
