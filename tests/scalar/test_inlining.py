"""The operators written out for the Python build do what the text of `value.py` says."""

import math
from fractions import Fraction
from operator import methodcaller
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from twin import interpreted

import engine
from engine import builds, inlining

value = interpreted("value")
TEXT = dict(vars(value.Value))
inlining.inline_operators(value.Value)
WRITTEN = {n: f for n, f in vars(value.Value).items() if f is not TEXT[n]}

edge = st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.0, math.inf, -math.inf, math.nan, 5e-324, 1e308])
number = st.one_of(edge, st.floats(), st.floats(-10.0, 10.0))
others = st.one_of(
    number,
    st.integers(-9, 9),
    st.fractions(),
    st.floats(width=32).map(np.float32),
    st.booleans(),
    st.none(),
)
FIELDS = ("data", "_slope_a", "_slope_b", "_extra", "_requires_grad", "grad", "_mark")


def made(function, a, b):
    """What an operator makes: its fields, its parents by their places, or what it raises."""
    operands = (a,) if function.__code__.co_argcount == 1 else (a, b)
    try:
        y = function(*operands)
    except (OverflowError, TypeError) as error:
        return type(error), str(error)
    if not isinstance(y, value.Value):
        return y
    parents = [next((i for i, x in enumerate((a, b)) if x is p), None) for p in (y._a, y._b)]
    return [repr(getattr(y, name)) for name in FIELDS], parents


def test_every_arithmetic_operator_is_written_out():
    names = "add radd sub rsub mul rmul truediv rtruediv pow rpow neg abs".split()
    assert {f"__{name}__" for name in names} <= set(WRITTEN)
    for function in WRITTEN.values():
        calls = {"binary", "with_number", "unary", "option", "compare", "cython"}
        assert calls & {*function.__code__.co_names} == set()


@pytest.mark.skipif(builds.backend() != "python", reason="the compiled build has a compiler")
def test_the_python_build_has_them():
    assert "binary" not in engine.Value.__mul__.__code__.co_names


def test_the_walk_does_not_ask_whether_it_is_compiled():
    arrange = value.arrange
    assert "cython" in arrange.__code__.co_names
    inlining.settle(value, "arrange", "further")
    for function in (value.arrange, value.further):
        assert "cython" not in function.__code__.co_names
    x = value.Value(3.0)
    y = x * x + x
    y.backward()
    assert (x.grad, value.arrange.__doc__) == (7.0, arrange.__doc__)


@pytest.mark.parametrize("name", WRITTEN)
@given(a=number, b=others, both=st.booleans(), needed=st.tuples(st.booleans(), st.booleans()))
def test_what_is_written_out_does_the_same(name, a, b, both, needed):
    a = value.Value(a, requires_grad=needed[0])
    if both:
        b = value.Value(0.5 if b is None else b, requires_grad=needed[1])
    assert made(WRITTEN[name], a, b) == made(TEXT[name], a, b)


def test_what_is_made_with_itself_has_both_parents():
    a = value.Value(3.0)
    y = WRITTEN["__mul__"](a, a)
    assert y._a is y._b is a


def test_a_line_of_the_text_stands_behind_each_instruction():
    function, lines = WRITTEN["__mul__"], Path(value.__file__).read_text().splitlines()
    assert (function.__qualname__, function.__code__.co_filename) == (
        "Value.__mul__",
        value.__file__,
    )
    passed = {lines[n - 1].strip() for _, _, n in function.__code__.co_lines() if n}
    assert {"y = value(x, z)", "v._extra = op"} <= passed


# --- what cannot be written out stays as it is ---


def twice(a, b):
    a = a + b
    return a + b


def sum_of(a, b):
    c = a + b
    return c


class Kinds:
    def __add__(self, b):
        return twice(self, b)

    def __sub__(c, b):  # sum_of has a c of its own
        return sum_of(c, b)

    def __mul__(self, b):
        return twice(self, b + 1)

    def __lt__(self, b):
        return len(b)

    def __gt__(self, b):
        return missing(self, b)  # noqa: F821

    def __neg__(self):
        x = sum_of(self, self)
        return x

    def __or__(self, b):
        return sum_of(self, b)

    def plain(self, b):
        return sum_of(self, b)


def test_only_what_keeps_its_meaning_is_written_out():
    before = dict(vars(Kinds))
    inlining.inline_operators(Kinds)
    assert {n for n, f in vars(Kinds).items() if f is not before[n]} == {"__or__"}
    assert methodcaller("__or__", 2.5)(Whole(1)) == Fraction(7, 2)


class Whole(Kinds):
    def __init__(self, x):
        self.x = x

    def __add__(self, b):
        return self.x + b


def test_without_the_text_the_calls_stay(monkeypatch):
    def no_text(function):
        raise OSError("could not get source code")

    monkeypatch.setattr(inlining, "source", no_text)
    push_back = value.push_back
    inlining.settle(value, "push_back")
    assert value.push_back is push_back
    assert inlining.inlined(TEXT["__mul__"]) is TEXT["__mul__"]
