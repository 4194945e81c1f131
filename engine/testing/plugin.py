"""The pytest plugin: Functions are checked with the arguments that a test suite calls them with.

`pytest -p engine.testing.plugin --engine-check package.module` records the first calls of every
Function of the module while the tests run and checks each at the end. A test with the marker
`engine_check` fails when one of the Functions that it calls has a finding;
`engine_check(level="now", seconds=5)` passes these on to `engine.testing.check`.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Any

import pytest

from engine.testing.adapter import libraries
from engine.testing.checking import check
from engine.testing.record import Recorder
from engine.testing.report import Report

RECORDER = pytest.StashKey["Session"]()


class Session:
    """What is recorded over a whole run of tests, for the modules that were asked for."""

    def __init__(self, modules: list[str]) -> None:
        self.modules = modules
        self.recorder = endless()
        self.stack = ExitStack()
        self.reports: list[Report] = []
        self.unseen: list[str] = []

    def wanted(self, function: type) -> bool:
        parents = [f"{module}." for module in self.modules]
        return function.__module__ in self.modules or any(
            function.__module__.startswith(parent) for parent in parents
        )

    def check_all(self) -> None:
        """Checks every recorded Function; those that no test called are named."""
        for function, calls in list(self.recorder.seen.items()):
            if self.wanted(function):
                self.reports += [check(function, *example) for example in calls]
        called = set(self.recorder.seen)
        self.unseen = sorted(f.__qualname__ for f in self._defined() if f not in called)

    def _defined(self) -> Iterator[type]:
        for name in self.modules:
            for thing in vars(import_module(name)).values():
                if isinstance(thing, type) and thing.__module__ == name and _is_function(thing):
                    yield thing


def _is_function(thing: type) -> bool:
    return any(issubclass(thing, own.Function) for own in libraries())


def endless() -> Recorder:
    """A recorder that never stops what it watches."""
    return Recorder(seconds=float("inf"))


def watch(recorder: Recorder, stack: ExitStack) -> None:
    for own in libraries():
        stack.enter_context(recorder.watching(own))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("engine").addoption(
        "--engine-check",
        action="append",
        default=[],
        metavar="MODULE",
        help="check the custom Functions of a module with the arguments that the tests call "
        "them with (may be given several times)",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "engine_check(level, seconds): the custom autograd Functions that the test calls are "
        "checked by engine.testing; a finding fails the test",
    )
    modules = config.getoption("--engine-check")
    if modules:
        for module in modules:
            import_module(module)
        config.stash[RECORDER] = session = Session(modules)
        watch(session.recorder, session.stack)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    marker = item.get_closest_marker("engine_check")
    if marker is None:
        return (yield)
    recorder, stack = endless(), ExitStack()
    with stack:
        watch(recorder, stack)
        result = yield
    with unseen(item.config):
        reports = [
            check(function, *example, **marker.kwargs)
            for function, calls in list(recorder.seen.items())
            for example in calls
        ]
    if not reports:
        pytest.fail("engine_check: the test called no custom Function", pytrace=False)
    if not all(reports):
        pytest.fail("\n\n".join(str(r) for r in reports if not r), pytrace=False)
    return result


@contextmanager
def unseen(config: pytest.Config) -> Iterator[None]:
    """What is called in this block is not recorded for --engine-check: no test calls it."""
    mine = config.stash.get(RECORDER, None)
    if mine is not None:
        mine.recorder.paused = True
    try:
        yield
    finally:
        if mine is not None:
            mine.recorder.paused = False


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    mine = session.config.stash.get(RECORDER, None)
    if mine is None:
        return
    mine.stack.close()
    mine.check_all()
    if not all(mine.reports) and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    mine = config.stash.get(RECORDER, None)
    if mine is None:
        return
    terminalreporter.section("engine check")
    for report in mine.reports:
        terminalreporter.write_line(str(report))
    for name in mine.unseen:
        terminalreporter.write_line(f"{name}: no test called it, so that it was not checked")


