"""The engine against its naive recursive twin, on random programs."""

import pytest
from hypothesis import given
from naive import Naive
from programs import programs

from engine import Value
from engine.autograd import grad


def agree(real, twin, weight):
    """Equal but for rounding, which is in proportion to what the paths add up to."""
    return abs(real - twin) <= 1e-12 * (weight + abs(twin)) + 1e-300


@given(programs())
def test_numbers_are_those_of_the_naive_twin(program):
    for real, twin in zip(program.run(Value), program.run(Naive), strict=True):
        assert type(real.data) is float
        assert agree(real.data, twin.data, 0.0)


@given(programs())
def test_gradients_of_all_nodes_are_those_of_the_naive_twin(program):
    real, twin = program.run(Value), program.run(Naive)
    real[-1].backward()
    for x, y in zip(real, twin, strict=True):
        assert agree(x.grad, twin[-1].derivative(y).data, twin[-1].weight(y))


@given(programs(size=4))
def test_second_derivatives_are_those_of_the_naive_twin(program):
    real, twin = program.run(Value), program.run(Naive)
    leaves = range(len(program.inputs))
    first = grad(real[-1], real[: len(leaves)], create_graph=True, materialize_grads=True)
    for i in leaves:
        slope = twin[-1].derivative(twin[i])
        second = grad(first[i], [real[j] for j in leaves], allow_unused=True)
        for j in leaves:
            got = 0.0 if second[j] is None else second[j].data
            assert agree(got, slope.derivative(twin[j]).data, slope.weight(twin[j]))


@given(programs())
def test_a_second_backward_doubles_the_leaves_and_keeps_the_rest(program):
    once, twice = program.run(Value), program.run(Value)
    once[-1].backward()
    twice[-1].backward()
    twice[-1].backward()
    for x, y in zip(once, twice, strict=True):
        assert y.grad == (2.0 * x.grad if x.is_leaf else x.grad)


@given(programs())
def test_grad_gives_the_numbers_of_backward_and_touches_no_grad(program):
    values = program.run(Value)
    found = grad(values[-1], values, allow_unused=True)
    assert all(v.grad == 0.0 for v in values)
    values[-1].backward()
    assert [0.0 if g is None else g.data for g in found] == [v.grad for v in values]


@given(programs())
def test_the_general_walk_gives_the_bits_of_the_scalar_walk(program):
    plain, hooked = program.run(Value), program.run(Value)
    hooked[0].register_hook(lambda g: None)  # user code: the general walk
    plain[-1].backward()
    hooked[-1].backward()
    assert [v.grad.hex() for v in plain] == [v.grad.hex() for v in hooked]


def test_the_naive_twin_itself_knows_the_plain_numbers():
    a, b = Naive(-4.0), Naive(2.0)
    y = a * b + b**3 + (a + b).relu() + (a / b).tanh()
    assert y.data == pytest.approx(-8.0 + 8.0 + 0.0 - 0.9640275800758169)
    assert y.derivative(b).data == pytest.approx(-4.0 + 12.0 + 0.07065082485316443)
    assert (b**3).derivative(b).derivative(b).derivative(b).data == 6.0


