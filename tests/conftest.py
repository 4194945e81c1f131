"""What every test starts from: a seeded generator, and hypothesis as in continuous integration."""

import sys

import numpy as np
import pytest
from hypothesis import settings

import engine
from engine.answers import Answer, Finder
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


@pytest.fixture(autouse=True)
def imports_of_their_own():
    """Where a command had engine answer for torch or micrograd, it no longer does after it."""
    yield
    if any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path[:] = [f for f in sys.meta_path if not isinstance(f, Finder)]
        for name in [name for name, x in sys.modules.items() if isinstance(x, Answer)]:
            del sys.modules[name]


@pytest.fixture
def rng():
    """A generator of random numbers, the same for every test."""
    return np.random.default_rng(20)
