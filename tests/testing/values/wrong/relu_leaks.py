"""relu hands a hundredth on below 0, as leaky_relu, whose number it does not give."""

import math

EXPECTED = ("slope", "a.relu()", "wrong for negative operands only")


class Value:
    def __init__(self, data, parents=()):
        self.data, self.grad = data, 0.0
        self.parents = parents
        self.push = lambda: None

    def lift(self, other):
        return other if isinstance(other, Value) else Value(other)

    def __add__(self, other):
        other = self.lift(other)
        out = Value(self.data + other.data, (self, other))

        def push():
            self.grad += out.grad
            other.grad += out.grad

        out.push = push
        return out

    def __mul__(self, other):
        other = self.lift(other)
        out = Value(self.data * other.data, (self, other))

        def push():
            self.grad += other.data * out.grad
            other.grad += self.data * out.grad

        out.push = push
        return out

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self):
        return self * -1.0

    def __sub__(self, other):
        return self + (-self.lift(other))

    def __rsub__(self, other):
        return self.lift(other) - self

    def __pow__(self, n):
        if not isinstance(n, (int, float)):
            raise NotImplementedError
        out = Value(self.data**n, (self,))

        def push():
            self.grad += n * self.data ** (n - 1) * out.grad

        out.push = push
        return out

    def __truediv__(self, other):
        return self * self.lift(other) ** -1

    def __rtruediv__(self, other):
        return self.lift(other) / self

    def tanh(self):
        out = Value(math.tanh(self.data), (self,))

        def push():
            self.grad += (1 - out.data**2) * out.grad

        out.push = push
        return out

    def relu(self):
        out = Value(max(0.0, self.data), (self,))

        def push():
            self.grad += (1.0 if self.data > 0 else 0.01) * out.grad

        out.push = push
        return out

    def exp(self):
        out = Value(math.exp(self.data), (self,))

        def push():
            self.grad += out.data * out.grad

        out.push = push
        return out

    def backward(self):
        order, seen, stack = [], set(), [(self, False)]
        while stack:
            v, done = stack.pop()
            if done:
                order.append(v)
            elif v not in seen:
                seen.add(v)
                stack.append((v, True))
                stack.extend((p, False) for p in v.parents)
        for v in order:
            if v.parents:
                v.grad = 0.0
        self.grad = 1.0
        for v in reversed(order):
            v.push()
