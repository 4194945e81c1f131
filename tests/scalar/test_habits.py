"""What programs for micrograd, its lecture, LLM101n and microgpt do with a Value."""

import copy
import math
import random
import warnings

import numpy as np
import pytest

import engine
from engine import Value, value


def cube(v):
    """micrograd's way to an operation of one's own: a closure that adds to `.grad`."""
    out = Value(v.data**3, (v,), "cube")

    def push():
        v.grad += 3 * v.data**2 * out.grad

    out._backward = push
    return out


# --- micrograd ---


def test_the_program_of_micrograds_readme_gives_its_numbers():
    a, b = Value(-4.0), Value(2.0)
    c = a + b
    d = a * b + b**3
    c += c + 1
    c += 1 + c + (-a)
    d += d * 2 + (b + a).relu()
    d += 3 * d + (b - a).relu()
    e = c - d
    f = e**2
    g = f / 2.0
    g += 10.0 / f
    g.backward()
    assert f"{g.data:.4f} {a.grad:.4f} {b.grad:.4f}" == "24.7041 138.8338 645.5773"
    assert e.grad == pytest.approx(-6.941690962099126)


class Asked(type):
    """`isinstance(x, Slow)` is an error: what is told without it costs a fourth."""

    def __instancecheck__(cls, x):
        raise AssertionError(f"asked about {x!r}")


class Slow(metaclass=Asked):
    pass


@pytest.mark.parametrize("kind", [int, float, np.float64])
def test_the_usual_numbers_are_told_without_numbers_real(monkeypatch, kind):
    a, x = Value(3.0), kind(2)
    monkeypatch.setattr(value, "Real", Slow)
    results = a * x, a + x, a**x, Value(x), a**a
    assert [v.data for v in results] == [6.0, 5.0, 9.0, 2.0, 27.0]
    assert a > x
    with pytest.raises(AssertionError, match="asked about '2'"):
        a * "2"


def test_an_integer_becomes_a_float_and_sum_starts_at_0():
    x = Value(3)
    assert (type(x.data), repr(x)) == (float, "Value(data=3.0, grad=0.0)")
    assert (sum([x, x, x]) / 3 - 1).data == 2.0


def test_data_and_grad_are_plain_floats_that_an_update_may_assign():
    p = Value(2.0)
    (p * p).backward()
    p.data -= 0.1 * p.grad
    assert (type(p.data), type(p.grad), p.data) == (float, float, 1.6)
    p.grad = 0
    assert (p.grad, type(p.grad)) == (0.0, float)


def test_gradients_can_be_pushed_by_hand_node_by_node():
    x, w = Value(3.0, label="x"), Value(-0.5, label="w")
    p = x * w
    y = p.tanh()
    y.grad = 1.0
    y._backward()
    p._backward()
    by_hand = x.grad, w.grad
    x.grad = w.grad = 0
    y.backward()
    assert (x.grad, w.grad) == by_hand
    assert x.grad == -0.5 * (1 - y.data**2)


def test_pushing_by_hand_adds_to_the_gradients_of_the_parents():
    x = Value(3.0)
    y = x + x
    y.grad = 1.0
    y._backward()
    y._backward()
    assert x.grad == 4.0


def test_a_leaf_has_a_backward_that_does_nothing():
    x = Value(3.0)
    assert x._backward() is None
    assert x.grad == 0.0


def test_labels_are_texts_and_may_be_set_later():
    x = Value(3.0, label="x")
    y = x * 2
    assert (x.label, y.label) == ("x", "")
    y.label = "y"
    assert y.label == "y"


def test_operations_are_named_in_micrograds_spelling():
    x, w = Value(3.0), Value(2.0)
    made = [x, x * w, x + 1, x - w, x / w, -x, x**2, x**0.5, x**w]
    made += [x.tanh(), x.relu(), x.exp(), x.log()]
    names = ["", "*", "+", "-", "/", "neg", "**2", "**0.5", "**", "tanh", "ReLU", "exp", "log"]
    assert [v._op for v in made] == names


def test_prev_holds_the_parents_in_order_without_repetition():
    x, w = Value(3.0, label="x"), Value(2.0, label="w")
    assert (x * w)._prev == {x, w}
    assert [v.label for v in (x * w)._prev] == ["x", "w"]
    assert (x._prev, (x + x)._prev, (x * 2)._prev) == (set(), {x}, {x})


def test_an_operation_with_a_closure_takes_part_in_the_graph():
    a = Value(2.0)
    b = a * 1.0
    y = cube(b) * 5 + b
    y.backward()
    assert (y.data, a.grad, b.grad) == (42.0, 61.0, 61.0)
    y.backward()
    assert (a.grad, b.grad) == (122.0, 61.0)


def test_a_closure_sees_its_own_gradient_and_leaves_the_grads_of_others_alone():
    seen = []
    a, b = Value(2.0), Value(3.0)
    out = Value(6.0, (a, b), "product")

    def push():
        seen.append((out.grad, a.grad, b.grad))
        a.grad += b.data * out.grad
        b.grad += a.data * out.grad

    out._backward = push
    a.grad = 100.0
    (out * 10).backward()
    assert seen == [(10.0, 0.0, 0.0)]
    assert (a.grad, b.grad) == (130.0, 20.0)


def test_a_node_made_with_a_name_needs_its_backward_before_it_is_walked():
    a = Value(2.0)
    with pytest.raises(RuntimeError, match=r"'cube'.*_backward"):
        Value(8.0, (a,), "cube").backward()


def test_a_drawing_helper_finds_each_node_once_in_a_set_and_in_a_list():
    one = Value(1.0)
    loss = (one * 1.0 + 0.0) * 1.0  # four nodes of one number

    def walk(v, seen, add):
        if v not in seen:
            add(v)
            for parent in v._prev:
                walk(parent, seen, add)

    nodes, names = [], set()
    walk(loss, nodes, nodes.append)
    walk(loss, names, names.add)
    assert (len(nodes), len(names)) == (4, 4)


# --- microgpt ---


def test_children_and_local_grads_stand_side_by_side():
    x, w = Value(3.0), Value(-0.5)
    p = x * w
    assert (p._children, p._local_grads) == ((x, w), (-0.5, 3.0))
    assert (x._children, x._local_grads) == ((), ())
    assert len((x + x)._children) == 2


def test_a_node_of_any_width_is_made_from_parents_and_slopes():
    x, w = Value(3.0), Value(-0.5)
    wide = Value(7.0, (x, w, x, w, x), (1.0, 2.0, 3.0, 4.0, 5.0))
    assert (wide._children, wide._local_grads) == ((x, w, x, w, x), (1.0, 2.0, 3.0, 4.0, 5.0))
    (wide * 2).backward()
    assert (x.grad, w.grad, wide.grad) == (18.0, 12.0, 2.0)


def test_a_node_without_parents_in_a_tuple_is_a_leaf():
    assert Value(1.0, (), ()).is_leaf
    assert Value(1.0, [], []).requires_grad


def test_parents_may_be_a_list_and_those_without_gradient_are_left_out():
    x, c = Value(3.0), Value(5.0, requires_grad=False)
    y = Value(15.0, [c, x], [3.0, 5.0])
    y.backward()
    assert (y._children, x.grad, c.grad) == ((x,), 5.0, 0.0)
    assert not Value(25.0, (c, c), (5.0, 5.0)).requires_grad


# --- equality, order, truth ---


def test_two_values_are_equal_when_they_are_one():
    one, other = Value(1.0), Value(1.0)
    assert one == one
    assert one != other
    assert other not in [one]
    assert [one, other].index(other) == 1
    assert len({one, other}) == 2
    assert {one: "a", other: "b"}[other] == "b"


def test_a_value_compares_with_a_number_by_its_number():
    one = Value(1.0)
    assert (one == 1.0, one == 1, one != 2, one == np.float64(1.0)) == (True,) * 4
    assert (one == "1", one is None) == (False, False)


def test_order_goes_by_the_number_on_either_side():
    a, b = Value(1.0), Value(2.0)
    assert (a < b, a <= b, a > b, a >= b) == (True, True, False, False)
    assert (a < 2, 2 > a, a >= 1, 1 <= a, a > np.float64(0.5)) == (True,) * 5  # noqa: SIM300
    assert not a < Value(1.0)
    assert max([a, b]) is b
    assert sorted([b, a]) == [a, b]


def test_nan_compares_as_a_float_does():
    nan = Value(math.nan)
    assert not any([nan < 1, nan > 1, nan <= nan, nan == math.nan])
    assert nan == nan  # one Value


def test_order_with_something_that_is_no_number_is_refused():
    with pytest.raises(TypeError, match="not supported between"):
        Value(1.0) < "2"  # noqa: B015


def test_a_value_is_always_true():
    assert Value(0.0)
    assert (Value(1) - 1 or "other") != "other"


# --- attributes, subclasses, copies ---


def test_a_user_hangs_attributes_of_any_name_on_a_node():
    v, w = Value(1.0), Value(2.0)
    v.m = v.v = 0.25
    v.notes = ["a", "list"]
    setattr(v, "_vis_color", "lightblue")  # noqa: B010  as drawing programs write it
    assert (v.m, v.v, v.notes, v._vis_color) == (0.25, 0.25, ["a", "list"], "lightblue")
    assert not hasattr(w, "_vis_color")
    assert not hasattr(v * 1.0, "m")
    with pytest.raises(AttributeError, match="'colour'"):
        _ = v.colour


class Tagged(Value):
    """A subclass with a slot of its own; its instances have a `__dict__` too."""

    __slots__ = ("tag",)


@pytest.mark.parametrize("kind", [Value, Tagged])
def test_a_user_takes_attributes_away_again(kind):
    v = kind(2.0, label="v")
    v.note, v.mark, v.tag = "n", [v], "t"
    del v.note, v.label, v.tag
    assert (v.label, v.mark) == ("", [v])
    for name in ("note", "tag", "never"):
        assert not hasattr(v, name)
        with pytest.raises(AttributeError, match=name):
            delattr(v, name)
    v.note = "again"
    assert v.note == "again"
    (v * v).backward()
    assert v.grad == 4.0


@pytest.mark.parametrize("name", ["data", "grad", "backward", "exp", "label", "_prev"])
def test_what_every_value_has_is_not_taken_away(name):
    v = Value(2.0)
    with pytest.raises(AttributeError):
        delattr(v, name)
    assert hasattr(v, name)


def test_an_attribute_does_not_disturb_the_gradient():
    v = Value(3.0)
    y = v * v
    y.note = "square"
    (y + v).backward()
    assert (v.grad, y.note, y._op) == (7.0, "square", "*")


def test_a_subclass_keeps_its_methods_and_arithmetic_gives_a_value():
    class Named(Value):
        def __init__(self, data, name):
            super().__init__(data)
            self.name = name

        def shout(self):
            return f"{self.name}={self.data}!"

    v = Named(2.0, "v")
    y = v * v + 1
    y.backward()
    assert (v.shout(), type(y), v.grad) == ("v=2.0!", Value, 4.0)


def test_a_class_beside_value_hears_of_subclasses_and_their_options():
    class Named:
        def __init_subclass__(cls, name="", **options):
            super().__init_subclass__(**options)
            cls.name = name

    class Weight(Value, Named, name="w"):
        pass

    assert (Weight.name, Weight(2.0).data) == ("w", 2.0)


def test_a_subclass_may_answer_for_attributes_itself():
    class Bare(Value):
        def __init__(self):
            pass

        def __getattr__(self, name):
            if name == "color":
                return "red"
            raise AttributeError(name)

    assert (Bare().color, Bare().data, (Bare() + 1.0).data) == ("red", 0.0, 1.0)
    with pytest.raises(AttributeError, match="size"):
        Bare().size  # noqa: B018


def test_a_subclass_that_does_not_call_our_constructor_is_a_value_of_0():
    class Silent(Value):
        def __init__(self):
            self.mine = 1

    v = Silent()
    assert (v.mine, v.data, v.grad, v._prev) == (1, 0.0, 0.0, set())
    assert (v + 1).data == 1.0


def test_copies_and_deep_copies_of_a_leaf_are_leaves_of_their_own():
    x = Value(3.0, label="x")
    x.mark = 5
    (x * x).backward()
    for twin in (copy.copy(x), copy.deepcopy(x)):
        assert twin is not x
        assert (twin.data, twin.grad, twin.label, twin.mark) == (3.0, 6.0, "x", 5)
        assert (type(twin), twin.is_leaf, twin.requires_grad) == (Value, True, True)


def test_a_result_refuses_to_be_copied_and_says_detach():
    x = Value(3.0)
    for copied in (copy.copy, copy.deepcopy):
        with pytest.raises(RuntimeError, match=r"the result of '\*': use v.detach\(\)"):
            copied(x * x)
    assert copy.deepcopy((x * x).detach()).data == 9.0


def test_special_methods_can_be_called_by_name():
    one, two = Value(1.0), Value(2.0)
    assert one.__add__(two).data == one.__rmul__(3).data == 3.0
    assert one.__add__("x") is NotImplemented
    assert Value.__name__ == "Value"


def test_sampling_takes_values_for_weights():
    random.seed(0)
    with pytest.warns(UserWarning, match="leaves the graph"):
        assert random.choices("ab", weights=[Value(0.0), Value(1.0)]) == ["b"]


# --- leaving the graph ---


def test_float_gives_the_number_and_warns_with_the_cure():
    v = Value(2.0)
    with pytest.warns(UserWarning, match=r"engine.exp"):
        assert math.exp(v) == math.exp(2.0)
    with pytest.warns(UserWarning, match="leaves the graph"):
        assert float(v) == 2.0


def test_float_warns_once_a_place():
    v = Value(2.0)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("default")
        for _ in range(3):
            float(v)
        float(v)
    assert len(said) == 2


def test_the_number_of_a_value_without_gradient_is_no_loss():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert float(Value(2.0, requires_grad=False)) == 2.0


def test_formats_and_item_do_not_warn():
    v = Value(2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (f"{v:.3f}", f"{v}", v.item()) == ("2.000", "Value(data=2.0, grad=0.0)", 2.0)


# --- NumPy ---


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.float16, np.bool_])
def test_a_numpy_scalar_on_either_side_is_a_number(kind):
    v = Value(3.0)
    for y in (kind(1) * v, v * kind(1), kind(1) + v, v - kind(1), kind(1) / v, v ** kind(1)):
        assert type(y) is Value
        assert type(y.data) is float
    v.grad = None
    (kind(1) * v).backward()
    assert v.grad == 1.0


def test_a_value_is_made_of_a_numpy_number_and_a_0d_array():
    assert [Value(x).data for x in (np.float32(0.5), np.int8(3), np.array(0.5))] == [0.5, 3.0, 0.5]
    assert type(Value(np.float32(0.5)).data) is float


def test_numpy_functions_of_a_value_are_its_methods():
    v = Value(0.5)
    for name in ("exp", "log", "sqrt", "sin", "cos", "tanh", "log1p", "expm1"):
        y = getattr(np, name)(v)
        assert type(y) is Value
        assert y.data == getattr(v, name)().data
    assert (np.negative(v).data, np.absolute(v).data, np.add(1.0, v).data) == (-0.5, 0.5, 1.5)


def test_other_numpy_functions_are_refused_with_a_name_of_ours():
    with pytest.raises(TypeError, match="floor"):
        np.floor(Value(0.5))
    with pytest.raises(TypeError, match="out"):
        np.add(Value(0.5), 1.0, out=np.zeros(()))
    with pytest.raises(TypeError, match="outer"):
        np.add.outer(Value(0.5), 1.0)


def test_an_object_array_of_values_works_as_an_array_of_numbers():
    one, two = Value(1.0), Value(2.0)
    row = np.array([one, two])
    assert (row.dtype, row.shape) == (object, (2,))
    total = row @ np.array([2.0, 3.0]) + row.sum() + (row * row).mean()
    total.backward()
    assert (total.data, one.grad, two.grad) == (13.5, 4.0, 6.0)


def test_an_array_times_a_value_is_a_float64_tensor_of_one_graph():
    v = Value(3.0)
    for y in (np.array([1.0, 2.0]) * v, v * np.array([1.0, 2.0]), np.array([[1.0, 2.0]]) * v):
        v.grad = None
        assert isinstance(y, engine.Tensor)
        assert (y.dtype, y.shape[-1]) == (engine.float64, 2)
        y.sum().backward()
        assert v.grad == 3.0
