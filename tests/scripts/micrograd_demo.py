"""micrograd's own kind of demo: a small MLP of Values and a max-margin loss on four points."""

import random

from micrograd.engine import Value
from micrograd.nn import MLP

random.seed(1337)
model = MLP(2, [4, 4, 1])
print(len(model.parameters()), "parameters")
points = [([2.0, 3.0], 1), ([-1.0, -1.0], -1), ([0.5, 1.0], 1), ([-2.0, 0.5], -1)]
for step in range(10):
    losses = [(1 + -y * model(list(map(Value, x)))).relu() for x, y in points]
    penalty = 1e-4 * sum(p * p for p in model.parameters())
    total = sum(losses) * (1.0 / len(losses)) + penalty
    model.zero_grad()
    total.backward()
    for p in model.parameters():
        p.data -= 0.1 * p.grad
    print(f"step {step}: loss {total.data:.9f}")
