"""Probes for dtypes: what comes out, and how many digits a float32 backward keeps."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from engine.testing.adapter import Array
from engine.testing.cases import Case
from engine.testing.first import asked
from engine.testing.probes import Probe, Scene, gradient_form, scene
from engine.testing.report import Finding, Level
from engine.testing.trial import Trial, run

EPS32 = float(np.finfo(np.float32).eps)
SHARE = 1000  # roundings that a float32 backward may add to forward's and the inputs' own


def output_dtype(s: Scene) -> Iterator[Finding]:
    """float64 goes in and float32 comes out, or the other way round."""
    for dtype, level, cure in (
        ("float64", Level.SHAPES, "digits are lost"),
        ("float32", Level.WASTEFUL, "everything after it runs in the wider type"),
    ):
        outputs = run(s.subject, s.case.but(dtype=dtype), s.arrays)
        for k in outputs.active:
            got = outputs.outputs[k].dtype.name
            if got != dtype and not _values_only(s):
                yield Finding(level, "output-dtype", "", (
                    f"forward returns {got} for inputs of {dtype}: {cure}. Make new tensors in "
                    "the input's dtype (x.new_zeros, torch.zeros(..., dtype=x.dtype))."
                ))  # fmt: skip
                return


def _values_only(s: Scene) -> bool:
    return all(slot.kind != "float" for slot in s.subject.pattern.slots)


def gradient_dtype(s: Scene) -> Iterator[Finding]:
    """What the library converts in silence when the inputs are float32."""
    narrow = scene(s.subject, s.case.but(dtype="float32"))
    if narrow.trial.stage == "" and not _values_only(s):
        yield from (f for f in gradient_form(narrow) if f.kind == "grad-dtype")


def digits(s: Scene) -> Iterator[Finding]:
    """A float32 backward that loses more digits than forward and its inputs account for."""
    for values in ("ordinary", "plus 1000", "times 30"):
        case = s.case.but(values=values, dtype="float32")
        arrays = s.subject.pattern.arrays(case)
        for i in asked(s.subject, case):
            lost = _lost(s, case, arrays, i)
            if lost:
                now = s.subject.pattern.slots[i].dtype == "float32" and values == "ordinary"
                level = Level.NOW if now else Level.SHAPES
                yield Finding(level, "precision", s.name(i), _words(s, i, values, lost))
                return


def _words(s: Scene, i: int, values: str, lost: tuple[float, float]) -> str:
    where = "" if values == "ordinary" else f" for larger numbers ({values})"
    return (
        f"in float32 the gradient of `{s.name(i)}` is off by {lost[0]:.1g} of its size{where}; "
        f"forward's own rounding and that of the inputs account for {lost[1]:.1g}. Look for a "
        "difference of nearly equal numbers, a step that is too small, or a cast to a shorter type."
    )


def _lost(s: Scene, case: Case, arrays: Sequence[Any], i: int) -> tuple[float, float] | None:
    """The error of a float32 gradient and the error that is allowed; None when it is smaller."""
    exact = run(s.subject, case.but(dtype="float64"), arrays)
    short = run(s.subject, case, arrays, exact.upstream)
    double = case.but(dtype="float64")
    moved = [run(s.subject, double, _nudged(arrays, k), exact.upstream) for k in range(3)]
    trials = (exact, short, *moved)
    if any(t.stage or not t.finite or t.grads[i] is None for t in trials):
        return None
    size = _size(exact.grads[i])
    error = _apart(short.grads[i], exact.grads[i])
    forward = max(_relative(short.outputs[k], exact.outputs[k]) for k in exact.active)
    own = max(_apart(trial.grads[i], exact.grads[i]) for trial in moved)
    natural = max(size, _natural(s, exact, arrays, i))
    allowed = SHARE * (EPS32 * natural + 0.1 * forward * natural + 0.02 * own)
    return (error / size, allowed / size) if error > allowed and size else None


def _natural(s: Scene, trial: Trial, arrays: Sequence[Any], i: int) -> float:
    """The size of a gradient to be expected from values and inputs: <v, y> / x."""
    pairs = zip(trial.upstream, trial.active, strict=True)
    values = sum(float(np.sum(np.abs(v * trial.outputs[k]))) for v, k in pairs)
    largest = max(_size(v) for v in trial.upstream)
    least = s.subject.least_slope(i) * largest
    return max(least, values / max(_size(np.asarray(arrays[i])), 1e-30))


def _nudged(arrays: Sequence[Any], seed: int) -> list[Any]:
    """The arguments with every floating number moved by some roundings of float32."""
    rng = np.random.default_rng(seed)
    return [
        a * (1 + 16 * EPS32 * rng.choice([-1.0, 1.0], np.shape(a)))
        if isinstance(a, np.ndarray) and a.dtype.kind == "f"
        else a
        for a in arrays
    ]


def _size(a: Array | None) -> float:
    """The largest of the numbers."""
    return float(np.max(np.abs(a), initial=0.0)) if a is not None else 0.0


def _apart(one: Array | None, other: Array | None) -> float:
    """The largest difference."""
    if one is None or other is None or one.shape != other.shape:
        return 0.0
    return _size(one.astype(float) - other)


def _relative(one: Array, other: Array) -> float:
    return _apart(one, other) / max(_size(other), 1e-30)


def not_numbers(s: Scene) -> Iterator[Finding]:
    """backward raises for nan or inf that forward lets through."""
    for values in ("nan", "inf"):
        trial: Trial = run(s.subject, s.case.but(values=values),
                           s.subject.pattern.arrays(s.case.but(values=values)))
        if trial.stage == "backward":
            said = f"{type(trial.error).__name__}: {trial.error}"
            yield Finding(Level.SHAPES, "value-raises", "", (
                f"backward raises {said} for inputs with {values}, which forward takes."
            ))  # fmt: skip
            return


DTYPES: tuple[Probe, ...] = (output_dtype, gradient_dtype, digits, not_numbers)
