"""Right numbers, but every path is walked."""

EXPECTED = ("paths", "backward", "exponential")


class Value:
    def __init__(self, data, edges=()):
        self.data, self.grad, self.edges = data, 0.0, edges

    def __add__(self, other):
        if not isinstance(other, Value):
            other = Value(other)
        return Value(self.data + other.data, [(self, 1.0), (other, 1.0)])

    def __mul__(self, other):
        if not isinstance(other, Value):
            other = Value(other)
        return Value(self.data * other.data, [(self, other.data), (other, self.data)])

    __radd__ = __add__
    __rmul__ = __mul__

    def backward(self):
        stack = [(self, 1.0)]
        while stack:
            v, part = stack.pop()
            v.grad = v.grad + part if not v.edges else part
            stack.extend((parent, part * slope) for parent, slope in v.edges)
