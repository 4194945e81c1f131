"""Random graphs of Values, and all their numbers as text, for builds and libraries to agree on."""

import hashlib
import math
import random

from programs import BINARY, UNARY

EDGES = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 5e-324, 1e308, 710.0]


def random_graph(cls, seed):
    """Inputs and result of a random graph made of instances of cls."""
    draw = random.Random(seed)
    inputs = [
        cls(draw.choice(EDGES) if draw.random() < 0.1 else draw.gauss(0.0, 2.0))
        for _ in range(draw.randint(1, 3))
    ]
    numbers = list(inputs)
    for _ in range(draw.randint(1, 12)):
        a, b = draw.choice(numbers), draw.choice(numbers)
        pick = draw.choice([*UNARY, *BINARY])
        numbers.append(UNARY[pick](a) if pick in UNARY else BINARY[pick](a, b))
    return inputs, numbers[-1]


def bits(x):
    """A float as text, with the sign of a zero; all nans are one; None where there is none."""
    return "none" if x is None else "nan" if x != x else x.hex()


def numbers_of(seed):
    """Value, first derivatives and second derivatives of a graph of engine's Values."""
    from engine import Value
    from engine.autograd import grad

    inputs, y = random_graph(Value, seed)
    if not y.grad_fn:
        return [y.data]
    first = grad(y, inputs, create_graph=True, allow_unused=True)
    found = [y.data]
    for g in first:
        found.append(g and g.data)
        if g is not None and g.requires_grad:
            found += [h and h.data for h in grad(g, inputs, allow_unused=True)]
    y.backward()
    return [*found, *(v.grad for v in inputs)]


def digest(seeds):
    """One short text for all numbers of many graphs."""
    text = "\n".join(" ".join(map(bits, numbers_of(seed))) for seed in seeds)
    return hashlib.sha256(text.encode()).hexdigest()
