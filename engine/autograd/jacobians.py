"""What gradcheck compares: the same derivatives by small steps of the inputs, and by backward.

A Jacobian here is a NumPy matrix: one row per number of the input, one column per number of the
output. Inputs and outputs are Values or Tensors.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.autograd.forward_ad import make_dual, nested_level
from engine.differentiation import as_tuple, grad
from engine.habits import Value
from engine.memory import writeable
from engine.nodes import DIFFERENTIABLE, is_floating
from engine.quiet import quiet
from engine.tensors import make

Outputs = tuple[Any, ...]


def shape_of(x: Any) -> tuple[int, ...]:
    """The shape of a Value or Tensor."""
    return () if isinstance(x, Value) else x._array.shape


def size_of(x: Any) -> int:
    """How many numbers a Value or Tensor holds."""
    return int(np.prod(shape_of(x)))


def numbers(x: Any) -> Any:
    """The numbers of a Value or Tensor, flat, as a new float64 array; None holds none."""
    array = x.data if isinstance(x, Value) else x._array
    return np.array(array, np.float64).reshape(-1)


def of_floats(outputs: Any) -> Outputs:
    """The Values and floating Tensors among what a function returned."""
    return tuple(x for x in as_tuple(outputs) if isinstance(x, DIFFERENTIABLE) and is_floating(x))


def checked(outputs: Any) -> Any:
    """What a function returned, unless it has left the graph altogether."""
    for x in as_tuple(outputs):
        if not isinstance(x, DIFFERENTIABLE):
            raise TypeError(
                f"func needs to return Values or Tensors; got {type(x).__name__}, which stands in "
                "no graph: use engine's operations all the way"
            )
    return outputs


def moved(x: Any, step: Any) -> Callable[[], None]:
    """Add step, one number for each of x's, to x where it stands; returns what puts x back.

    Version counters do not notice, so that graphs made before stay valid.
    """
    if isinstance(x, Value):
        before, v = x.data, x
        x.data = before + float(step[0])
        return lambda: setattr(v, "data", before)
    array, old = writeable(x._array), x._array.copy()
    np.copyto(array, old + step.reshape(old.shape), casting="same_kind")
    return lambda: np.copyto(array, old)


class Point:
    """A function at some inputs, and its derivatives there.

    wanted: the places of the inputs whose derivatives are asked for. outputs: the Values and
    floating Tensors that the function returned.
    """

    def __init__(self, func: Callable[..., Any], inputs: tuple[Any, ...], wanted: list[int]):
        self.func = func
        self.inputs = inputs
        self.wanted = wanted
        self.outputs = of_floats(checked(func(*inputs)))

    def at(self, x: Any, step: Any) -> list[Any]:
        """The numbers of each output with x moved by step."""
        back = moved(x, step)
        try:
            with quiet():
                outputs = of_floats(self.func(*self.inputs))
            like(self.outputs, outputs)
            return [numbers(o) for o in outputs]
        finally:
            back()

    def difference(self, j: int, direction: Any, eps: float) -> list[Any]:
        """The derivative of each output along a direction of input j, by central differences."""
        x = self.inputs[j]
        above, below = self.at(x, eps * direction), self.at(x, -eps * direction)
        with quiet():
            return [(a - b) / (2.0 * eps) for a, b in zip(above, below, strict=True)]

    def numerical(self, j: int, eps: float) -> list[Any]:
        """The Jacobian of each output by input j, by central differences."""
        n = size_of(self.inputs[j])
        rows = [self.difference(j, unit, eps) for unit in np.eye(n)]
        return [
            np.array([row[i] for row in rows]).reshape(n, size_of(o))
            for i, o in enumerate(self.outputs)
        ]

    def pulled_back(self, i: int, weights: Any) -> list[Any]:
        """The gradient of each wanted input, flat, for these weights of output i."""
        inputs = [self.inputs[j] for j in self.wanted]
        given = gradient_like(self.outputs[i], weights)
        found = grad(self.outputs[i], inputs, given, retain_graph=True, allow_unused=True)
        return [
            np.zeros(size_of(x)) if g is None else numbers(g)
            for x, g in zip(inputs, found, strict=True)
        ]

    def analytical(self, i: int) -> list[Any]:
        """The Jacobian of output i by each wanted input, by backward."""
        columns = [self.pulled_back(i, unit) for unit in np.eye(size_of(self.outputs[i]))]
        by_input = [np.array([c[k] for c in columns]) for k in range(len(self.wanted))]
        sizes = [size_of(self.inputs[j]) for j in self.wanted]
        return [a.reshape(len(columns), n).T for a, n in zip(by_input, sizes, strict=True)]

    def pushed_forward(self, j: int, direction: Any) -> list[Any]:
        """The tangent of each output, flat, for this tangent of input j and zeros for the others
        that are wanted."""
        with nested_level() as level:
            inputs = list(self.inputs)
            for k in self.wanted:
                x = inputs[k]
                t = direction if k == j else np.zeros(size_of(x))
                inputs[k] = make_dual(x, gradient_like(x, t))
            outputs = of_floats(self.func(*inputs))
            tangents = [level.tangent(o) for o in outputs]
        return [
            np.zeros(size_of(o)) if t is None else numbers(t)
            for o, t in zip(outputs, tangents, strict=True)
        ]

    def forward(self, j: int) -> list[Any]:
        """The Jacobian of each output by input j, by forward mode."""
        n = size_of(self.inputs[j])
        rows = [self.pushed_forward(j, unit) for unit in np.eye(n)]
        return [
            np.array([row[i] for row in rows]).reshape(n, size_of(o))
            for i, o in enumerate(self.outputs)
        ]


def gradient_like(output: Any, weights: Any) -> Any:
    """Weights as a gradient of the output: of its kind, shape and dtype."""
    if isinstance(output, Value):
        return Value(float(weights[0]), requires_grad=False)
    return make(weights.reshape(output._array.shape).astype(output._array.dtype))


def like(before: Sequence[Any], after: Sequence[Any]) -> None:
    """Refuse outputs that are not of the shapes and dtypes that they had at the inputs given."""
    what = "gradcheck: expected `func` to return outputs with the same {0} when inputs are "
    what += "perturbed; got {1} and {2}"
    counts = len(before), len(after)
    assert counts[0] == counts[1], what.format("number of outputs", *counts)
    for a, b in zip(before, after, strict=True):
        shapes = shape_of(a), shape_of(b)
        assert shapes[0] == shapes[1], what.format("shape", *shapes)
        kinds = getattr(a, "dtype", float), getattr(b, "dtype", float)
        assert kinds[0] == kinds[1], what.format("dtype", *kinds)
