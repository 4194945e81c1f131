"""No operation of engine raises an alarm."""

import pytest

from engine.testing import check
from tests.testing.library import NAME

if NAME != "engine":
    pytest.skip("the operations are engine's", allow_module_level=True)

from tests.testing.operations import operations

OPERATIONS = operations()
pytestmark = pytest.mark.slow  # some minutes: once, on one build


def test_every_rule_and_many_more_are_there():
    assert len(OPERATIONS) >= 90


@pytest.mark.parametrize("entry", OPERATIONS, ids=lambda entry: entry.function.__name__)
def test_operation_raises_no_alarm(entry):
    report = check(entry.function, *entry.example(), examples=0)
    assert report, str(report)
