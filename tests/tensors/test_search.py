"""Where numbers stand among others, comparisons in place, medians without nan."""

import numpy as np
import pytest

import engine
from engine.autograd import grad

nan = float("nan")


@pytest.mark.parametrize("right", [False, True])
def test_places_in_a_sorted_row_are_those_of_numpy(right, rng):
    row = np.sort(rng.integers(0, 9, 12).astype(float))
    numbers = rng.integers(-1, 11, (3, 4)).astype(float)
    found = engine.searchsorted(engine.tensor(row), engine.tensor(numbers), right=right)
    wanted = np.searchsorted(row, numbers, "right" if right else "left")
    assert (found.dtype, found.tolist()) == (engine.int64, wanted.tolist())
    also = engine.bucketize(engine.tensor(numbers), engine.tensor(row), right=right)
    assert also.tolist() == wanted.tolist()


def test_each_row_is_searched_in_its_own():
    rows = engine.tensor([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]])
    found = engine.searchsorted(rows, engine.tensor([[2.0, 9.0], [2.0, 25.0]]), out_int32=True)
    assert (found.dtype, found.tolist()) == (engine.int32, [[1, 3], [0, 2]])
    assert engine.searchsorted(rows[0], 2.0, side="right").item() == 2
    with pytest.raises(RuntimeError, match=r"one row for each row .*\[2, 3\] and \[3, 1\]"):
        engine.searchsorted(rows, engine.ones(3, 1))


def test_isin_tells_which_elements_are_among_others():
    x = engine.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    assert engine.isin(x, engine.tensor([2, 3])).tolist() == [[False, True], [True, False]]
    assert engine.isin(x, 2, invert=True).tolist() == [[True, False], [True, True]]
    assert not engine.isin(x, 2).requires_grad


def test_signbit_knows_minus_zero():
    assert engine.signbit(engine.tensor([-0.0, 0.0, -1.0, nan])).tolist()[:3] == [True, False, True]
    assert engine.signbit(engine.tensor([-1, 0])).tolist() == [True, False]


@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_a_comparison_in_place_leaves_ones_and_zeros_and_no_gradient(name):
    leaf = engine.tensor([1.0, 2.0, 3.0], requires_grad=True)
    x, other = leaf * 1.0, engine.tensor([2.0, 2.0, 2.0])
    wanted = getattr(engine, name)(x, other).to(engine.float32)
    assert getattr(x, f"{name}_")(other) is x
    assert x.tolist() == wanted.tolist()
    assert grad(x.sum(), leaf)[0].tolist() == [0.0, 0.0, 0.0]


# Numbers of torch 2.13.
def test_nanmedian_leaves_nan_out_and_shares_its_gradient_among_equal_ones():
    rows = [[1.0, nan, 3.0, 3.0], [nan] * 4, [2.0, 2.0, 2.0, 1.0]]
    x = engine.tensor(rows, requires_grad=True)
    y = x.nanmedian()
    assert y.item() == 2.0
    third = pytest.approx(1 / 3)
    assert grad(y, x)[0].tolist() == [[0.0] * 4, [0.0] * 4, [third, third, third, 0.0]]
    values, indices = x.nanmedian(1)
    assert [values[0].item(), values[2].item()] == [3.0, 2.0]
    assert values[1].isnan()
    assert indices.shape == (3,)
    assert grad(values[0], x)[0][0].sum().item() == 1.0
    assert engine.tensor([nan, nan]).nanmedian().isnan()


def test_the_median_of_no_integers_is_what_nan_is_as_one():
    for of in (engine.median, engine.nanmedian):
        assert of(engine.zeros(0, dtype=engine.int64)).item() == -(2**63)
        assert of(engine.zeros(0)).isnan()


UNIQUE = [
    ([3.0, 1.0, 3.0, 2.0, 2.0], None, [1.0, 2.0, 3.0], [2, 0, 2, 1, 1], [1, 2, 2]),
    ([[2, 1], [2, 1], [0, 5]], None, [0, 1, 2, 5], [[2, 1], [2, 1], [0, 3]], [1, 2, 2, 1]),
    ([[2, 1], [2, 1], [0, 5]], 0, [[0, 5], [2, 1]], [1, 1, 0], [1, 2]),
    ([[1, 1, 0], [4, 4, 3]], -1, [[0, 1], [3, 4]], [1, 1, 0], [1, 2]),
    ([], None, [], [], []),
]

CONSECUTIVE = [
    ([1, 1, 2, 2, 3, 1, 1], None, [1, 2, 3, 1], [0, 0, 1, 1, 2, 3, 3], [2, 2, 1, 2]),
    ([[1, 2], [1, 2], [3, 4], [1, 2]], 0, [[1, 2], [3, 4], [1, 2]], [0, 0, 1, 2], [2, 1, 1]),
    ([[1, 1, 2], [3, 3, 3]], 1, [[1, 2], [3, 3]], [0, 0, 1], [2, 1]),
    ([], None, [], [], []),
]

CASES = [("unique", *case) for case in UNIQUE]
CASES += [("unique_consecutive", *case) for case in CONSECUTIVE]


@pytest.mark.parametrize(("name", "numbers", "dim", "values", "places", "counts"), CASES)
def test_unique_tells_values_places_and_counts(name, numbers, dim, values, places, counts):
    x, function = engine.tensor(numbers), getattr(engine, name)
    found = getattr(x, name)(return_inverse=True, return_counts=True, dim=dim)
    assert [t.tolist() for t in found] == [values, places, counts]
    assert function(x, dim=dim).tolist() == values
    assert function(x, return_counts=True, dim=dim)[1].tolist() == counts


def test_each_nan_is_unique():
    assert engine.tensor([float("nan"), 1.0, float("nan")]).unique().shape == (3,)


def test_only_the_unique_numbers_are_in_the_graph_and_have_no_derivative():
    x = engine.tensor([2.0, 1.0], requires_grad=True)
    for found in (
        engine.unique(x, return_inverse=True, return_counts=True, dim=0),
        engine.unique_consecutive(x, True, True),
        engine._unique(x),
        engine._unique2(x),
        engine._VF.unique_dim(x, 0),
    ):
        assert [t.requires_grad for t in found] == [True, False, False][: len(found)]
    with pytest.raises(NotImplementedError, match=r"derivative for 'unique' is not implemented"):
        engine.unique(x).sum().backward()
