"""Every wrong Function is found with its explanation, and no right one raises an alarm."""

from functools import cache

import pytest

from engine.testing import Level, Report, check
from tests.testing.collection import Entry, entries
from tests.testing.rates import found

WRONG, RIGHT = entries("wrong"), entries("right")
pytestmark = pytest.mark.slow  # some minutes: once, on one build

# What these findings say is read off the class itself, or off its call.
WITHOUT_PROGRAM = {
    "forward-raises",
    "grad-dtype",
    "hidden-tensor",
    "marked-non-differentiable",
    "non-deterministic",
    "output-dtype",
    "output-type",
    "precision",
    "saved-object",
    "saved-twice",
}


def named(entry: Entry) -> str:
    return entry.name


@cache
def report_on(entry: Entry) -> Report:
    return check(entry.function, *entry.example(), examples=10)


def test_the_collections_are_as_large_as_they_are_said_to_be():
    assert len(WRONG) >= 60
    assert len(RIGHT) >= 60


@pytest.mark.parametrize("entry", WRONG, ids=named)
def test_wrong_function_is_found_with_its_explanation(entry):
    assert found(entry, report_on(entry)), str(report_on(entry))


@pytest.mark.parametrize("entry", RIGHT, ids=named)
def test_right_function_raises_no_alarm(entry):
    assert report_on(entry), str(report_on(entry))


@pytest.mark.parametrize("entry", WRONG + RIGHT, ids=named)
def test_nothing_is_left_unexamined(entry):
    assert not [note for note in report_on(entry).notes if "could not be" in note]


@pytest.mark.parametrize("entry", WRONG, ids=named)
def test_program_of_a_finding_fails_as_long_as_the_mistake_is_there(entry):
    finding = next(f for f in report_on(entry) if f.kind == entry.kind)
    if not finding.program:
        assert finding.level == Level.WASTEFUL or finding.kind in WITHOUT_PROGRAM
        return
    with pytest.raises((AssertionError, RuntimeError, AttributeError, TypeError, ValueError)):
        exec(compile(finding.program, f"<{entry.name}>", "exec"), {"__name__": "pasted"})
