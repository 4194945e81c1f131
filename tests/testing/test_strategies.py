"""Strategies: what they draw has the promised shape and numbers, and shrinks to the simplest."""

import numpy as np
from hypothesis import find, given, strategies as st

import engine
from engine.testing import strategies
from tests.testing.library import NAME, torch

MODULE = torch if NAME == "torch" else engine


@given(strategies.broadcastable_shapes(3))
def test_broadcastable_shapes_broadcast(shapes):
    assert len(shapes) == 3
    np.broadcast_shapes(*shapes)


def test_broadcastable_shapes_hold_ones_and_missing_dimensions():
    pairs = strategies.broadcastable_shapes(2, size=3)
    assert find(pairs, lambda s: len(s[0]) > len(s[1]) > 0)
    assert find(pairs, lambda s: 1 in s[0] and 3 in s[1])


@given(strategies.tensors(strategies.shapes(), module=MODULE))
def test_tensors_are_double_and_require_a_gradient(x):
    assert x.dtype == MODULE.float64
    assert x.requires_grad
    assert all(abs(v) <= 3 for v in x.reshape(-1).tolist())


@given(st.data())
def test_strided_views_hold_the_same_numbers(data):
    array = data.draw(strategies.arrays(strategies.shapes(2, 3, least=1)))
    view = data.draw(strategies.strided_views(array))
    np.testing.assert_array_equal(view, array)


def test_strided_views_are_of_every_kind():
    array = np.arange(6.0).reshape(2, 3)
    views = strategies.strided_views(array)
    assert find(views, lambda v: v.strides[-1] < 0) is not None
    assert find(views, lambda v: v.strides[-1] == 16) is not None
    assert find(views, lambda v: v.flags.f_contiguous) is not None


@given(strategies.values())
def test_values_are_engine_values(v):
    assert isinstance(v, engine.Value)
    assert v.requires_grad


@given(strategies.programs(shape=(2,)))
def test_programs_on_tensors_have_the_reference_results_and_gradients(program):
    inputs = [
        MODULE.tensor(a, dtype=MODULE.float64).requires_grad_() for a in program.inputs
    ]
    y = program.run(inputs)
    np.testing.assert_allclose(y.detach().numpy(), program.result(), rtol=1e-12, atol=1e-12)
    grads = MODULE.autograd.grad(y.sum(), inputs, allow_unused=True)
    for k, g in enumerate(grads):
        given = np.zeros(2) if g is None else g.numpy()
        np.testing.assert_allclose(given, program.gradient(k), rtol=1e-9, atol=1e-9)


@given(strategies.programs())
def test_programs_on_values_have_the_reference_results_and_gradients(program):
    inputs = [engine.Value(float(a)) for a in program.inputs]
    y = program.run(inputs)
    y.backward()
    assert abs(y.data - program.result()) <= 1e-9 * max(1, abs(y.data))
    for k, v in enumerate(inputs):
        right = program.gradient(k)
        assert abs(v.grad - right) <= 1e-9 * max(1, abs(right))


def test_programs_shrink_to_one_operation():
    smallest = find(strategies.programs(), lambda p: any(s.name == "mul" for s in p.steps))
    assert len(smallest.steps) == 1
    assert str(smallest) == "x0 = 0.0\nx1 = mul(x0, x0)"


@given(strategies.special_numbers())
def test_special_numbers_are_floats(x):
    assert isinstance(x, float)
