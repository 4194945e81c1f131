"""`check`: everything that can be found out about one Function, as a report."""

import io
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from functools import partial
from typing import Any

import numpy as np

from engine.testing import search
from engine.testing.adapter import Library, library_of
from engine.testing.cases import Case, parameters_of, pattern_of
from engine.testing.checker import Checker, first_derivatives
from engine.testing.derivatives import slope
from engine.testing.first import asked, line_through
from engine.testing.forward_mode import forward_mode
from engine.testing.investigate import investigate, verdict_of
from engine.testing.jacobian import unit
from engine.testing.nograph import hidden_tensors, no_graph
from engine.testing.precision import DTYPES
from engine.testing.probes import ON_EXAMPLE, Probe, Scene, saved_twice, scene
from engine.testing.report import Finding, Level, Report
from engine.testing.second import second_derivatives
from engine.testing.shrink import smallest
from engine.testing.spy import takes_context
from engine.testing.state import LATE, STATE, draws
from engine.testing.trial import Subject, Trial, run

RANDOM = ("non-deterministic", "hidden-state")

IMPLIED = {
    "upstream-changed": {"upstream-layout", "second-backward"},
    "saved-changed": {"second-backward", "upstream-layout", "layout"},
    "non-deterministic": {"second-backward", "hidden-state", "threads", "precision"},
    "hidden-state": {"threads", "memory"},
    "tensor-on-ctx": {"memory"},
    "repeated-input": {"ties"},
    "output-dtype": {"grad-dtype"},
    "grad-dtype": {"wrong-derivative"},
}  # a finding of the first kind explains those of the other kinds


def check(
    target: Any,
    *example: Any,
    level: str | Level = Level.WASTEFUL,
    surrogate: bool = False,
    seconds: float = 20.0,
    examples: int = 60,
    seed: int = 0,
) -> Report:
    """Looks for mistakes in a custom Function (or in any function of tensors).

    target: a subclass of engine's or torch's Function, its `apply`, or a callable.
    example: arguments for one call; everything else that is tried is derived from it.
    level: findings below it ("now", "shapes", "second" or "wasteful") are left out.
    surrogate: for a backward that is not meant to be the derivative (a straight-through
        estimator, gradient reversal or clipping): numbers are not compared with differences.
    seconds: when so many of computing are over, what remains is left out and a note says so.
    examples: the number of random cases at the end. seed: other numbers for another one.
    Returns a Report, true when nothing was found.
    Raises TypeError when the library cannot be told, ValueError when the example has nothing
    to differentiate.
    """
    target = function_behind(target)
    library = library_of(target, example)
    subject = make_subject(target, example, library, seed)
    checker = Checker(subject, seconds)
    with library.settled(), _silence():
        _course(checker, example, surrogate, examples, seed)
    findings = without_implied(checker.findings)
    report = Report(subject.name, findings, checker.notes, checker.compared)
    return report.at_least(Level.named(level))


def function_behind(target: Any) -> Any:
    """The class when its bound `apply` was given, else the target itself."""
    owner = getattr(target, "__self__", None)
    is_apply = isinstance(owner, type) and getattr(target, "__name__", "") == "apply"
    return owner if is_apply else target


def make_subject(
    target: Any, example: Sequence[Any], library: Library, seed: int = 0
) -> Subject:
    """The subject of a check, with the names of its arguments."""
    function, skip = target, 0
    if isinstance(target, type):
        function = target.forward  # type: ignore[attr-defined]
        skip = int(takes_context(target, library))
    pattern = pattern_of(example, parameters_of(function, len(example), skip), library)
    name = getattr(target, "__name__", type(target).__name__)
    return Subject(name, target, library, pattern, small=pattern.small(), seed=seed)


@contextmanager
def _silence() -> Iterator[None]:
    """What forward and backward print, hundreds of times, is not shown; nor their warnings."""
    with redirect_stdout(Nowhere()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


class Nowhere(io.TextIOBase):
    """A file that keeps nothing, so that memory does not grow by what is printed."""

    def write(self, text: str) -> int:
        return len(text)


def _course(
    checker: Checker, example: Sequence[Any], surrogate: bool, examples: int, seed: int
) -> None:
    subject = checker.subject
    for finding in hidden_tensors(subject, example):
        checker.add(finding)
    if not subject.pattern.floating:
        if not checker.findings:
            raise ValueError(
                f"check: {subject.name} needs an example with a floating tensor; "
                f"got {[type(thing).__name__ for thing in example]}"
            )
        return
    trial = settle(subject)
    if trial.stage == "forward":
        checker.add(_refused(subject, trial))
    elif not trial.active:
        for finding in no_graph(subject, trial):
            checker.add(finding)
    else:
        _all(checker, surrogate, examples, seed)


def settle(subject: Subject) -> Trial:
    """Finds out how forward wants to be called: inputs that are no leaves, float32, sizes."""
    first = trial = _example_run(subject)
    for in_place, dtype in ((True, "float64"), (False, "float32"), (True, "float32")):
        if trial.stage != "forward":
            break
        subject.in_place, subject.dtype = in_place, dtype
        trial = _example_run(subject)
    if trial.stage == "forward":
        subject.in_place, subject.dtype = False, "float64"
        return first
    if trial.log.dirty and not subject.in_place:
        subject.in_place = True
        trial = _example_run(subject)
    subject.small = accepted(subject)
    subject.typical = max(_largest(trial), _largest(_small_run(subject)))
    return trial


def _small_run(subject: Subject) -> Trial:
    case = subject.case(subject.small)
    return run(subject, case, subject.pattern.arrays(case))


def _largest(trial: Trial) -> float:
    """The largest finite value of the active outputs."""
    sizes = [np.abs(trial.outputs[k]) for k in trial.active]
    return max((float(np.max(a, initial=0.0, where=np.isfinite(a))) for a in sizes), default=0.0)


def _example_run(subject: Subject) -> Trial:
    case = subject.case(values="example")
    return run(subject, case, subject.pattern.arrays(case), watch=subject.is_function)


def accepted(subject: Subject) -> tuple[int, ...]:
    """The smallest sizes among a few that forward takes with finite results."""
    own = subject.pattern.sizes
    candidates = [subject.pattern.small()]
    candidates += [tuple(max(1, n // d) if n > 1 else 1 for n in own) for d in (8, 4, 2)]
    for sizes in candidates:
        case = subject.case(sizes)
        trial = run(subject, case, subject.pattern.arrays(case))
        if trial.stage != "forward" and trial.active and trial.finite:
            return sizes
    return own


def _refused(subject: Subject, trial: Trial) -> Finding:
    saved = [t for tensors in trial.log.saved for t in tensors]
    odd = [t for t in saved if t is not None and not subject.library.is_node(t)]
    said = f"forward raises {type(trial.error).__name__}: {trial.error}"
    if len(trial.log.saved) > 1:
        return next(saved_twice(Scene(subject, subject.case(), [], trial)))
    if odd:
        return Finding(Level.NOW, "saved-object", "", (
            f"save_for_backward is given a {type(odd[0]).__name__}; it takes tensors that are "
            "inputs or outputs. Keep anything else as an attribute: ctx.name = value."
        ))  # fmt: skip
    if "self" in str(trial.error) or "missing 1 required positional" in str(trial.error):
        said += " (forward and backward must be @staticmethods, and forward's first is ctx)"
    return Finding(Level.NOW, "forward-raises", "", said + ".")


def _all(checker: Checker, surrogate: bool, examples: int, seed: int) -> None:
    subject = checker.subject
    s = scene(subject, subject.case(subject.small))
    if s.trial.stage or not s.trial.active:
        s = scene(subject, subject.case(values="example"))
    _probe(checker, s, ON_EXAMPLE)
    if not s.trial.stage:
        _probe(checker, s, STATE)
        subject.draws = draws(s)
        _note_random(checker)
    compare = _comparable(checker, s, surrogate)
    if compare:
        first_derivatives(checker, len(s.trial.active))
    if not s.trial.stage:
        _later(checker, s)
    if compare:
        _search(checker, len(s.trial.active), examples, seed)


def _later(checker: Checker, s: Scene) -> None:
    """What is asked only of a backward whose first derivatives are right."""
    if not checker.wrong_now:
        for found in _guarded(checker, lambda: second_derivatives(s.subject, s.log)):
            checker.add(found)
        if s.subject.dtype == "float64":
            _probe(checker, s, DTYPES)
        for found in _guarded(checker, lambda: list(forward_mode(s))):
            checker.add(found)
    _probe(checker, s, LATE)


def _probe(checker: Checker, s: Scene, probes: Sequence[Probe]) -> None:
    for probe in probes:
        for finding in _guarded(checker, partial(_shown, probe, s)):
            checker.add(finding)


def _shown(probe: Probe, s: Scene) -> list[Finding]:
    """The findings of a probe, each with the smallest program that shows it."""
    findings = []
    for finding in probe(s):
        little = smallest(s.case, partial(_shows, probe, s.subject, finding))
        findings += _alike(probe, s.subject, little, finding)[:1] or [finding]
    return findings


def _alike(probe: Probe, subject: Subject, case: Case, finding: Finding) -> list[Finding]:
    same = (finding.kind, finding.argument)
    return [f for f in probe(scene(subject, case)) if (f.kind, f.argument) == same]


def _shows(probe: Probe, subject: Subject, finding: Finding, case: Case) -> bool:
    try:
        return bool(finding.program) and bool(_alike(probe, subject, case, finding))
    except Exception:
        return False


def _guarded(checker: Checker, work: Callable[[], list[Finding]]) -> list[Finding]:
    """The findings of a probe; an exception in it becomes a note."""
    if checker.late():
        return []
    try:
        return work()
    except Exception as error:
        checker.note(f"a probe could not be run: {type(error).__name__}: {error}")
        return []


def _note_random(checker: Checker) -> None:
    if all(f.kind not in RANDOM for f in checker.findings) and checker.subject.draws:
        checker.note(
            "forward draws random numbers; the generators were set to one state before each call, "
            "and calls in several threads, which share the generators, were not compared."
        )


def _comparable(checker: Checker, s: Scene, surrogate: bool) -> bool:
    """Whether there are derivatives of forward to compare with."""
    if any(f.kind == "non-deterministic" for f in checker.findings):
        checker.note("derivatives were not compared, as calls do not repeat their numbers.")
        return False
    if surrogate:
        checker.note("derivatives were not compared, as surrogate=True says.")
        return False
    if s.trial.stage == "" and flat(s):
        checker.note(
            "forward is a step function: its slope is 0 wherever it has one, and backward gives "
            "something else, so it is taken for a surrogate (straight-through) gradient; there "
            "is nothing to compare it with."
        )
        return False
    return True


def flat(s: Scene, points: int = 4) -> bool:
    """True when at several points backward gives gradients only where forward's slope is 0."""
    found = [_flat_at(s, s.case.but(seed=s.case.seed + k)) for k in range(points)]
    return any(found) and None not in found


def _flat_at(s: Scene, case: Case) -> bool | None:
    """Whether backward gives gradients where slopes are 0; None when also where they are not.

    Entries next to a step have no slope that differences could tell, and do not count.
    """
    arrays = s.subject.pattern.arrays(case)
    trial = run(s.subject, case, arrays)
    flat = False
    for i in asked(s.subject, case):
        g = trial.grads[i] if trial.grads else None
        for entry in np.flatnonzero(g)[:6] if g is not None else ():
            direction = unit(s.subject, arrays, i, int(entry))
            line = line_through(s.subject, case, arrays, i, direction, trial.active)
            found = slope(line, rounding=s.subject.rounding(case))
            if np.any(np.abs(found.value) > 100 * found.error):
                return None
            flat = flat or not np.any(found.value)
    return flat


def _search(checker: Checker, outputs: int, examples: int, seed: int) -> None:
    """Random combinations, unless something is wrong now or time is short."""
    if checker.wrong_now or not examples or checker.late():
        return
    if search.missing():
        checker.note(search.missing())
        return

    def fails(case: Case) -> bool:
        if checker.late():
            return False
        verdict = verdict_of(checker.subject, case)
        checker.compared += not verdict.refused
        return bool(checker.fresh(case, verdict))

    found = search.search(checker.subject, outputs, fails, examples, seed)
    if found is not None:
        for symptom in checker.fresh(found, verdict_of(checker.subject, found)):
            checker.add(investigate(checker.subject, found, symptom))


def without_implied(findings: Sequence[Finding]) -> list[Finding]:
    """The findings that no other one explains."""
    kinds = {finding.kind for finding in findings}
    implied = {kind for cause in kinds for kind in IMPLIED.get(cause, ())}
    return [finding for finding in findings if finding.kind not in implied]
