"""Records what micrograd 0.1.0 does in `examples/moons_scalar.py`: writes moons_losses.json.

Run once, from anywhere, by a Python with `pip install micrograd==0.1.0`; engine is not needed. A
hundred steps of its closures take some two minutes.
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(1, str(HERE.parents[1]))

from benchmarks.gpt import leave_engine_out, load_example  # noqa: E402


def record(steps=100, count=100):
    import micrograd.nn

    leave_engine_out()
    example = load_example("moons_scalar")
    points, labels = example.two_moons(count)
    net = example.make_net(micrograd.nn.MLP)
    return [loss for loss, _ in example.train(net, points, labels, steps)]


if __name__ == "__main__":
    losses = record()
    found = {"micrograd": version("micrograd"), "points": 100, "seed": 1337, "losses": losses}
    (HERE / "moons_losses.json").write_text(json.dumps(found, indent=1) + "\n")
    print(losses[0], losses[-1])
