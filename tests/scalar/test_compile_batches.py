"""engine.compile(f).sum(calls): what engine.sum gives of the calls, each replayed alone."""

import gc
import math
import random
import sys
import weakref

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import engine
from benchmarks import gpt
from engine import Value
from engine.registry import RULES
from engine.value import has_grad

COMPILED = engine.backend() == "cython"


def bits(x):
    """A float as text, with the sign of a zero; all nans are one."""
    return "nan" if x != x else x.hex()


def leaves_in(x):
    """The Values in lists and tuples."""
    if isinstance(x, (list, tuple)):
        return [v for y in x for v in leaves_in(y)]
    return [x] if isinstance(x, Value) else []


def outcome(y, leaves):
    """Number and gradients of a sum; the gradients are then forgotten."""
    if y.requires_grad:
        y.backward()
    found = [bits(y.data), *((bits(v.grad), has_grad(v)) for v in leaves)]
    for v in leaves:
        v.grad = None
    return found


def warm(f, calls):
    """Calls f until its replays are compared no more."""
    for _ in range(4):
        f(*calls[0])


def same_sums(f, calls, more=(), exact=True):
    """f.sum must be the sum of the calls; exact: to the last bit in its gradients too."""
    leaves = list({id(v): v for v in [*leaves_in([*calls]), *more]}.values())
    ours = outcome(f.sum(calls), leaves)
    right = outcome(engine.sum([f(*args) for args in calls]), leaves)
    assert ours[0] == right[0]
    if exact:
        assert ours == right
    for (a, has_one), (b, too) in zip(ours[1:], right[1:], strict=True):
        assert has_one == too
        a, b = (math.nan if x == "nan" else float.fromhex(x) for x in (a, b))
        assert a == pytest.approx(b, rel=1e-9, abs=1e-12, nan_ok=True)


W = [Value(0.1 * i - 0.4) for i in range(9)]


def net(xs, y):
    h = [sum(a * b for a, b in zip(W[3 * i : 3 * i + 3], xs)).tanh() for i in range(3)]  # noqa: B905
    return (engine.dot(h, W[:3]) - y) ** 2 + h[0].exp() * h[1] + sum([a * a for a in h], h[2])


def points(n, rng):
    return [
        (engine.values(rng.normal(size=3)), Value(float(rng.normal()), requires_grad=False))
        for _ in range(n)
    ]


@pytest.mark.parametrize("n", [0, 1, 3, 4, 7, 8, 9, 12, 16, 21, 64])
def test_a_sum_is_that_of_the_calls_to_the_last_bit(n, rng):
    f = engine.compile(net)
    warm(f, points(1, rng))
    for _ in range(5):
        same_sums(f, points(n, rng), W)
    assert f.recordings == 1
    assert (f.batches > 0) == (COMPILED and n > 3)


edge = st.sampled_from([0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 5e-324, 1e308, 710.0])
number = st.one_of(edge, st.floats(-10.0, 10.0))
OPERATORS = {"add": "__add__", "sub": "__sub__", "mul": "__mul__", "div": "__truediv__"}
OPERATORS |= {"pow": "__pow__", "pow_number": "__pow__", "neg": "__neg__"}


@pytest.mark.parametrize("name", [name for name in RULES if name in engine.switch.NUMBERS])
@settings(max_examples=8)
@given(st.lists(st.tuples(number, number), min_size=8, max_size=8))
def test_every_rule_has_its_numbers_and_slopes_in_each_lane(name, pairs):
    rule = RULES[name]
    count = rule.arity - (rule.operands[-1] == "k")

    def f(*operands):
        k = (0.5,) if rule.operands[-1] == "k" else ()
        return getattr(operands[0], OPERATORS.get(name, name))(*operands[1:], *k)

    compiled = engine.compile(f)
    calls = [tuple(Value(x) for x in pair[:count]) for pair in pairs]
    warm(compiled, calls)
    leaves = leaves_in(calls)
    found = outcome(compiled.sum(calls), leaves)
    assert found == outcome(engine.sum([f(*args) for args in calls]), leaves)


def lists_of_many(xs, k):
    shares = engine.softmax([*xs, 0.5])
    y = engine.cross_entropy(xs, k) * shares[1] + engine.maximum(*xs) + engine.logsumexp(xs)
    return y + engine.sum(xs) * xs[0].detach() + engine.dot(shares, [*xs[1:], xs[0], xs[0]])


def test_operations_of_many_operands_in_each_lane(rng):
    f = engine.compile(lists_of_many)
    rows = [rng.normal(size=4).tolist() for _ in range(13)]
    rows += [[1.0, 1.0, 0.0, 1.0], [math.nan, 1.0, 2.0, 3.0], [math.inf, 0.0, 1.0, 2.0]]
    warm(f, [(engine.values(rows[0]), 0)])
    for _ in range(5):
        same_sums(f, [(engine.values(xs), i % 4) for i, xs in enumerate(rows)])
    assert f.recordings == 1


def embedding(rows, tokens):
    y = rows[0][0] * engine.lookup(rows, tokens[1])[0]
    for t in tokens:
        row = engine.lookup(rows, t)
        y = y + row[0] * row[1] + engine.lookup(rows, tokens[0])[1] * row[1]
    return y


def test_each_lane_looks_up_rows_of_its_own(rng):
    """Also where two operands of an operation turn out to be one."""
    rows = engine.values(rng.normal(size=(5, 2)))
    f = engine.compile(embedding)
    warm(f, [(rows, [0, 1])])
    for seed in range(6):
        draw = random.Random(seed)
        calls = [(rows, [draw.randrange(-5, 5), draw.randrange(5)]) for _ in range(24)]
        same_sums(f, calls, exact=False)
    same_sums(f, [(rows, [1 + i % 2, 3 + i % 2]) for i in range(16)])  # all in lanes
    assert f.recordings == 1


def test_an_index_out_of_range_raises_what_a_list_raises():
    rows = engine.values(np.ones((3, 2)))
    f = engine.compile(embedding)
    warm(f, [(rows, [0, 1])])
    with pytest.raises(IndexError, match="list index out of range"):
        f.sum([(rows, [1, 2])] * 8 + [(rows, [1, 3])])


def test_answers_of_comparisons_are_those_of_each_call():
    f = engine.compile(lambda x, w: x * w if x > w else x + 10 * w)
    w, draw = Value(0.5), random.Random(1)
    for _ in range(8):
        same_sums(f, [(Value(draw.random()), w) for _ in range(20)], exact=False)
    assert f.recordings == 2


def test_numbers_that_are_read_are_those_of_each_call():
    f = engine.compile(lambda x, y: x * y.data)
    for k in (2.0, 3.0) * 4:
        calls = [(Value(float(i)), Value(k if i % 3 else 2.0)) for i in range(20)]
        same_sums(f, calls, exact=False)


def test_a_value_in_several_calls_or_twice_in_one_is_taken_as_what_it_is():
    f = engine.compile(lambda x, y: x * y + (3.0 if x == y else 0.0))
    x, y, z = Value(2.0), Value(3.0), Value(3.0)
    for _ in range(5):
        calls = [(x, y), (x, z), (y, x), (z, z), (x, y), (y, y), (y, z), (z, x), (x, y), (x, x)]
        same_sums(f, calls, exact=False)
        same_sums(f, [(x, v) for v in (y, z, x, y, Value(1.0), x, z, y)], exact=False)


def test_calls_of_several_structures_are_summed_from_left_to_right():
    f = engine.compile(lambda xs: sum(x * x for x in xs).sqrt())
    for seed in range(6):
        draw = random.Random(seed)
        lengths = [draw.randrange(1, 4) for _ in range(40)]
        numbers = [[draw.gauss(0, 1) for _ in range(n)] for n in lengths]
        same_sums(f, [(engine.values(xs),) for xs in numbers], exact=False)
    assert f.recordings == 3


def test_a_parameter_replaced_between_sums_is_the_new_one():
    ws = [Value(2.0), Value(3.0)]
    f = engine.compile(lambda x: ws[0] * x + ws[1])
    calls = [(Value(float(i)),) for i in range(8)]
    for _ in range(5):
        assert f.sum(calls).data == 80.0
    ws[1] = Value(10.0)
    f.sum(calls).backward()
    assert (f.sum(calls).data, ws[1].grad, ws[0].grad) == (136.0, 8.0, 28.0)


def test_arguments_that_are_results_pass_gradients_on():
    f = engine.compile(lambda x, w: x * w)
    warm(f, [(Value(1.0), Value(1.0))])
    w, leaf = Value(3.0), Value(2.0)
    for _ in range(5):
        same_sums(f, [(leaf * i, w * 1) for i in range(9)], [leaf, w], exact=False)


def test_hooks_no_grad_and_observers_have_their_effect():
    f = engine.compile(lambda x, w: x * w)
    w = Value(2.0)
    w.register_hook(lambda g: g * 10)
    calls = [(Value(1.0), w) for _ in range(8)]
    for _ in range(5):
        f.sum(calls).backward()
    assert w.grad == 5 * 80.0
    with engine.no_grad():
        assert not f.sum(calls).requires_grad
    with engine.autograd.set_detect_anomaly(True):
        assert f.sum(calls).data == 16.0


def test_a_sum_inside_a_compiled_function_is_recorded_with_it():
    inner = engine.compile(lambda x: x * x)
    outer = engine.compile(lambda xs: inner.sum([(x,) for x in xs]) * 2)
    for _ in range(5):
        xs = engine.values([1.0, 2.0, 3.0, 4.0])
        outer(xs).backward()
        assert [x.grad for x in xs] == [4.0, 8.0, 12.0, 16.0]


def test_a_sum_keeps_no_argument_alive():
    class Marked(Value):
        pass

    f = engine.compile(lambda x: x * x)
    xs = [Marked(1.0) for _ in range(8)]
    for _ in range(5):
        f.sum([(x,) for x in xs])
    xs[3].marker = marker = type("Marker", (), {})()
    gone = weakref.ref(marker)
    f.tapes.clear()
    del xs, marker
    gc.collect()
    assert gone() is None


def test_sums_are_compared_with_the_function_itself():
    before = sys.getrecursionlimit()  # kept in C, where it is not seen
    f = engine.compile(lambda x: x * sys.getrecursionlimit(), check=1)
    calls = [(Value(1.0),) for _ in range(8)]
    for _ in range(5):
        assert f.sum(calls).data == 8.0 * before
    sys.setrecursionlimit(before + 1)
    try:
        with pytest.raises(RuntimeError, match=rf"{before}\.0 .*itself gives {before + 1}"):
            f.sum(calls)
    finally:
        sys.setrecursionlimit(before)
    with pytest.raises(RuntimeError, match="cannot be compiled"):
        f.sum(calls)


def test_a_sum_of_products_that_begins_with_a_row_has_the_gradient_of_that_row():
    rows, xs = engine.values([0.5, -1.5, 2.5]), engine.values([0.3, 0.7, -0.2])

    @engine.compile
    def f(i, k):
        total = engine.lookup(rows, i)
        for w, x in zip(W[:3], xs, strict=True):
            total = total + w * x
        return total * k

    calls = [(i % 3, Value(1.0 + i)) for i in range(9)]
    warm(f, calls)
    for _ in range(2):
        same_sums(f, calls, [*rows, *xs, *W[:3]])


def test_a_compiled_method_of_an_object_has_its_sum_too():
    class Model:
        def __init__(self):
            self.w = Value(2.0)

        @engine.compile
        def loss(self, x):
            return x * self.w

    model = Model()
    for _ in range(5):
        assert model.loss.sum([(Value(float(i)),) for i in range(9)]).data == 72.0
    with pytest.raises(TypeError, match="needs a list of tuples"):
        model.loss.sum([Value(1.0)])


def test_a_row_of_a_calls_own_that_is_found_twice_is_one_parent():
    f = engine.compile(lambda rows, i, j: engine.lookup(rows, i) * 3.0 + engine.lookup(rows, j))
    calls = [(engine.values([1.0 + k, 2.0]), 0, k % 2) for k in range(8)]
    warm(f, calls)
    y = f.sum(calls)
    y.backward(math.inf)
    assert [rows[0].grad for rows, _, _ in calls] == [math.inf] * 8


def test_a_sum_leaves_the_gradients_of_results_that_it_is_given():
    w, x = Value(2.0), Value(1.5)
    hidden = [x * (1.0 + i) for i in range(9)]
    engine.sum([h * h for h in hidden]).backward()
    before = [h.grad for h in hidden]
    f = engine.compile(lambda h, w: h * w + h)
    warm(f, [(hidden[0], w)])
    f.sum([(h, w) for h in hidden])
    assert [h.grad for h in hidden] == before


def test_a_value_that_all_calls_share_is_seen_among_the_arguments_of_one():
    shared = Value(2.0)
    way = [Value(x, requires_grad=False) for x in (-1.0, 1.0)]

    @engine.compile
    def f(x, sign):
        if x is shared:
            return x * 100.0
        return x * shared if sign > 0 else x * x * shared

    for sign in way:
        f(Value(1.0), sign)
    calls = [(Value(1.0 + i), way[i % 2]) for i in range(8)] + [(shared, sign) for sign in way]
    for _ in range(3):
        assert f.sum(calls).data == sum(f.f(*args).data for args in calls)


@pytest.mark.parametrize(
    ("f", "calls", "text"),
    [
        (lambda x: x * 2, [Value(1.0)], "needs a list of tuples, .*; got a Value in it"),
        (lambda x: [x * 2], [(Value(1.0),)] * 9, "must return a Value; got list"),
    ],
)
def test_what_is_no_sum_is_refused(f, calls, text):
    with pytest.raises(TypeError, match=text):
        engine.compile(f).sum(calls)


def test_words_of_the_gpt_have_the_gradients_of_their_calls():
    work = gpt.compiled()
    f, draw = work.model.loss_of, random.Random(3)
    words = [[26, *(draw.randrange(26) for _ in range(1 + i % 2)), 26] for i in range(20)]
    calls = [(word, work.weights) for word in words]
    for word in words[:4]:
        f(word, work.weights)
    same_sums(f, calls[::2], work.parameters)
    same_sums(f, calls, work.parameters, exact=False)
    assert f.recordings == 2
