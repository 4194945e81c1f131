"""Every wrong Function is found with its explanation, and no right one raises an alarm."""

import pytest

from engine.testing import Level, check
from tests.testing.collection import Entry, entries
from tests.testing.rates import found

WRONG, RIGHT = entries("wrong"), entries("right")


def named(entry: Entry) -> str:
    return entry.name


def test_the_collections_are_as_large_as_they_are_said_to_be():
    assert len(WRONG) >= 60
    assert len(RIGHT) >= 60


@pytest.mark.parametrize("entry", WRONG, ids=named)
def test_wrong_function_is_found_with_its_explanation(entry):
    report = check(entry.function, *entry.example())
    assert found(entry, report), str(report)


@pytest.mark.parametrize("entry", RIGHT, ids=named)
def test_right_function_raises_no_alarm(entry):
    report = check(entry.function, *entry.example())
    assert report, str(report)


PROGRAMS = [entry for entry in WRONG if entry.kind not in ("precision", "memory")]


@pytest.mark.parametrize("entry", PROGRAMS, ids=named)
def test_program_of_a_finding_fails_as_long_as_the_mistake_is_there(entry):
    report = check(entry.function, *entry.example(), examples=0)
    finding = next(f for f in report if (f.kind, f.argument) == (entry.kind, entry.argument))
    if not finding.program:
        assert finding.level <= Level.WASTEFUL or finding.kind in WITHOUT_PROGRAM
        return
    with pytest.raises(Exception):  # noqa: B017, PT011
        exec(compile(finding.program, f"<{entry.name}>", "exec"), {"__name__": "pasted"})


# What these findings say is read off the class itself, or off its call.
WITHOUT_PROGRAM = {
    "forward-raises",
    "grad-dtype",
    "hidden-tensor",
    "marked-non-differentiable",
    "non-deterministic",
    "output-dtype",
    "output-type",
    "saved-object",
    "saved-twice",
}
