"""Fifty digits settle what differences in double cannot."""

import numpy as np
import pytest

from engine.testing import check
from engine.testing.checking import make_subject
from engine.testing.exact import by_complex_step, in_fifty_digits
from engine.testing.first import examine
from tests.testing.library import NAME, Function, randn, torch
from tests.testing.right.elementwise import Swish
from tests.testing.right.matrices import Linear

mpmath = pytest.importorskip("mpmath")


def prepared(function, *example):
    from engine.testing.adapter import library

    subject = make_subject(function, example, library(NAME))
    case = subject.case(subject.small)
    return subject, case, subject.pattern.arrays(case)


def test_forward_runs_in_fifty_digits():
    subject, case, arrays = prepared(Swish, randn(4))
    direction = np.ones(4)
    found = in_fifty_digits(subject, case, arrays, 0, direction, [0])
    s = 1 / (1 + np.exp(-arrays[0]))
    np.testing.assert_allclose(found, s * (1 + arrays[0] * (1 - s)), rtol=1e-14)


def test_forward_that_needs_an_unknown_operation_is_left_to_differences():
    subject, case, arrays = prepared(Linear, randn(2, 3), randn(4, 3), randn(4))
    arrays_with_words = [*arrays[:2], None]
    assert in_fifty_digits(subject, case, arrays_with_words, 0, np.ones((2, 3)), [0]) is not None

    class Odd(Function):
        @staticmethod
        def forward(ctx, x):
            return torch.cumsum(x, 0)

        @staticmethod
        def backward(ctx, g):
            return g

    subject, case, arrays = prepared(Odd, randn(4))
    assert in_fifty_digits(subject, case, arrays, 0, np.ones(4), [0]) is None


class Cancelling(Function):
    """Its values lose all digits in double: 1e14 times the difference of equal numbers."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return ((1 + 1e-14 * x) - 1) * 1e14 + 0 * x

    @staticmethod
    def backward(ctx, g):
        return 3 * g


def test_cancelling_forward_is_settled_by_fifty_digits():
    subject, case, _ = prepared(Cancelling, randn(4))
    verdict = examine(subject, case)
    assert [s.what for s in verdict.symptoms] == ["wrong"]
    assert verdict.symptoms[0].detail[1] == pytest.approx(verdict.symptoms[0].detail[0] / 3)


@pytest.mark.skipif(NAME != "torch", reason="engine has no complex tensors")
def test_complex_step_gives_the_slope_of_an_analytic_forward():
    subject, case, arrays = prepared(Swish, randn(4))
    found = by_complex_step(subject, case, arrays, 0, np.ones(4), [0])
    s = 1 / (1 + np.exp(-arrays[0]))
    np.testing.assert_allclose(found, s * (1 + arrays[0] * (1 - s)), rtol=1e-13)


def test_check_does_not_need_mpmath(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "mpmath", None)
    assert check(Swish, randn(4), examples=0)
