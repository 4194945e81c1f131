"""Gradients are Values themselves, for derivatives of any order."""

import math


class Value:
    def __init__(self, data, parents=(), slopes=()):
        self.data = data
        self.grad = None
        self.parents = parents
        self.slopes = slopes

    def __add__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        return Value(self.data + other.data, (self, other), (lambda: Value(1.0), lambda: Value(1.0)))

    def __mul__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        return Value(self.data * other.data, (self, other), (lambda: other, lambda: self))

    def tanh(self):
        y = Value(math.tanh(self.data), (self,))
        y.slopes = (lambda: y * y * -1.0 + 1.0,)
        return y

    __radd__ = __add__
    __rmul__ = __mul__

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
            v.grad = None if v.parents else v.grad
        self.grad = Value(1.0)
        for v in reversed(order):
            for parent, slope in zip(v.parents, v.slopes):
                part = slope() * v.grad
                parent.grad = part if parent.grad is None else parent.grad + part
