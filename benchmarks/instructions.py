"""Counts the instructions of fixed steps with callgrind and compares them with stored counts.

    python -m benchmarks.instructions record       writes instructions.json
    python -m benchmarks.instructions compare      ends with code 1 where a count grew over 5 %

`compare --build python --row moons tiny_net` counts two rows of one build: .ci/run does so, and
counts all rows of the compiled build.

A count does not feel the machine's noise, so a change that costs a few per cent is seen. It does
depend on Python, NumPy, the C library and the compiler: counts recorded elsewhere are shown, and
not judged. It needs valgrind (the system's package) and the builds that it counts; three minutes.
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import report, scalar, tensor  # noqa: F401  they fill ROWS
from benchmarks.registry import ENGINE, ROWS
from benchmarks.rounds import output

STORED = Path(__file__).with_name("instructions.json")
COUNTED = ("gpt_gradients", "moons", "tiny_net", "two_layer_net")
LIMIT = 1.05

Counts = dict[str, dict[str, int]]


def step_between_marks(name: str, contender: str, tiny: bool) -> None:
    """In the child: a step between two sleeps, which callgrind sees in the C library."""
    work = ROWS[name].prepare(contender, tiny)
    work.step()
    time.sleep(1e-6)
    work.step()
    time.sleep(1e-6)


def count(name: str, contender: str, tiny: bool = False) -> int:
    """Instructions of one step after the first, graph freed; the same kernels of OpenBLAS
    whatever the processor."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            "valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out",
            "--dump-before=*nanosleep*", sys.executable, "-m", "benchmarks.instructions",
            "step", name, contender, *(["--tiny"] if tiny else []),
        ]  # fmt: skip
        output(command, contender, PYTHONHASHSEED="0", OPENBLAS_CORETYPE="Haswell")
        return summary(Path(folder) / "out.2")


def summary(part: Path) -> int:
    """The total of one part of callgrind's profile: here, from the first sleep to the second."""
    for line in part.read_text(encoding="utf-8").splitlines():
        if line.startswith("summary:"):
            return int(line.split()[1])
    raise RuntimeError(f"callgrind wrote no summary into {part.name}")


def where() -> dict[str, str]:
    """What the counts depend on besides the text."""
    return {
        "python": platform.python_version(),
        "compiler": platform.python_compiler(),
        "libc": " ".join(platform.libc_ver()),
        "machine": platform.machine(),
        "numpy": report.version("numpy"),
    }


def count_all(names: Sequence[str] = COUNTED, contenders: Sequence[str] = ENGINE) -> Counts:
    found: Counts = {}
    for name in names:
        found[name] = {}
        for contender in contenders:
            found[name][contender] = count(name, contender)
            print(f"{name:<16}{contender:<16}{found[name][contender]:>16,}", flush=True)
    return found


def grown(stored: Counts, now: Counts) -> list[str]:
    """One line for each count that is over the stored one by more than the limit."""
    lines = []
    for name, counts in now.items():
        for contender, after in counts.items():
            before = stored[name][contender]
            print(f"{name:<16}{contender:<16}{after / before:>16.4f} of the stored count")
            if after / before > LIMIT:
                lines.append(f"{name}, {contender}: {before:,} became {after:,}")
    return lines


def compare(names: Sequence[str], contenders: Sequence[str]) -> int:
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    worse = grown(stored["counts"], count_all(names, contenders))
    if stored["where"] != where():
        print(f"not judged: recorded with {stored['where']}, counted with {where()}")
        return 0
    print("\n".join(worse) or f"no count is over {LIMIT} times the stored one")
    return 1 if worse else 0


def record() -> int:
    found = {"where": where(), "counts": count_all()}
    STORED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.instructions")
    parser.add_argument("command", choices=("record", "compare", "step"))
    parser.add_argument("child", nargs="*", help="for step: row and contender")
    parser.add_argument("--tiny", action="store_true", help="for step: the size for tests")
    parser.add_argument("--build", choices=("cython", "python"), help="for compare: one build")
    parser.add_argument("--row", nargs="+", default=COUNTED, choices=COUNTED, help="for compare")
    chosen = parser.parse_args(arguments)
    if chosen.command == "step":
        name, contender = chosen.child
        step_between_marks(name, contender, chosen.tiny)
        return 0
    if not shutil.which("valgrind"):
        print("valgrind is not installed here: nothing was counted", file=sys.stderr)
        return 2
    if chosen.command == "record":
        return record()
    return compare(chosen.row, [f"engine {chosen.build}"] if chosen.build else ENGINE)


if __name__ == "__main__":
    sys.exit(main())
