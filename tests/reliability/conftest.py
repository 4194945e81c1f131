"""The short form and the long one, and the figures that docs/reliability.md shows."""

import pytest

FIGURES = {}


@pytest.fixture
def long(request):
    """Chooses between a short run's number and a long one's: long(300, 100_000)."""
    asked = request.config.getoption("--long")
    return lambda short, much: much if asked else short


@pytest.fixture
def figure():
    """figure("forks", 50) adds a number to the lines at the end of the run."""

    def add(name, count):
        FIGURES[name] = FIGURES.get(name, 0) + count

    return add


def pytest_terminal_summary(terminalreporter):
    if FIGURES:
        terminalreporter.section("figures")
        for name, count in FIGURES.items():
            terminalreporter.line(f"{name}: {count:,}")
