"""First derivatives: what backward gives against what the values of forward give."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from engine.testing.adapter import Array
from engine.testing.cases import Case, Shape, symmetrized
from engine.testing.derivatives import Slope, better, slope
from engine.testing.exact import in_fifty_digits
from engine.testing.spy import NOTHING
from engine.testing.trial import Subject, Trial, call, run, scale_of


@dataclass(frozen=True)
class Symptom:
    """What went wrong for one argument in one case, before anything is known of the cause.

    what: "wrong", "none" or "nan" for numbers; "raises"; "count", "shape", "type", "number" and
    "dtype" for what backward returned.
    """

    what: str
    argument: int = -1
    detail: Any = None


@dataclass
class Verdict:
    """The outcome of one case.

    refused: forward did not take these arguments, or its values were not finite.
    undecided: arguments whose differences did not settle.
    """

    symptoms: list[Symptom] = field(default_factory=list)
    soft: list[Symptom] = field(default_factory=list)
    undecided: list[int] = field(default_factory=list)
    refused: bool = False
    trial: Trial = field(default_factory=Trial)


def examine(subject: Subject, case: Case) -> Verdict:
    """Calls a case and compares every gradient with differences along one random direction."""
    arrays = subject.pattern.arrays(case)
    trial = run(subject, case, arrays, watch=subject.is_function)
    if trial.stage == "forward" or not trial.active or not trial.finite:
        return Verdict(refused=True, trial=trial)
    hard, soft = contract(subject, case, trial)
    verdict = Verdict(hard, soft, trial=trial)
    if not hard and trial.stage == "backward":
        verdict.symptoms = [Symptom("raises", detail=trial.error)]
    twin = packed(subject, case)
    if not verdict.symptoms and twin != case:
        _compare_with(subject, case, twin, arrays, verdict)
    elif not verdict.symptoms:
        _compare(subject, case, arrays, verdict)
    return verdict


def packed(subject: Subject, case: Case) -> Case:
    """The same call with packed tensors that all need a gradient; the same case for most."""
    upstream = case.upstream if case.upstream.startswith("only") else "random"
    return case.but(layouts=(), upstream=upstream, needs=subject.pattern.needs)


def _compare_with(
    subject: Subject, case: Case, twin: Case, arrays: Sequence[Any], verdict: Verdict
) -> None:
    """Values and gradients must be those of the same numbers in packed tensors."""
    trial = verdict.trial
    other = run(subject, twin, arrays, trial.upstream)
    if other.stage or other.active != trial.active:
        return
    for k in trial.active:
        if not _alike(trial.outputs[k], other.outputs[k], subject.typical, case):
            verdict.symptoms.append(Symptom("forward", detail=k))
    for i in asked(subject, case):
        given, right = trial.grads[i], other.grads[i]
        right = np.zeros(np.shape(arrays[i])) if right is None else right
        size = subject.least_slope(i) * max(np.max(np.abs(v), initial=0.0) for v in trial.upstream)
        if not _alike(np.zeros(right.shape) if given is None else given, right, size, case):
            what = "none" if given is None else "wrong"
            verdict.symptoms.append(Symptom(what, i, (given, right)))


def _alike(one: Array, other: Array, typical: float, case: Case) -> bool:
    """True when two arrays differ by no more than the order of their sums can make.

    typical: the size of numbers of their kind; those that cancelled out may be much smaller.
    """
    if one.shape != other.shape:
        return False
    relative = 1e-6 if case.eps < 1e-10 else 3e-3
    size = float(np.max(np.abs(other), initial=0.0, where=np.isfinite(other)))
    absolute = relative * size + rounding(case.eps) * typical
    return bool(np.allclose(one, other, rtol=relative, atol=absolute, equal_nan=True))


def contract(subject: Subject, case: Case, trial: Trial) -> tuple[list[Symptom], list[Symptom]]:
    """What is wrong with the count, types and shapes of the gradients that backward returned.

    The second list holds what the library puts right by itself, by summing or converting.
    """
    log = trial.log
    if log.returned is NOTHING:
        return [], []
    gradients = _without_trailing_none(log.gradients, len(log.inputs))
    if len(gradients) != len(log.inputs):
        return [Symptom("count", detail=(len(gradients), len(log.inputs)))], []
    hard: list[Symptom] = []
    soft: list[Symptom] = []
    for i, (g, x) in enumerate(zip(gradients, log.inputs, strict=True)):
        _one_gradient(subject, case, i, g, x, hard, soft)
    return hard, soft


def _without_trailing_none(gradients: tuple[Any, ...], count: int) -> tuple[Any, ...]:
    while len(gradients) > count and gradients[-1] is None:
        gradients = gradients[:-1]
    return gradients


def _one_gradient(
    subject: Subject,
    case: Case,
    i: int,
    g: Any,
    x: Any,
    hard: list[Symptom],
    soft: list[Symptom],
) -> None:
    library = subject.library
    if g is None:
        return
    if not library.is_node(x):
        hard.append(Symptom("number", i, type(g).__name__))
    elif library.is_value(x) or not case.needs[i]:
        return
    elif not library.is_tensor(g):
        hard.append(Symptom("type", i, type(g).__name__))
    elif tuple(g.shape) != tuple(x.shape):
        kind = soft if reduces(tuple(g.shape), tuple(x.shape)) else hard
        kind.append(Symptom("shape", i, (tuple(g.shape), tuple(x.shape))))
    elif g.dtype != x.dtype:
        soft.append(Symptom("dtype", i, (str(g.dtype), str(x.dtype))))


def reduces(shape: Shape, wanted: Shape) -> bool:
    """True when summing over broadcast dimensions leads from one shape to the other."""
    padded = (1,) * (len(shape) - len(wanted)) + wanted
    fits = all(want in (1, got) for got, want in zip(shape, padded, strict=False))
    return len(shape) >= len(wanted) and fits


def _compare(subject: Subject, case: Case, arrays: Sequence[Any], verdict: Verdict) -> None:
    trial = verdict.trial
    if not any(out.size for out in map(np.asarray, _active(trial))):
        return
    for i in asked(subject, case):
        if np.size(arrays[i]):
            _compare_one(subject, case, arrays, i, verdict)


def asked(subject: Subject, case: Case) -> list[int]:
    """The arguments with a gradient of their own in a case."""
    twin = case.repeated[1] if case.repeated else -1
    slots = enumerate(subject.pattern.slots)
    return [i for i, s in slots if s.is_floating and case.needs[i] and i != twin
            and (case.shapes[i] is not None)]


def _active(trial: Trial) -> list[Array]:
    return [trial.outputs[k] for k in trial.active]


def _compare_one(
    subject: Subject, case: Case, arrays: Sequence[Any], i: int, verdict: Verdict
) -> None:
    given, found = _compared(subject, case, arrays, i, verdict.trial)
    if not found.settled:
        verdict.undecided.append(i)
    elif not found.agrees(given):
        none = verdict.trial.grads[i] is None
        what = "none" if none else "wrong" if np.isfinite(given) else "nan"
        verdict.symptoms.append(Symptom(what, i, (given, found.expected)))


def _compared(
    subject: Subject, case: Case, arrays: Sequence[Any], i: int, trial: Trial
) -> tuple[float, "Comparison"]:
    """What backward gives along a random direction, and the first differences that settle it."""
    direction = random_direction(subject, case, arrays, i)
    line = line_through(subject, case, arrays, i, direction, trial.active)
    v = np.concatenate([np.ravel(u) for u in trial.upstream] or [np.zeros(0)])
    g = np.zeros(direction.shape) if trial.grads[i] is None else trial.grads[i] * direction
    own = subject.least_slope(i) * float(np.sum(np.abs(v)) * np.max(np.abs(direction)))
    given, own = float(np.sum(g)), own + float(np.sum(np.abs(g)))
    for levels in (4, 8):
        found = slope(line, levels=levels, rounding=subject.rounding(case))
        rough = Comparison(found, v, line(0.0), case.eps, own)
        if rough.agrees(given) and (rough.sure or levels == 8):
            return given, rough
    found = better(line, scales(arrays[i]), subject.rounding(case))
    fine = Comparison(found, v, line(0.0), case.eps, own)
    if not fine.settled:
        fine = _in_more_digits(subject, case, arrays, i, direction, trial, fine)
    return given, fine


def _in_more_digits(
    subject: Subject,
    case: Case,
    arrays: Sequence[Any],
    i: int,
    direction: Array,
    trial: Trial,
    rough: "Comparison",
) -> "Comparison":
    """The comparison with a slope from 50 digits where there is one, else the rough one."""
    exact = in_fifty_digits(subject, case, arrays, i, direction, trial.active)
    if exact is None or not np.isfinite(exact).all() or exact.shape != rough.v.shape:
        return rough
    error = 1e-9 * np.abs(exact)
    return replace(rough, slope=Slope(exact, error, exact, exact, error))


@dataclass(frozen=True)
class Comparison:
    """The derivative of <v, forward> along a line, from the slopes of forward's outputs.

    v: the upstream gradient. at: the values of forward. eps: their relative rounding.
    own: the size of what is added up on backward's side, or could be.
    """

    slope: Slope
    v: Array
    at: Array
    eps: float
    own: float = 0.0

    @property
    def expected(self) -> float:
        return (self.low + self.high) / 2

    @property
    def low(self) -> float:
        return float(np.sum(np.minimum(self.v * self.slope.low, self.v * self.slope.high)))

    @property
    def high(self) -> float:
        return float(np.sum(np.maximum(self.v * self.slope.low, self.v * self.slope.high)))

    @property
    def doubt(self) -> float:
        return float(np.sum(np.abs(self.v) * self.slope.doubt, where=self.v != 0))

    @property
    def size(self) -> float:
        return float(np.sum(np.abs(self.v) * np.abs(self.slope.value)))

    @property
    def floor(self) -> float:
        """What no difference of values can see: their rounding, many times over."""
        values = float(np.sum(np.abs(self.v * self.at)))
        return rounding(self.eps) * (values + (self.own if np.isfinite(self.own) else 0.0)) + 1e-290

    @property
    def tolerance(self) -> float:
        relative = 1e-6 if self.eps < 1e-10 else 3e-3
        return 10 * self.doubt + relative * self.size + self.floor

    @property
    def settled(self) -> bool:
        """True when the differences say enough to call a gradient wrong."""
        return bool(np.isfinite(self.doubt)) and self.doubt < 0.01 * self.size + self.floor

    @property
    def sure(self) -> bool:
        """True when the error is no larger than what is overlooked anyway."""
        return bool(np.isfinite(self.doubt)) and self.doubt < 1e-7 * self.size + self.floor

    def agrees(self, given: float) -> bool:
        if not np.isfinite(given):
            return not self.settled
        return self.low - self.tolerance <= given <= self.high + self.tolerance


def rounding(eps: float) -> float:
    """The part of a value below which a slope is not looked at: 1e-9, in float32 1e-4."""
    return 1e-9 if eps < 1e-10 else 1e-4


def random_direction(subject: Subject, case: Case, arrays: Sequence[Any], i: int) -> Array:
    """A random direction for one argument, as long as its numbers are large."""
    rng = np.random.default_rng([case.seed, i, 5])
    x = np.asarray(arrays[i])
    u = rng.normal(size=x.shape) * scale_of(x)
    return symmetrized(subject.pattern.slots[i], u)


def scales(x: Array) -> tuple[float, ...]:
    """Factors for steps as long as the numbers are large: 1, and that which leads to length 1."""
    size = scale_of(np.asarray(x))
    return (1.0,) if 0.1 <= size <= 10 else (1.0, 1 / size)


def line_through(
    subject: Subject,
    case: Case,
    arrays: Sequence[Any],
    i: int,
    direction: Array,
    active: Sequence[int],
) -> Callable[[float], Array]:
    """Forward as a function of a step of one argument along a direction."""
    plain = case.but(layouts=(), needs=(False,) * len(case.needs))
    start = forward_values(subject, plain, arrays, active)
    known = {0.0: start}

    def line(step: float) -> Array:
        if step not in known:
            known[step] = at(step)
        return known[step]

    def at(step: float) -> Array:
        moved = list(arrays)
        moved[i] = np.asarray(arrays[i] + step * direction)
        try:
            values = forward_values(subject, plain, moved, active)
        except Exception:
            return np.full(start.shape, np.nan)
        return values if values.shape == start.shape else np.full(start.shape, np.nan)

    return line


def forward_values(
    subject: Subject, case: Case, arrays: Sequence[Any], active: Sequence[int]
) -> Array:
    """The numbers of the active outputs, one after the other."""
    with subject.library.no_grad():
        made = call(subject, case, arrays)
    return np.concatenate(
        [subject.library.array(made.outputs[k]).astype(float).ravel() for k in active]
    )
