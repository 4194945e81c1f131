"""Clipping of gradients, and parameters as one vector."""

import math

import pytest

import engine
from engine import nn
from engine.nn import utils


@pytest.fixture
def params():
    made = [nn.Parameter(engine.zeros(2)), nn.Parameter(engine.zeros(1, 2))]
    made[0].grad = engine.tensor([3.0, 0.0])
    made[1].grad = engine.tensor([[0.0, -4.0]])
    return [*made, nn.Parameter(engine.zeros(5))]


@pytest.mark.parametrize(("order", "norm"), [(2.0, 5.0), (1.0, 7.0), (math.inf, 4.0)])
def test_clip_grad_norm_scales_all_gradients_together(params, order, norm):
    assert utils.clip_grad_norm_(params, 1.0, order).item() == pytest.approx(norm)
    assert params[0].grad.tolist() == pytest.approx([3.0 / norm, 0.0], rel=1e-5)
    assert params[1].grad.flatten().tolist() == pytest.approx([0.0, -4.0 / norm], rel=1e-5)
    assert params[2].grad is None


def test_clip_grad_norm_leaves_short_gradients_alone(params):
    assert utils.clip_grad_norm_(iter(params), 100.0).item() == pytest.approx(5.0)
    assert params[0].grad.tolist() == [3.0, 0.0]
    assert utils.clip_grad_norm_(params[0], 100.0).item() == pytest.approx(3.0)
    assert utils.clip_grad_norm_([], 1.0).item() == 0.0


def test_clip_grad_norm_refuses_what_is_not_finite_on_request(params):
    params[0].grad[0] = math.nan
    with pytest.raises(RuntimeError, match=r"norm of order 2.0 of the gradients is nan"):
        utils.clip_grad_norm_(params, 1.0, error_if_nonfinite=True)
    assert params[1].grad.flatten().tolist() == [0.0, -4.0]


def test_clip_grad_value_clamps_each_number(params):
    utils.clip_grad_value_(params, 3.5)
    assert params[0].grad.tolist() == [3.0, 0.0]
    assert params[1].grad.flatten().tolist() == [0.0, -3.5]


def test_parameters_go_to_a_vector_and_back(params):
    vector = utils.parameters_to_vector(params)
    assert vector.shape == (9,)
    vector.sum().backward()
    assert params[2].grad.tolist() == [1.0] * 5
    utils.vector_to_parameters(engine.arange(9.0), params)
    assert [p.flatten().tolist() for p in params] == [[0, 1], [2, 3], [4, 5, 6, 7, 8]]
    assert all(p.is_leaf and p.requires_grad for p in params)


@pytest.mark.parametrize("count", [8, 10])
def test_a_vector_of_another_length_is_refused_and_nothing_written(params, count):
    with pytest.raises(ValueError, match=f"vec must hold 9 numbers; got {count}"):
        utils.vector_to_parameters(engine.ones(count), params)
    assert params[0].tolist() == [0.0, 0.0]
