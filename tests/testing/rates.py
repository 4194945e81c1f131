"""How many wrong Functions `engine.testing` finds, and how many right ones it alarms for.

    python -m tests.testing.rates [--runs 5] [--examples 200] [--json FILE]

prints both rates and stores them. A run is one whole check with a seed of its own; --examples is
the number of random cases at the end of each.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

from engine.testing import Report, check
from tests.testing.collection import Entry, entries
from tests.testing.library import NAME


def found(entry: Entry, report: Report) -> bool:
    """True when the declared finding, its kind and its argument, is in the report."""
    return any((f.kind, f.argument) == (entry.kind, entry.argument) for f in report)


def subjects(folder: str) -> list[Entry]:
    """The Functions of a folder; engine's own operations are right ones too."""
    found = entries(folder)
    if folder == "right" and NAME == "engine":
        from tests.testing.operations import operations

        found += operations()
    return found


def reports(folder: str, runs: int, examples: int) -> Iterator[tuple[Entry, int, Report]]:
    """Every Function of a folder, checked once for each run."""
    for entry in subjects(folder):
        for seed in range(runs):
            made = check(entry.function, *entry.example(), seed=seed, examples=examples)
            yield entry, seed, made


def measure(runs: int, examples: int) -> dict[str, Any]:
    """The rates, and by name what was missed and what alarmed."""
    start = perf_counter()
    wrong = list(reports("wrong", 1, examples))
    missed = [entry.name for entry, _, report in wrong if not found(entry, report)]
    right = list(reports("right", runs, examples))
    alarms = [
        {"function": entry.name, "seed": seed, "findings": [str(f) for f in report]}
        for entry, seed, report in right
        if not report
    ]
    return {
        "library": NAME,
        "wrong": len(wrong),
        "found": len(wrong) - len(missed),
        "missed": missed,
        "right": len(right) // runs,
        "runs": runs,
        "examples": examples,
        "alarms": alarms,
        "seconds_per_check": (perf_counter() - start) / (len(wrong) + len(right)),
    }


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.testing.rates", description=__doc__)
    parser.add_argument("--runs", type=int, default=1, help="checks of each right Function")
    parser.add_argument("--examples", type=int, default=60, help="random cases in each check")
    parser.add_argument("--json", default="rates.json", help="where the rates are stored")
    options = parser.parse_args(argv)
    rates = measure(options.runs, options.examples)
    Path(options.json).write_text(json.dumps(rates, indent=2) + "\n")
    print(f"{rates['found']} of {rates['wrong']} wrong Functions found with their explanation")
    print(
        f"{len(rates['alarms'])} alarms in {options.runs} checks of each of {rates['right']} right "
        f"Functions, {options.examples} random cases in each"
    )
    print(f"{rates['seconds_per_check']:.2f} s a check; stored in {options.json}")
    for name in rates["missed"]:
        print(f"missed: {name}")
    for alarm in rates["alarms"]:
        print(f"alarm: {alarm['function']}, seed {alarm['seed']}: {alarm['findings']}")
    return int(bool(rates["missed"] or rates["alarms"]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
