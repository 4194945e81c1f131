"""Slots, subclasses for operations, a counter for the order."""

import math


class Value:
    __slots__ = ("data", "grad", "number")
    count = 0

    def __init__(self, data):
        self.data, self.grad = float(data), None
        Value.count += 1
        self.number = Value.count

    def parts(self):
        return ()

    def __add__(self, other):
        return Sum(self, other if isinstance(other, Value) else Value(other))

    def __mul__(self, other):
        return Product(self, other if isinstance(other, Value) else Value(other))

    def __neg__(self):
        return self * -1

    def __sub__(self, other):
        return self + -1 * (other if isinstance(other, Value) else Value(other))

    def __rsub__(self, other):
        return -self + other

    def sin(self):
        return Sine(self)

    __radd__ = __add__
    __rmul__ = __mul__

    def backward(self):
        nodes, stack = {}, [self]
        while stack:
            v = stack.pop()
            if v.number not in nodes:
                nodes[v.number] = v
                stack.extend(p for p, _ in v.parts())
        for v in nodes.values():
            if v.parts():
                v.grad = None
        self.grad = 1.0
        for number in sorted(nodes, reverse=True):
            v = nodes[number]
            for p, slope in v.parts():
                p.grad = (p.grad or 0.0) + slope * v.grad


class Sum(Value):
    __slots__ = ("a", "b")

    def __init__(self, a, b):
        super().__init__(a.data + b.data)
        self.a, self.b = a, b

    def parts(self):
        return (self.a, 1.0), (self.b, 1.0)


class Product(Value):
    __slots__ = ("a", "b")

    def __init__(self, a, b):
        super().__init__(a.data * b.data)
        self.a, self.b = a, b

    def parts(self):
        return (self.a, self.b.data), (self.b, self.a.data)


class Sine(Value):
    __slots__ = ("a",)

    def __init__(self, a):
        super().__init__(math.sin(a.data))
        self.a = a

    def parts(self):
        return ((self.a, math.cos(self.a.data)),)
