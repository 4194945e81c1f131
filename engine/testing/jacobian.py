"""The whole Jacobian of one argument, as backward has it and as the values of forward have it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from engine.testing.adapter import Array
from engine.testing.cases import Case, Shape, symmetrized
from engine.testing.derivatives import better, slope
from engine.testing.exact import by_complex_step
from engine.testing.first import line_through, rounding, scales
from engine.testing.trial import Subject, Trial, run, scale_of


@dataclass
class Jacobian:
    """d outputs / d one argument: rows are entries of the outputs, columns of the argument.

    given: what backward says. expected, doubt: the slopes of forward and their errors;
    low, high: the one-sided slopes where they differ.
    """

    subject: Subject
    case: Case
    argument: int
    arrays: list[Any]
    outputs: list[Array]
    active: list[int]
    given: Array
    expected: Array
    doubt: Array
    low: Array
    high: Array

    @property
    def shape_in(self) -> Shape:
        return tuple(np.shape(self.arrays[self.argument]))

    @property
    def scale(self) -> float:
        """The typical size of the argument's numbers."""
        return scale_of(np.asarray(self.arrays[self.argument]))

    @property
    def name(self) -> str:
        return self.subject.pattern.slots[self.argument].name

    @property
    def values(self) -> Array:
        """The outputs' numbers, one after the other: one per row."""
        return np.concatenate([out.ravel() for out in self.outputs])

    @property
    def size(self) -> float:
        known = self.expected[np.isfinite(self.doubt)]
        return float(np.max(np.abs(known), initial=0.0))

    @property
    def floor(self) -> Array:
        """What no difference of values can see, one number per row."""
        least = self.subject.least_slope(self.argument)
        values = np.abs(self.values)[:, None] / self.scale
        return np.asarray(rounding(self.case.eps) * (values + least) + 1e-290)

    @property
    def tolerance(self) -> Array:
        """How far an entry may be off before it is called wrong."""
        relative = 1e-6 if self.case.eps < 1e-10 else 3e-3
        return 10 * self.doubt + relative * self.size + self.floor

    @property
    def wrong(self) -> Array:
        """True where the given entry is beyond the slopes on both sides and their errors."""
        below = self.given < self.low - self.tolerance
        above = self.given > self.high + self.tolerance
        # 0 times the infinite slope of one entry is nan in the rows of all others.
        lost = ~np.isfinite(self.given) & self.settled.all(axis=0)
        return (below | above) & self.settled | lost

    @property
    def settled(self) -> Array:
        return self.doubt < 0.01 * self.size + self.floor

    def rows(self, output: int) -> slice:
        """The rows of one output."""
        start = sum(out.size for out in self.outputs[:output])
        return slice(start, start + self.outputs[output].size)

    def row_name(self, row: int) -> str:
        """An entry of the outputs as one would write it: y[0, 2], or y1[0] of several."""
        for k, out in enumerate(self.outputs):
            if row < out.size:
                name = "y" if len(self.outputs) == 1 else f"y{k}"
                return name + _index(row, out.shape)
            row -= out.size
        raise IndexError(row)

    def column_name(self, column: int) -> str:
        return self.name + _index(column, self.shape_in)


def _index(flat: int, shape: Shape) -> str:
    if not shape:
        return ""
    return f"[{', '.join(str(int(k)) for k in np.unravel_index(flat, shape))}]"


def jacobian(
    subject: Subject,
    case: Case,
    i: int,
    careful: bool = True,
    arrays: Sequence[Any] | None = None,
) -> Jacobian | None:
    """Both Jacobians of argument i; None when there is nothing to compare.

    careful: with several sets of steps. arrays: other arguments than the case's own.
    """
    arrays = list(subject.pattern.arrays(case) if arrays is None else arrays)
    trial = run(subject, case, arrays)
    entries = sum(np.size(trial.outputs[k]) for k in trial.active)
    if trial.stage or not entries or not np.size(arrays[i]) or not trial.finite:
        return None
    given = _given(subject, case, arrays, trial, i)
    if given is None:
        return None
    columns = _expected(subject, case, arrays, trial, i, careful)
    outputs = [trial.outputs[k] for k in trial.active]
    return Jacobian(subject, case, i, arrays, outputs, trial.active, given, *columns)


def _given(
    subject: Subject, case: Case, arrays: Sequence[Any], trial: Trial, i: int
) -> Array | None:
    """One backward per entry of the outputs, each through a graph of its own."""
    slot = subject.pattern.slots[i]
    rows = []
    for upstream in unit_upstreams(trial):
        again = run(subject, case.but(upstream=_layout(case)), arrays, upstream)
        if again.stage:
            return None
        g = again.grads[i]
        row = np.zeros(np.shape(arrays[i])) if g is None else g.astype(float)
        rows.append(symmetrized(slot, row).ravel())
    return np.array(rows).reshape(-1, np.size(arrays[i]))


def unit_upstreams(trial: Trial) -> Iterator[list[Array]]:
    """An upstream gradient for each entry of the outputs: 1 there and 0 elsewhere."""
    for k, output in enumerate(trial.upstream):
        for entry in range(output.size):
            upstream = [np.zeros_like(g) for g in trial.upstream]
            upstream[k].flat[entry] = 1.0
            yield upstream


def _layout(case: Case) -> str:
    return "random" if case.upstream == "expanded" else case.upstream


def _expected(
    subject: Subject, case: Case, arrays: Sequence[Any], trial: Trial, i: int, careful: bool
) -> tuple[Array, Array, Array, Array]:
    """Slopes, errors, low and high; one column per entry of the argument."""
    columns: list[tuple[Array, Array, Array, Array]] = []
    for entry in range(np.size(arrays[i])):
        direction = unit(subject, arrays, i, entry)
        line = line_through(subject, case, arrays, i, direction, trial.active)
        witnesses = scales(np.asarray(arrays[i]))
        sure = careful and better(line, witnesses, subject.rounding(case))
        found = sure or slope(line, rounding=subject.rounding(case))
        columns.append((found.value, found.doubt, found.low, found.high))
    stacked: Array = np.array(columns).reshape(np.size(arrays[i]), 4, -1)
    value, doubt, low, high = (stacked[:, k].T / scale_of(np.asarray(arrays[i])) for k in range(4))
    return value, doubt, low, high


def unit(subject: Subject, arrays: Sequence[Any], i: int, entry: int) -> Array:
    """The direction of one entry, as long as the argument's numbers are large."""
    direction = np.zeros(np.shape(arrays[i]))
    direction.flat[entry] = scale_of(np.asarray(arrays[i]))
    return symmetrized(subject.pattern.slots[i], direction)


def sharpened(jac: Jacobian) -> Jacobian:
    """The Jacobian with its slopes to the last digit, where forward takes complex tensors.

    Columns that disagree with the differences, as for a forward that is not analytic, stay.
    """
    expected, low, high = jac.expected.copy(), jac.low.copy(), jac.high.copy()
    for entry in range(expected.shape[1]):
        direction = unit(jac.subject, jac.arrays, jac.argument, entry) / jac.scale
        exact = by_complex_step(
            jac.subject, jac.case, jac.arrays, jac.argument, direction, jac.active
        )
        if exact is None or exact.shape != expected[:, entry].shape:
            return jac
        near = np.abs(exact - expected[:, entry]) <= 10 * jac.doubt[:, entry] + 1e-9 * jac.size
        if near.all():
            expected[:, entry] = low[:, entry] = high[:, entry] = exact
    return replace(jac, expected=expected, low=low, high=high)
