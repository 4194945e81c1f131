"""Derivatives from values: right, with an error that covers what they are off by, and kinks."""

import math

import numpy as np
import pytest

from engine.testing.derivatives import Rounding, better, complex_step, slope

SMOOTH = [
    ("sin", math.sin, math.cos, 0.7),
    ("exp", math.exp, math.exp, 1.3),
    ("exp of a large number", math.exp, math.exp, 30.0),
    ("log", math.log, lambda x: 1 / x, 0.05),
    ("tanh", math.tanh, lambda x: 1 - math.tanh(x) ** 2, 2.0),
    ("reciprocal", lambda x: 1 / x, lambda x: -1 / x**2, 0.3),
    ("cube", lambda x: x**3, lambda x: 3 * x**2, -1.1),
    ("quickly waving", lambda x: math.sin(40 * x), lambda x: 40 * math.cos(40 * x), 0.2),
]


def line(function, x):
    def along(step):
        try:
            return np.array([function(x + step)])
        except (ValueError, ZeroDivisionError):
            return np.array([np.nan])

    return along


@pytest.mark.parametrize(("name", "f", "derivative", "x"), SMOOTH, ids=[s[0] for s in SMOOTH])
@pytest.mark.parametrize("method", [slope, better])
def test_smooth_slope_is_off_by_no_more_than_its_error(name, f, derivative, x, method):
    found = method(line(f, x))
    assert abs(found.value[0] - derivative(x)) <= 10 * found.error[0]
    assert found.error[0] < 1e-6 * max(1, abs(derivative(x)))
    assert not found.kink.any()


def test_slope_of_many_outputs_is_taken_entry_by_entry():
    found = slope(lambda t: np.array([[math.sin(t), 2 * t], [t * t, math.exp(t)]]))
    np.testing.assert_allclose(found.value, [[1, 2], [0, 1]], atol=1e-10)


def test_kink_has_the_slopes_of_both_sides():
    found = better(line(abs, 0.0))
    assert found.kink[0]
    assert found.low[0] == pytest.approx(-1)
    assert found.high[0] == pytest.approx(1)


def test_kink_nearby_does_not_spoil_the_slope():
    found = better(line(abs, 0.003))
    assert found.value[0] == pytest.approx(1, abs=1e-9)
    assert not found.kink[0]


def test_slope_that_does_not_exist_has_an_error_that_says_so():
    root = better(line(lambda x: math.sqrt(abs(x)), 0.0))
    jump = better(line(lambda x: float(x >= 0), 0.0))
    assert root.side_error[0] > 0.1 * abs(root.right[0])
    assert jump.side_error[0] > 0.1 * abs(jump.left[0])


def test_steps_out_of_the_domain_are_left_out():
    found = slope(line(math.log, 0.01))
    assert found.value[0] == pytest.approx(100, rel=1e-6)


def test_rounding_of_values_enters_the_error():
    def rough(step):
        return np.array([np.float32(math.exp(0.5 + step))], dtype=float)

    found = slope(rough, rounding=Rounding(float(np.finfo(np.float32).eps)))
    assert 0 < abs(found.value[0] - math.exp(0.5)) <= 10 * found.error[0]


def test_flat_line_of_a_rounded_function_is_not_taken_for_its_slope():
    def rounded_away(step):
        return np.array([(1.0 + 1e-20 + step) - 1.0])

    one_set = slope(lambda t: rounded_away(1e-20 * t))
    both = better(lambda t: rounded_away(1e-20 * t), scales=(1.0, 1e20))
    assert one_set.value[0] == 0
    assert abs(both.value[0] - 1e-20) <= both.error[0] + 1e-26


def test_complex_step_is_right_to_the_last_digit():
    found = complex_step(lambda t: np.exp(np.array([1.5 + t])))
    assert found[0] == math.exp(1.5)
