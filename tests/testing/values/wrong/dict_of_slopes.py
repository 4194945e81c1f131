"""Parents are the keys of a dict: v * v keeps one slope."""

EXPECTED = ("repeated", "every operation", "in a list")


class Value:
    def __init__(self, data, slopes=None):
        self.data, self.grad, self.slopes = data, 0.0, slopes or {}

    def __add__(self, other):
        if not isinstance(other, Value):
            other = Value(other)
        return Value(self.data + other.data, {self: 1.0, other: 1.0})

    def __mul__(self, other):
        if not isinstance(other, Value):
            other = Value(other)
        return Value(self.data * other.data, {self: other.data, other: self.data})

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self):
        return Value(-self.data, {self: -1.0})

    def backward(self):
        order, seen, stack = [], set(), [(self, False)]
        while stack:
            v, done = stack.pop()
            if done:
                order.append(v)
            elif v not in seen:
                seen.add(v)
                stack += [(v, True), *((p, False) for p in v.slopes)]
        for v in order:
            v.grad = 0.0 if v.slopes else v.grad
        self.grad = 1.0
        for v in reversed(order):
            for parent, slope in v.slopes.items():
                parent.grad += slope * v.grad
