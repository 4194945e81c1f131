"""Random graphs of numbers, and all their derivatives, for builds and libraries to agree on."""

import hashlib
import math
import random

from programs import BINARY, UNARY

from engine import Value
from engine.autograd import grad

EDGES = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 5e-324, 1e308, 710.0]
OPERATIONS = [*UNARY, *BINARY]


def random_graph(cls, seed, nudge=0.0):
    """Inputs and result of a random graph made of instances of cls.

    nudge moves each input by as much of itself: what rounding alone may do to the result.
    """
    draw = random.Random(seed)
    inputs = [
        cls((draw.choice(EDGES) if draw.random() < 0.1 else draw.gauss(0.0, 2.0)) * (1.0 + nudge))
        for _ in range(draw.randint(1, 3))
    ]
    numbers = list(inputs)
    for _ in range(draw.randint(1, 12)):
        a, b = draw.choice(numbers), draw.choice(numbers)
        pick = draw.choice(OPERATIONS)
        numbers.append(UNARY[pick](a) if pick in UNARY else BINARY[pick](a, b))
    return inputs, numbers[-1]


def bits(x):
    """A float as text, with the sign of a zero; all nans are one; None where there is none."""
    return "none" if x is None else "nan" if x != x else x.hex()


def numbers_of(seed, cls=Value, grad=grad, nudge=0.0):
    """Value, first and second derivatives by each input, and what `backward` leaves in `.grad`.

    None stands where there is no derivative: the same places whatever the class.
    """
    inputs, y = random_graph(cls, seed, nudge)
    if not y.grad_fn:
        return [y]
    first = grad(y, inputs, create_graph=True, allow_unused=True)
    found = [y, *first]
    for g in first:
        if g is not None and g.requires_grad:
            found += grad(g, inputs, retain_graph=True, allow_unused=True)
        else:
            found += [None] * len(inputs)
    y.backward()
    return [*found, *(v.grad for v in inputs)]


def floats(seed, *options):
    """The numbers of a graph as floats, of whatever class they are; None stays."""
    return [x if x is None or type(x) is float else x.item() for x in numbers_of(seed, *options)]


def digest(rows):
    """One short text for the numbers of many graphs."""
    text = "\n".join(" ".join(map(bits, row)) for row in rows)
    return hashlib.sha256(text.encode()).hexdigest()
