"""A one-layer character GPT on a scalar Value of its own, trained for a few steps. No imports.

Every number is a node that holds its parents and the local slopes towards them, side by side.
"""

import math
import random

random.seed(7)
STEPS = 6
NAMES = ["ada", "bea", "cleo", "dora", "eda", "fae"]


class Value:
    __slots__ = ("data", "grad", "_children", "_local_grads")

    def __init__(self, data, children=(), local_grads=()):
        self.data = data
        self.grad = 0
        self._children = children
        self._local_grads = local_grads

    def __add__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        return Value(self.data + other.data, (self, other), (1, 1))

    def __mul__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        return Value(self.data * other.data, (self, other), (other.data, self.data))

    def __pow__(self, power):
        return Value(self.data**power, (self,), (power * self.data ** (power - 1),))

    def log(self):
        return Value(math.log(self.data), (self,), (1 / self.data,))

    def exp(self):
        return Value(math.exp(self.data), (self,), (math.exp(self.data),))

    def relu(self):
        return Value(max(0, self.data), (self,), (float(self.data > 0),))

    def __neg__(self):
        return self * -1

    def __sub__(self, other):
        return self + (-other)

    def __truediv__(self, other):
        return self * other**-1

    def __radd__(self, other):
        return self + other

    def __rmul__(self, other):
        return self * other

    def backward(self):
        order, seen = [], set()

        def visit(node):
            if node not in seen:
                seen.add(node)
                for child in node._children:
                    visit(child)
                order.append(node)

        visit(self)
        self.grad = 1
        for node in reversed(order):
            for child, slope in zip(node._children, node._local_grads):
                child.grad += slope * node.grad


letters = sorted(set("".join(NAMES)))
END, COUNT, WIDTH, HEADS = len(letters), len(letters) + 1, 4, 2


def matrix(rows, columns):
    return [[Value(random.gauss(0, 0.3)) for _ in range(columns)] for _ in range(rows)]


weights = {name: matrix(WIDTH, WIDTH) for name in ("query", "key", "value", "out")}
weights |= {"letter": matrix(COUNT, WIDTH), "place": matrix(8, WIDTH), "head": matrix(COUNT, WIDTH)}
weights |= {"up": matrix(2 * WIDTH, WIDTH), "down": matrix(WIDTH, 2 * WIDTH)}
parameters = [p for rows in weights.values() for row in rows for p in row]


def linear(x, rows):
    return [sum(w * v for w, v in zip(row, x)) for row in rows]


def softmax(logits):
    highest = max(v.data for v in logits)
    powers = [(v - highest).exp() for v in logits]
    total = sum(powers)
    return [power / total for power in powers]


def normed(x):
    mean_square = sum(v * v for v in x) / len(x)
    return [v * (mean_square + 1e-5) ** -0.5 for v in x]


def attend(q, keys, values, head):
    part = slice(head * WIDTH // HEADS, (head + 1) * WIDTH // HEADS)
    scores = [sum(a * b for a, b in zip(q[part], k[part])) / (WIDTH // HEADS) ** 0.5 for k in keys]
    shares = softmax(scores)
    return [sum(s * v[j] for s, v in zip(shares, values)) for j in range(part.start, part.stop)]


def gpt(letter, place, keys, values):
    x = [a + b for a, b in zip(weights["letter"][letter], weights["place"][place])]
    y = normed(x)
    keys.append(linear(y, weights["key"]))
    values.append(linear(y, weights["value"]))
    q = linear(y, weights["query"])
    mixed = [v for head in range(HEADS) for v in attend(q, keys, values, head)]
    x = [a + b for a, b in zip(x, linear(mixed, weights["out"]))]
    hidden = [v.relu() for v in linear(normed(x), weights["up"])]
    x = [a + b for a, b in zip(x, linear(hidden, weights["down"]))]
    return linear(x, weights["head"])


def loss_of(name):
    codes = [END, *(letters.index(c) for c in name), END]
    keys, values, losses = [], [], []
    for place, (now, after) in enumerate(zip(codes, codes[1:])):
        losses.append(-softmax(gpt(now, place, keys, values))[after].log())
    return sum(losses) / len(losses)


for step in range(STEPS):
    loss = loss_of(NAMES[step % len(NAMES)])
    loss.backward()
    for p in parameters:
        p.data -= 0.1 * p.grad
        p.grad = 0
    print(f"step {step}: loss {loss.data:.9f}")
print(f"weight {parameters[0].data:.9f}, of {len(parameters)}")
