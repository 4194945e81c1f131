"""The rows: what is measured, each a small function that prepares a step for one contender."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

ENGINE = ("engine cython", "engine python")


@dataclass(frozen=True)
class Work:
    """`step()` does one unit of work; a round is `steps` of them, timed together."""

    step: Callable[[], object]
    steps: int
    units: int = 1  # what one step counts for: the operations in a chain, say


@dataclass(frozen=True)
class Row:
    """`prepare(contender, tiny)` gives the Work of one contender; tiny is a size for tests.

    It raises ImportError where what the contender needs is not installed.
    """

    name: str
    group: str
    title: str
    unit: str
    contenders: tuple[str, ...]
    prepare: Callable[[str, bool], Work]
    threads: int = 1


@dataclass
class Result:
    """One row as measured: a number for each contender, and why the others have none.

    `unit` is "seconds per step", "bytes per node" and so on; `ratios` are over the first contender
    that was there.
    """

    name: str
    group: str
    title: str
    unit: str
    figures: dict[str, float]
    missing: dict[str, str] = field(default_factory=dict)

    @property
    def ratios(self) -> dict[str, float]:
        first = next(iter(self.figures.values()), 1.0)
        return {name: figure / first for name, figure in self.figures.items()}


ROWS: dict[str, Row] = {}


def row(
    title: str, *contenders: str, unit: str = "step", threads: int = 1
) -> Callable[[Callable[[str, bool], Work]], Callable[[str, bool], Work]]:
    """Above a row's function: puts it into ROWS under its own name; its module is its group."""

    def register(prepare: Callable[[str, bool], Work]) -> Callable[[str, bool], Work]:
        name, group = prepare.__name__, prepare.__module__.rpartition(".")[2]
        ROWS[name] = Row(name, group, title, unit, contenders, prepare, threads)
        return prepare

    return register
