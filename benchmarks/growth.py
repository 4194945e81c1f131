"""How time and memory grow with nodes, width and batch; the slope is the power of the size.

Time is the minimum of a few runs; memory is what the peak of a fresh process grows by in a run.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field

from benchmarks import costs
from benchmarks.registry import ENGINE
from benchmarks.rounds import output
from benchmarks.tensor import two_layers

Step = Callable[[], object]


@dataclass
class Growth:
    """What one sweep found: seconds and bytes at each size, or why it could not run."""

    name: str
    contender: str
    sizes: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    bytes: list[int] = field(default_factory=list)
    missing: str = ""


def nodes(size: int) -> Step:
    """A chain of `size` products and sums of Values: forward, backward, freed."""
    import engine

    x, w, b = engine.Value(1.0), engine.Value(0.999), engine.Value(0.001)

    def step() -> None:
        y = x
        for _ in range(size // 2):
            y = y * w
            y = y + b
        y.backward()

    return step


def width(size: int) -> Step:
    """The two-layer net, 64 rows, as wide at its input as in its middle."""
    import engine

    return two_layers(engine, (64, size, size, 10))


def batch(size: int) -> Step:
    """The two-layer net 100x100x10 on `size` rows."""
    import engine

    return two_layers(engine, (size, 100, 100, 10))


# Each sweep with its sizes: those for tests, those of a usual run, and those of `--full`.
SWEEPS: dict[Callable[[int], Step], tuple[list[int], list[int], list[int]]] = {
    nodes: ([10, 100], [10**k for k in range(3, 7)], [10**k for k in range(3, 8)]),
    width: ([4, 16], [4, 16, 64, 256, 1024], [4, 16, 64, 256, 1024, 4096]),
    batch: ([1, 10], [1, 10, 100, 1000], [1, 10, 100, 1000, 10_000]),
}
EXTENTS = ("tiny", "usual", "full")
PAGE = 4096  # bytes: less is not told of a process


def seconds(step: Step) -> float:
    """The minimum of up to twenty runs, fewer where one takes long; two at least."""
    times: list[float] = []
    while len(times) < 2 or (len(times) < 20 and sum(times) < 0.5):
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return min(times)


def peak(name: str, contender: str, size: int) -> int:
    """The bytes that a fresh process grows by in one run of a step, which it has run before at the
    smallest size; a page at least."""
    command = [sys.executable, "-m", "benchmarks.growth", "peak", name, str(size)]
    return int(output(command, contender))


def peak_here(name: str, size: int) -> int:
    """The same of this process."""
    prepare = sweep_of(name)
    prepare(SWEEPS[prepare][0][0])()
    step = prepare(size)
    before = costs.peak()
    step()
    return max(costs.peak() - before, PAGE)


def sweep_of(name: str) -> Callable[[int], Step]:
    return next(f for f in SWEEPS if f.__name__ == name)


def sweep(name: str, contender: str, extent: str) -> Growth:
    """Times all sizes here, in this process; each memory in one of its own."""
    prepare = sweep_of(name)
    growth = Growth(name, contender, SWEEPS[prepare][EXTENTS.index(extent)])
    for size in growth.sizes:
        step = prepare(size)
        step()
        growth.seconds.append(seconds(step))
        growth.bytes.append(peak(name, contender, size))
    return growth


def measure(name: str, contender: str, extent: str) -> Growth:
    """The same in a fresh Python with the build that the contender names."""
    command = [sys.executable, "-m", "benchmarks.growth", "sweep", name, contender, extent]
    try:
        return Growth(**json.loads(output(command, contender)))
    except ImportError as error:
        return Growth(name, contender, missing=str(error))


def measure_all(extent: str) -> list[Growth]:
    return [measure(f.__name__, contender, extent) for f in SWEEPS for contender in ENGINE]


def slope(sizes: list[int], figures: list[float]) -> float:
    """The power p of figure ~ size ** p: least squares in logarithms."""
    xs, ys = [math.log(size) for size in sizes], [math.log(figure) for figure in figures]
    x0, y0 = sum(xs) / len(xs), sum(ys) / len(ys)
    up = sum((x - x0) * (y - y0) for x, y in zip(xs, ys, strict=True))
    return up / sum((x - x0) ** 2 for x in xs)


def table(growth: Growth) -> str:
    """Sizes, milliseconds and megabytes in columns, with the slope of the upper half."""
    lines = [f"\ngrowth with {growth.name}, {growth.contender}"]
    if growth.missing:
        return f"{lines[0]}\n  missing: {growth.missing}"
    for size, took, most in zip(growth.sizes, growth.seconds, growth.bytes, strict=True):
        lines.append(f"  {size:>10,}{1e3 * took:>14,.3f} ms{most / 1e6:>14,.3f} MB")
    half = len(growth.sizes) // 2 if len(growth.sizes) > 3 else 0
    time_slope = slope(growth.sizes[half:], growth.seconds[half:])
    memory_slope = slope(growth.sizes[half:], [float(most) for most in growth.bytes[half:]])
    lines.append(f"  {'slope':>10}{time_slope:>14.2f}   {memory_slope:>14.2f}")
    return "\n".join(lines)


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    print(peak_here(rest[0], int(rest[1])) if what == "peak" else json.dumps(asdict(sweep(*rest))))
