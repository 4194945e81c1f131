"""The lecture: a graph of single numbers, its gradients pushed back by hand, then by `backward`.

It follows micrograd's lecture from `L = d * f` to one neuron. Pictures of the graphs, and a page
that steps through a backward pass, are made by engine itself; any browser opens them.

    python examples/lecture.py                   pictures go into the folder `lecture`
    python examples/lecture.py --output FOLDER   or into another
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

# In a bare clone the engine is the folder beside this one.
sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

from engine import Value
from engine.visualize import draw, explore


# A result remembers what it was made of. A label is a name for the picture, nothing else.
def expression() -> tuple[Value, dict[str, Value]]:
    """L = (a * b + c) * f, and every Value in it by its label."""
    a, b = Value(2.0, label="a"), Value(-3.0, label="b")
    c, f = Value(10.0, label="c"), Value(-2.0, label="f")
    e = a * b
    e.label = "e"
    d = e + c
    d.label = "d"
    L = d * f
    L.label = "L"
    return L, {v.label: v for v in (a, b, c, d, e, f, L)}


# The derivative of L by L is 1. From there every node passes on its gradient times its slope: a
# sum has the slope 1 to either side, a product the other factor.
def push_by_hand(v: dict[str, Value]) -> None:
    """Set the gradients one after the other, from the result back to the leaves."""
    v["L"].grad = 1.0
    v["d"].grad = v["f"].data * v["L"].grad
    v["f"].grad = v["d"].data * v["L"].grad
    v["e"].grad = 1.0 * v["d"].grad
    v["c"].grad = 1.0 * v["d"].grad
    v["a"].grad = v["b"].data * v["e"].grad
    v["b"].grad = v["a"].data * v["e"].grad


# What a derivative promises can be tried: move one leaf a little and see how far L moves.
def tried(name: str, h: float = 1e-6) -> float:
    """The derivative of L by the leaf `name`, from two values of L."""
    numbers = {"a": 2.0, "b": -3.0, "c": 10.0, "f": -2.0}

    def L(a: float, b: float, c: float, f: float) -> float:
        return (a * b + c) * f

    up, down = numbers | {name: numbers[name] + h}, numbers | {name: numbers[name] - h}
    return (L(**up) - L(**down)) / (2 * h)


# A neuron is no more than that: a weighted sum and a curve that keeps it between -1 and 1.
def neuron() -> Value:
    """tanh(x1 * w1 + x2 * w2 + b), the neuron of the lecture."""
    x1, x2 = Value(2.0, label="x1"), Value(0.0, label="x2")
    w1, w2 = Value(-3.0, label="w1"), Value(1.0, label="w2")
    b = Value(6.8813735870195432, label="b")
    o = (x1 * w1 + x2 * w2 + b).tanh()
    o.label = "o"
    return o


# A Value that is used twice gets a contribution from each use, and they add up.
def used_twice() -> Value:
    """(a + b) * (a * b), in which a and b are used twice."""
    a, b = Value(-2.0, label="a"), Value(3.0, label="b")
    d = a * b
    d.label = "d"
    e = a + b
    e.label = "e"
    f = d * e
    f.label = "f"
    return f


def leaves(root: Value) -> str:
    """The gradients of the labelled leaves below a root."""
    found, waiting = {}, [root]
    while waiting:
        v = waiting.pop()
        waiting += v._prev
        if v.is_leaf:
            found[v.label] = v.grad
    return "  ".join(f"{name} {found[name]:g}" for name in sorted(found))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--output", type=Path, default=Path("lecture"), help="folder for the pictures"
    )
    folder = parser.parse_args().output
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        parser.error(f"cannot make the folder {str(folder)!r}: {error.strerror}")

    L, values = expression()
    print(f"The forward pass: L = {L.data:g}. No gradients yet:\n\n{draw(L).tree()}")
    draw(L).save(folder / "1_forward.svg")

    push_by_hand(values)
    draw(L).save(folder / "2_by_hand.svg")
    by_hand = {name: v.grad for name, v in values.items()}
    print(f"Pushed back by hand:    {leaves(L)}")
    print("Tried with differences: " + "  ".join(f"{name} {tried(name):g}" for name in "abcf"))

    for v in values.values():
        v.zero_grad()
    L.backward()
    agree = by_hand == {name: v.grad for name, v in values.items()}
    print(f"By L.backward():        {leaves(L)}  ({'the same' if agree else 'NOT the same'})\n")

    o = neuron()
    o.backward()
    draw(o).save(folder / "3_neuron.svg")
    print(f"One neuron: o = {o.data:.4f}; gradients {leaves(o)}")

    f = used_twice()
    f.backward()
    draw(f).save(folder / "4_used_twice.svg")
    print(f"Used twice: f = {f.data:g}; gradients {leaves(f)}, each the sum of two")

    explore(used_twice, folder / "5_step_by_step.html", title="A value used twice, step by step")
    print(
        f"\nThe pictures are in {folder}, from 1_forward.svg to 4_used_twice.svg; and open\n"
        f"{folder / '5_step_by_step.html'}: Next steps, Quiz asks.\n"
        "To try next: change one number in expression() and guess the new gradients first; write "
        "the\nneuron with exp in place of tanh and compare; train a whole net of such neurons "
        "with\n`python examples/moons_scalar.py`."
    )


if __name__ == "__main__":
    main()
