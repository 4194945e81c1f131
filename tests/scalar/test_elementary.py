"""The functions that rules are made of: floats by `math`, arrays by NumPy, IEEE 754 in both."""

import math

import numpy as np
import pytest

from engine import arrays, elementary as m

inf, nan = math.inf, math.nan
EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 30.0, 800.0, -800.0, 1e308, -1e308, 5e-324]
EDGES += [inf, -inf, nan]
TWO = ["divide", "power", "atan2", "maximum", "minimum"]
ONE = sorted(set(arrays.FUNCTIONS) - {*TWO, "less", "equal", "where"})


def same(x, y):
    """Equal within 4 units in the last place; nan is nan, inf is inf."""
    return x == y or (x != x and y != y) or abs(x - y) <= 4 * math.ulp(abs(y) if y == y else 1.0)


@pytest.mark.parametrize("name", ONE)
def test_a_float_and_an_array_agree_at_the_edges(name):
    with np.errstate(all="ignore"):
        of_array = getattr(m, name)(np.array(EDGES))
    assert of_array.dtype == np.float64
    for x, y in zip(EDGES, of_array, strict=True):
        number = getattr(m, name)(x)
        assert type(number) is float
        assert same(number, float(y)), (x, number, y)


@pytest.mark.parametrize("name", TWO)
def test_two_floats_and_two_arrays_agree_at_the_edges(name):
    for a in EDGES:
        with np.errstate(all="ignore"):
            of_array = getattr(m, name)(np.full(len(EDGES), a), np.array(EDGES))
        for b, y in zip(EDGES, of_array, strict=True):
            number = getattr(m, name)(a, b)
            assert type(number) is float
            assert same(number, float(y)), (a, b, number, y)


def test_a_number_beside_an_array_broadcasts():
    assert m.divide(1.0, np.array([2.0, 4.0])).tolist() == [0.5, 0.25]
    assert m.where(m.less(np.array([1.0, 3.0]), 2.0), 0.0, 1.0).tolist() == [0.0, 1.0]


def test_a_float32_array_stays_one():
    for name in ONE:
        with np.errstate(all="ignore"):
            assert getattr(m, name)(np.ones(2, np.float32)).dtype == np.float32, name


def test_whatever_answers_for_itself_is_asked():
    class StandIn:
        def _elementary_(self, name, operands):
            return name, operands

    x = StandIn()
    assert m.exp(x) == ("exp", (x,))
    assert m.divide(2.0, x) == ("divide", (2.0, x))
    assert m.where(x, 1.0, 2.0) == ("where", (x, 1.0, 2.0))


def test_conditions_are_false_for_nan_and_choose():
    assert (m.less(nan, 1.0), m.less(1.0, nan), m.equal(nan, nan)) == (False, False, False)
    assert (m.where(True, 1.0, 2.0), m.where(False, 1.0, 2.0)) == (1.0, 2.0)
    assert (m.step(nan), m.step(0.0), m.step(-1.0), m.step(5e-324)) == (1.0, 0.0, 0.0, 1.0)
