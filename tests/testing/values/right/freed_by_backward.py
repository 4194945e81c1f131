"""The graph is freed by backward, and a second one is refused, as in PyTorch."""

import math


class Value:
    def __init__(self, data, inputs=(), slopes=()):
        self.data, self.grad = data, None
        self.inputs, self.slopes = inputs, slopes
        self.freed = False

    @staticmethod
    def of(x):
        return x if isinstance(x, Value) else Value(x)

    def __add__(self, other):
        other = Value.of(other)
        return Value(self.data + other.data, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        other = Value.of(other)
        return Value(self.data * other.data, (self, other), (other.data, self.data))

    def __pow__(self, other):
        if isinstance(other, Value):
            return (self.log() * other).exp()
        slope = other * self.data ** (other - 1) if other else 0.0
        return Value(self.data**other, (self,), (slope,))

    def __rpow__(self, other):
        return (self * math.log(other)).exp()

    def exp(self):
        y = math.exp(self.data)
        return Value(y, (self,), (y,))

    def log(self):
        return Value(math.log(self.data), (self,), (1 / self.data,))

    def cos(self):
        return Value(math.cos(self.data), (self,), (-math.sin(self.data),))

    def square(self):
        return self * self

    __radd__ = __add__
    __rmul__ = __mul__

    def backward(self):
        order = self.sorted()
        flight = {id(v): 0.0 for v in order}
        flight[id(self)] = 1.0
        for v in order:
            g = flight[id(v)]
            if v.freed:
                raise RuntimeError("backward through this graph a second time")
            if not v.inputs:
                v.grad = (v.grad or 0.0) + g
            for p, slope in zip(v.inputs, v.slopes):
                flight[id(p)] += slope * g
            v.freed, v.inputs, v.slopes = bool(v.inputs), (), ()

    def sorted(self):
        order, seen, stack = [], set(), [(self, False)]
        while stack:
            v, done = stack.pop()
            if done:
                order.append(v)
            elif id(v) not in seen:
                seen.add(id(v))
                stack += [(v, True), *((p, False) for p in v.inputs)]
        return order[::-1]
