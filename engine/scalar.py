"""Nets of Values, with the classes, arguments and texts of micrograd 0.1.0.

A program that says `from micrograd.nn import MLP` runs with `from engine.scalar import MLP`, and
gets the same weights from the same `random.seed`.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

from engine import fused
from engine.habits import Value


class Module:
    """Anything with parameters."""

    def parameters(self) -> list[Any]:
        """All Values that training may change, in order."""
        return []

    def zero_grad(self) -> None:
        """Sets the gradients of all parameters to 0."""
        for parameter in self.parameters():
            parameter.grad = 0


class Neuron(Module):
    """w * x + b, through relu unless nonlin is False.

    nin: how many numbers come in. w starts uniform in [-1, 1], drawn from `random`; b starts at 0.
    """

    def __init__(self, nin: int, nonlin: bool = True) -> None:
        self.w = [Value(random.uniform(-1, 1)) for _ in range(nin)]
        self.b = Value(0)
        self.nonlin = nonlin

    def __call__(self, x: Iterable[Any]) -> Any:
        """x: nin numbers or Values; the answer is a Value. Raises ValueError for another count."""
        x = x if isinstance(x, list) else list(x)
        if len(x) != len(self.w):
            raise ValueError(f"Neuron: x must hold {len(self.w)} numbers; got {len(x)}")
        total = fused.add_products(self.b, self.w, x)
        return total.relu() if self.nonlin else total

    def parameters(self) -> list[Any]:
        return [*self.w, self.b]

    def __repr__(self) -> str:
        return f"{'ReLU' if self.nonlin else 'Linear'}Neuron({len(self.w)})"


class Layer(Module):
    """nout neurons side by side; further arguments go to each Neuron."""

    def __init__(self, nin: int, nout: int, **kwargs: Any) -> None:
        self.neurons = [Neuron(nin, **kwargs) for _ in range(nout)]

    def __call__(self, x: Any) -> Any:
        """A list of nout Values; with one neuron its Value alone. One Value for x is taken too."""
        x = [x] if isinstance(x, Value) else list(x)
        answers = [neuron(x) for neuron in self.neurons]
        return answers[0] if len(answers) == 1 else answers

    def parameters(self) -> list[Any]:
        return [parameter for neuron in self.neurons for parameter in neuron.parameters()]

    def __repr__(self) -> str:
        return f"Layer of [{', '.join(map(str, self.neurons))}]"


class MLP(Module):
    """Layers of nouts[0], nouts[1], ... neurons one after the other; the last has no relu."""

    def __init__(self, nin: int, nouts: list[int]) -> None:
        sizes = [nin, *nouts]
        last = len(nouts) - 1
        self.layers = [Layer(sizes[i], sizes[i + 1], nonlin=i != last) for i in range(len(nouts))]

    def __call__(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x

    def parameters(self) -> list[Any]:
        return [parameter for layer in self.layers for parameter in layer.parameters()]

    def __repr__(self) -> str:
        return f"MLP of [{', '.join(map(str, self.layers))}]"
