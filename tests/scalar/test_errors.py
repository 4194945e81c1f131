"""Each error of a Value: it names the place, what it needs and got, and the cure."""

import fractions

import numpy as np
import pytest

import engine
from engine import Value


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (Value(1.0), r"Value needs a number; got a Value; use the Value itself, or .*v\.data"),
        ("3", r"Value needs a number; got the text '3'; use float\('3'\)"),
        ([1.0, 2.0], r"got list; for a batch of numbers use engine\.tensor"),
        ((1.0,), r"got tuple; .*engine\.tensor"),
        (np.ones(2), r"got ndarray; .*engine\.tensor"),
        (np.ones(1), r"got ndarray; .*engine\.tensor"),
        (None, r"Value needs a number; got None"),
        (1j, r"Value needs a number; got 1j, a complex"),
        ({}, r"Value needs a number; got \{\}, a dict"),
    ],
    ids=["Value", "text", "list", "tuple", "array", "array of one", "None", "complex", "dict"],
)
def test_a_value_of_something_else_than_a_number_is_refused_with_the_cure(given, text):
    with pytest.raises(TypeError, match=text):
        Value(given)


NUMBERS = [3, 0.5, True, fractions.Fraction(1, 2), np.float32(0.5)]


@pytest.mark.parametrize("number", NUMBERS, ids=repr)
def test_every_real_number_is_taken(number):
    assert Value(number).data == float(number)


def test_a_number_that_is_too_large_for_a_double_is_pythons_own_error():
    with pytest.raises(OverflowError):
        Value(10**400)


def test_data_and_grad_refuse_what_is_no_number():
    v = Value(1.0)
    with pytest.raises(TypeError, match=r"Value\.data needs a number; got a Value"):
        v.data = Value(2.0)
    with pytest.raises(TypeError, match=r"Value\.grad needs a number; got the text"):
        v.grad = "0"
    with pytest.raises(TypeError, match=r"Value\.data needs a number; got None"):
        v.data = None
    assert (v.data, v.grad) == (1.0, 0.0)


REFUSED = ["v + 'a'", "'a' - v", "v * None", "[1] / v", "v ** 'a'", "v + 1j"]


@pytest.mark.parametrize("text", REFUSED)
def test_arithmetic_with_something_else_is_pythons_own_error(text):
    with pytest.raises(TypeError, match=r"unsupported operand|can only concatenate|can't multiply"):
        eval(text, {"v": Value(1.0)})


def test_options_must_be_numbers_and_are_named():
    v = Value(1.0)
    with pytest.raises(TypeError, match=r"leaky_relu.* needs a number; got the text 'a'"):
        v.leaky_relu("a")
    with pytest.raises(TypeError, match=r"elu.* needs a number; got None"):
        v.elu(None)
    with pytest.raises(TypeError, match=r"clamp_min.* needs a number; got a Value"):
        v.clamp_min(Value(0.0))
    with pytest.raises(TypeError, match=r"clamp_max.* needs a number; got a Value"):
        v.clamp(max=Value(0.0))


def test_backward_of_a_constant_says_why_there_is_no_graph():
    with pytest.raises(RuntimeError, match=r"Value\.backward: this Value does not.*no_grad"):
        Value(1.0, requires_grad=False).backward()
    with pytest.raises(RuntimeError, match=r"detach\(\)"):
        (Value(1.0) * 2).detach().backward()


def test_backward_from_what_is_no_number_is_refused():
    v = Value(1.0) * 2
    with pytest.raises(TypeError, match=r"Value\.backward: gradient needs a number; got the text"):
        v.backward("1")


def test_a_result_keeps_its_place_in_the_graph():
    y = Value(1.0) * 2
    with pytest.raises(RuntimeError, match=r"needs a leaf.*result of mul: use v\.detach\(\)"):
        y.requires_grad = False
    y.requires_grad = True
    assert y.requires_grad


def test_a_leaf_is_switched_in_and_out_of_the_graph():
    v = Value(1.0)
    assert v.requires_grad_(False) is v
    assert not (v * 2).requires_grad
    v.requires_grad = True
    assert (v * 2).requires_grad


def test_slopes_must_be_as_many_as_parents_and_numbers():
    a = Value(1.0)
    with pytest.raises(ValueError, match="2 parents need as many slopes; got 1"):
        Value(2.0, (a, a), (1.0,))
    with pytest.raises(TypeError, match=r"parents must be Values; got .*3\.0"):
        Value(2.0, (a, 3.0), (1.0, 1.0))
    with pytest.raises(TypeError, match=r"slope needs a number; got the text '1\.0'"):
        Value(2.0, (a,), ("1.0",))


def test_an_attribute_that_is_not_there_is_named():
    with pytest.raises(AttributeError, match="'Value' object has no attribute 'gard'"):
        _ = Value(1.0).gard


def test_whether_a_value_is_a_leaf_cannot_be_set():
    with pytest.raises(AttributeError, match="is_leaf"):
        Value(1.0).is_leaf = False


def test_grad_says_what_is_wrong_with_its_arguments():
    x = Value(1.0)
    with pytest.raises(ValueError, match="grad requires non-empty inputs"):
        engine.autograd.grad(x * x, [])
    with pytest.raises(RuntimeError, match="does not require grad"):
        engine.autograd.grad(x * x, Value(1.0, requires_grad=False))
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad"):
        engine.autograd.grad(Value(1.0, requires_grad=False), x)
    with pytest.raises(RuntimeError, match="got 1 tensors and 2 gradients"):
        engine.autograd.grad(x * x, x, [1.0, 2.0])
    with pytest.raises(TypeError, match="grad needs a number; got the text 'a'"):
        engine.autograd.grad(x * x, x, "a")


def test_functions_of_engine_refuse_what_is_no_number():
    with pytest.raises(TypeError, match="exp needs a number; got the text 'a'"):
        engine.exp("a")
    with pytest.raises(TypeError, match="exp: needs 1 operands; got 2"):
        engine.exp(1.0, 2.0)
