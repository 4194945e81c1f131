"""`python -m benchmarks`: every row, beside its peers, in one run."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from benchmarks import costs, growth, kernels, report, scalar, tensor  # noqa: F401  they fill ROWS
from benchmarks.registry import ROWS, Result
from benchmarks.rounds import measure

GROUPS = ("scalar", "tensor", "kernels", "costs", "growth")


def options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Measure engine beside its peers, in turns."
    )
    parser.add_argument("--only", choices=GROUPS, help="one group of rows")
    parser.add_argument(
        "--row", nargs="+", default=[], choices=sorted(ROWS), metavar="NAME",
        help="some of the rows: " + ", ".join(sorted(ROWS)),
    )  # fmt: skip
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each contender (5)")
    parser.add_argument(
        "--clock", choices=("wall", "cpu"), default="wall",
        help="of the rounds: cpu counts the process's own time, for a busy machine (wall)",
    )  # fmt: skip
    parser.add_argument("--full", action="store_true", help="growth up to 10^7 nodes: minutes, GB")
    parser.add_argument("--tiny", action="store_true", help="sizes for a test, not for figures")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures to FILE")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="write a picture to FILE")
    chosen = parser.parse_args(arguments)
    if chosen.rounds < 1:
        parser.error("--rounds must be at least 1")
    return chosen


def results(chosen: argparse.Namespace) -> Iterator[Result]:
    """The rows that were asked for, one after the other."""
    for row in ROWS.values():
        if row.name in chosen.row or (not chosen.row and chosen.only in (None, row.group)):
            yield measure(row, chosen.rounds, chosen.tiny, chosen.clock)
    if not chosen.row and chosen.only in (None, "costs"):
        yield from (cost(chosen.rounds, chosen.tiny) for cost in costs.ROWS)


def main(arguments: list[str] | None = None) -> int:
    chosen = options(arguments)
    print(" ".join(f"{name} {value}" for name, value in report.machine().items()))
    print(f"Minimum of rounds in turns, {chosen.clock} clock; last, the figure over the first's.")
    found = []
    for result in results(chosen):
        found.append(result)
        print(report.table(result), flush=True)
    grown = []
    if not chosen.row and chosen.only in (None, "growth"):
        grown = growth.measure_all("tiny" if chosen.tiny else "full" if chosen.full else "usual")
        print(*map(growth.table, grown), sep="\n")
    if chosen.json:
        everything = report.as_json(found, chosen.rounds, chosen.clock)
        everything["growth"] = [asdict(each) for each in grown]
        chosen.json.write_text(json.dumps(everything, indent=1) + "\n", encoding="utf-8")
    if chosen.svg:
        chosen.svg.write_text(report.picture(found), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
