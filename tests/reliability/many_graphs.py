"""Random graphs by the million: the same bits from both builds, and torch's numbers, if installed.

    ENGINE_BACKEND=cython PYTHONPATH=.:tests python -m reliability.many_graphs 1000000 graphs.jsonl

The file gets a line for each thousand graphs; started again, the program goes on after the last.
"""

import json
import math
import os
import subprocess
import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

from reliability.graphs import digest, floats, random_graph

from engine import Value, elementary
from engine.autograd import grad

BLOCK = 1_000
LIBM = "exp log sqrt sin cos tanh power".split()
LAST_BIT = 2.0**-52
ROUNDING = "rounding: the last bits of inputs and functions move the number as far"
ABS = "the slope of abs at nan, which PyTorch takes for 0"
RELU = "a second derivative of relu at nan, which PyTorch takes for 0"
POWER = "a second derivative of a ** b at b = 0, which PyTorch takes for 0"
INFINITE = "a second derivative at an infinite number"
UNKNOWN = "UNKNOWN"


class Blurred:
    """Lets the functions of `elementary` err by their last bit, as another libm might; of use in
    the Python build alone. Another salt gives other errors."""

    def __init__(self, salt):
        self.salt = salt

    def __enter__(self):
        self.exact = {name: getattr(elementary, name) for name in LIBM}
        for name, function in self.exact.items():
            setattr(elementary, name, self.blurred(function))

    def __exit__(self, *error):
        for name, function in self.exact.items():
            setattr(elementary, name, function)

    def blurred(self, function):
        def near(*operands):
            y = function(*operands)
            return y * (1.0 + nudge(self.salt, *operands)) if type(y) is float else y

        return near


def nudge(*things):
    """The last bit of a number, up or down: the same for the same things."""
    return LAST_BIT if hash(things) & 64 else -LAST_BIT


def spreads(seed):
    """How far each number of a graph moves where inputs and functions err by their last bits."""
    rows = [floats(seed)]
    for salt in range(20):
        with Blurred(salt):
            rows.append(floats(seed, Value, grad, nudge(salt)))
    return [spread([x or 0.0 for x in column]) for column in zip(*rows, strict=True)]


def spread(numbers):
    """The largest less the smallest; inf where only some of them are finite."""
    finite = [x for x in numbers if math.isfinite(x)]
    if len(finite) < len(numbers):
        return math.inf if finite else 0.0
    return max(numbers) - min(numbers)


def serve():
    """The Python build's part: answers ["spreads", seed] and ["digest", first, last + 1]."""
    for line in sys.stdin:
        what, *seeds = json.loads(line)
        found = spreads(*seeds) if what == "spreads" else digest(block(*seeds))
        print(json.dumps(found), flush=True)


def block(start, stop):
    """The numbers of a block of graphs, a row each."""
    return [floats(seed) for seed in range(start, stop)]


class PythonBuild:
    """A process of the Python build, which works while this one does."""

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "reliability.many_graphs", "serve"],
            env=os.environ | {"ENGINE_BACKEND": "python", "PYTHONPATH": os.pathsep.join(sys.path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, *what):
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()

    def answer(self):
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.communicate()


def same(x, y, slack=0.0):
    """Whether two numbers agree to a relative 1e-9, to `slack` or to 1e-300; None is 0, nan nan."""
    x, y = x or 0.0, y or 0.0
    if not (math.isfinite(x) and math.isfinite(y)):
        return x == y or (x != x and y != y) or slack == math.inf
    return abs(x - y) <= max(1e-9 * max(abs(x), abs(y)), slack, 1e-300)


def nodes_below(y):
    """All Values of a graph, each once."""
    found, waiting = {}, [y]
    while waiting:
        v = waiting.pop()
        if id(v) not in found:
            found[id(v)] = v
            waiting += [p for p in (v._a, v._b) if p is not None]
    return found.values()


def known_differences(seed):
    """What a graph holds where engine and PyTorch are known to differ."""
    found = set()
    for v in nodes_below(random_graph(Value, seed)[1]):
        a, b = (n if p is None else p.data for p, n in ((v._a, v._slope_a), (v._b, v._slope_b)))
        found |= {ABS} if v._extra == "abs" and a != a else set()
        found |= {RELU} if v._extra == "relu" and a != a else set()
        found |= {POWER} if v._extra == "pow" and b == 0.0 else set()
        found |= {INFINITE} if math.isinf(v.data) else set()
    return found


def reason(known, x, y, spread, is_second):
    """Why a number x of ours is not torch's y."""
    if same(x, y, 10.0 * spread):
        return ROUNDING
    allowed = (ABS, RELU, POWER, INFINITE) if is_second else (ABS,)
    return next((text for text in allowed if text in known), UNKNOWN)


def reasons(seed, ours, theirs, python):
    """Why a graph's numbers are not torch's, each reason once; none where they are."""
    differing = [k for k, pair in enumerate(zip(ours, theirs, strict=True)) if not same(*pair)]
    if not differing:
        return set()
    python.ask("spreads", seed)
    moved, known = python.answer(), known_differences(seed)
    inputs = math.isqrt(len(ours)) - 1  # of 1 + n + n * n + n numbers
    second = range(1 + inputs, 1 + inputs + inputs**2)
    return {reason(known, ours[k], theirs[k], moved[k], k in second) for k in differing}


def against_torch(start, rows, python):
    """Compares a block of graphs with torch: how many differ for each reason, and the unknown."""
    import torch

    torch.set_num_threads(1)
    counts, unknown = Counter(), []
    for seed, ours in enumerate(rows, start):
        found = reasons(seed, ours, floats(seed, in_torch, torch.autograd.grad), python)
        counts.update(found)
        unknown += [seed] if UNKNOWN in found else []
    return {"differing": dict(counts), "unknown": unknown}


def in_torch(x):
    import torch

    return torch.tensor(x, dtype=torch.float64, requires_grad=True)


def compare(start, python, torch):
    """A line of the file: what a block of graphs gave."""
    python.ask("digest", start, start + BLOCK)
    rows = block(start, start + BLOCK)
    line = {"start": start, "same bits": python.answer() == digest(rows), "torch": torch}
    return line | (against_torch(start, rows, python) if torch else {})


def report(lines):
    """The figures of all lines."""
    compared = sum(line["torch"] for line in lines) * BLOCK
    other = [line["start"] for line in lines if not line["same bits"]]
    print(f"{len(lines) * BLOCK:,} graphs in both builds; blocks with another bit: {other}")
    print(f"{compared:,} of them in torch; numbers that differ by more than 1e-9, in graphs:")
    counts = sum((Counter(line.get("differing", {})) for line in lines), Counter())
    for text, count in counts.most_common():
        print(f"{count:>9,}  {text}")
    print("unknown:", [seed for line in lines for seed in line.get("unknown", [])])


def main(count, path):
    file, torch = Path(path), find_spec("torch") is not None
    python = PythonBuild()
    done = len(file.read_text().splitlines()) if file.exists() else 0
    with file.open("a") as stream:
        for start in range(done * BLOCK, int(count), BLOCK):
            print(json.dumps(compare(start, python, torch)), file=stream, flush=True)
    python.close()
    report([json.loads(line) for line in file.read_text().splitlines()])


if __name__ == "__main__":
    serve() if sys.argv[1:] == ["serve"] else main(*sys.argv[1:])
