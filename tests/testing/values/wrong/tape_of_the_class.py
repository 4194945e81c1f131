"""One list for all programs, which nobody clears."""

EXPECTED = ("memory", "backward", "earlier programs")


class Value:
    tape = []

    def __init__(self, data, push=None):
        self.data, self.grad, self.push = data, 0.0, push
        if push:
            Value.tape.append(self)

    def __add__(self, other):
        if not isinstance(other, Value):
            other = Value(other)

        def push(g):
            self.grad += g
            other.grad += g

        return Value(self.data + other.data, push)

    def __mul__(self, other):
        if not isinstance(other, Value):
            other = Value(other)

        def push(g):
            self.grad += other.data * g
            other.grad += self.data * g

        return Value(self.data * other.data, push)

    __radd__ = __add__
    __rmul__ = __mul__

    def backward(self):
        for v in Value.tape:
            v.grad = 0.0
        self.grad = 1.0
        for v in reversed(Value.tape):
            v.push(v.grad)
