"""No sort: a Value hands on when all its uses have reported."""

import math


class Scalar:
    def __init__(self, value, *edges):
        self.value, self.derivative, self.edges = value, 0.0, edges

    def __add__(self, other):
        other = other if isinstance(other, Scalar) else Scalar(other)
        return Scalar(self.value + other.value, (self, 1.0), (other, 1.0))

    def __sub__(self, other):
        other = other if isinstance(other, Scalar) else Scalar(other)
        return Scalar(self.value - other.value, (self, 1.0), (other, -1.0))

    def __mul__(self, other):
        other = other if isinstance(other, Scalar) else Scalar(other)
        return Scalar(self.value * other.value, (self, other.value), (other, self.value))

    def __truediv__(self, other):
        other = other if isinstance(other, Scalar) else Scalar(other)
        y = self.value / other.value
        return Scalar(y, (self, 1 / other.value), (other, -y / other.value))

    def __radd__(self, other):
        return Scalar(other) + self

    def __rsub__(self, other):
        return Scalar(other) - self

    def __rmul__(self, other):
        return Scalar(other) * self

    def __rtruediv__(self, other):
        return Scalar(other) / self

    def __abs__(self):
        return Scalar(abs(self.value), (self, 1.0 if self.value >= 0 else -1.0))

    def sqrt(self):
        y = math.sqrt(self.value)
        return Scalar(y, (self, 0.5 / y))

    def backward(self):
        uses = self.count_uses()
        total, ready = {self: 1.0}, [self]
        while ready:
            v = ready.pop()
            v.derivative = total[v] if v.edges else v.derivative + total[v]
            for parent, slope in v.edges:
                total[parent] = total.get(parent, 0.0) + slope * total[v]
                uses[parent] -= 1
                if not uses[parent]:
                    ready.append(parent)

    def count_uses(self):
        uses, stack = {self: 0}, [self]
        while stack:
            for parent, _ in stack.pop().edges:
                if parent not in uses:
                    stack.append(parent)
                uses[parent] = uses.get(parent, 0) + 1
        return uses
