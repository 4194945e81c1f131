"""What nodes keep, under PyTorch's names; changes of what is saved; what checkpoints tell."""

import pytest

import engine as torch
from engine.autograd import Function, graph
from engine.utils.checkpoint import (
    CheckpointError,
    checkpoint,
    set_checkpoint_debug_enabled,
    set_checkpoint_early_stop,
)


def test_a_node_shows_what_it_saved_by_name():
    a = torch.randn(3, requires_grad=True)
    b = a * a
    c, d = a * b, a.exp()
    assert b.grad_fn._saved_self is b.grad_fn._saved_other is a
    assert c.grad_fn._saved_other is b
    assert torch.equal(d.grad_fn._saved_result, d)
    assert d.grad_fn._saved_result is not d
    assert (a**2).grad_fn._saved_self is a
    assert (a @ b).grad_fn._saved_self is a
    assert torch.stack([a, b], dim=0).grad_fn._saved_dim == 0
    d.sum().backward()
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        getattr(d.grad_fn, "_saved_result")  # noqa: B009


def test_a_name_that_a_node_does_not_keep_is_an_attribute_error():
    y = torch.ones(1, requires_grad=True).exp()
    with pytest.raises(AttributeError, match="ExpBackward0 keeps no 'other' for backward"):
        getattr(y.grad_fn, "_saved_other")  # noqa: B009
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        getattr(y.grad_fn, "nothing")  # noqa: B009
    assert not hasattr(y.grad_fn, "nothing")


def test_an_attribute_error_in_an_unpack_hook_is_told_as_it_is():
    def unpack(x):
        raise AttributeError("the user's own")

    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g

    with graph.saved_tensors_hooks(lambda x: x, unpack):
        y = Square.apply(torch.ones(1, requires_grad=True))
    with pytest.raises(AttributeError, match="the user's own"):
        y.backward()


def test_hooks_pack_one_saved_tensor():
    a = torch.randn(3, requires_grad=True)
    y = a * a
    y.grad_fn._raw_saved_self.register_hooks(lambda x: 2 * x, lambda x: x)
    assert torch.equal(y.grad_fn._saved_self, 2 * a)
    assert torch.equal(y.grad_fn._saved_other, a)
    y.sum().backward()
    assert torch.allclose(a.grad, 3 * a)


def test_a_program_makes_no_saved_tensor():
    with pytest.raises(RuntimeError, match="Trying to create a SavedTensor object from Python"):
        torch.autograd.SavedTensor()


def test_hooks_of_saved_tensors_are_checked():
    class Keep(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, None)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    y = Keep.apply(torch.ones(1, requires_grad=True))
    first, none = y.grad_fn._raw_saved_tensors
    assert isinstance(first, torch._C._autograd.SavedTensor)
    assert first.unpack().tolist() == [1.0]
    assert none.unpack() is None
    with pytest.raises(RuntimeError, match="None is forbidden"):
        none.register_hooks(lambda x: x, lambda x: x)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        first.register_hooks(1, 1)
    first.register_hooks(lambda x: x, lambda x: x)
    with pytest.raises(RuntimeError, match="already been set"):
        first.register_hooks(lambda x: x, lambda x: x)


@pytest.mark.parametrize("part", [slice(None), slice(1)], ids=["whole", "view"])
def test_saved_tensors_may_be_changed_where_that_is_allowed(part):
    with graph.allow_mutation_on_saved_tensors():
        a = torch.rand(2, 3, requires_grad=True)
        b = a.clone()
        y = (b**2).sum()
        b[part].sin_()
        (g,) = torch.autograd.grad(y, a, create_graph=True)
        (h,) = torch.autograd.grad(g.sum(), a)
    assert torch.allclose(g, 2 * a)
    assert h.tolist() == [[2.0] * 3] * 2


def test_backward_of_what_may_be_changed_belongs_into_its_block():
    with graph.allow_mutation_on_saved_tensors():
        y = (torch.rand(2, requires_grad=True) ** 2).sum()
        with pytest.raises(RuntimeError, match="contexts cannot be nested"):
            graph.allow_mutation_on_saved_tensors().__enter__()
    with pytest.raises(AssertionError, match="outside of the 'allow_mutation_on_saved_tensors'"):
        y.backward()


def test_hooks_cannot_be_forbidden_where_there_are_some():
    with (
        graph.saved_tensors_hooks(lambda x: x, lambda x: x),
        pytest.raises(RuntimeError, match="none here"),
        graph.disable_saved_tensors_hooks("none here"),
    ):
        pass
    with (
        graph.disable_saved_tensors_hooks("outer"),
        graph.disable_saved_tensors_hooks("inner"),
        pytest.raises(RuntimeError, match="inner"),
        graph.saved_tensors_hooks(lambda x: x, lambda x: x),
    ):
        pass
    assert torch._C._autograd._saved_tensors_hooks_is_enabled()


def test_a_checkpoint_hands_each_saved_tensor_out_once():
    class Twice(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            with pytest.raises(CheckpointError, match="was already unpacked once"):
                ctx.saved_tensors, ctx.saved_tensors  # noqa: B018
            return g * 2

    x = torch.ones(1, requires_grad=True)
    checkpoint(Twice.apply, x, use_reentrant=False).backward()
    assert x.grad.tolist() == [2.0]


def changing():
    """exp at first, then another shape."""
    steps = iter([lambda x: x.exp(), lambda x: x.exp().expand(2).exp()])
    return lambda x: next(steps)(x)


def test_a_checkpoint_tells_what_both_runs_saved_when_it_is_asked_to():
    def error(setting=None, **options):
        with set_checkpoint_early_stop(False), set_checkpoint_debug_enabled(setting):
            options["use_reentrant"] = False
            y = checkpoint(changing(), torch.ones(1, requires_grad=True), **options)
        with pytest.raises(CheckpointError) as caught:
            y.sum().backward()
        return str(caught.value)

    assert "2, trying to save more tensors during recomputation" in error()
    assert "you passed `debug=True`" not in error()
    assert "first run saved [(engine.Size([1])" in error(debug=True)
    assert "you passed `debug=True`" in error(True)
    assert "you passed `debug=True`" not in error(False, debug=True)


def test_a_checkpoint_hands_back_constants_as_the_same_object():
    class Scaled(Function):
        @staticmethod
        def forward(ctx, x, k):
            ctx.save_for_backward(k)
            return x * k

        @staticmethod
        def backward(ctx, g):
            (found,) = ctx.saved_tensors
            assert found is k
            return g * found, None

    x, k = torch.ones(1, requires_grad=True), torch.tensor([2.0])
    checkpoint(Scaled.apply, x, k, use_reentrant=False).backward()
    assert x.grad.tolist() == [2.0]


@pytest.mark.parametrize("early", [True, False])
def test_checkpoints_may_stand_around_gradients_of_checkpoints(early):
    def slope(f):
        def g(x):
            return torch.autograd.grad(f(x), x, create_graph=True)[0]

        return g

    def again(f):
        return lambda x: checkpoint(f, x, use_reentrant=False)

    def f(x):
        return x.sin().exp().sin()

    x = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
    with set_checkpoint_early_stop(early):
        assert torch.allclose(again(slope(again(f)))(x), slope(f)(x))
        third = slope(again(slope(again(slope(again(f))))))
        assert torch.allclose(third(x), slope(slope(slope(f)))(x))


@pytest.mark.parametrize(
    ("setting", "options", "calls"),
    [
        (None, {}, 1),
        (None, {"early_stop": False}, 2),
        (False, {}, 2),
        (False, {"early_stop": True}, 2),
        (True, {"early_stop": False}, 1),
    ],
    ids=str,
)
def test_whether_a_second_run_stops_early_is_settled_when_the_checkpoint_is_made(
    setting, options, calls
):
    seen = []

    def f(x):
        y = x.sin().cos()
        seen.append(1)
        return y.clone()

    x = torch.ones((), requires_grad=True)
    with set_checkpoint_early_stop(setting):
        y = checkpoint(f, x, use_reentrant=False, **options)
    y.backward()
    assert len(seen) == calls
