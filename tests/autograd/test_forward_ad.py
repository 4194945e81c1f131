"""Forward mode: tangents of every operation, views, changes in place, Functions with jvp."""

import contextlib
import gc
import math
import weakref

import numpy as np
import pytest
from reference import (
    expressions,
    make_creation,
    make_index,
    make_join,
    make_linear,
    make_reduce,
    make_shape,
)

import engine
from engine import Function, Value
from engine.autograd import forward_ad, functional, grad
from engine.autograd.forward_ad import dual_level, make_dual, nested_level, unpack_dual
from engine.registry import RULES

FAMILIES = [make_creation, make_index, make_join, make_linear, make_reduce, make_shape]
# What a tangent is there is another matter than in reverse mode: as_strided of a view sees more
# than the view, and detach_ keeps the object.
OTHER = ("as_strided", "detach_")


def wave(x, shift):
    numbers = expressions.wave(math.prod(x.shape), shift)
    return engine.tensor(numbers, dtype=x.dtype).reshape(x.shape)


def tangents(f, inputs, directions):
    """The outputs' tangents in forward mode, zeros where there is none."""
    with nested_level() as level:
        outputs = f(*map(make_dual, inputs, directions))
        found = [level.tangent(o) for o in outputs]
    return [engine.zeros_like(o) if t is None else t for o, t in zip(outputs, found, strict=True)]


def cases(family):
    """Of each recorded expression: its text, the function of its floating inputs, the inputs."""
    record = expressions.recorded(family.__name__.rpartition("_")[2])
    for text, case in record.items():
        made = expressions.tensors(engine, family.INPUTS)
        names = [name for name, x in made.items() if x.requires_grad and name in text]
        if "error" in case or not names or any(word in text for word in OTHER):
            continue

        def f(*inputs, text=text, made=made, names=names):
            known = {
                "torch": engine,
                "inf": math.inf,
                **made,
                **dict(zip(names, inputs, strict=True)),
            }
            outputs = expressions.listed(eval(text, known))
            return tuple(o for o in outputs if o is not None and o.is_floating_point())

        yield text, f, tuple(made[name].detach() for name in names)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda m: m.__name__)
@pytest.mark.filterwarnings("ignore")
def test_every_recorded_expression_has_the_tangents_that_reverse_mode_gives(family):
    count = 0
    for text, f, inputs in cases(family):
        directions = tuple(wave(x, 3.3) for x in inputs)
        _, wanted = functional.jvp(f, inputs, directions)
        for t, w in zip(tangents(f, inputs, directions), wanted, strict=True):
            rtol = 1e-6 if t.itemsize == 8 else 2e-3
            ours, theirs = t.numpy(force=True), w.numpy(force=True)
            np.testing.assert_allclose(ours, theirs, rtol, rtol / 100, err_msg=text)
        count += 1
    assert count > 50


@pytest.mark.parametrize("name", sorted(RULES))
def test_every_rule_has_tangents_on_tensors_and_values(name, rng):
    rule = RULES[name]
    point = {"acosh": 1.5}.get(name, 0.4)
    numbers = [point, 0.7][: rule.arity]
    option = rule.arity == 2 and len(rule.slopes(*map(float, numbers), 1.0)) == 1
    free = 1 if option else rule.arity

    def f(*xs):
        return rule(*xs, *numbers[free:])

    tensors = tuple(engine.tensor([x, x], dtype=engine.float64) for x in numbers[:free])
    ones = tuple(map(engine.ones_like, tensors))
    (t,) = tangents(lambda *xs: (f(*xs),), tensors, ones)
    wanted = functional.jvp(f, tensors, ones)[1]
    np.testing.assert_allclose(t.numpy(), wanted.numpy(), 1e-12)
    with dual_level():
        out = f(*(make_dual(Value(x), Value(1.0)) for x in numbers[:free]))
        tangent = unpack_dual(out).tangent
    assert tangent is None or tangent.data == pytest.approx(wanted[0].item(), 1e-12)


def assigned(x, y):
    z = x * 1.0
    z[0] = y[1]
    z[:, 1] *= x[:, 0]
    return z


COMPOSED = {
    "chain": lambda x, y: (x * y).exp().sin() / (y * y + 2.0),
    "product": lambda x, y: x.mm(y.t()),
    "softmax": lambda x, y: x.softmax(-1) * y,
    "views": lambda x, y: x.t().reshape(-1)[1:4] * 2.0 + y.sum(),
    "in place": lambda x, y: (x * 1.0).mul_(y).exp_(),
    "copied": lambda x, y: engine.zeros_like(x).copy_(x * y),
    "broadcast copy": lambda x, y: engine.zeros(2, 3, dtype=engine.float64).copy_(x[0] * y[1]),
    "assigned": assigned,
    "kinks": lambda x, y: x.relu() * y.clamp(-0.5, 0.5) + engine.maximum(x, y),
    "cast": lambda x, y: x.float().double() * y,
}


@pytest.mark.parametrize("name", COMPOSED)
def test_forward_over_reverse_and_reverse_over_forward_agree_with_reverse_twice(name, rng):
    f = COMPOSED[name]
    x, y, tx, ty = (engine.tensor(rng.normal(size=(2, 3))) for _ in range(4))

    def pushed(x):
        return functional.jvp(f, (x, y), (tx, ty), create_graph=True)[1]

    w = wave(f(x, y), 1.0)
    first, again = x.clone().requires_grad_(), x.clone().requires_grad_()
    with dual_level():
        t = unpack_dual(f(make_dual(first, tx), make_dual(y, ty))).tangent
    close(gradient((t * w).sum(), first), gradient((pushed(again) * w).sum(), again), x)

    def pulled(x):
        return gradient((f(x, y) * w).sum(), x, create_graph=True)

    with dual_level():
        dual = make_dual(first, tx)
        g = gradient((f(dual, y) * w).sum(), dual)
        assert g is None or not g.requires_grad
        tangent = None if g is None else unpack_dual(g).tangent
    close(tangent, functional.jvp(pulled, x, tx)[1], x)


def gradient(root, x, create_graph=False):
    if not root.requires_grad:
        return None
    return grad(root, x, create_graph=create_graph, allow_unused=True)[0]


def close(a, b, like):
    a, b = (engine.zeros_like(like) if t is None else t for t in (a, b))
    np.testing.assert_allclose(a.numpy(force=True), b.numpy(force=True), 1e-5, 1e-7)


def test_a_dual_is_made_and_taken_apart():
    x, t = engine.ones(2), engine.tensor([1.0, 2.0])
    with dual_level():
        dual = make_dual(x, t)
        primal, tangent = unpack_dual(dual)
        assert tangent is t
        assert primal is not dual
        assert unpack_dual(primal).tangent is None
        assert unpack_dual(x).tangent is None
        assert np.shares_memory(dual.numpy(), x.numpy())
        assert isinstance(unpack_dual(dual), forward_ad.UnpackedDualTensor)
    assert unpack_dual(dual).tangent is None
    with dual_level():
        assert unpack_dual(dual).tangent is None


def test_a_level_is_one_and_ends():
    with pytest.raises(RuntimeError, match=r"no level exists, make sure to enter_dual_level"):
        make_dual(engine.ones(1), engine.ones(1))
    with dual_level() as number:
        assert number == 0
        with pytest.raises(RuntimeError, match="Nested forward mode AD is not supported"):
            forward_ad.enter_dual_level()
    with pytest.raises(RuntimeError, match="no level to exit"):
        forward_ad.exit_dual_level()
    with contextlib.suppress(ZeroDivisionError), dual_level():
        raise ZeroDivisionError
    assert forward_ad.enter_dual_level() == 0
    forward_ad.exit_dual_level(level=0)


@pytest.mark.parametrize(
    ("tensor", "tangent", "error", "text"),
    [
        (1.0, engine.ones(1), TypeError, r"tensor needs to be a Tensor; got float"),
        (engine.ones(1), 1.0, TypeError, r"tangent needs to be a Tensor; got float"),
        (engine.tensor([1]), engine.ones(1), ValueError, r"Expected primal to be floating point"),
        (engine.ones(1), engine.tensor([1]), ValueError, r"Expected tangent to be floating point"),
        (engine.ones(1), engine.ones(2), RuntimeError, r"a different size than"),
        (engine.ones(1), engine.ones(1).double(), RuntimeError, r"a different size than"),
        (engine.ones(1), Value(1.0), RuntimeError, r"a different size than"),
    ],
)
def test_a_tangent_must_fit(tensor, tangent, error, text):
    with dual_level(), pytest.raises(error, match=text):
        make_dual(tensor, tangent)


def test_a_tangent_that_has_a_tangent_is_refused():
    with dual_level():
        dual = make_dual(engine.ones(1), engine.ones(1))
        with pytest.raises(RuntimeError, match="has a forward gradient at the same level"):
            make_dual(engine.ones(1), dual)


def test_printing_shows_the_tangent():
    with dual_level():
        dual = make_dual(engine.ones(2), engine.tensor([1.0, 2.0]))
        assert repr(dual) == "tensor([1., 1.], tangent=tensor([1., 2.]))"
    assert repr(dual) == "tensor([1., 1.])"


def test_tangents_pass_under_no_grad_and_not_through_detach():
    with dual_level(), engine.no_grad():
        dual = make_dual(engine.ones(2), engine.ones(2))
        assert unpack_dual(dual * 3.0).tangent.tolist() == [3.0, 3.0]
        assert unpack_dual(dual.detach() * 3.0).tangent is None
        assert (dual > 0).tolist() == [True, True]


def test_a_view_and_its_base_share_tangents_when_one_is_changed():
    with dual_level():
        base = engine.zeros(2, 2)
        row = base[0]
        row.copy_(make_dual(engine.ones(2), engine.tensor([5.0, 7.0])))
        assert unpack_dual(base).tangent.tolist() == [[5.0, 7.0], [0.0, 0.0]]
        assert unpack_dual(base[:, 1]).tangent.tolist() == [7.0, 0.0]
        base.mul_(2.0)
        assert unpack_dual(row).tangent.tolist() == [10.0, 14.0]
        row.zero_()
        assert unpack_dual(base).tangent.tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_copy_copies_the_tangent():
    t = engine.ones(2)
    with dual_level():
        target = make_dual(engine.zeros(2), engine.zeros(2))
        target.copy_(make_dual(engine.ones(2), t))
        target.mul_(3.0)
        assert unpack_dual(target).tangent.tolist() == [3.0, 3.0]
    assert t.tolist() == [1.0, 1.0]


def test_values_have_tangents_alone_and_with_tensors():
    with dual_level():
        v = make_dual(Value(2.0), Value(1.0))
        assert unpack_dual((v * v).exp() / v).tangent.data == pytest.approx(math.exp(4) * 1.75)
        row = engine.stack([v, v * v])
        assert unpack_dual(row).tangent.tolist() == [1.0, 4.0]
        assert unpack_dual(engine.unstack(row * 2.0)[1]).tangent.data == 8.0
        assert unpack_dual(engine.ones(2) * v).tangent.tolist() == [1.0, 1.0]
        assert unpack_dual(v + 1).tangent.data == 1.0


def test_nodes_of_values_made_by_hand_pass_tangents():
    with dual_level():
        v = make_dual(Value(2.0), Value(1.0))
        out = Value(v.data**2, (v,), (2 * v.data,))
        assert unpack_dual(out).tangent.data == 4.0


class Scale(Function):
    """x * k, with a jvp that uses what was saved for it."""

    @staticmethod
    def forward(ctx, x, k, name=None):
        ctx.save_for_forward(x)
        ctx.k = k
        return x * k, x.argmax()

    @staticmethod
    def backward(ctx, g, _):
        return g * ctx.k, None, None

    @staticmethod
    def jvp(ctx, tx, tk, tname):
        (x,) = ctx.saved_tensors
        assert (tk, tname) == (None, None)
        assert x.shape == tx.shape
        return tx * ctx.k, None


def test_a_functions_jvp_gives_its_tangents():
    with dual_level():
        y, place = Scale.apply(make_dual(engine.ones(2), engine.ones(2)), 3.0, "name")
        assert unpack_dual(y).tangent.tolist() == [3.0, 3.0]
        assert unpack_dual(place).tangent is None


def test_a_function_without_jvp_is_refused_by_name():
    class Plain(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    with dual_level():
        assert Plain.apply(engine.ones(1)).tolist() == [2.0]
        with pytest.raises(NotImplementedError, match=r"implement the jvp function.*Plain\.jvp"):
            Plain.apply(make_dual(engine.ones(1), engine.ones(1)))


def with_jvp(tangent, dirty=False):
    class Doubled(Function):
        @staticmethod
        def forward(ctx, x):
            if dirty:
                ctx.mark_dirty(x)
                return x.mul_(2)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

        jvp = staticmethod(tangent)

    return Doubled.apply


def test_what_jvp_returns_is_counted_and_checked():
    with dual_level():
        dual = make_dual(engine.ones(2), engine.ones(2))
        with pytest.raises(RuntimeError, match=r"jvp returned 2 tangents for 1 outputs"):
            with_jvp(lambda ctx, t: (t, t))(dual)
        changed = with_jvp(lambda ctx, t: t.mul_(2), dirty=True)(dual.clone())
        assert unpack_dual(changed).tangent.tolist() == [2.0, 2.0]
        with pytest.raises(RuntimeError, match=r"modify the corresponding gradient inplace"):
            with_jvp(lambda ctx, t: t * 2, dirty=True)(dual.clone())


def test_undefined_tangents_are_zeros_unless_a_function_asks_for_none():
    seen = []

    class Sum(Function):
        materialize = True

        @classmethod
        def forward(cls, ctx, a, b):
            ctx.set_materialize_grads(cls.materialize)
            return a + b

        @staticmethod
        def backward(ctx, g):
            return g, g

        @staticmethod
        def jvp(ctx, ta, tb):
            seen.append(tb)
            return ta

    class Sparse(Sum):
        materialize = False

    with dual_level():
        dual = make_dual(engine.ones(1), engine.ones(1))
        Sum.apply(dual, engine.ones(1))
        Sparse.apply(dual, engine.ones(1))
    assert seen[0].tolist() == [0.0]
    assert seen[1] is None


def test_non_differentiable_outputs_have_no_tangent():
    class Both(Function):
        @staticmethod
        def forward(ctx, x):
            constant = x.round()
            ctx.mark_non_differentiable(constant)
            return x * 2, constant

        @staticmethod
        def backward(ctx, g, _):
            return g * 2

        @staticmethod
        def jvp(ctx, t):
            return t * 2, None

    class Wrong(Both):
        @staticmethod
        def jvp(ctx, t):
            return t * 2, t

    with dual_level():
        dual = make_dual(engine.ones(1), engine.ones(1))
        y, constant = Both.apply(dual)
        assert unpack_dual(y).tangent.tolist() == [2.0]
        assert unpack_dual(constant).tangent is None
        with pytest.raises(RuntimeError, match=r"Wrong.jvp: output 1 .*return None at that pos"):
            Wrong.apply(dual)


def test_levels_of_transformations_nest_without_confusion():
    def inner(x):
        return functional.jacobian(lambda y: x * y * y, x, strategy="forward-mode")

    # d/dx of (d/dy x y**2 at y = x) = d/dx 2 x**2, with x and y told apart.
    x = engine.tensor(3.0, dtype=engine.float64)
    with nested_level() as level:
        dual = make_dual(x, engine.ones_like(x))
        with nested_level() as second:
            again = make_dual(dual, engine.ones_like(x))
            y = dual * again * again
            first = second.tangent(y)
            assert level.tangent(first).item() == 12.0
    assert inner(x).item() == 18.0


def test_a_level_keeps_neither_tensors_nor_tangents_alive():
    with dual_level():
        t = engine.ones(2)
        dual = make_dual(engine.ones(2), t)
        gone = [weakref.ref(x) for x in (dual, t)]
        del t
        assert gone[1]() is not None
        assert unpack_dual(dual * 2.0).tangent.tolist() == [2.0, 2.0]
        del dual
        assert [x() for x in gone] == [None, None]


def test_a_primal_has_no_tangent_and_detaching_in_place_drops_it():
    with dual_level():
        dual = make_dual(engine.ones(2), engine.ones(2)).clone()
        primal = unpack_dual(dual).primal
        assert unpack_dual(primal).tangent is None
        assert "tangent" not in repr(primal)
        dual.detach_()
        assert unpack_dual(dual * 2.0).tangent is None


def test_only_the_tangent_of_what_is_dual_is_changed_in_place():
    with dual_level():
        foo, bar = engine.ones(2), engine.ones(2)
        dual = make_dual(foo, bar)
        dual *= 2
        assert unpack_dual(foo).tangent is None
        assert (foo.tolist(), bar.tolist()) == ([2.0, 2.0], [2.0, 2.0])
        view = dual.narrow(0, 0, 1)
        view *= 3
        assert unpack_dual(foo).tangent is None
        assert unpack_dual(dual).tangent.tolist() == [6.0, 2.0]
        apart = foo.clone()
        aside = apart.detach()
        aside += dual
        assert unpack_dual(apart).tangent is None
        assert unpack_dual(aside).tangent.tolist() == [6.0, 2.0]


def test_the_number_of_the_level_can_be_asked_for():
    assert forward_ad._current_level == -1
    with dual_level():
        assert forward_ad._current_level == 0
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        forward_ad.nonsense  # noqa: B018


def test_a_cycle_of_a_dual_and_its_graph_is_freed():
    x = engine.ones(2, requires_grad=True)
    with dual_level():
        dual = make_dual(x, engine.ones(2))
        y = dual * 2.0
        y.keeps = dual
        dual.keeps = y
        gone = weakref.ref(y)
    del dual, y
    gc.collect()
    assert gone() is None


def test_another_thread_has_its_own_level():
    import threading

    found = []
    with dual_level():
        dual = make_dual(engine.ones(1), engine.ones(1))
        thread = threading.Thread(target=lambda: found.append(unpack_dual(dual).tangent))
        thread.start()
        thread.join()
    assert found == [None]
