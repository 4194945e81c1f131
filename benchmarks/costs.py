"""What a user pays besides the steps: the import, and the memory of a node."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from benchmarks.registry import ENGINE, Result
from benchmarks.rounds import output
from benchmarks.scalar import value_class

GROUP = "costs"
IMPORT = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"


def collect(name: str, title: str, unit: str, rounds: int, calls: dict[str, list[str]]) -> Result:
    """Runs each contender's Python `rounds` times in turns; the minimum of each."""
    result = Result(name, GROUP, title, unit, {})
    for _ in range(rounds):
        for contender, arguments in calls.items():
            try:
                figure = float(output([sys.executable, *arguments], contender))
            except ImportError as error:
                result.missing[contender] = str(error)
            else:
                result.figures[contender] = min(result.figures.get(contender, figure), figure)
    return result


def import_time(rounds: int, tiny: bool) -> Result:
    """A fresh Python each time, the files in the system's cache; engine's has NumPy's in it."""
    others = ["numpy"] if tiny else ["numpy", "torch", "autograd", "mygrad", "jax"]
    modules = {**dict.fromkeys(ENGINE, "engine"), **{name: name for name in others}}
    calls = {name: ["-c", IMPORT.format(module)] for name, module in modules.items()}
    return collect("import_time", "import", "seconds per process", rounds, calls)


def node_memory(rounds: int, tiny: bool) -> Result:
    """What a process grows by while it makes a chain, over its nodes; their numbers included.

    Not by tracemalloc, which does not see the compiled build's blocks of nodes.
    """
    count = 50_000 if tiny else 500_000
    contenders = (*ENGINE, "tuple", "closure")
    calls = {c: ["-m", "benchmarks.costs", "bytes", c, str(count)] for c in contenders}
    return collect("node_memory", "memory of an inner node", "bytes per node", 1, calls)


def peak_memory(rounds: int, tiny: bool) -> Result:
    """The process's peak over that before, a chain's forward and backward in between."""
    count = 100_000 if tiny else 1_000_000
    calls = {c: ["-m", "benchmarks.costs", "peak", c, str(count)] for c in ENGINE}
    title = f"peak of the process, {count:,} nodes forward and backward"
    return collect("peak_memory", title, "bytes per node", 1, calls)


def chain(contender: str, count: int) -> Any:
    y = w = value_class(contender)(0.999)
    for _ in range(count):
        y = y * w
    return y


def held_bytes(contender: str, count: int) -> float:
    chain(contender, 10)
    before = peak()
    y = chain(contender, count)
    held = (peak() - before) / count
    del y
    return held


def peak_bytes(contender: str, count: int) -> float:
    chain(contender, 10)
    before = peak()
    chain(contender, count).backward()
    return (peak() - before) / count


def peak() -> int:
    """The most memory, in bytes, that this process has held at a time; Linux alone tells it."""
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
    except OSError as error:
        raise ImportError("the peak of a process is read from /proc/self/status") from error
    # Not resource.getrusage: what it tells starts at the parent's size.
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])


ROWS = (import_time, node_memory, peak_memory)

if __name__ == "__main__":
    what = {"bytes": held_bytes, "peak": peak_bytes}[sys.argv[1]]
    print(what(sys.argv[2], int(sys.argv[3])))
