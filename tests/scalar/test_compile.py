"""engine.compile: replays give the function's numbers and derivatives, or say that they cannot."""

import cProfile
import gc
import math
import random
import sys
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from programs import programs

import engine
from benchmarks import gpt
from engine import Value
from engine.autograd import forward_ad
from engine.compiling import TAPES
from engine.registry import RULES
from engine.value import has_grad

Refused = RuntimeError


def bits(x):
    """A float as text, with the sign of a zero; all nans are one."""
    return "nan" if x != x else x.hex()


def both(f, compiled, make):
    """Numbers and gradients of f and of its compiled form on arguments made by make()."""
    found = []
    for g in (f, compiled):
        args = make()
        y = g(*args)
        y.backward()
        found.append([bits(y.data), *(bits(v.grad) for v in args if isinstance(v, Value))])
    return found


def replays(f, compiled, make, calls=8):
    """Calls both several times; after the first all must come from the tape."""
    for _ in range(calls):
        eager, ours = both(f, compiled, make)
        assert eager == ours
    assert (compiled.recordings, compiled.replays) == (1, calls - 1)


def calls(f, count=10):
    for i in range(count):
        f(i)


def same(f, g, x):
    assert bits(f(x).data) == bits(g(x).data)


# --- the same numbers ---


OPERATORS = {"add": "__add__", "sub": "__sub__", "mul": "__mul__", "div": "__truediv__"}
OPERATORS |= {"pow": "__pow__", "pow_number": "__pow__", "neg": "__neg__"}
OURS = [name for name in RULES if name in engine.switch.NUMBERS]
edge = st.sampled_from([0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 5e-324, 1e308, 710.0])
number = st.one_of(edge, st.floats(-10.0, 10.0))


@pytest.mark.parametrize("name", OURS)
@settings(max_examples=20)
@given(pairs=st.lists(st.tuples(number, number), min_size=5, max_size=5))
def test_every_rule_is_replayed_to_the_last_bit(name, pairs):
    rule = RULES[name]

    def f(*operands):
        k = (0.5,) if rule.operands[-1] == "k" else ()
        return getattr(operands[0], OPERATORS.get(name, name))(*operands[1:], *k)

    compiled = engine.compile(f)
    count = rule.arity - (rule.operands[-1] == "k")
    for pair in pairs:
        eager, ours = both(f, compiled, lambda pair=pair: [Value(x) for x in pair[:count]])
        assert eager == ours
    assert compiled.replays == 4


@settings(max_examples=60)
@given(programs(size=12), st.lists(st.floats(-3.0, 3.0), min_size=4, max_size=4))
def test_random_programs_are_replayed_to_the_last_bit(program, shifts):
    def f(*xs):
        numbers = iter(xs)
        return program.run(lambda _: next(numbers))[-1]

    compiled = engine.compile(f)
    for shift in shifts:
        eager, ours = both(f, compiled, lambda s=shift: [Value(x + s) for x in program.inputs])
        assert eager == ours


place = st.integers(0, 11)
sums = st.lists(st.tuples(place, place), min_size=1, max_size=5)


@settings(max_examples=150)
@given(
    st.lists(sums, min_size=1, max_size=6), st.lists(st.floats(-2.0, 2.0), min_size=6, max_size=6)
)
def test_sums_of_products_that_share_factors_are_replayed_to_the_last_bit(rows, numbers):
    """Joined or not: each row picks its factors among inputs, other rows and what comes of them."""

    def f(*xs):
        known = [*xs, *(x * xs[0] for x in xs)]
        for row in rows:
            known.insert(0, sum(known[i] * known[j] for i, j in row) * xs[1])
        return known[0] + sum(a * b for a, b in zip(xs, known, strict=False))

    compiled = engine.compile(f)
    for shift in (0.0, 0.5, -1.0):
        eager, ours = both(f, compiled, lambda s=shift: [Value(x + s) for x in numbers])
        assert eager == ours


def row(xs, ys):
    return sum(a * b for a, b in zip(xs, ys, strict=False))


def layers(xs, w):
    """Rows that are runs of slots, some that are none, a run with itself, a sum that goes on."""
    h = [row(w[3 * i : 3 * i + 3], xs).tanh() for i in range(3)]
    y = sum([a * a for a in h], row(w, h) + row(w[::2], h))
    return engine.dot(h, w[:3]) + engine.dot(w[1:], w[:-1]) + row(h, h[1:]) + y


def test_rows_of_a_layer_are_replayed_to_the_last_bit(rng):
    compiled = engine.compile(layers)
    for _ in range(4):
        numbers = rng.normal(size=12).tolist()
        found = []
        for f in (layers, compiled):
            xs, w = engine.values(numbers[:3]), engine.values(numbers[3:])
            y = f(xs, w)
            y.backward()
            found.append([bits(y.data), *(bits(v.grad) for v in [*xs, *w])])
        assert found[0] == found[1]
    assert compiled.recordings == 1


FUNCTIONS = {
    "sum": lambda *xs: engine.sum([*xs, 2.0]) ** 2,
    "dot": lambda *xs: engine.dot(list(xs), [xs[1], xs[2], xs[0], 1.5]),
    "softmax, all": lambda *xs: engine.dot(engine.softmax(list(xs)), list(xs)),
    "softmax, the last": lambda *xs: engine.softmax([*xs, 0.5])[3] * xs[0],
    "logsumexp": lambda *xs: engine.logsumexp([*xs, 0.25]) ** 2,
    "cross_entropy": lambda *xs: engine.cross_entropy(list(xs), 2) * xs[0],
    "maximum": lambda *xs: engine.maximum(*xs) * engine.maximum(xs[0], xs[1]),
    "minimum": lambda *xs: engine.minimum(xs[0], xs[1]) + engine.add(xs[2], xs[3]),
    "detach": lambda *xs: xs[0].detach() * xs[1] + (xs[2] * 2).detach() * xs[0],
    "made inside": lambda *xs: sum(xs, Value(1.0)) * Value(3.0),
    "an operand twice": lambda *xs: xs[0] * xs[0] + xs[0] / xs[0],
    "no_grad inside": lambda *xs: xs[0] * without_gradient(xs[1]) + xs[2] * xs[3],
}


def without_gradient(x):
    with engine.no_grad():
        return x * x + 1.0


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_lists_and_others_are_replayed_to_the_last_bit(name, rng):
    f = FUNCTIONS[name]
    seen = []

    def make():
        if len(seen) % 2 == 0:
            seen.append(rng.normal(size=4).tolist())
        else:
            seen.append(seen[-1])
        return [Value(x) for x in seen[-1]]

    replays(f, engine.compile(f), make)


def test_equal_and_infinite_numbers_are_replayed_too():
    f = FUNCTIONS["maximum"]
    compiled = engine.compile(f)
    for xs in (
        [1.0, 2.0, 2.0, 2.0],
        [1.0, 1.0, 1.0, 0.0],
        [math.nan, 1.0, 2.0, 3.0],
        [math.inf] * 4,
    ):
        eager, ours = both(f, compiled, lambda xs=xs: [Value(x) for x in xs])
        assert eager == ours
    assert compiled.recordings == 1


def test_leaves_accumulate_over_calls_and_training_goes_the_same_way():
    def trained(wrap):
        w = [Value(x) for x in (0.5, -0.3, 0.8)]
        loss_of = wrap(lambda x, y: (engine.dot(w, [x, x * x, 1.0]).tanh() - y) ** 2)
        adam = engine.optim.Adam(w, lr=0.1)
        for i in range(20):
            for k in (1.0, 2.0):
                x, y = (Value(z, requires_grad=False) for z in (k, 0.1 * i))
                loss_of(x, y).backward()
            adam.step()
            adam.zero_grad()
        return [v.data for v in w]

    assert trained(lambda f: f) == trained(engine.compile)


def test_parameters_are_found_in_closures_globals_lists_dicts_and_objects():
    class Model:
        def __init__(self):
            self.w = {"a": [Value(2.0)], "b": (Value(3.0), [Value(4.0)])}
            self.calls = 0

        def __call__(self, x):
            return self.w["a"][0] * x + self.w["b"][0] * self.w["b"][1][0]

    model = Model()
    f = engine.compile(model)
    for i in range(5):
        model.calls += 1  # not named in the code that runs
        f(Value(float(i))).backward()
        model.w["b"][0].data += 1.0
    assert f.recordings == 1
    assert model.w["a"][0].grad == 10.0
    model.w["b"] = (Value(1.0), [Value(1.0)])  # others, where they were: found by plan
    assert f(Value(0.0)).data == 1.0
    assert f(Value(0.0)).data == 1.0


def test_a_parameter_replaced_in_a_list_or_a_global_is_the_new_one():
    ws = [Value(2.0), Value(3.0)]
    f = engine.compile(lambda x: ws[0] * x + ws[1])
    x = Value(1.0)
    for _ in range(4):
        f(x)
    ws[1] = Value(10.0)
    y = f(x)
    y.backward()
    assert (y.data, ws[1].grad, f.recordings) == (12.0, 1.0, 1)


SCALE = 2.0


def scaled(x):
    return x * SCALE


def test_a_changed_global_of_a_function_that_is_called_is_seen(monkeypatch):
    f = engine.compile(lambda x: scaled(x) + 1.0)
    x = Value(3.0)
    assert [f(x).data for _ in range(5)] == [7.0] * 5
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    assert [f(x).data for _ in range(5)] == [16.0] * 5
    assert f.recordings == 2


def test_a_changed_attribute_closure_and_default_are_seen():
    class Options:
        rate = 1.0

    options, closed = Options(), 1.0

    def f(x, extra=[1.0]):  # noqa: B006
        return x * options.rate * closed * extra[0]

    compiled = engine.compile(f)
    for change in range(4):
        for _ in range(4):
            assert compiled(Value(1.0)).data == f(Value(1.0)).data
        if change == 0:
            options.rate = 2.0
        elif change == 1:
            closed = 3.0
        else:
            f.__defaults__[0][0] = 5.0
    assert compiled.recordings == 4


def test_a_changed_array_is_seen():
    array = np.array([1.0, 2.0])
    f = engine.compile(lambda x: x * float(array[1]))
    for _ in range(4):
        f(Value(1.0))
    array[1] = 7.0
    assert f(Value(1.0)).data == 7.0


# --- structure ---


def test_lists_of_another_length_have_a_tape_of_their_own():
    f = engine.compile(lambda xs: sum(x * x for x in xs))
    for _ in range(3):
        for n in (1, 2, 3):
            assert f([Value(2.0)] + [Value(1.0)] * 0 + engine.values([1.0] * (n - 1))).data == n + 3
    assert (f.recordings, f.replays) == (3, 6)


def test_a_value_given_twice_is_another_structure():
    f = engine.compile(lambda x, y: x * y + (3.0 if x == y else 0.0))
    x, y = Value(2.0), Value(2.0)
    assert [f(x, y).data, f(x, x).data, f(x, y).data, f(y, y).data] == [4.0, 7.0, 4.0, 7.0]
    assert f.recordings == 2
    f(x, x).backward()
    assert x.grad == 4.0


def test_constants_among_the_arguments_are_part_of_the_structure():
    f = engine.compile(lambda x, n, flag, name: x**n if flag else x * len(name))
    x = Value(3.0)
    for _ in range(4):
        assert f(x, 2, True, "ab").data == 9.0
        assert f(x, 3, True, "ab").data == 27.0
        assert f(x, 3, False, name="abc").data == 9.0
    assert f.recordings == 3


def test_arguments_without_gradient_are_inputs_of_another_structure():
    f = engine.compile(lambda x, c: x * c)
    for k in (2.0, 3.0, 4.0, 5.0):
        x, c = Value(1.5), Value(k, requires_grad=False)
        f(x, c).backward()
        assert (x.grad, c.grad) == (k, 0.0)
    assert f.recordings == 1
    assert not f(Value(1.0, requires_grad=False), Value(2.0, requires_grad=False)).requires_grad


def test_at_most_so_many_tapes_are_kept():
    f = engine.compile(lambda x, n: x * n)
    for n in range(TAPES + 5):
        f(Value(1.0), n)
    assert len(f.tapes) == TAPES


def test_results_may_be_lists_dicts_inputs_and_constants():
    f = engine.compile(lambda x, y: {"a": [x * y, y], "b": (x, None, 3), "c": x * y + 1.0})
    for _ in range(6):
        x, y = Value(2.0), Value(3.0)
        found = f(x, y)
        assert found["a"][1] is y
        assert found["b"] == (x, None, 3)
        found["a"][0].backward()
        found["c"].backward()
        assert (x.grad, y.grad) == (6.0, 4.0)


def test_one_result_does_not_reach_into_another():
    f = engine.compile(lambda x, y: [x.sqrt(), x.sqrt() * y, y * y])
    for _ in range(6):
        x, y = Value(0.0), Value(3.0)
        found = f(x, y)
        found[2].backward()
        assert (x.grad, y.grad) == (0.0, 6.0)  # inf of the square root does not come near
    sum(f(Value(4.0), y)).backward()
    assert y.grad == 6.0 + 2.0 + 6.0


# --- numbers that are read ---


def test_control_flow_on_data_is_followed():
    def f(x):
        return x * 2 if x > 1.0 else x + 10

    compiled = engine.compile(f)
    for k in (0.0, 2.0, 0.5, 3.0, 1.0, -1.0, 5.0):
        assert compiled(Value(k)).data == f(Value(k)).data
    assert compiled.recordings == 2


def test_comparisons_of_two_values_and_nan_are_followed():
    def f(x, y):
        return max([x, y]) + (1.0 if x <= y else 0.0)

    compiled = engine.compile(f)
    for a, b in ((1.0, 2.0), (3.0, 2.0), (2.0, 2.0), (math.nan, 1.0), (1.0, math.nan), (0.0, 5.0)):
        assert bits(compiled(Value(a), Value(b)).data) == bits(f(Value(a), Value(b)).data)


def test_a_number_that_is_read_is_not_frozen():
    f = engine.compile(lambda x, y: x * y.data)
    for k in (1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 1.0):
        assert f(Value(3.0), Value(k)).data == 3.0 * k
    assert f.recordings == 2


def softmax_of_microgpt(scores):
    highest = max(score.data for score in scores)
    powers = [(score - highest).exp() for score in scores]
    return powers[0] / sum(powers)


READERS = {
    "data": lambda x: x * x.data,
    "item": lambda x: x * x.item(),
    "format": lambda x: x * float(f"{x:.17g}"),
    "str": lambda x: x * float(str(x)[11:].split(",")[0]),
    "of an inner": lambda x: x * (x * 2).data,
    "softmax": lambda x: softmax_of_microgpt([x, x * 2]),
    "float": lambda x: x * float(x.detach()),
    "math": lambda x: x * math.exp(x.detach()),
    "numpy": lambda x: x * float(np.float64(x.detach())),
    "numbers": lambda x: x * float(engine.numbers([x])[0]),
}


@pytest.mark.parametrize("name", READERS)
def test_a_number_read_in_three_recordings_running_is_refused_with_its_line(name):
    f = engine.compile(READERS[name])
    text = r"reads a number from a Value(.|\n)*test_compile\.py:\d+: (.|\n)*softmax"
    with pytest.raises(Refused, match=text):
        calls(lambda i: same(f, READERS[name], Value(1.0 + i)))
    assert f.recordings == 3
    with pytest.raises(Refused, match="cannot be compiled"):
        f(Value(1.0))


def test_a_float_argument_that_always_changes_is_refused_with_the_cure():
    f = engine.compile(lambda x, rates: x * rates["a"])
    text = r"an argument\[0\]\[1\]\['a'\], a number, was another .*as a Value"
    with pytest.raises(Refused, match=text):
        calls(lambda i: f(Value(1.0), {"a": 0.1 * i}))


def test_a_data_that_changes_now_and_then_is_recorded_and_not_refused():
    f = engine.compile(lambda x, y: x * y.data)
    for i in range(40):
        assert f(Value(1.0), Value(float(i // 2))).data == i // 2


# --- lookups ---


def embedding(rows, tokens):
    y = 0.0
    for t in tokens:
        row = engine.lookup(rows, t)
        y = y + row[0] * row[1] + engine.lookup(rows, tokens[0])[1]
    return y


def test_indices_of_lookup_are_inputs():
    rows = engine.values(np.arange(10.0).reshape(5, 2))
    f = engine.compile(embedding)
    for tokens in ([0, 1], [2, 2], [4, 0], [3, 4], [-1, 1], [0, 1]):
        found = []
        for g in (embedding, f):
            for row in rows:
                row[0].grad = row[1].grad = None
            y = g(rows, tokens)
            y.backward()
            found.append((y.data, [(v.grad, has_grad(v)) for row in rows for v in row]))
        assert found[0] == found[1]
    assert f.recordings == 1


def test_an_index_out_of_range_raises_what_a_list_raises():
    rows = engine.values(np.ones((3, 2)))
    f = engine.compile(embedding)
    for _ in range(5):
        f(rows, [1, 2])
    with pytest.raises(IndexError, match="list index out of range"):
        f(rows, [1, 3])
    assert f(rows, [1, 2]).data == 4.0


def test_the_class_of_cross_entropy_is_an_input_and_has_a_range():
    def f(xs, i):
        return engine.cross_entropy([x * x for x in xs], i) + engine.cross_entropy(xs, 1)

    compiled, xs = engine.compile(f), [0.3, -0.2, 0.9]
    for i in (0, 1, 2, 1, 0):
        eager, ours = both(f, compiled, lambda i=i: [engine.values(xs), i])
        assert eager == ours
        found = engine.values(xs)
        compiled(found, i).backward()
        expected = engine.values(xs)
        f(expected, i).backward()
        assert [v.grad for v in found] == [v.grad for v in expected]
    assert compiled.recordings == 1
    with pytest.raises(IndexError, match="cross_entropy: i must be from 0 to 2; got 3"):
        compiled(engine.values(xs), 3)


INDEX_USES = {
    "an index": lambda rows, i: rows[i],
    "a sum": lambda rows, i: engine.lookup(rows, (i + 1) % 3),
    "a range": lambda rows, i: sum([rows[k] for k in range(i)], Value(0.0)) + rows[0],
    "a factor": lambda rows, i: rows[0] * i,
    "a comparison": lambda rows, i: rows[0] if i == 1 else rows[1] * 2,
    "a hash": lambda rows, i: rows[{0: 1, 1: 0, 2: 1}[i]] * 1,
    "a truth": lambda rows, i: rows[0] * 2 if i else rows[1] * 3,
    "a type": lambda rows, i: rows[0] * (2 if isinstance(i, int) else 3),
    "a text": lambda rows, i: rows[0] * len("x" * i + f"{i}"),
    "both": lambda rows, i: engine.lookup(rows, i) * i,
    "a power": lambda rows, i: rows[0] ** i,
    "a number read": lambda rows, i: rows[0] * (1 if engine.lookup(rows, i) > 1.5 else 2),
    "results": lambda rows, i: engine.lookup([r * r for r in rows], i),
    "a class": lambda rows, i: engine.cross_entropy(rows, i),
    "a class, read": lambda rows, i: engine.cross_entropy(rows, i) * i,
}


@pytest.mark.parametrize("name", INDEX_USES)
def test_an_index_used_as_a_number_is_never_frozen(name):
    f = INDEX_USES[name]
    compiled = engine.compile(f)
    rows = engine.values([1.0, 2.0, 4.0])
    for _ in range(4):
        for i in (0, 1, 2, 1):
            assert compiled(rows, i).data == f(rows, i).data
    assert compiled.recordings <= 3


# --- what is refused ---


class Double(engine.Function):
    @staticmethod
    def forward(ctx, x):
        return x.data * 2

    @staticmethod
    def backward(ctx, g):
        return 2 * g


OUTSIDE = Value(1.0)
LOG = []


def assigning(x):
    x.data = 2.0
    return x * x


def calling_backward(x):
    y = x * x
    y.backward()
    return y


def hooked(x):
    y = x * x
    y.register_hook(lambda g: 2 * g)
    return y * 2


def swallowing(x):
    try:
        return Double.apply(x)
    except RuntimeError:
        return x * 2


def appending(x):
    LOG.append(x)
    return x * 2


def counting(x, state=[0]):  # noqa: B006
    state[0] += 1
    return x * state[0]


def random_number(x):
    return x * random.random()


REFUSED = {
    "a Function": (lambda x: Double.apply(x), "it runs Double, a Function"),
    "a Function behind except": (swallowing, "it runs Double, a Function"),
    "a Tensor": (lambda x: engine.unstack(engine.stack([x, x]))[0], "operation on Tensors"),
    "an assignment": (assigning, r"it assigns \.data"),
    "backward": (calling_backward, "it calls backward or grad"),
    "grad": (lambda x: engine.autograd.grad(x * x, x)[0], "it calls backward or grad"),
    "a gradient": (lambda x: x * x.grad, r"reads or assigns a \.grad"),
    "a hook": (hooked, "it sets a hook"),
    "a node by hand": (lambda x: Value(x.data, (x,), (1.0,)) * 2, "made by hand"),
    "an iterator": (lambda x: next(x) * 1, "which is used up; give it as a list"),
    "a list that grows": (appending, "changes what it is given"),
    "a count": (counting, "changes what it is given"),
    "a random number": (random_number, "depends on something that is not seen"),
    "an array": (lambda x: np.array([x, x]), "it returns a ndarray"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_replayed_is_refused_by_name(name):
    f, text = REFUSED[name]
    compiled = engine.compile(f)
    x = iter([Value(1.0)] * 9) if name == "an iterator" else Value(3.0)
    with pytest.raises(Refused, match=rf"engine\.compile: .* cannot be compiled: (.|\n)*{text}"):
        calls(lambda _: compiled(x))


def test_a_rule_of_ones_own_is_refused():
    @engine.rule
    def tripled(a):
        return 3.0 * a

    tripled.slope(lambda a, y: 3.0)
    with pytest.raises(Refused, match="it runs 'tripled'"):
        engine.compile(lambda x: tripled(x))(Value(1.0))


def test_second_derivatives_are_refused():
    f, x = engine.compile(lambda x: x**3), Value(2.0)
    for _ in range(4):
        y = f(x)
    with pytest.raises(RuntimeError, match=r"under engine\.compile has no second derivatives"):
        engine.autograd.grad(y, x, create_graph=True)
    assert engine.autograd.grad(y, x)[0].data == 12.0


@pytest.mark.parametrize(
    ("arguments", "kind", "text"),
    [
        ({"f": 3}, TypeError, "compile: needs a function; got int"),
        ({"f": abs, "check": -1}, ValueError, "check must be a whole number from 0 up; got -1"),
        ({"f": abs, "check": 1.5}, ValueError, r"from 0 up; got 1\.5"),
    ],
)
def test_arguments_of_compile_are_checked(arguments, kind, text):
    with pytest.raises(kind, match=text):
        engine.compile(**arguments)


# --- calls among others ---


def test_an_exception_in_the_function_passes_and_leaves_everything_as_it_was():
    broken = [True]

    def f(x, y):
        z = x * y
        if broken[0]:
            raise KeyError("in the middle")
        return z

    compiled, x, y = engine.compile(f), Value(2.0), Value(3.0)
    with pytest.raises(KeyError, match="in the middle"):
        compiled(x, y)
    assert (x.grad, compiled.recordings) == (0.0, 0)
    broken[0] = False
    assert [compiled(x, y).data for _ in range(5)] == [6.0] * 5
    broken[0] = True
    with pytest.raises(KeyError, match="in the middle"):
        compiled(x, y)


def test_a_compiled_function_inside_another_is_recorded_with_it():
    inner = engine.compile(lambda x: (x * x).tanh())
    outer = engine.compile(lambda x, y: inner(x) + inner(y))
    f = lambda x, y: (x * x).tanh() + (y * y).tanh()  # noqa: E731
    replays(f, outer, lambda: [Value(0.3), Value(0.7)])
    assert inner.recordings == 0
    assert inner(Value(1.0)).data == math.tanh(1.0)


def test_a_result_goes_on_in_a_graph_and_gradients_come_through():
    f = engine.compile(lambda x: x * x)
    for _ in range(5):
        x = Value(3.0)
        y = f(x * 2) * 3  # an argument that is itself a result
        y.backward()
        assert (y.data, x.grad) == (108.0, 72.0)


def test_under_no_grad_there_is_a_tape_without_gradients():
    f = engine.compile(lambda x: x * x)
    x = Value(3.0)
    for _ in range(5):
        with engine.no_grad():
            assert not f(x).requires_grad
        assert f(x).requires_grad
    assert f.recordings == 2


def test_hooks_on_leaves_run_on_the_gradients_of_a_replay():
    f = engine.compile(lambda x: x * x)
    x = Value(3.0)
    x.register_hook(lambda g: g * 10)
    for i in range(5):
        f(x).backward()
        assert x.grad == 60.0 * (i + 1)


def test_forward_mode_and_anomaly_detection_see_the_function_itself():
    f = engine.compile(lambda x: x**3)
    for _ in range(4):
        f(Value(2.0))
    with forward_ad.dual_level():
        y = f(forward_ad.make_dual(Value(2.0), Value(1.0)))
        assert forward_ad.unpack_dual(y).tangent.data == 12.0
    with engine.autograd.set_detect_anomaly(True):
        y = f(Value(2.0))
    assert y._op == "**3"


COLLECTIONS = [0]


def test_what_a_garbage_collection_calls_does_not_count():
    def counted(phase, info):
        COLLECTIONS[0] += 1

    def f(x):
        many = [[] for _ in range(3000)]  # enough for a collection
        return x * len(many)

    compiled = engine.compile(f)
    gc.callbacks.append(counted)
    try:
        assert [compiled(Value(2.0)).data for _ in range(6)] == [6000.0] * 6
    finally:
        gc.callbacks.remove(counted)
    assert compiled.recordings == 1
    assert gc.isenabled()


def test_threads_may_call_one_compiled_function():
    w = Value(2.0)
    f = engine.compile(lambda x: (x * w).tanh() * x + engine.sum([x] * 20))
    expected = [f(Value(0.01 * i)).data for i in range(50)]
    wrong = []

    def run():
        for _ in range(20):
            for i, y in enumerate(expected):
                x = Value(0.01 * i)
                found = f(x)
                found.backward(inputs=[x])
                if found.data != y or abs(x.grad - 20) > 3:
                    wrong.append((found.data, y, x.grad))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


def test_a_compiled_function_keeps_no_argument_alive():
    class Tracked(Value):
        pass

    class Marker:
        pass

    f, marker = engine.compile(lambda x: x * x), Marker()
    gone = weakref.ref(marker)
    x = Tracked(2.0)
    x.marker = marker
    for _ in range(5):
        f(x)
    f.tapes.clear()
    del x, marker
    gc.collect()
    assert gone() is None


def test_check_compares_every_nth_call():
    before = sys.getrecursionlimit()  # kept in C, where it is not seen
    compiled = engine.compile(lambda x: x * sys.getrecursionlimit(), check=5)
    assert [compiled(Value(1.0)).data for _ in range(4)] == [before] * 4
    sys.setrecursionlimit(before + 1)
    try:
        with pytest.raises(Refused, match=rf"call 5 gave {before}\.0 .*itself gives {before + 1}"):
            compiled(Value(1.0))
    finally:
        sys.setrecursionlimit(before)


def test_it_decorates_functions_and_methods():
    class Net:
        def __init__(self):
            self.w = Value(3.0)

        @engine.compile
        def out(self, x):
            """Documented."""
            return self.w * x

    @engine.compile(check=2)
    def f(x):
        return x + 1.0

    net = Net()
    assert [net.out(Value(2.0)).data for _ in range(5)] == [6.0] * 5
    assert f(Value(1.0)).data == 2.0
    assert Net.out.__doc__ == "Documented."
    assert (f.check, Net.out.recordings) == (2, 1)


def test_a_first_call_may_be_profiled():
    profiler = cProfile.Profile()
    before = sys.getprofile()
    f = engine.compile(lambda x: x * x)
    profiler.enable()
    f(Value(3.0))
    profiler.disable()
    assert sys.getprofile() is before
    assert f.recordings == 1
    assert any("record" in str(entry.code) for entry in profiler.getstats())


# --- the scalar GPT ---


def test_the_gpt_trains_the_same_way_from_its_tapes():
    def trained(work):
        adam = work.model.EngineAdam(work.parameters)
        words = ([26, 0, 26], [26, 3, 26], [26, 26], [26, 0, 26], [26, 7, 26], [26, 26]) * 2
        return [work.model.train_step(w, work.weights, adam, 0.01) for w in words]

    compiled, eager = gpt.compiled(), gpt.compiled()
    eager.model.loss_of = eager.model.loss_of.f
    assert trained(compiled) == trained(eager)
    assert compiled.model.loss_of.recordings == 2  # one for each length
    ours, theirs = compiled.model.parameters_of(compiled.weights), eager.parameters
    assert [v.data for v in ours] == [v.data for v in theirs]


def test_the_lines_that_the_readme_changes_are_those_of_the_example():
    root = Path(__file__).parents[2]
    shown = (root / "README.md").read_text(encoding="utf-8").partition("```diff")[2]
    shown = [line for line in shown.partition("```")[0].splitlines() if line[:1] in ("-", "+")]
    before = [line for text in gpt.CHANGES for line in text.splitlines()]
    after = [line for text in gpt.CHANGES.values() for line in text.splitlines()]
    kept = set(before) & set(after)
    assert [line[1:] for line in shown if line[0] == "-"] == [x for x in before if x not in kept]
    assert [line[1:] for line in shown if line[0] == "+"] == [x for x in after if x not in kept]


@pytest.mark.parametrize("i", range(4))
def test_sums_are_not_joined_past_what_a_lookup_may_find(i, rng):
    rows = engine.values(rng.normal(size=4))

    @engine.compile
    def f(i, k):
        power = engine.lookup(rows, i).exp()
        total = rows[0] * k + rows[1] * k
        total = total + rows[1] * power
        return total + power * rows[2]

    found = []
    for turn, k in enumerate(rng.normal(size=24)):
        for g in (f, f.f):
            g(i if turn > 3 else 3, Value(k)).backward()
            found.append([v.grad for v in rows])
            for v in rows:
                v.grad = None
    assert found[::2] == found[1::2]
