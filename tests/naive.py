"""The engine's naive twin: the whole idea of automatic differentiation, with nothing for speed.

A number remembers what it was made of, and how fast it changes with each of these. Its
derivative with respect to x follows by recursion: 1 for x itself, otherwise the sum, over what
it was made of, of slope times derivative. Slopes are numbers of the same kind, made only when
asked for, so that derivatives can be differentiated again. Every path is walked: exponential.
"""

import math


class Naive:
    """A number, and pairs of a parent and a function that makes the slope with respect to it."""

    def __init__(self, data, *edges):
        self.data, self.edges, self.grad = float(data), edges, 0.0

    def derivative(self, x):
        if self is x:
            return Naive(1.0)
        return sum((slope() * parent.derivative(x) for parent, slope in self.edges), Naive(0.0))

    def weight(self, x):
        """What the derivative would be if nothing cancelled: rounding is in proportion to it."""
        if self is x:
            return 1.0
        return sum(abs(slope().data) * parent.weight(x) for parent, slope in self.edges)

    def leaves(self):
        return {self} if not self.edges else set().union(*(p.leaves() for p, _ in self.edges))

    def backward(self):
        for leaf in self.leaves():
            leaf.grad += self.derivative(leaf).data

    def unary(self, data, slope):
        y = Naive(data, (self, lambda: slope(self, y)))
        return y

    def __add__(self, b):
        a, b = self, number(b)
        return Naive(a.data + b.data, (a, lambda: Naive(1.0)), (b, lambda: Naive(1.0)))

    def __mul__(self, b):
        a, b = self, number(b)
        return Naive(a.data * b.data, (a, lambda: b), (b, lambda: a))

    def __truediv__(self, b):
        a, b = self, number(b)
        y = Naive(a.data / b.data, (a, lambda: 1 / b), (b, lambda: -(y / b)))
        return y

    def __pow__(self, b):
        if not isinstance(b, Naive):
            return self.unary(self.data**b, lambda a, y: b * a ** (b - 1) if b else Naive(0.0))
        a = self
        y = Naive(a.data**b.data, (a, lambda: b * a ** (b - 1.0)), (b, lambda: y * a.log()))
        return y

    def __neg__(self): return self.unary(-self.data, lambda a, y: Naive(-1.0))
    def __sub__(self, b): return self + -number(b)
    def __radd__(self, b): return number(b) + self
    def __rmul__(self, b): return number(b) * self
    def __rsub__(self, b): return number(b) - self
    def __rtruediv__(self, b): return number(b) / self
    def __rpow__(self, b): return number(b) ** self
    def __abs__(self): return self * ((self.data > 0) - (self.data < 0))
    def relu(self): return self * (self.data > 0)
    def exp(self): return self.unary(math.exp(self.data), lambda a, y: y)
    def log(self): return self.unary(math.log(self.data), lambda a, y: 1 / a)
    def sqrt(self): return self.unary(math.sqrt(self.data), lambda a, y: 0.5 / y)
    def sin(self): return self.unary(math.sin(self.data), lambda a, y: a.cos())
    def cos(self): return self.unary(math.cos(self.data), lambda a, y: -a.sin())
    def tanh(self): return self.unary(math.tanh(self.data), lambda a, y: 1 - y * y)
    def sigmoid(self): return self.unary(1 / (1 + math.exp(-self.data)), lambda a, y: y * (1 - y))


def number(x):
    return x if isinstance(x, Naive) else Naive(x)
