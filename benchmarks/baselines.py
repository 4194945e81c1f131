"""Two scalar classes of the kind that people write for themselves: what `engine.Value` is held to.

Both do the arithmetic of a scalar GPT and nothing else. Their cost is that of the originals, on
purpose: what looks slow here, the recursion included, is slow there.
"""

# ruff: noqa: B905  as in the originals
from __future__ import annotations

import math
from collections.abc import Callable, Iterable


class TupleValue:
    """A number with tuples of its parents and of the slopes towards them, as in microgpt (2026)."""

    __slots__ = ("_children", "_local_grads", "data", "grad")

    def __init__(
        self, data: float, parents: tuple[TupleValue, ...] = (), slopes: tuple[float, ...] = ()
    ) -> None:
        self.data = data
        self.grad = 0.0
        self._children = parents
        self._local_grads = slopes

    def __add__(self, other: TupleValue | float) -> TupleValue:
        other = other if isinstance(other, TupleValue) else TupleValue(other)
        return TupleValue(self.data + other.data, (self, other), (1, 1))

    def __mul__(self, other: TupleValue | float) -> TupleValue:
        other = other if isinstance(other, TupleValue) else TupleValue(other)
        return TupleValue(self.data * other.data, (self, other), (other.data, self.data))

    def __pow__(self, power: float) -> TupleValue:
        return TupleValue(self.data**power, (self,), (power * self.data ** (power - 1),))

    def exp(self) -> TupleValue:
        return TupleValue(math.exp(self.data), (self,), (math.exp(self.data),))

    def log(self) -> TupleValue:
        return TupleValue(math.log(self.data), (self,), (1 / self.data,))

    def relu(self) -> TupleValue:
        return TupleValue(max(0, self.data), (self,), (float(self.data > 0),))

    def __neg__(self) -> TupleValue:
        return self * -1

    def __sub__(self, other: TupleValue | float) -> TupleValue:
        return self + (-other)

    def __truediv__(self, other: TupleValue | float) -> TupleValue:
        return self * other**-1

    def __radd__(self, other: TupleValue | float) -> TupleValue:
        return self + other

    def __rmul__(self, other: TupleValue | float) -> TupleValue:
        return self * other

    def __rsub__(self, other: TupleValue | float) -> TupleValue:
        return other + (-self)

    def __rtruediv__(self, other: TupleValue | float) -> TupleValue:
        return other * self**-1

    def backward(self) -> None:
        order, seen = [], set()

        def visit(node: TupleValue) -> None:
            if node not in seen:
                seen.add(node)
                for parent in node._children:
                    visit(parent)
                order.append(node)

        visit(self)
        self.grad = 1.0
        for node in reversed(order):
            for parent, slope in zip(node._children, node._local_grads):
                parent.grad += slope * node.grad


class ClosureValue:
    """A number with a set of its parents and a closure that pushes gradients, as in micrograd.

    micrograd 0.1.0 has no exp and log; they are made as it makes the others. A closure holds its
    node and the node its closure: every node is a cycle, left to the garbage collector.
    """

    def __init__(self, data: float, parents: Iterable[ClosureValue] = (), op: str = "") -> None:
        self.data = data
        self.grad = 0.0
        self._backward: Callable[[], None] = lambda: None
        self._prev = set(parents)
        self._op = op

    def __add__(self, other: ClosureValue | float) -> ClosureValue:
        other = other if isinstance(other, ClosureValue) else ClosureValue(other)
        out = ClosureValue(self.data + other.data, (self, other), "+")

        def push() -> None:
            self.grad += out.grad
            other.grad += out.grad

        out._backward = push
        return out

    def __mul__(self, other: ClosureValue | float) -> ClosureValue:
        other = other if isinstance(other, ClosureValue) else ClosureValue(other)
        out = ClosureValue(self.data * other.data, (self, other), "*")

        def push() -> None:
            self.grad += other.data * out.grad
            other.grad += self.data * out.grad

        out._backward = push
        return out

    def __pow__(self, power: float) -> ClosureValue:
        out = ClosureValue(self.data**power, (self,), f"**{power}")

        def push() -> None:
            self.grad += power * self.data ** (power - 1) * out.grad

        out._backward = push
        return out

    def exp(self) -> ClosureValue:
        out = ClosureValue(math.exp(self.data), (self,), "exp")

        def push() -> None:
            self.grad += out.data * out.grad

        out._backward = push
        return out

    def log(self) -> ClosureValue:
        out = ClosureValue(math.log(self.data), (self,), "log")

        def push() -> None:
            self.grad += out.grad / self.data

        out._backward = push
        return out

    def relu(self) -> ClosureValue:
        out = ClosureValue(0.0 if self.data < 0 else self.data, (self,), "ReLU")

        def push() -> None:
            self.grad += (out.data > 0) * out.grad

        out._backward = push
        return out

    def __neg__(self) -> ClosureValue:
        return self * -1

    def __sub__(self, other: ClosureValue | float) -> ClosureValue:
        return self + (-other)

    def __truediv__(self, other: ClosureValue | float) -> ClosureValue:
        return self * other**-1

    def __radd__(self, other: ClosureValue | float) -> ClosureValue:
        return self + other

    def __rmul__(self, other: ClosureValue | float) -> ClosureValue:
        return self * other

    def __rsub__(self, other: ClosureValue | float) -> ClosureValue:
        return other + (-self)

    def __rtruediv__(self, other: ClosureValue | float) -> ClosureValue:
        return other * self**-1

    def backward(self) -> None:
        order, seen = [], set()

        def visit(node: ClosureValue) -> None:
            if node not in seen:
                seen.add(node)
                for parent in node._prev:
                    visit(parent)
                order.append(node)

        visit(self)
        self.grad = 1.0
        for node in reversed(order):
            node._backward()
