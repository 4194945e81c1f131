"""Operations whose operands have several dtypes, limits that are tensors: torch 2.13's results."""

import pytest

import engine
from engine.autograd import forward_ad, grad

nan = float("nan")


def test_the_absolute_value_of_integers_is_an_integer():
    for dtype in (engine.int8, engine.int32, engine.int64):
        y = engine.tensor([-2, 3], dtype=dtype).abs()
        assert (y.dtype, y.tolist()) == (dtype, [2, 3])
    assert abs(engine.tensor([-2.5, -0.0])).tolist() == [2.5, 0.0]


def test_integers_of_another_size_may_be_added_in_place():
    x = engine.tensor([2, 3], dtype=engine.uint8)
    x += engine.tensor([1, 2], dtype=engine.int64)
    assert (x.dtype, x.tolist()) == (engine.uint8, [3, 5])
    with pytest.raises(RuntimeError, match=r"add_: result type .*float32 can't be cast"):
        x.add_(engine.ones(2))
    with pytest.raises(RuntimeError, match=r"mul_: result type .*int64 can't be cast"):
        engine.tensor([True]).mul_(engine.tensor([2]))


def test_a_mask_is_filled_with_a_number_of_a_wider_dtype():
    x = engine.tensor([2.0, 3.0], dtype=engine.float16, requires_grad=True)
    value = engine.tensor(1.0, dtype=engine.float64, requires_grad=True)
    y = x.masked_fill(engine.tensor([True, False]), value)
    assert (y.dtype, y.tolist()) == (engine.float16, [1.0, 3.0])
    gx, gv = grad(y.sum(), (x, value))
    assert (gx.tolist(), gv.item(), gv.dtype) == ([0.0, 1.0], 1.0, engine.float64)


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_mask_may_be_divided_by_what_requires_a_gradient(create_graph):
    n = engine.tensor([1.0, 2.0], requires_grad=True)
    y = engine.tensor([True, False]) / n
    (g,) = grad(y.sum(), n, create_graph=create_graph)
    assert g.tolist() == [-1.0, 0.0]


@pytest.mark.parametrize(
    ("low", "high", "values", "gradients"),
    [
        ([1.0, 2.0, 4.0], None, [1.0, 2.0, 4.0], [[1, 1, 0], [0, 0, 1]]),
        (None, [1.0, 0.0, 5.0], [1.0, 0.0, 3.0], [[1, 0, 1], [0, 1, 0]]),
        ([1.0, 3.0, 0.0], [1.0, 2.0, 5.0], [1.0, 2.0, 3.0], [[1, 0, 1], [0, 0, 0], [0, 1, 0]]),
    ],
    ids=["below", "above", "both"],
)
def test_at_limits_that_are_tensors_the_gradient_is_the_inputs(low, high, values, gradients):
    x = engine.tensor([1.0, 2.0, 3.0], requires_grad=True)
    limits = [t and engine.tensor(t, requires_grad=True) for t in (low, high)]
    y = engine.clamp(x, *limits)
    assert y.tolist() == values
    found = grad(y.sum(), [t for t in (x, *limits) if t is not None])
    assert [g.tolist() for g in found] == gradients


def test_a_limit_of_nan_gives_nan():
    assert engine.clamp(engine.ones(1), engine.tensor([nan])).isnan()
    assert engine.tensor([nan]).clamp(engine.tensor([0.0])).isnan()


def test_the_tangent_of_the_deviation_of_equal_numbers_is_zero():
    with forward_ad.dual_level():
        x = forward_ad.make_dual(engine.ones(3), engine.tensor([1.0, 2.0, 4.0]))
        assert forward_ad.unpack_dual(x.std()).tangent.item() == 0.0
    x = engine.ones(3, requires_grad=True)
    (g,) = grad(x.std(), x, create_graph=True)
    assert grad(g[0] * x[1], x)[0].tolist() == [0.0, 0.0, 0.0]
