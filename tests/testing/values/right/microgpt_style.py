"""Children and local gradients side by side, as in microgpt."""

import math


class Value:
    def __init__(self, data, children=(), local_grads=()):
        self.data, self.grad = data, 0
        self._children, self._local_grads = children, local_grads

    def __add__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        return Value(self.data + other.data, (self, other), (1, 1))

    def __mul__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        return Value(self.data * other.data, (self, other), (other.data, self.data))

    def __pow__(self, other):
        return Value(self.data**other, (self,), (other * self.data ** (other - 1),))

    def log(self):
        return Value(math.log(self.data), (self,), (1 / self.data,))

    def exp(self):
        return Value(math.exp(self.data), (self,), (math.exp(self.data),))

    def relu(self):
        return Value(max(0, self.data), (self,), (float(self.data > 0),))

    def __neg__(self):
        return self * -1

    def __radd__(self, other):
        return self + other

    def __sub__(self, other):
        return self + (-other)

    def __rsub__(self, other):
        return other + (-self)

    def __rmul__(self, other):
        return self * other

    def __truediv__(self, other):
        return self * other**-1

    def __rtruediv__(self, other):
        return other * self**-1

    def backward(self):
        order, seen, stack = [], set(), [(self, iter(self._children))]
        while stack:
            v, rest = stack[-1]
            child = next((c for c in rest if c not in seen), None)
            if child is None:
                order.append(stack.pop()[0])
            else:
                seen.add(child)
                stack.append((child, iter(child._children)))
        for v in order:
            v.grad = 0 if v._children else v.grad
        self.grad = 1
        for v in reversed(order):
            for child, local_grad in zip(v._children, v._local_grads):
                child.grad += local_grad * v.grad
