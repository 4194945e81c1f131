"""The parent: one worker for each contender, rounds in turns, the minimum of each."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from benchmarks.registry import Result, Row

ROOT = Path(__file__).resolve().parents[1]
BLAS_THREADS = [f"{blas}_NUM_THREADS" for blas in ("OPENBLAS", "OMP", "MKL", "VECLIB_MAXIMUM")]
THREADS = [*BLAS_THREADS, "PJRT_NPROC"]  # the last is JAX's


def environment(contender: str, threads: int = 1) -> dict[str, str]:
    """That of this process, with the build that "engine python" or "engine cython" asks for."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    chosen = {**os.environ, "PYTHONPATH": path, **dict.fromkeys(THREADS, str(threads))}
    chosen["JAX_PLATFORMS"] = "cpu"
    kind, _, backend = contender.partition(" ")
    if kind == "engine":
        chosen["ENGINE_BACKEND"] = backend
    return chosen


def output(command: list[str], contender: str, **more: str) -> str:
    """What a child process prints, with a contender's environment.

    Raises ImportError where the child did, and RuntimeError for any other failure.
    """
    chosen = {**environment(contender), **more}
    done = subprocess.run(command, env=chosen, capture_output=True, text=True)
    if done.returncode:
        # valgrind's own lines begin with "=="
        said = [line for line in done.stderr.splitlines() if line and not line.startswith("==")]
        kind, _, message = (said or ["nothing was said"])[-1].partition(": ")
        if kind in ("ImportError", "ModuleNotFoundError"):
            raise ImportError(message)
        raise RuntimeError(f"{contender}: {' '.join(command)} failed: {kind}: {message}")
    return done.stdout


class Worker:
    """A child process that stays ready to run rounds of one row for one contender."""

    def __init__(self, row: Row, contender: str, tiny: bool, clock: str) -> None:
        size = "tiny" if tiny else "full"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.worker", row.name, contender, size, clock],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(contender, row.threads),
        )
        self.missing: str = json.loads(self._line()).get("missing", "")

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *error: object) -> None:
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()
        self.process.wait()

    def round(self) -> float:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return float(self._line())

    def _line(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            self.__exit__()
            raise RuntimeError(f"code {self.process.wait()} ended a worker: {self.process.args!r}")
        return line


def measure(row: Row, rounds: int, tiny: bool = False, clock: str = "wall") -> Result:
    """Runs `rounds` rounds of each contender in turns; contenders that are missing say why.

    clock: "wall", or "cpu" for the process's own time, which feels a busy machine less.
    """
    with ExitStack() as stack:
        workers = {c: stack.enter_context(Worker(row, c, tiny, clock)) for c in row.contenders}
        there = {c: worker for c, worker in workers.items() if not worker.missing}
        times: dict[str, list[float]] = {c: [] for c in there}
        for _ in range(rounds):
            for contender, worker in there.items():
                times[contender].append(worker.round())
    figures = {c: min(each) for c, each in times.items()}
    missing = {c: worker.missing for c, worker in workers.items() if worker.missing}
    return Result(row.name, row.group, row.title, f"seconds per {row.unit}", figures, missing)
