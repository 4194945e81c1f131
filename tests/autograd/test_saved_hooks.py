"""saved_tensors_hooks and checkpoint: packed, computed again, and the same gradients."""

import contextlib
import gc
import io
import weakref
from functools import partial

import pytest

import engine
from engine import Function, Value, modes
from engine.autograd import grad
from engine.autograd.graph import (
    disable_saved_tensors_hooks,
    save_on_cpu,
    saved_tensors_hooks,
)
from engine.utils.checkpoint import (
    CheckpointError,
    checkpoint as checkpoint_of_torch,
    checkpoint_sequential,
    set_checkpoint_early_stop,
)

checkpoint = partial(checkpoint_of_torch, use_reentrant=False)


@pytest.fixture(autouse=True)
def nothing_is_left():
    yield
    assert modes.observers() == ()


class Count:
    """Hooks that keep arrays and count."""

    def __init__(self):
        self.packed = self.unpacked = 0

    def pack(self, x):
        self.packed += 1
        return x.detach().numpy().copy()

    def unpack(self, array):
        self.unpacked += 1
        return engine.from_numpy(array)

    def hooks(self):
        return saved_tensors_hooks(self.pack, self.unpack)


def leaf(*numbers):
    return engine.tensor(numbers, dtype=engine.float64, requires_grad=True)


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        y = x * x * x
        ctx.save_for_backward(x, y, None)
        return y

    @staticmethod
    def backward(ctx, g):
        x, y, nothing = ctx.saved_tensors
        assert nothing is None
        return 3 * y / x * g


FUNCTIONS = {
    "rules": lambda x: (x * x).exp() / x,
    "operations": lambda x: engine.stack([x, x]).mm(x.unsqueeze(1)).tanh() * x.prod(),
    "custom": lambda x: Cube.apply(x * 2),
    "in place": lambda x: (x * 1.0).mul_(x).exp_(),
    "views": lambda x: (x * x)[1:].sin() * x[0],
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_of_first_and_second_order_are_the_same_with_hooks(name):
    x, f, count = leaf(0.5, 1.5, -0.7), FUNCTIONS[name], Count()
    with count.hooks():
        y = f(x)
    (first,) = grad((y * y).sum(), x, create_graph=True)
    (plain,) = grad((f(x) ** 2).sum(), x, create_graph=True)
    assert engine.allclose(first, plain)
    assert engine.allclose(grad(first.sum(), x)[0], grad(plain.sum(), x)[0])
    assert count.packed > 0
    assert count.unpacked > 0


def test_each_saved_tensor_is_packed_once_and_unpacked_once_a_backward():
    x, count = leaf(1.0, 2.0), Count()
    with count.hooks():
        y = x * x
    assert (count.packed, count.unpacked) == (2, 0)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert (count.packed, count.unpacked) == (2, 4)
    with count.hooks():
        y = x * 2.0 + x
    assert count.packed == 2


def test_numbers_and_values_are_not_packed():
    x, v, count = leaf(1.0), Value(2.0), Count()
    with count.hooks():
        ((v * v).exp() + 1.0).backward()
        Cube.apply(v)
    assert count.packed == 0
    with count.hooks():
        x * 3.0
    assert count.packed == 0


def test_the_innermost_hooks_pack():
    x, outer, inner = leaf(1.0), Count(), Count()
    with outer.hooks():
        a = x * x
        with inner.hooks():
            b = x * x
        c = x * x
    (a + b + c).backward()
    assert (outer.packed, inner.packed) == (4, 2)
    assert (outer.unpacked, inner.unpacked) == (4, 2)


def test_an_exception_in_the_block_takes_the_hooks_off():
    with contextlib.suppress(ZeroDivisionError), Count().hooks():
        raise ZeroDivisionError
    assert modes.observers() == ()


def test_pack_sees_the_input_itself_and_no_graph_is_made_in_it():
    x, seen = leaf(1.0), []

    def pack(t):
        seen.append((t is x, (t * t).requires_grad))
        return t

    with saved_tensors_hooks(pack, lambda t: t):
        y = x * x
    y.backward()
    assert seen == [(True, False)] * 2
    assert x.grad.item() == 2.0


def test_a_pack_hook_may_not_change_its_tensor():
    y = leaf(1.0) * 2
    with (
        saved_tensors_hooks(lambda t: t.add_(1), lambda t: t),
        pytest.raises(RuntimeError, match="pack hook is modifying its input in place"),
    ):
        y * y


def test_unpack_must_give_a_tensor():
    x = leaf(1.0)
    with saved_tensors_hooks(lambda t: 3, lambda t: t):
        y = x * x
    with pytest.raises(TypeError, match=r"unpack_hook expected to be a Tensor but got .*int"):
        y.backward()


def test_packing_through_a_file():
    def pack(t):
        stream = io.BytesIO()
        engine.save(t.detach(), stream)
        return stream.getvalue()

    x = leaf(0.5)
    with saved_tensors_hooks(pack, lambda data: engine.load(io.BytesIO(data))):
        y = x.exp() * x
    y.backward()
    assert x.grad.item() == pytest.approx(1.5 * y.item() / 0.5)


def test_what_is_packed_away_is_freed():
    x = leaf(1.0, 2.0)
    with saved_tensors_hooks(lambda t: t.tolist(), engine.tensor):
        y = x * 2.0
        z = y * y
    gone = weakref.ref(y)
    del y
    gc.collect()
    assert gone() is None
    assert z is not None


def test_a_change_in_place_after_packing_is_not_noticed_and_harmless():
    x, count = leaf(1.0), Count()
    y = x * 3.0
    with count.hooks():
        z = y * y
    with engine.no_grad():
        y.zero_()
    z.backward()
    assert x.grad.item() == 18.0


def test_a_second_derivative_through_what_is_no_input_is_still_refused():
    class Between(Function):
        @staticmethod
        def forward(ctx, x):
            half = x * 0.5
            ctx.save_for_backward(half)
            return half * half

        @staticmethod
        def backward(ctx, g):
            (half,) = ctx.saved_tensors
            return half * g

    x = leaf(1.0)
    with Count().hooks():
        y = Between.apply(x)
    (g,) = grad(y, x, create_graph=True)
    assert g.item() == 0.5
    with pytest.raises(RuntimeError, match="neither an input nor an output"):
        grad(g, x)


def test_hooks_can_be_forbidden_with_a_message():
    with (
        disable_saved_tensors_hooks("no hooks in here"),
        pytest.raises(RuntimeError, match="no hooks in here"),
        Count().hooks(),
    ):
        pass


def test_save_on_cpu_changes_nothing():
    x = leaf(2.0)
    with save_on_cpu(pin_memory=True):
        y = x * x
    y.backward()
    assert x.grad.item() == 4.0


class Net:
    """A function with weights of its own, that counts its calls."""

    def __init__(self):
        engine.manual_seed(3)
        self.layer = engine.nn.Linear(3, 3)
        self.calls = 0

    def __call__(self, x, scale=1.0, noise=False):
        self.calls += 1
        y = (self.layer(x).tanh() * scale).exp()
        return y * engine.rand(3) if noise else y


def gradients(net, y, x, **options):
    return grad((y * y).sum(), [x, *net.layer.parameters()], **options)


@pytest.mark.parametrize("early", [True, False])
@pytest.mark.parametrize("options", [{}, {"scale": 0.3}, {"noise": True}], ids=str)
def test_a_checkpoint_gives_the_same_gradients_from_one_more_call(options, early):
    net, x = Net(), engine.ones(2, 3, requires_grad=True)
    engine.manual_seed(1)
    wanted = gradients(net, net(x, **options), x)
    engine.manual_seed(1)
    y = checkpoint(net, x, use_reentrant=False, **options)
    assert net.calls == 2
    with set_checkpoint_early_stop(early):
        found = gradients(net, y, x)
    assert net.calls == 3
    for a, b in zip(found, wanted, strict=True):
        assert engine.equal(a, b)


def test_random_numbers_after_a_recomputation_go_on_as_before():
    net, x = Net(), engine.ones(2, 3, requires_grad=True)
    y = checkpoint(net, x, noise=True)
    state_before = engine.get_rng_state()
    gradients(net, y, x)
    assert engine.rand(1).item() == (engine.set_rng_state(state_before), engine.rand(1).item())[1]


def test_without_preserve_rng_state_random_numbers_are_new():
    net, x = Net(), engine.ones(2, 3, requires_grad=True)
    y = checkpoint(net, x, noise=True, preserve_rng_state=False)
    assert gradients(net, y, x)[0].shape == x.shape


def test_each_backward_computes_again_once():
    net, x = Net(), engine.ones(2, 3, requires_grad=True)
    y = checkpoint(net, x)
    gradients(net, y, x, retain_graph=True)
    gradients(net, y, x)
    assert net.calls == 3


def test_a_checkpoint_keeps_no_intermediate_results():
    kept = []

    def f(x):
        y = x.exp()
        kept.append(weakref.ref(y))
        return y * y

    x = leaf(1.0)
    z = checkpoint(f, x)
    gc.collect()
    assert kept[0]() is None
    z.backward()
    assert x.grad.item() == pytest.approx(2 * z.item())


def test_a_checkpoint_has_second_derivatives():
    x = leaf(0.5)
    (g,) = grad(checkpoint(lambda t: t.exp() * t, x), x, create_graph=True)
    (h,) = grad(g, x)
    assert h.item() == pytest.approx(2.5 * leaf(0.5).exp().item())


def test_checkpoints_nest_and_stand_beside_custom_functions():
    x = leaf(0.5, 2.0)

    def inner(t):
        return Cube.apply(t).sin()

    def outer(t):
        return checkpoint(inner, t * 2) * t.exp()

    found = grad(checkpoint(outer, x).sum(), x)[0]
    assert engine.allclose(found, grad((inner(x * 2) * x.exp()).sum(), x)[0])


def test_arguments_and_results_of_other_kinds_pass():
    x = leaf(1.0)
    y, text, nothing = checkpoint(lambda t, a, b: (t * t, a, b), x, "text", None)
    y.backward()
    assert (x.grad.item(), text, nothing) == (2.0, "text", None)


def test_contexts_of_ones_own_stand_around_both_runs():
    entered = []

    @contextlib.contextmanager
    def named(name):
        entered.append(name)
        yield

    x = leaf(1.0)
    y = checkpoint(lambda t: t * t, x, context_fn=lambda: (named("first"), named("again")))
    y.backward()
    assert entered == ["first", "again"]


def changing(*results):
    """A function that does something else each time."""
    steps = iter(results)
    return lambda x: next(steps)(x)


def test_a_function_that_does_something_else_the_second_time_is_refused():
    x = leaf(1.0, 2.0)
    y = checkpoint(changing(lambda t: t.exp().sin(), lambda t: t.exp()), x)
    with pytest.raises(CheckpointError, match=r"A different number of tensors was saved .*2 and 1"):
        y.sum().backward()
    y = checkpoint(changing(lambda t: t.exp(), lambda t: t[:1].exp()), x)
    with pytest.raises(CheckpointError, match=r"have different metadata .*tensor 0 was"):
        y.sum().backward()


def test_the_reentrant_kind_is_refused_with_the_cure():
    with pytest.raises(ValueError, match=r"use_reentrant=False"):
        checkpoint(lambda t: t, leaf(1.0), use_reentrant=True)


def test_the_kind_of_a_checkpoint_is_to_be_said():
    x = leaf(1.0)
    with pytest.warns(UserWarning, match=r"use_reentrant parameter should be passed explicitly"):
        checkpoint_of_torch(engine.exp, x).backward()
    assert x.grad.item() == x.exp().item()
    with pytest.warns(UserWarning, match=r"passed explicitly") as caught:
        checkpoint_sequential([engine.exp, engine.sin, engine.cos], 3, x)
    assert len(caught) == 1


def test_a_sequence_is_checkpointed_in_parts():
    net, x = Net(), engine.ones(2, 3, requires_grad=True)
    parts = [net, engine.tanh, net, engine.exp, net]
    y = checkpoint_sequential(parts, 2, x, use_reentrant=False)
    assert net.calls == 3
    found = gradients(net, y, x)
    assert net.calls == 4
    z = x
    for part in parts:
        z = part(z)
    for a, b in zip(found, gradients(net, z, x), strict=True):
        assert engine.allclose(a, b)
