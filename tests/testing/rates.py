"""How many wrong Functions `engine.testing` finds, and how many right ones it alarms for.

    python -m tests.testing.rates [wrong | right] [--runs 1000] [--jobs 1] [--json FILE]

Every wrong Function is checked once. Every right one is checked again and again, each time with
other numbers, until at least so many runs of it were compared with differences of forward; a run
is one call, forward and backward, that forward took. Prints both rates and stores them after each
Function; a file that is there is gone on with: what it has enough runs of is not checked again, and
the half that was not asked for stays. Delete it after changes of engine.testing. With
ENGINE_CHECK_LIBRARY=torch the Functions are torch's.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any

from engine.testing import Report, check
from tests.testing.collection import Entry, entries
from tests.testing.library import NAME

STORED = Path(__file__).with_name(f"rates_{NAME}.json")
EXAMPLES = 200  # random cases in one check of a right Function
MOST = 20  # checks of one Function


def found(entry: Entry, report: Report) -> bool:
    """True when the declared finding, its kind and its argument, is in the report."""
    return any((f.kind, f.argument) == (entry.kind, entry.argument) for f in report)


@cache
def right_ones() -> list[Entry]:
    """The right Functions of the collection; engine's own operations are right ones too."""
    found = entries("right")
    if NAME == "engine":
        from tests.testing.operations import operations

        found += operations()
    return found


@dataclass
class Row:
    """What came of one right Function. seconds: of all its checks."""

    checks: int = 0
    runs: int = 0
    alarms: list[str] = field(default_factory=list)
    unexamined: list[str] = field(default_factory=list)
    seconds: float = 0.0


def row(entry: Entry, runs: int, made: Row) -> Row:
    """Checks a right Function with one seed after the other, and goes on with what is made."""
    start = perf_counter()
    while made.runs < runs and made.checks < MOST:
        limits: dict[str, Any] = {"seed": made.checks, "examples": EXAMPLES, "seconds": 600.0}
        report = check(entry.function, *entry.example(), **limits)
        made.alarms += [f"seed {made.checks}: {finding}" for finding in report]
        made.unexamined += [note for note in report.notes if "could not be" in note]
        made.checks += 1
        made.runs += report.cases
    made.seconds = round(made.seconds + perf_counter() - start, 1)
    return made


def named(task: tuple[str, dict[str, Any]], runs: int) -> tuple[str, dict[str, Any]]:
    """The row of a right Function, by its name, which every process knows."""
    name, before = task
    entry = next(entry for entry in right_ones() if entry.name == name)
    return name, vars(row(entry, runs, Row(**before)))


def missed(name: str) -> bool:
    """Whether a wrong Function is not found with its explanation."""
    entry = next(entry for entry in entries("wrong") if entry.name == name)
    return not found(entry, check(entry.function, *entry.example()))


def of_wrong(jobs: int) -> dict[str, Any]:
    """How many wrong Functions there are, and which were missed."""
    names = [entry.name for entry in entries("wrong")]
    with get_context("spawn").Pool(jobs) as pool:
        lost = pool.map(missed, names, chunksize=1)
    return {"functions": len(names), "missed": [n for n, m in zip(names, lost, strict=True) if m]}


def of_right(known: dict[str, Any], runs: int, jobs: int) -> Iterator[dict[str, Any]]:
    """What came of each right Function, growing as they are checked."""
    made = {entry.name: known.get(entry.name, {}) for entry in right_ones()}
    tasks = [(name, before) for name, before in made.items() if before.get("runs", 0) < runs]
    with get_context("spawn").Pool(jobs) as pool:
        for name, found in pool.imap_unordered(partial(named, runs=runs), tasks):
            made[name] = found
            print(f"{name:40}", *(f"{k} {v}" for k, v in found.items()), flush=True)
            yield {k: v for k, v in sorted(made.items()) if v}


def summary(rates: dict[str, Any]) -> str:
    count, lost = rates["wrong"]["functions"], len(rates["wrong"]["missed"])
    right = rates["right"].values()
    compared = [row["runs"] for row in right if row["runs"]]
    checks, alarms = sum(row["checks"] for row in right), sum(len(row["alarms"]) for row in right)
    enough = sum(runs >= 1000 for runs in compared)
    steps = [name for name, row in rates["right"].items() if not row["runs"]]
    return (
        f"{count - lost} of {count} wrong Functions found with their explanation\n"
        f"{alarms} alarms for {len(right)} right Functions in {checks} checks; "
        f"{sum(compared)} runs compared, at least 1000 for {enough} Functions and "
        f"{min(compared, default=0)} for every one but those that have no slope to compare with: "
        f"{', '.join(steps) or 'none'}"
    )


def stored(rates: dict[str, Any], file: Path) -> None:
    """Writes the rates, with the command that they come from."""
    rates |= {"command": "python -m tests.testing.rates", "library": NAME}
    file.write_text(json.dumps(rates, indent=1) + "\n", encoding="utf-8")


def options_of(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.testing.rates", description=__doc__)
    parser.add_argument("half", nargs="?", choices=["wrong", "right"], help="both by default")
    parser.add_argument("--runs", type=int, default=1000, help="at least, of each right Function")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--json", type=Path, default=STORED, help="where the rates are stored")
    return parser.parse_args(argv)


def main(argv: list[str]) -> int:
    options = options_of(argv)
    rates: dict[str, Any] = {"wrong": {"functions": 0, "missed": []}, "right": {}}
    if options.json.exists():
        rates |= json.loads(options.json.read_text(encoding="utf-8"))
    if options.half != "right":
        rates["wrong"] = of_wrong(options.jobs)
        stored(rates, options.json)
    if options.half != "wrong":
        known = rates["right"]
        for rates["right"] in of_right(known, options.runs, options.jobs):
            stored(rates, options.json)
    print(summary(rates), f"Stored in {options.json}", sep="\n")
    return int(bool(rates["wrong"]["missed"] or any(r["alarms"] for r in rates["right"].values())))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
