"""The pytest plugin: `--engine-check` for a module, a marker for a test."""

import os
import sys
from pathlib import Path
from subprocess import run

import pytest

from tests.testing.library import NAME

ROOT = str(Path(__file__).resolve().parents[2])
IMPORT = "import torch" if NAME == "torch" else "import engine as torch"

LAYERS = f"""
{IMPORT}


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


class Triple(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 3

    @staticmethod
    def backward(ctx, g):
        return -g * 3


class Unused(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return g
"""

TESTS = f"""
{IMPORT}
import pytest
import layers


def test_double():
    assert layers.Double.apply(torch.ones(2)).tolist() == [2.0, 2.0]


def test_triple():
    assert layers.Triple.apply(torch.ones(2)).tolist() == [3.0, 3.0]


@pytest.mark.engine_check(examples=0)
def test_double_is_right():
    layers.Double.apply(torch.ones(2))


@pytest.mark.engine_check(examples=0)
def test_triple_is_right():
    layers.Triple.apply(torch.ones(2))


@pytest.mark.engine_check
def test_nothing():
    pass
"""


@pytest.fixture
def pytest_in(tmp_path):
    (tmp_path / "layers.py").write_text(LAYERS)
    (tmp_path / "test_layers.py").write_text(TESTS)
    path = os.pathsep.join([ROOT, str(tmp_path)])

    def start(*arguments):
        command = [sys.executable, "-m", "pytest", "-q", "-p", "engine.testing.plugin"]
        environment = {**os.environ, "PYTHONPATH": path}
        command += ["-W", "ignore", *arguments]
        kept = {"capture_output": True, "text": True, "check": False, "timeout": 300}
        done = run(command, cwd=tmp_path, env=environment, **kept)
        return done.returncode, done.stdout + done.stderr

    return start


def test_module_is_checked_with_the_arguments_of_its_tests(pytest_in):
    chosen = "(test_double or test_triple) and not right"
    status, text = pytest_in("--engine-check", "layers", "-k", chosen)
    assert status == 1
    assert "engine check" in text
    assert "Double: nothing found" in text
    assert "[wrong now] sign of `x`" in text
    assert "Unused: no test called it" in text


def test_right_functions_leave_the_status_alone(pytest_in):
    status, text = pytest_in("--engine-check", "layers", "-k", "test_double and not right")
    assert status == 0
    assert "1 passed" in text
    assert "Double: nothing found" in text


def test_what_the_marker_tries_is_no_call_of_a_test(pytest_in):
    status, text = pytest_in("--engine-check", "layers", "-k", "test_double_is_right")
    assert (status, text.count("Double: nothing found")) == (0, 1)


def test_marked_test_fails_when_a_function_that_it_calls_is_wrong(pytest_in):
    status, text = pytest_in("-k", "is_right or nothing")
    assert status == 1
    assert "1 passed" in text
    assert "2 failed" in text
    assert "sign of `x`" in text
    assert "the test called no custom Function" in text


def test_without_the_option_nothing_is_checked(pytest_in):
    status, text = pytest_in("-k", "test_double and not right")
    assert status == 0
    assert "engine check" not in text
