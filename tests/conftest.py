"""What every test starts from: a seeded generator, and hypothesis as in continuous integration."""

import numpy as np
import pytest
from hypothesis import settings

import engine
from engine.registry import RULES

# The same examples in every run, no deadline: a machine may be busy.
settings.register_profile("engine", settings.get_profile("ci"), deadline=None)
settings.load_profile("engine")


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="tests/reliability in its long form")


def pytest_report_header():
    return f"engine: the {engine.backend()} build ({engine.builds.choice()[1]})"


@pytest.fixture(autouse=True)
def rules_of_their_own():
    """Rules that a test makes are gone after it: others look at every rule."""
    before = set(RULES)
    yield
    for name in set(RULES) - before:
        del RULES[name]


@pytest.fixture
def rng():
    """A generator of random numbers, the same for every test."""
    return np.random.default_rng(20)
