"""What a type checker is told is what runs: stubtest, and a strict program of a user's."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import engine
from engine import builds

ROOT = Path(engine.__file__).parent.parent
# Where what runs is meant to be other than what is declared, as a regular expression.
ALLOWED = r"""
engine\.\w+\.__(test|pyx_capi)__
engine\.(creation|nodes|value)\.Value\.__r?pow__  # C passes a third argument, the modulus
engine\.(value|nodes)\.Value\.__(get|set|del)attr__  # compiled only: a Python class has a __dict__
engine\.tensors\.Tensor\.__getattr__  # stands for the methods that `ops` adds
engine\.value\.(arrange|node|push_back|watch)  # C functions, and the next three too
engine\.modes\.(state|watched)
engine\.fused\.\w+
engine\.tape\.[\w.]+
engine\.nodes\.NodeBase\.__init__  # compiled, it takes what any class does
engine\.(nodes|function|tensors)\.\w+Base\.(differentiate|release)  # C methods
engine\.arguments\.(arity|signature)  # under functools.cache, which is declared without arguments
"""


def mypy(*arguments, folder=ROOT, build=None):
    """Runs a module of mypy; returns whether it was content, and what it said."""
    pytest.importorskip("mypy")
    variables = os.environ | {"ENGINE_BACKEND": build or engine.backend()}
    command = [sys.executable, "-m", *map(str, arguments)]
    done = subprocess.run(
        command, cwd=folder, env=variables, capture_output=True, text=True, check=False
    )
    return done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("build", ["python", "cython"])
def test_what_is_declared_is_what_runs_in_each_build(build, tmp_path):
    if build == "cython" and builds.problem():
        pytest.skip(builds.problem())
    allowed = tmp_path / "allowed"
    allowed.write_text(ALLOWED)
    options = "--ignore-missing-stub --ignore-positional-only --ignore-disjoint-bases".split()
    options += ["--ignore-unused-allowlist", "--allowlist", allowed]
    modules = [f"engine.{name}" for name in builds.IN_PLACE]
    content, said = mypy(
        "mypy.stubtest", *modules, *options, "--mypy-config-file", "pyproject.toml", build=build
    )
    assert content, said


PROGRAM = """\
from typing import Any

import engine
from engine import Function, Tensor, Value

v = Value(2.0, label="v")
w = 1 + v * 3.0 - v.tanh() ** 2 / abs(v)
w.backward()
reveal_type(w)
reveal_type(v.grad)
v.data -= 0.1 * v.grad
v.grad = None
t = engine.ones(3, requires_grad=True)
reveal_type(t * 2.0 - 1)
reveal_type(t.grad)
reveal_type(v * t)
total: Tensor = engine.tanh(t).exp().sum()
total.backward()


class Double(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x * 2.0

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        return g * 2.0


Double.apply(t).sum().backward()
Value("2.0")
v + "1"
"""
SAID = [
    (9, 'Revealed type is "engine.value.Value"'),
    (10, 'Revealed type is "float"'),
    (14, 'Revealed type is "engine.tensors.Tensor"'),
    (15, 'Revealed type is "engine.tensors.Tensor | None"'),
    (16, 'Revealed type is "engine.tensors.Tensor"'),
    (32, 'Argument 1 to "Value" has incompatible type "str"'),
    (33, 'Unsupported operand types for + ("Value" and "str")'),
]


@pytest.mark.slow
def test_a_strict_program_sees_types_and_is_told_of_wrong_ones(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    _, said = mypy("mypy", "--strict", "program.py", folder=tmp_path)
    lines = [line for line in said.splitlines() if line.startswith("program.py:")]
    assert len(lines) == len(SAID), said
    for line, (number, text) in zip(lines, SAID, strict=True):
        assert line.startswith(f"program.py:{number}:"), said
        assert text in line


def names(path):
    """The public names, and the operators, that the class Value of a file defines."""
    tree = ast.parse(path.read_text())
    found = next(c for c in tree.body if isinstance(c, ast.ClassDef) and c.name == "Value")
    return {f.name for f in found.body if isinstance(f, ast.FunctionDef)}


def test_every_method_of_a_value_is_declared():
    core = ROOT / "engine"
    assert names(core / "value.py") - {"__repr__"} <= names(core / "value.pyi")
