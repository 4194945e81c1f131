"""micrograd's demo: a net of single numbers learns to tell two moons apart.

Two half circles of points lie around each other, and no straight line parts them. The net is
micrograd's, from `engine.scalar`: 337 parameters, each an `engine.Value`. Given the same points and
seed it goes through the losses of micrograd 0.1.0.

    python examples/moons_scalar.py              100 steps on 100 points
    python examples/moons_scalar.py --help       every option
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import time
from pathlib import Path
from typing import Any

# In a bare clone the engine is the folder beside this one.
sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

import engine
import engine.scalar

Points = list[tuple[float, float]]


# The points come first: the upper moon is labelled 1, the lower one -1.
def two_moons(count: int, noise: float = 0.1, seed: int = 1337) -> tuple[Points, list[int]]:
    """`count` points in the plane and their labels, the moons in turns, the noise normal."""
    rng = random.Random(seed)
    points, labels = [], []
    for i in range(count):
        angle = math.pi * (i // 2) / max(1, count // 2 - 1)
        x, y = math.cos(angle), math.sin(angle)
        if i % 2:
            x, y = 1 - x, 0.5 - y
        points.append((x + rng.gauss(0, noise), y + rng.gauss(0, noise)))
        labels.append(-1 if i % 2 else 1)
    return points, labels


# The net is two layers of sixteen neurons and one to decide; its weights come from `random`.
def make_net(mlp: Any, seed: int = 1337) -> Any:
    """A 2-16-16-1 net of the class `mlp`: engine's, or micrograd's own."""
    random.seed(seed)
    return mlp(2, [16, 16, 1])


# One number has to say how wrong the net is: a point that is not right by at least 1 costs what it
# lacks, and large weights cost a little too, so that the net stays simple.
def loss_of(net: Any, points: Points, labels: list[int]) -> tuple[Any, float]:
    """The loss, a Value, and the share of points on the right side."""
    scores = [net(point) for point in points]
    lacks = [(1 - label * score).relu() for label, score in zip(labels, scores, strict=True)]
    weights = sum(p * p for p in net.parameters())
    right = sum(label * score.data > 0 for label, score in zip(labels, scores, strict=True))
    return sum(lacks) * (1 / len(lacks)) + 1e-4 * weights, right / len(points)


# Learning is going downhill along the gradients, by smaller and smaller steps.
def train_step(net: Any, points: Points, labels: list[int], rate: float) -> tuple[float, float]:
    """One step of gradient descent; the loss and the accuracy before it."""
    loss, accuracy = loss_of(net, points, labels)
    for p in net.parameters():
        p.grad = 0
    loss.backward()
    for p in net.parameters():
        p.data -= rate * p.grad
    return float(loss.data), accuracy


def train(net: Any, points: Points, labels: list[int], steps: int) -> Any:
    """Yields loss and accuracy of each step; the rate falls from 1.0 by 0.9 over a hundred."""
    for step in range(steps):
        yield train_step(net, points, labels, max(0.1, 1.0 - 0.9 * step / 100))


# What the net has learned is a line in the plane; a picture shows at a glance if it makes sense.
def boundary(net: Any, points: Points, labels: list[int], columns: int = 64) -> str:
    """The plane as text: dots where the net says -1, blanks where it says 1; points are o and x."""
    left, right, low, high = -1.5, 2.5, -1.0, 1.5
    rows = round(columns * (high - low) / (right - left) / 2)
    grid = []
    with engine.no_grad():
        for row in range(rows):
            y = high - (high - low) * (row + 0.5) / rows
            xs = (left + (right - left) * (column + 0.5) / columns for column in range(columns))
            grid.append([" " if net((x, y)).data > 0 else "." for x in xs])
    for (x, y), label in zip(points, labels, strict=True):
        row, column = int((high - y) / (high - low) * rows), int((x - left) / 4 * columns)
        if 0 <= row < rows and 0 <= column < columns:
            grid[row][column] = "o" if label > 0 else "x"
    return "\n".join("".join(line) for line in grid)


# On a terminal the picture stays under the report and changes while the net learns.
def report(losses: Any, steps: int, picture: Any, live: bool) -> None:
    """Prints some ten of the losses, and the picture, under each if live, else at the end."""
    drawn, start, drawing = "", time.perf_counter(), 0.0
    for step, (loss, accuracy) in enumerate(losses, 1):
        if step % max(1, steps // 10) and step not in (1, steps):
            continue
        if drawn:
            print(f"\x1b[{len(drawn.splitlines())}A\x1b[J", end="")  # up, over the last picture
        print(f"step {step:4}  loss {loss:.9f}  accuracy {accuracy:6.1%}")
        begin = time.perf_counter()
        if step == steps:
            print(f"{1e3 * (begin - start - drawing) / steps:.1f} ms a step")
        if live or step == steps:
            drawn = picture()
            print(drawn)
        drawing += time.perf_counter() - begin


# The rest reads the command line.
def options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Train a net of single numbers on two moons.")
    parser.add_argument("--steps", type=int, default=100, help="steps of gradient descent (100)")
    parser.add_argument("--points", type=int, default=100, help="points on both moons (100)")
    parser.add_argument("--noise", type=float, default=0.1, help="how far points stray (0.1)")
    parser.add_argument("--seed", type=int, default=1337, help="of points and weights (1337)")
    chosen = parser.parse_args(arguments)
    if chosen.steps < 1 or chosen.points < 2 or not 0 <= chosen.noise < math.inf:
        parser.error("it needs at least 1 step, 2 points and no negative noise")
    return chosen


def main(arguments: list[str] | None = None) -> None:
    chosen = options(arguments)
    points, labels = two_moons(chosen.points, chosen.noise, chosen.seed)
    net = make_net(engine.scalar.MLP, chosen.seed)
    print(f"{len(points)} points, a 2-16-16-1 net of {len(net.parameters())} parameters; "
          f"engine runs in {engine.backend()}")  # fmt: skip
    report(
        train(net, points, labels, chosen.steps),
        chosen.steps,
        lambda: boundary(net, points, labels),
        sys.stdout.isatty(),
    )
    print(
        "\nTo try next: --noise 0.3, where the moons touch; a smaller net in make_net; or the same "
        "by an\noptimizer, with pictures: `python examples/train_mlp.py --scalar`."
    )


if __name__ == "__main__":
    main()
