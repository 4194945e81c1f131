"""Draws the picture of a graph that the README shows: python docs/images/make.py"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from engine import Value, visualize  # noqa: E402

x, w, b = Value(3.0, label="x"), Value(-0.5, label="w"), Value(1.0, label="b")
y = (x * w + b).tanh() + 2 * x
y.label = "y"
y.backward()
visualize.draw(y).save(HERE / "graph.svg")
