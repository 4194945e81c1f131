"""Every rule, found by itself: values, slopes and derivatives to third order at ordinary points."""

import math
import subprocess
import sys

import pytest
from differences import derivative
from hypothesis import HealthCheck, assume, given, settings, strategies as st

import engine
from engine import Value
from engine.autograd import grad
from engine.registry import RULES

RULE = pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.name)
# A rule under another name than its method: the operators have their own.
OPERATORS = {"add", "sub", "mul", "div", "pow", "pow_number", "neg"}
coordinate = st.floats(-3.0, 3.0, width=32)
direction = st.sampled_from([(1.0, 0.5), (0.5, -1.0), (1.0, 1.0), (-1.0, 0.0), (1.0, 0.0)])


def on_a_line(rule, start, direction):
    """The rule along a line through `start`: a function of one number or Value."""
    slopes = [0.0 if name == "k" else u for name, u in zip(rule.operands, direction, strict=False)]

    def f(t):
        return rule(*(x + u * t if u else x for x, u in zip(start, slopes, strict=False)))

    return f


def nth(f, t, order):
    """The derivative of f of this order at t, by the engine."""
    x = Value(t)
    y = f(x)
    for _ in range(order):
        if not isinstance(y, Value) or not y.requires_grad:
            return 0.0
        (y,) = grad(y, x, create_graph=True, materialize_grads=True)
    return y.data if isinstance(y, Value) else y


def is_smooth(f):
    """Whether f has no kink, pole or end of its domain near 0, as far as its values tell."""
    near = [f(1e-4 * i) for i in range(-5, 6)]
    bends = [near[i - 1] - 2.0 * near[i] + near[i + 1] for i in range(1, 10)]
    return all(map(math.isfinite, near)) and max(map(abs, bends)) < 1e-6


@pytest.mark.parametrize("order", [1, 2, 3])
@RULE
@settings(max_examples=15, suppress_health_check=[HealthCheck.filter_too_much])  # acosh
@given(start=st.tuples(coordinate, coordinate), direction=direction)
def test_derivatives_are_those_by_differences(rule, order, start, direction):
    f = on_a_line(rule, start, direction)
    assume(is_smooth(lambda t: float(f(t))))
    right, error = derivative(lambda t: nth(f, t, order - 1), 0.0, width=0.04)
    assume(error < 1e-5 * (1.0 + abs(right)))
    assert abs(nth(f, 0.0, order) - right) <= error + 1e-9 * (1.0 + abs(right))


def test_the_slope_of_a_power_by_its_base_depends_on_an_exponent_of_0():
    a, b = Value(2.0), Value(0.0)
    (slope,) = grad(a**b, a, create_graph=True)
    (mixed,) = grad(slope, b)
    assert mixed.data == 0.5


@RULE
@settings(max_examples=25)
@given(a=coordinate, b=coordinate)
def test_a_float_a_value_and_the_method_give_the_same_bits(rule, a, b):
    operands = (a, b)[: rule.arity]
    number = rule(*operands)
    of_value = rule(Value(a), *operands[1:])
    assert (type(number), type(of_value)) == (float, Value)
    assert number.hex() == of_value.data.hex()
    if rule.name not in OPERATORS:
        method = getattr(Value(a), rule.name)(*operands[1:])
        assert method.data.hex() == number.hex()


@pytest.mark.parametrize("name", sorted(set(RULES) - {"pow_number"}))
def test_a_rule_is_a_function_of_engine_and_a_method_with_a_docstring(name):
    assert getattr(engine, name).__doc__.strip().endswith((".", ")"))
    assert hasattr(Value, name) or name in OPERATORS or callable(getattr(Value(1.0), name))


def test_the_functions_that_the_readme_names_are_there():
    names = (
        "exp log log1p expm1 sqrt sin cos tan tanh sinh cosh asin acos atan sigmoid relu "
        "leaky_relu gelu softplus erf maximum minimum clamp"
    )
    for name in names.split():
        operands = {"maximum": (0.25,), "minimum": (0.25,), "clamp": (0.0, 1.0)}.get(name, ())
        method = getattr(Value(0.5), name)(*operands)
        assert method.data == getattr(engine, name)(Value(0.5), *operands).data


@pytest.mark.parametrize(
    ("text", "value", "slope"),
    [
        ("v + 3", 5.0, 1.0),
        ("3 - v", 1.0, -1.0),
        ("v * v", 4.0, 4.0),
        ("6 / v", 3.0, -1.5),
        ("v ** 3", 8.0, 12.0),
        ("2 ** v", 4.0, 2.772588722239781),
        ("v ** v", 4.0, 6.772588722239781),
        ("-v", -2.0, -1.0),
        ("abs(-v)", 2.0, 1.0),
        ("v.exp()", 7.38905609893065, 7.38905609893065),
        ("v.log()", 0.6931471805599453, 0.5),
        ("v.tanh()", 0.9640275800758169, 0.07065082485316447),
        ("v.sigmoid()", 0.8807970779778825, 0.1049935854035065),
        ("v.relu()", 2.0, 1.0),
        ("(-v).relu()", 0.0, 0.0),
        ("(-v).leaky_relu()", -0.02, -0.01),
        ("v.sqrt()", 1.4142135623730951, 0.35355339059327373),
        ("v.maximum(3)", 3.0, 0.0),
        ("v.minimum(3)", 2.0, 1.0),
        ("v.clamp(0, 1)", 1.0, 0.0),
        ("v.erf()", 0.9953222650189527, 0.020666985354092053),
    ],
)
def test_plain_numbers_hold(text, value, slope):
    v = Value(2.0)
    y = eval(text, {"v": v})
    y.backward()
    assert y.data == pytest.approx(value, rel=1e-14)
    assert v.grad == pytest.approx(slope, rel=1e-14)


def test_at_its_corner_a_selection_takes_the_slope_that_pytorch_takes():
    for text, slope in [
        ("v.relu()", 0.0),
        ("abs(v)", 0.0),
        ("v.maximum(0.0)", 0.5),
        ("v.minimum(0.0)", 0.5),
        ("v.clamp(0.0, 1.0)", 1.0),
        ("v.leaky_relu(0.1)", 0.1),
        ("v ** 0", 0.0),
        ("v ** 2", 0.0),
        ("0.0 ** v", 0.0),
    ]:
        v = Value(0.0)
        eval(text, {"v": v}).backward()
        assert v.grad == slope, text


def test_a_selection_passes_nothing_where_its_slope_is_0():
    for closed in ("v.relu()", "v.clamp(0.0, 1.0)", "v.maximum(0.0)", "(-v).minimum(0.0)"):
        v = Value(-1.0)
        (eval(closed, {"v": v}) * math.inf).backward()
        assert v.grad == 0.0, closed


OWN_RULES = """
import engine
from engine import Value
from engine.autograd import grad

@engine.rule
def cube(a):
    "a * a * a."
    return a * a * a

@cube.slope
def cube_slope(a, y):
    return 3.0 * a * a

@engine.rule
def hypot(a, b):
    "The length of (a, b)."
    return engine.elementary.sqrt(a * a + b * b)

@hypot.slope
def hypot_slopes(a, b, y):
    return engine.elementary.divide(a, y), engine.elementary.divide(b, y)

@engine.rule(selection=True)
def gate(a):
    "a where it is above 1, 0 elsewhere."
    return engine.elementary.where(engine.elementary.less(1.0, a), a, 0.0)

@gate.slope
def gate_slope(a, y):
    return engine.elementary.where(engine.elementary.less(1.0, a), 1.0, 0.0)

v, w = Value(3.0), Value(4.0)
assert cube(2.0) == 8.0 and type(cube(2)) is float
assert cube(v).data == 27.0 and v.cube().data == 27.0
(first,) = grad(v.cube(), v, create_graph=True)
(second,) = grad(first, v, create_graph=True)
assert (first.data, second.data) == (27.0, 18.0)
y = hypot(v, w)
y.backward()
assert (y.data, v.grad, w.grad) == (5.0, 0.6, 0.8)
assert hypot(v, 4.0).data == v.hypot(4).data == 5.0 and hypot(3, w).data == 5.0
(slope,) = grad(hypot(v, w), w, create_graph=True)
(mixed,) = grad(slope, v)
assert abs(mixed.data + 3.0 * 4.0 / 125.0) < 1e-15
assert repr(cube) == "<rule cube(a)>" and v.cube()._op == "cube"
low = Value(0.5)
(gate(low) * float("inf")).backward()
assert low.grad == 0.0

def refused(error, text, call):
    try:
        call()
    except error as e:
        assert text in str(e), e
    else:
        raise AssertionError(text)

def slopeless(a):
    return a

refused(ValueError, "rule cube: there is one already", lambda: engine.rule(cube.value))
refused(TypeError, "needs one or two operands; got 3", lambda: engine.rule(lambda a, b, c: a))
refused(TypeError, "its slope needs a, y; got 1 parameters",
        lambda: engine.rule(slopeless).slope(lambda a: a))
refused(RuntimeError, "rule slopeless: has no slope; add one under @slopeless.slope",
        lambda: engine.rule(slopeless)(v))
refused(TypeError, "cube: needs 1 operands; got 2", lambda: cube(v, w))
refused(TypeError, "cube needs a number; got the text 'x'", lambda: cube("x"))
print("done")
"""


def test_a_rule_of_somebodys_own_works_as_those_of_engine():
    run = subprocess.run([sys.executable, "-c", OWN_RULES], capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, "done\n"), run.stderr
