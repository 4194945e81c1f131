"""Kinks and ties: where the slopes on both sides differ, every number between them is right."""

from collections.abc import Container, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from engine.testing.adapter import Array
from engine.testing.cases import Case
from engine.testing.derivatives import better, slope
from engine.testing.first import Comparison, Symptom, Verdict, asked, forward_values, line_through
from engine.testing.jacobian import Jacobian, jacobian, unit
from engine.testing.trial import Subject, Trial, run, scale_of

LARGEST = 40  # entries of the arguments; a case with more takes too long to look at each


def examine_kinks(
    subject: Subject, case: Case, notes: list[str], skip: Container[int] = ()
) -> Verdict:
    """Compares every entry of every Jacobian with the slopes on both sides.

    notes: gets a sentence on each kink at which backward's number is right. skip: arguments that
    are known to be wrong.
    """
    arrays = subject.pattern.arrays(case)
    trial = run(subject, case, arrays)
    count = sum(np.size(arrays[i]) for i in asked(subject, case))
    if trial.stage or not trial.active or not trial.finite or count > LARGEST:
        return Verdict(refused=True, trial=trial)
    verdict = Verdict(trial=trial)
    for i in asked(subject, case):
        if i in skip:
            continue
        found = jacobian(subject, case, i, careful=False)
        if found is not None and found.wrong.any():
            found = jacobian(subject, case, i)
        if found is not None and found.wrong.any():
            found = widened(found)
        if found is not None:
            _judge(found, verdict, notes)
    if case.values == "ties" and not verdict.symptoms:
        _joint(subject, case, arrays, verdict)
    return verdict


def widened(found: Jacobian, points: int = 64) -> Jacobian:
    """The Jacobian with low and high widened to the slopes at points nearby.

    Where numbers are tied, as in sort, no step of one entry shows all that a gradient may be:
    any mixture of the slopes around the point.
    """
    low, high = found.low.copy(), found.high.copy()
    mistaken = found.wrong & np.isfinite(found.given)
    for column in np.flatnonzero(mistaken.any(axis=0)):
        for k in range(points):
            near = _slope_nearby(found, int(column), k)
            margin = 1e-3 * max(found.size, float(np.max(np.abs(near))))
            low[:, column] = np.fmin(low[:, column], near - margin)
            high[:, column] = np.fmax(high[:, column], near + margin)
    return replace(found, low=low, high=high)


def _slope_nearby(found: Jacobian, column: int, k: int) -> Array:
    """The slopes by one entry at a point a ten-thousandth away in all floating arguments."""
    rng = np.random.default_rng([k, column])
    slots = found.subject.pattern.slots
    arrays = [
        a + 1e-4 * scale_of(a) * rng.normal(size=np.shape(a)) if s.kind == "float" else a
        for s, a in zip(slots, found.arrays, strict=True)
    ]
    length = scale_of(np.asarray(arrays[found.argument]))
    direction = unit(found.subject, arrays, found.argument, column) / length
    line = line_through(
        found.subject, found.case, arrays, found.argument, direction, found.active
    )
    rounding = found.subject.rounding(found.case)
    return slope(line, 1e-5 * found.scale, levels=5, rounding=rounding).value


def _judge(found: Jacobian, verdict: Verdict, notes: list[str]) -> None:
    if found.wrong.any():
        finite = np.isfinite(found.given[found.wrong]).all()
        verdict.symptoms.append(Symptom("wrong" if finite else "nan", found.argument, found))
        return
    kink = (found.low < found.high) & found.settled
    noted = any(f"kink at `{found.name}`" in note for note in notes)
    if kink.any() and not noted:
        _note(found, notes)


def _note(found: Jacobian, notes: list[str]) -> None:
    """A note on the first kink that a closer look confirms."""
    sure = jacobian(found.subject, found.case, found.argument)
    if sure is not None and not sure.wrong.any():
        places = np.argwhere((sure.low < sure.high) & sure.settled)
        if len(places):
            notes.append(kink_words(sure, int(places[0][0]), int(places[0][1])))


def kink_words(found: Jacobian, row: int, column: int) -> str:
    """The slopes on both sides of a kink, and what backward takes."""
    at = np.ravel(found.arrays[found.argument])[column]
    low, high = found.low[row, column], found.high[row, column]
    return (
        f"forward has a kink at `{found.name}` = {at:.4g}: the slopes on its sides are {low:.4g} "
        f"and {high:.4g}, any number between is right, and backward takes "
        f"{found.given[row, column]:.4g}."
    )


def _joint(subject: Subject, case: Case, arrays: Sequence[Any], verdict: Verdict) -> None:
    """Moves all tied numbers together: their gradients must add up to the slope along that line."""
    trial = verdict.trial
    moving = [i for i in asked(subject, case) if np.size(arrays[i])]
    line = _together(subject, case, arrays, moving, trial)
    v = np.concatenate([np.ravel(u) for u in trial.upstream] or [np.zeros(0)])
    grads = [g for g in (trial.grads[i] for i in moving) if g is not None]
    given = sum(float(np.sum(g)) for g in grads)
    own = sum(float(np.sum(np.abs(g))) for g in grads)
    rounding = subject.rounding(case)
    for found in (slope(line, rounding=rounding), better(line, rounding=rounding)):
        compared = Comparison(found, v, line(0.0), case.eps, own)
        if compared.agrees(given) or not compared.settled:
            return
    verdict.symptoms.append(Symptom("ties", moving[0], (given, compared.expected)))


def _together(
    subject: Subject, case: Case, arrays: Sequence[Any], moving: Sequence[int], trial: Trial
) -> Any:
    plain = case.but(needs=(False,) * len(case.needs))

    def line(step: float) -> Array:
        moved = [a + step if i in moving else a for i, a in enumerate(arrays)]
        return forward_values(subject, plain, moved, trial.active)

    return line
