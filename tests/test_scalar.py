"""engine.scalar: micrograd's classes, texts and numbers, on Values."""

import random

import numpy as np
import pytest

import engine
from engine import data
from engine.scalar import MLP, Layer, Module, Neuron


@pytest.fixture(autouse=True)
def seed():
    random.seed(1337)


def test_weights_are_drawn_in_micrograds_order():
    net = MLP(2, [3, 1])
    drawn = [p.data for p in net.parameters()]
    random.seed(1337)
    expected = []
    for nin, nout in ((2, 3), (3, 1)):
        for _ in range(nout):
            expected += [*(random.uniform(-1, 1) for _ in range(nin)), 0.0]
    assert drawn == expected
    assert len(drawn) == 13


def test_texts_are_those_of_micrograd():
    assert repr(Neuron(2)) == "ReLUNeuron(2)"
    assert repr(Neuron(4, nonlin=False)) == "LinearNeuron(4)"
    assert repr(Layer(2, 2)) == "Layer of [ReLUNeuron(2), ReLUNeuron(2)]"
    assert repr(MLP(1, [2, 1])) == (
        "MLP of [Layer of [ReLUNeuron(1), ReLUNeuron(1)], Layer of [LinearNeuron(2)]]"
    )


def test_attributes_are_those_of_micrograd():
    net = MLP(2, [3, 1])
    neuron = net.layers[0].neurons[0]
    assert len(neuron.w) == 2
    assert neuron.b.data == 0.0
    assert neuron.nonlin is True
    assert net.layers[1].neurons[0].nonlin is False
    assert all(type(p) is engine.Value for p in net.parameters())
    assert Module().parameters() == []


def test_a_neuron_adds_from_its_bias_on_and_applies_relu():
    neuron = Neuron(3)
    neuron.b.data = 0.25
    x = [0.1, engine.Value(-0.7), np.float64(2.0)]
    total = neuron.b.data
    for weight, number in zip(neuron.w, (0.1, -0.7, 2.0), strict=True):
        total = total + weight.data * number
    assert neuron(x).data == max(total, 0.0)
    neuron.nonlin = False
    assert neuron(x).data == total


def test_a_layer_gives_a_list_or_its_only_value():
    assert [type(y) for y in Layer(2, 2)([1.0, 2.0])] == [engine.Value] * 2
    assert type(Layer(2, 1)([1.0, 2.0])) is engine.Value
    assert type(MLP(2, [1, 3, 1])([1.0, 2.0])) is engine.Value


def test_arguments_of_a_layer_reach_its_neurons():
    assert all(not neuron.nonlin for neuron in Layer(2, 3, nonlin=False).neurons)


def test_inputs_of_another_count_are_refused():
    with pytest.raises(ValueError, match="Neuron: x must hold 2 numbers; got 3"):
        MLP(2, [2, 1])([1.0, 2.0, 3.0])


def test_zero_grad_clears_what_backward_left():
    net = MLP(2, [3, 1])
    net([1.0, -2.0]).backward()
    assert any(p.grad for p in net.parameters())
    net.zero_grad()
    assert not any(p.grad for p in net.parameters())


def test_gradients_are_those_of_the_same_net_made_of_tensors():
    net, x = MLP(2, [4, 1]), [0.3, -0.8]
    (net(x) * 3.0).backward()
    layers = []
    for layer in net.layers:
        numbers = [[w.data for w in neuron.w] for neuron in layer.neurons]
        weight = engine.tensor(numbers, dtype=engine.float64, requires_grad=True)
        layers.append(
            (weight, engine.zeros(len(numbers), dtype=engine.float64, requires_grad=True))
        )
    (w1, b1), (w2, b2) = layers
    hidden = (w1 @ engine.tensor(x, dtype=engine.float64) + b1).relu()
    ((w2 @ hidden + b2) * 3.0).sum().backward()
    for layer, (weight, bias) in zip(net.layers, layers, strict=True):
        grads = [[w.grad for w in neuron.w] for neuron in layer.neurons]
        np.testing.assert_allclose(grads, weight.grad.numpy(), rtol=1e-14, atol=1e-15)
        grads = [neuron.b.grad for neuron in layer.neurons]
        np.testing.assert_allclose(grads, bias.grad.numpy(), rtol=1e-14, atol=1e-15)


def test_a_small_net_learns_two_moons():
    points, labels = data.moons(40, noise=0.1, seed=0)
    net = MLP(2, [8, 1])
    optimizer = engine.optim.Adam(net.parameters(), lr=0.1)
    pairs = list(zip(points.tolist(), labels.tolist(), strict=True))
    for _ in range(60):
        optimizer.zero_grad()
        sum((-net(p) if label else net(p)).softplus() for p, label in pairs).backward()
        optimizer.step()
    assert sum((net(p).data > 0) == label for p, label in pairs) >= 38
