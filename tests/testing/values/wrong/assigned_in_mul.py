"""`*` assigns, and parents stand in a set, whose order changes from run to run."""

EXPECTED = ("assigned", "a * b", "used twice")


class Value:
    def __init__(self, data, parents=()):
        self.data, self.grad = data, 0.0
        self.parents = set(parents)
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
            self.grad = other.data * out.grad
            other.grad = self.data * out.grad

        out.push = push
        return out

    def __radd__(self, other):
        return self + other

    def __rmul__(self, other):
        return self * other

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
