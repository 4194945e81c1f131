"""Finds the mistakes in somebody's own scalar autograd class, as micrograd's `Value` is one.

A class is tried as it is: what it offers is found by trying, and only that is checked. Programs
of one operation come first, then random ones of more; their numbers and gradients are compared
with those of `engine.Value`. A program that differs is made as small as it gets, and the mistake
that gives the same wrong gradients on every program tried is named.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from engine.testing.report import Finding, Level, Report
from engine.testing.value_class_edges import again, cost, deep, edges, in_place
from engine.testing.value_class_search import Search, unhashable
from engine.testing.value_class_subject import NOW, OTHER, Subject, discover

POINTS: dict[Level | str, float] = {Level.NOW: 20.0, Level.SHAPES: 10.0, Level.WASTEFUL: 5.0}


class ScalarFinding(Finding):
    """A mistake of a scalar class, which has no shapes: what works here fails elsewhere."""

    @property
    def label(self) -> str:
        return "wrong in other programs" if self.level is OTHER else self.level.label


def check_value_class(cls: type[Any], *, programs: int = 150, size: int = 6,
                      seed: int = 0) -> Report:
    """A report on a class of differentiable numbers; true when nothing was found.

    cls: `cls(number)` makes an instance, which keeps its number in `data`, its gradient in `grad`
    and has `backward()`. Which operations it offers is found by trying: those of Python (also
    with plain numbers on either side) and the methods of one operand that `engine.Value` has.
    programs: how many random ones of each size, from 2 operations to `size`. The same seed gives
    the same programs.

    A graph that its first backward frees may refuse the second. Numbers agree within 1e-6
    (1e-3 where the class keeps single precision). A class that loops without end is not stopped.
    """
    notes: list[str] = []
    found = findings(cls, programs, size, seed, notes)
    return Report(cls.__name__, [ScalarFinding(**vars(f)) for f in found], notes)


def findings(cls: type[Any], programs: int, size: int, seed: int,
             notes: list[str]) -> Iterator[Finding]:
    """The findings on a class as they come up; what was looked at goes to the notes."""
    if trouble := unfit(cls):
        yield trouble
        return
    subject = Subject(cls)
    forms, refused = discover(subject)
    notes.append(f"checked: {', '.join(form.text for form in forms) or 'no operation'}")
    yield from refused
    search = Search(subject, forms, seed)
    yield from search.run(programs, size)
    yield from edges(search)
    yield from in_place(subject)
    for look in (again, deep, cost):
        yield from look(search)


def unfit(cls: type[Any]) -> Finding | None:
    """The finding on a class of which nothing else can be checked."""
    try:
        subject, v, root = Subject(cls), cls(0.5), cls(2.0)
        root.backward()
        number, gradient, start = subject.number(v), subject.gradient(v), subject.gradient(root)
    except Exception as error:
        message = f"raises {type(error).__name__}: {error}{unhashable(error)}"
        return Finding(NOW, "raises", f"{cls.__name__}(2.0).backward()", message)
    if number != 0.5:
        message = f"keeps {number!r}; a Value must keep the number that it is given"
        return Finding(NOW, "number", f"{cls.__name__}(0.5)", message)
    if gradient != 0.0:
        message = f"has a gradient of {gradient!r} before any backward; 0 is right"
        return Finding(NOW, "start", f"{cls.__name__}(0.5)", message)
    if start not in (0.0, 1.0):
        message = f"backward gives the Value itself a gradient of {start!r}; it must start with 1"
        return Finding(NOW, "root", f"{cls.__name__}(2.0).backward()", message)
    return None


def grade(report: Report, points: Mapping[Level | str, float] = POINTS,
          full: float = 100.0) -> float:
    """The points that a homework keeps: `full`, less those of each finding, not below 0.

    points: what a finding costs, by its kind or by its level; the kind's number counts first.
    """
    lost = (points.get(f.kind, points.get(f.level, 0.0)) for f in report.findings)
    return max(0.0, full - sum(lost))


def looks_like_value_class(cls: object) -> bool:
    """Whether cls is a class of numbers with a `backward` of their own, to be checked here."""
    if not isinstance(cls, type):
        return False
    return callable(getattr(cls, "backward", None)) and hasattr(cls, "__add__")
