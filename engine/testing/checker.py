"""The course of one check: which cases are tried, and what is made of those that fail."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from time import monotonic, process_time

from engine.testing import plan
from engine.testing.cases import Case
from engine.testing.first import Symptom, Verdict, examine
from engine.testing.investigate import NUMBERS, investigate
from engine.testing.kinks import examine_kinks
from engine.testing.report import Finding, Level
from engine.testing.trial import Subject

TARGET = re.compile(
    r"(target|label|truth|true|mask|noise|ind(ex|ices)|idx|length|expected|reference|desired)"
    r"|^(t|y|gt|tgt|ref)$"
)  # names of arguments for which None is what their authors mean
WAITING = 4  # so many seconds on the clock count as one of computing: the machine may be busy


@dataclass
class Checker:
    """Findings and notes as they come up, and the time that is left.

    seconds: when so many of computing are over, the rest is left out and a note says so.
    compared: the number of cases that forward took and whose gradients were looked at.
    """

    subject: Subject
    seconds: float = 20.0
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seen: set[tuple[str, int]] = field(default_factory=set)
    compared: int = 0

    def __post_init__(self) -> None:
        self.start = process_time(), monotonic()

    @property
    def wrong_now(self) -> bool:
        return any(finding.level == Level.NOW for finding in self.findings)

    def add(self, finding: Finding | None) -> None:
        """Keeps a finding unless one of its kind is known for the argument."""
        known = [(f.kind, f.argument) for f in self.findings]
        if finding is not None and (finding.kind, finding.argument) not in known:
            self.findings.append(finding)

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def late(self) -> bool:
        computing, waiting = process_time() - self.start[0], monotonic() - self.start[1]
        if max(computing, waiting / WAITING) < self.seconds:
            return False
        self.note(f"stopped after {self.seconds:g} s; seconds= or --seconds allows more.")
        return True

    def try_all(self, cases: Iterable[Case], quiet: bool = False) -> None:
        """Examines cases; quiet: errors of backward are no findings, wrong numbers are."""
        for case in cases:
            if self.late():
                break
            verdict = self._guarded(examine, case)
            if verdict is not None:
                self._take(case, verdict, quiet)

    def _guarded(self, method: Callable[[Subject, Case], Verdict], case: Case) -> Verdict | None:
        """The outcome of a case; one that cannot be examined leaves a note."""
        try:
            return method(self.subject, case)
        except Exception as error:
            self.note(f"a case could not be examined: {type(error).__name__}: {error}")
            return None

    def try_for_notes(self, cases: Iterable[Case]) -> None:
        """Examines cases that the author need not have meant: wrong numbers become a note."""
        for case in cases:
            verdict = None if self.late() else self._guarded(examine, case)
            symptoms = self.fresh(case, verdict) if verdict is not None else []
            numbers = [symptom for symptom in symptoms if symptom.what in NUMBERS]
            if numbers:
                self._note_shapes(case, numbers[0])
                return

    def _note_undecided(self, verdict: Verdict) -> None:
        for i in verdict.undecided:
            name = self.subject.pattern.slots[i].name
            self.note(
                f"`{name}`: in some cases the differences of forward did not settle (it is rough, "
                "steep or rounded there), and its gradient was not judged."
            )

    def _note_empty(self, case: Case, verdict: Verdict) -> None:
        """A note on a backward that fails for empty tensors and nothing else out of the way."""
        plain = case.but(shapes=()) == self.subject.case(seed=case.seed).but(shapes=())
        words = [s.detail for s in verdict.symptoms if s.what == "raises"]
        if plain and words and not self.findings:
            self.note(f"backward raises for empty tensors: {words[0]}.")

    def _note_shapes(self, case: Case, symptom: Symptom) -> None:
        name = self.subject.pattern.slots[symptom.argument].name
        shapes = ", ".join(str(s) for s in case.shapes if s is not None)
        self.note(
            f"for shapes {shapes}, equal in the example, forward gives a result, and the gradient "
            f"of `{name}` is silently wrong: refuse in forward what is not meant."
        )

    def try_kinks(self) -> None:
        """Special numbers, where one-sided slopes differ."""
        for case in plan.kinks(self.subject):
            look = partial(examine_kinks, notes=self.notes, skip=self._wrong_arguments())
            verdict = None if self.late() else self._guarded(look, case)
            if verdict is not None:
                self._take(case, verdict, False)
        self.notes = list(dict.fromkeys(self.notes))

    def _take(self, case: Case, verdict: Verdict, quiet: bool) -> None:
        self.compared += not verdict.refused
        if case.values in ("ordinary", "example"):
            self._note_undecided(verdict)
        for symptom in self.fresh(case, verdict):
            if symptom.what in NUMBERS or not quiet:
                self.seen.add(_key(symptom))
                self._investigate(case, symptom)

    def _wrong_arguments(self) -> set[int]:
        return {argument for what, argument in self.seen if what == "numbers"}

    def fresh(self, case: Case, verdict: Verdict) -> list[Symptom]:
        """The symptoms of a verdict that no finding stands for yet.

        Nor do those count that an argument which is wrong already may have caused.
        """
        numbers = self._wrong_arguments()
        if numbers & {*(case.repeated or ())}:
            return []
        if _empty(case):
            self._note_empty(case, verdict)
            return []
        return [
            symptom
            for symptom in verdict.symptoms
            if _key(symptom) not in self.seen
            and symptom.argument not in numbers
            and not (symptom.what in NUMBERS and ("shape", symptom.argument) in self.seen)
            and not (numbers and symptom.what in ("ties", "raises") and self.wrong_now)
        ]

    def _investigate(self, case: Case, symptom: Symptom) -> None:
        finding = investigate(self.subject, case, symptom)
        name = self.subject.pattern.slots[symptom.argument].name if symptom.argument >= 0 else ""
        if finding is not None and finding.kind == "missing-gradient" and TARGET.search(name):
            self.note(f"`{name}` gets no gradient, as is usual for what its name says.")
            return
        if finding is None:
            self.note(f"`{name}`: a gradient looked wrong, but its differences did not settle.")
        self.add(finding)


def _empty(case: Case) -> bool:
    return any(0 in shape for shape in case.shapes if shape is not None)


def _key(symptom: Symptom) -> tuple[str, int]:
    return "numbers" if symptom.what in NUMBERS else symptom.what, symptom.argument


def first_derivatives(checker: Checker, outputs: int) -> None:
    """Every case of the plan. outputs: how many outputs of forward carry a gradient."""
    subject = checker.subject
    checker.try_all(plan.now(subject))
    checker.try_all(plan.sizes(subject))
    checker.try_all(plan.untied(subject), quiet=True)
    checker.try_all(plan.scalars(subject), quiet=True)
    checker.try_for_notes([*plan.independent(subject), *plan.broadcast(subject)])
    checker.try_all(plan.usage(subject, outputs))
    checker.try_all(plan.subsets(subject))
    checker.try_all(plan.numbers(subject))
    checker.try_all(plan.arguments(subject))
    checker.try_kinks()

