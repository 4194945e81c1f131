"""The child process: prepares one contender of one row, then runs a round whenever it is told to.

One process for each contender, so that none works in the garbage of another and each build of
`engine` is imported as a user imports it. Started by `rounds.py`; a line in is a round, a line
out is its seconds for one unit.
"""

from __future__ import annotations

import json
import sys
import time

from benchmarks import kernels, scalar, tensor  # noqa: F401  they fill ROWS
from benchmarks.registry import ROWS, Work

CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


def seconds(work: Work, clock: str = "wall") -> float:
    """Seconds of one unit in one round."""
    now = CLOCKS[clock]
    start = now()
    for _ in range(work.steps):
        work.step()
    return (now() - start) / (work.steps * work.units)


def serve(name: str, contender: str, tiny: bool, clock: str) -> None:
    """Says {} when ready, or {"missing": why}; then answers each line with a number."""
    try:
        work = ROWS[name].prepare(contender, tiny)
    except ImportError as error:
        print(json.dumps({"missing": str(error)}), flush=True)
        return
    work.step()  # what happens once (caches, imports on first use) is not timed
    print(json.dumps({}), flush=True)
    for _ in sys.stdin:
        work.step()  # nor is what the system took from a process while others had their turns
        print(seconds(work, clock), flush=True)


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2], sys.argv[3] == "tiny", sys.argv[4])
