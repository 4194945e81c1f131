"""Draws the pictures of graphs on the pages: python docs/images/make.py [folder]"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from engine import Value, visualize  # noqa: E402


def neuron() -> Value:
    """What the README shows."""
    x, w, b = Value(3.0, label="x"), Value(-0.5, label="w"), Value(1.0, label="b")
    y = (x * w + b).tanh() + 2 * x
    y.label = "y"
    y.backward()
    return y


def diamond() -> tuple[Value, ...]:
    """The Values x, a, b, y, of which a is used twice, at different distances from y."""
    x = Value(2.0, label="x")
    a = x * x
    b = 3 * a
    y = a + b
    a.label, b.label, y.label = "a", "b", "y"
    return x, a, b, y


def right() -> Value:
    *_, y = diamond()
    y.backward()
    return y


def as_met() -> Value:
    """The gradients of a walk in which a hands on its gradient before that of b has come."""
    x, a, b, y = diamond()
    y.grad = 1.0
    a.grad += y.grad
    b.grad += y.grad
    x.grad += 2 * x.data * a.grad
    a.grad += 3 * b.grad
    return y


def difference() -> Value:
    """a - b by engine: one node."""
    y = Value(5.0, label="a") - Value(3.0, label="b")
    y.backward()
    return y


def sum_with_negative() -> Value:
    """a - b as micrograd spells it, a + b * -1: two operations and a number."""
    y = Value(5.0, label="a") + Value(3.0, label="b") * -1
    y.backward()
    return y


PICTURES = {
    "graph": neuron,
    "diamond": right,
    "diamond_as_met": as_met,
    "difference": difference,
    "difference_micrograd": sum_with_negative,
}


def main(folder: Path = HERE) -> None:
    for name, root in PICTURES.items():
        visualize.draw(root()).save(folder / f"{name}.svg")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
