"""Functions of lists of Values: the plain program's numbers, derivatives, conversions, errors."""

import math
import threading

import numpy as np
import pytest
from hypothesis import given, strategies as st

import engine
from engine import Value, lists
from engine.autograd import forward_ad, grad, gradcheck, gradgradcheck

edge = st.sampled_from([0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 5e-324, 1e308, 710.0])
number = st.one_of(edge, st.floats(-50.0, 50.0))
some = st.lists(number, min_size=1, max_size=8)
OF_ONE = ["sum", "logsumexp", "softmax", "maximum", "cross_entropy"]


def bits(x):
    """A float as text, with the sign of a zero; all nans are one."""
    return "nan" if x != x else x.hex()


def call(name, xs):
    """The public function on a list, and the plain program; results as lists."""
    more = (len(xs) - 1,) if name == "cross_entropy" else ()
    fused, plain = getattr(engine, name)(xs, *more), lists.PLAIN[name](xs, *more)
    return (fused, plain) if name == "softmax" else ([fused], [plain])


@pytest.mark.parametrize("name", OF_ONE)
@given(xs=some)
def test_the_number_is_the_plain_programs_to_the_last_bit(name, xs):
    fused, plain = call(name, [Value(x) for x in xs])
    if name in ("logsumexp", "cross_entropy") and math.inf in map(abs, [max(xs)]):
        return  # stated: the largest itself; tested below
    assert [bits(v.data) for v in fused] == [bits(v.data) for v in plain]


@given(pairs=st.lists(st.tuples(number, number), max_size=8))
def test_the_number_of_dot_is_the_plain_programs_to_the_last_bit(pairs):
    xs, ys = ([Value(p[i]) for p in pairs] for i in (0, 1))
    total = 0.0  # in a loop: from Python 3.12 on, sum(...) of floats rounds otherwise
    for x, y in pairs:
        total += x * y
    assert bits(engine.dot(xs, ys).data) == bits(total)


@pytest.mark.parametrize("name", OF_ONE)
@given(xs=st.lists(st.floats(-5.0, 5.0), min_size=1, max_size=8, unique=True))
def test_the_gradient_is_the_plain_programs_but_for_rounding(name, xs):
    results = []
    for i in (0, 1):
        leaves = [Value(x) for x in xs]
        outputs = call(name, leaves)[i]
        lists.plain_sum([o * (k + 1.5) for k, o in enumerate(outputs)]).backward()
        results.append([v.grad for v in leaves])
    np.testing.assert_allclose(*results, rtol=1e-9, atol=1e-13)


FUNCTIONS = {
    "sum": lambda *xs: engine.sum(list(xs)) ** 2,
    "dot": lambda *xs: engine.dot(list(xs[:2]), list(xs[2:])) ** 2,
    "dot with itself": lambda *xs: engine.dot(list(xs), list(xs)),
    "dot with numbers": lambda *xs: engine.dot(list(xs), [1.0, 2.0, xs[0], -1.0]),
    "softmax": lambda *xs: engine.softmax(list(xs))[1] * xs[2],
    "softmax with a number": lambda *xs: engine.softmax([*xs, 0.5])[4],
    "logsumexp": lambda *xs: engine.logsumexp([*xs, 0.25]) ** 2,
    "cross_entropy": lambda *xs: engine.cross_entropy(list(xs), 2) * xs[0],
    "maximum": lambda *xs: engine.maximum(*xs) ** 3,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_first_and_second_derivatives_are_those_of_differences(name, rng):
    xs = tuple(Value(x) for x in rng.normal(size=4))
    assert gradcheck(FUNCTIONS[name], xs)
    assert gradgradcheck(FUNCTIONS[name], xs)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_tangents_go_through_the_plain_program(name, rng):
    numbers, directions = rng.normal(size=(2, 4))
    xs = [Value(x) for x in numbers]
    FUNCTIONS[name](*xs).backward()
    with forward_ad.dual_level():
        duals = [
            forward_ad.make_dual(Value(x), Value(t, requires_grad=False))
            for x, t in zip(numbers, directions, strict=True)
        ]
        y = forward_ad.unpack_dual(FUNCTIONS[name](*duals))
    expected = sum(x.grad * t for x, t in zip(xs, directions, strict=True))
    assert y.tangent.data == pytest.approx(expected, rel=1e-12)


def test_each_is_one_node_whatever_its_length():
    xs = [Value(float(i)) for i in range(50)]
    for y in (
        engine.sum(xs),
        engine.logsumexp(xs),
        engine.maximum(*xs),
        engine.dot(xs, [2.0] * 50),
    ):
        assert [p for p, _ in y.grad_fn.next_functions if p.variable not in xs] == []
    total = engine.softmax(xs)[3].grad_fn.next_functions[1][0].variable
    assert total._op == "logsumexp"


def test_numbers_and_constants_get_no_gradient_and_may_stand_anywhere():
    x, c = Value(2.0), Value(3.0, requires_grad=False)
    engine.dot([c, x, 5], [x, c, 7.0]).backward()
    assert (x.grad, c.grad) == (6.0, 0.0)
    assert not engine.sum([c, 1.0]).requires_grad
    assert engine.sum([]).data == 0.0
    assert engine.dot([], []).data == 0.0


def test_under_no_grad_there_is_no_graph():
    x = Value(2.0)
    with engine.no_grad():
        results = [engine.sum([x, x]), *engine.softmax([x, 1.0]), engine.maximum(x, 1.0, 2.0)]
    assert not any(v.requires_grad for v in results)


def test_one_value_in_a_list_several_times_gets_all_its_shares():
    x = Value(3.0)
    engine.sum([x, x, x]).backward()
    assert x.grad == 3.0
    x.grad = None
    engine.dot([x, x], [x, 2.0]).backward()
    assert x.grad == 8.0


def test_the_largest_of_equals_share_the_slope_and_nan_reaches_all():
    xs = [Value(1.0), Value(4.0), Value(4.0), Value(4.0)]
    engine.maximum(xs).backward()
    assert [x.grad for x in xs] == [0.0, 1 / 3, 1 / 3, 1 / 3]
    xs = [Value(1.0), Value(math.nan), Value(2.0)]
    y = engine.maximum(*xs)
    y.backward()
    assert math.isnan(y.data)
    assert [x.grad for x in xs] == [1.0, 1.0, 1.0]


def test_a_maximum_passes_nothing_to_the_smaller_even_of_an_infinite_gradient():
    xs = [Value(1.0), Value(2.0), Value(0.0)]
    engine.maximum(*xs).backward(math.inf)
    assert [x.grad for x in xs] == [0.0, math.inf, 0.0]


def test_logsumexp_with_an_infinite_largest_is_that_and_cross_entropy_too():
    assert engine.logsumexp([Value(1.0), Value(math.inf)]).data == math.inf
    assert engine.logsumexp([Value(-math.inf), Value(-math.inf)]).data == -math.inf
    assert engine.cross_entropy([Value(1.0), Value(math.inf)], 0).data == math.inf


def test_cross_entropy_stays_finite_where_the_share_underflows():
    xs = [Value(0.0), Value(800.0)]
    assert engine.cross_entropy(xs, 0).data == 800.0
    assert -engine.softmax(xs)[0].log().data == math.inf


def test_cross_entropy_agrees_with_the_logarithm_of_softmax(rng):
    for xs in rng.normal(size=(50, 9)).tolist():
        scores = [Value(x) for x in xs]
        right = -engine.softmax(scores)[4].log()
        assert engine.cross_entropy(scores, 4).data == pytest.approx(right.data, rel=1e-14)


def test_wide_sums_are_linear_in_their_length_forward_and_backward():
    xs = engine.values(np.ones(200_000))
    engine.sum(xs).backward()  # looking at all parents again at each would take minutes
    assert {x.grad for x in xs} == {1.0}


def test_a_chain_of_many_such_nodes_is_walked_and_freed():
    x = y = Value(1.0)
    for _ in range(100_000):
        y = engine.sum([y, x])
    y.backward()
    assert (y.data, x.grad) == (100_001.0, 100_001.0)


def test_tensors_keep_their_functions():
    t = engine.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True)
    assert engine.sum(t).item() == 11.0
    assert engine.sum(input=t, dim=0).tolist() == [4.0, 7.0]
    assert engine.softmax(t, 1).shape == t.softmax(dim=1).shape == (2, 2)
    assert engine.logsumexp(t, 0).shape == (2,)
    assert engine.dot(t[0], t[1]).item() == 13.0
    assert engine.maximum(t, t.T).tolist() == [[1.0, 3.0], [3.0, 5.0]]
    assert engine.maximum(Value(1.0), Value(2.0)).data == 2.0


def test_a_second_derivative_after_a_change_of_data_is_refused():
    x, y = Value(1.0), Value(2.0)
    z = engine.dot([x, y], [y, x])
    y.data = 5.0
    with pytest.raises(RuntimeError, match=r"the \.data of an operand of 'dot' was changed"):
        grad(z, [x], create_graph=True)


def test_a_walk_stopped_in_the_middle_starts_the_next_from_the_first_parent():
    x, seen = [Value(1.0), Value(2.0), Value(3.0)], []
    y = engine.sum(x)
    for v in x:
        v.register_hook(lambda g: seen.append(g))
    y.backward()  # the general walk, as hooks run
    for v in x:
        v._extra = None
    y.backward()
    y.backward()
    assert [v.grad for v in x] == [3.0, 3.0, 3.0]


def test_threads_may_walk_one_wide_node_at_a_time():
    xs = engine.values(range(100))
    y = engine.dot(xs, xs)
    threads = [threading.Thread(target=lambda: [y.backward() for _ in range(50)]) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert xs[3].grad == 200 * 6.0


# --- conversions ---


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 1, 4), (0,), (2, 0), (0, 3)], ids=str)
def test_arrays_become_values_and_come_back(shape, rng):
    array = rng.normal(size=shape)
    found = engine.values(array)
    back = engine.numbers(found)
    assert back.dtype == np.float64
    assert back.tolist() == array.tolist()


def test_values_are_new_leaves_of_doubles():
    (a, b), (c, _) = engine.values(np.array([[1, 2], [3, 4]], np.int32))
    assert (a * b + c).data == 5.0
    assert a.requires_grad
    assert a.is_leaf
    (x,) = engine.values([np.float32(0.1)], requires_grad=False)
    assert (x.data, x.requires_grad) == (float(np.float32(0.1)), False)


def test_lookup_is_an_index():
    rows = engine.values([[1.0, 2.0], [3.0, 4.0]])
    assert engine.lookup(rows, np.int64(1)) is rows[1]
    assert engine.lookup(rows, -1) is rows[1]


ERRORS = [
    (lambda: engine.softmax([]), ValueError, "softmax: needs at least one Value; got an empty"),
    (lambda: engine.logsumexp([]), ValueError, "logsumexp: needs at least one Value"),
    (lambda: engine.maximum([]), ValueError, "maximum: needs at least one Value"),
    (lambda: engine.sum([Value(1.0), "2"]), TypeError, r"sum needs a number; got the text '2'"),
    (lambda: engine.sum([Value(1.0), None]), TypeError, "sum needs a number; got None"),
    (lambda: engine.dot([Value(1.0)], [1.0, 2.0]), ValueError, "one length; got 1 and 2"),
    (lambda: engine.dot([Value(1.0)], Value(2.0)), ValueError, "got 1 and Value"),
    (lambda: engine.cross_entropy([Value(1.0)], 1), IndexError, "from 0 to 0; got 1"),
    (lambda: engine.cross_entropy([Value(1.0)], -1), IndexError, "from 0 to 0; got -1"),
    (lambda: engine.cross_entropy([Value(1.0)], 0.5), TypeError, "'float' object cannot be"),
    (lambda: engine.cross_entropy(engine.ones(2), 0), TypeError, "use engine.nn.functional"),
    (lambda: engine.lookup([Value(1.0)], 1), IndexError, "list index out of range"),
    (lambda: engine.values(["a"]), TypeError, "values: needs numbers; got an array of <U1"),
    (lambda: engine.numbers([[Value(1.0)], []]), ValueError, "lists must be of one length"),
    (lambda: engine.numbers(["a"]), TypeError, "numbers needs a number; got the text 'a'"),
    (lambda: engine.maximum(engine.ones(2), 1.0, 2.0), TypeError, "needs 2 operands; got 3"),
]


@pytest.mark.parametrize(("action", "kind", "text"), ERRORS, ids=[e[2] for e in ERRORS])
def test_errors_say_what_is_needed(action, kind, text):
    with pytest.raises(kind, match=text):
        action()
