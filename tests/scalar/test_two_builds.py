"""Both builds give the same bits: `engine.value` as it stands, and compiled."""

import importlib
import math

import pytest
from hypothesis import given, strategies as st
from programs import programs
from twin import interpreted

from engine import builds
from engine.registry import RULES

if builds.problem():
    pytest.skip(builds.problem(), allow_module_level=True)
value = interpreted("value")
fast = importlib.import_module("engine_fast.value")

edge = st.sampled_from([0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 5e-324, 1e308, 710.0])
number = st.one_of(edge, st.floats(), st.floats(-10.0, 10.0))
UNARY = [rule.name for rule in RULES.values() if rule.operands == ["a"]]
BINARY = [rule.name for rule in RULES.values() if rule.operands == ["a", "b"]]
OPTION = [rule.name for rule in RULES.values() if rule.operands == ["a", "k"]]
OPERATORS = {
    "add": "__add__",
    "sub": "__sub__",
    "mul": "__mul__",
    "div": "__truediv__",
    "pow": "__pow__",
    "pow_number": "__pow__",
    "neg": "__neg__",
}


def bits(x):
    """A float as text, with the sign of a zero; all nans are one."""
    return "nan" if x != x else x.hex()


def outcome(cls, name, a, *others):
    """The bits of a result and of its gradients."""
    operands = [cls(a), *others]
    y = getattr(operands[0], OPERATORS.get(name, name))(*operands[1:])
    y.backward()
    return [bits(y.data), *(bits(v.grad) for v in operands if isinstance(v, cls))]


def test_there_are_two_builds_to_compare():
    assert fast.__file__.endswith((".so", ".pyd"))
    assert value.__file__.endswith(".py")
    assert fast.Value is not value.Value
    assert len(UNARY) > 20
    assert len(BINARY) > 5


@pytest.mark.parametrize("name", UNARY)
@given(a=number)
def test_operations_of_one_operand_give_the_same_bits(name, a):
    assert outcome(value.Value, name, a) == outcome(fast.Value, name, a)


@pytest.mark.parametrize("name", BINARY)
@given(a=number, b=number)
def test_operations_of_two_operands_give_the_same_bits(name, a, b):
    python, compiled = value.Value, fast.Value
    assert outcome(python, name, a, python(b)) == outcome(compiled, name, a, compiled(b))


@pytest.mark.parametrize("name", OPTION)
@given(a=number, k=number)
def test_operations_with_a_number_give_the_same_bits(name, a, k):
    assert outcome(value.Value, name, a, k) == outcome(fast.Value, name, a, k)


@given(programs(size=12))
def test_random_programs_give_the_same_bits(program):
    python, compiled = program.run(value.Value), program.run(fast.Value)
    python[-1].backward()
    compiled[-1].backward()
    for x, y in zip(python, compiled, strict=True):
        assert (x.data.hex(), x.grad.hex()) == (y.data.hex(), y.grad.hex())


def test_a_walk_over_many_nodes_gives_the_same_bits(rng):
    numbers = rng.normal(size=3000)
    places = rng.integers(0, 50, size=(3000, 2))

    def run(cls):
        nodes = [cls(float(x)) for x in numbers[:50]]
        for x, (i, j) in zip(numbers, places, strict=True):
            nodes.append((nodes[-1 - i] * float(x) + nodes[-1 - j]).tanh())
        nodes[-1].backward()
        return [v.grad.hex() for v in nodes]

    assert run(value.Value) == run(fast.Value)


def test_the_compiled_class_has_every_method_of_the_interpreted_one():
    special = {"__slots__", "__dict__", "__module__", "__doc__", "__annotations__"}
    special |= {"__firstlineno__", "__static_attributes__"}  # of interpreted classes, since 3.13
    names = {name for name in vars(value.Value) if name[0] != "_" or name[:2] == "__"} - special
    assert [name for name in sorted(names) if not hasattr(fast.Value, name)] == []
