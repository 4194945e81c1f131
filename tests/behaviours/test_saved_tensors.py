"""How long saved tensors live, and how changes of them are noticed. Each test also passes with
real torch as `torch`."""

import gc
import weakref
from typing import ClassVar

import pytest

import engine as torch
from engine.autograd import Function, gradcheck, gradgradcheck
from engine.autograd.graph import increment_version


def test_none_among_the_saved_tensors_comes_back_as_none():
    class Saves(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(None, x, None)
            return x * x

        @staticmethod
        def backward(ctx, g):
            first, x, last = ctx.saved_tensors
            assert first is None
            assert last is None
            return 2 * x * g

    x = torch.tensor([1.0, 3.0], requires_grad=True)
    Saves.apply(x).sum().backward()
    assert x.grad.tolist() == [2.0, 6.0]


def test_changes_in_place_move_the_version_that_views_share():
    x = torch.randn(1, 2)
    before = x._version
    x.add_(1).add_(1)
    assert x._version > before
    view = x[:]
    assert x._version == view._version
    view.add_(1)
    assert x._version == view._version


def test_setting_data_keeps_the_version_and_the_counter_shared_with_views():
    x = torch.randn(1, 2)
    view = x[:]
    x.add_(1)
    before = x._version
    x.data = torch.randn(2, 3)
    assert x._version == before
    x.add_(1)
    assert x._version > before
    assert x._version == view._version
    view.add_(1)
    assert x._version == view._version


def test_detach_shares_the_version():
    x = torch.tensor(2.0, requires_grad=True)
    y = x**2
    x.detach().zero_()
    with pytest.raises(RuntimeError, match="has been modified by an inplace"):
        y.backward()


def test_what_a_product_need_not_save_may_be_changed():
    factor = torch.ones(1, requires_grad=True)
    x = torch.empty(1)
    loss = 0
    for i in range(3):
        x.detach_()
        x.copy_(factor + i)
        loss += (x * torch.tensor([float(i)])).sum()
    loss.backward()
    assert factor.grad.tolist() == [3.0]


def test_only_what_was_saved_is_checked():
    x = torch.ones(3, requires_grad=True)
    y = torch.full((3,), 4.0, requires_grad=True)
    z = x * y
    total, product = z + y, z * y
    z.add_(2)
    total.sum().backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()


def test_an_exponential_in_place_has_its_result_for_its_slope():
    leaf = torch.zeros(2, requires_grad=True)
    z = leaf / 2
    product, total = z * 3, z + 1
    before = z._version
    w = z.exp_()
    assert w is z
    assert z._version != before
    total.sum().backward(retain_graph=True)
    product.sum().backward(retain_graph=True)
    assert leaf.grad.tolist() == [2.0, 2.0]
    w.sum().backward()
    assert leaf.grad.tolist() == [2.5, 2.5]


def test_a_change_under_no_grad_of_a_saved_tensor_is_noticed():
    x = torch.randn(5, requires_grad=True)
    y = torch.randn(5, requires_grad=True)
    z = (x * y).sum()
    with torch.no_grad():
        x *= 2
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()


class KeepsCtx(Function):
    kept: ClassVar[list] = []

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        KeepsCtx.kept.append(ctx)
        return ctx.saved_tensors


def test_saved_tensors_of_a_kept_ctx_raise_once_the_graph_is_freed():
    x = torch.zeros(1, requires_grad=True)
    loss = KeepsCtx.apply(x)
    loss.backward()
    del loss
    with pytest.raises(RuntimeError, match="already been freed"):
        KeepsCtx.kept.pop().saved_tensors  # noqa: B018


def test_saved_tensors_may_be_read_on_the_node_until_they_are_freed():
    class Saves(Function):
        @staticmethod
        def forward(ctx, x, something):
            if something:
                ctx.save_for_backward(x, None, x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return None, None

    x = torch.randn(3, requires_grad=True)
    y = Saves.apply(x, True)
    assert [s is x for s in y.grad_fn.saved_tensors] == [True, False, True]
    assert y.grad_fn.saved_tensors[1] is None
    y.sum().backward()
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        y.grad_fn.saved_tensors  # noqa: B018
    assert Saves.apply(x, False).grad_fn.saved_tensors == ()


def scattered(x):
    """A tensor of zeros with some places taken from x: what it is made of is saved."""
    y = torch.zeros(3, dtype=torch.double)
    y[[1, 2]] = x[[1, 1]]
    return y


def test_a_second_backward_needs_retain_graph():
    x = torch.randn(3, requires_grad=True, dtype=torch.double)
    ones = torch.ones(3, dtype=torch.double)
    y = scattered(x) ** 2
    y.backward(ones, retain_graph=True)
    y.backward(ones)
    with pytest.raises(RuntimeError, match="Specify retain_graph=True"):
        y.backward(ones)


def test_a_second_backward_through_assigned_places_needs_retain_graph():
    x = torch.randn(3, requires_grad=True, dtype=torch.double)
    y = scattered(x)
    y.backward(torch.ones(3, dtype=torch.double))
    with pytest.raises(RuntimeError, match="Specify retain_graph=True"):
        y.backward(torch.ones(3, dtype=torch.double))


def test_a_second_backward_through_assigned_places_works_with_retain_graph():
    x = torch.randn(3, requires_grad=True, dtype=torch.double)
    y = scattered(x)
    y.backward(torch.ones(3, dtype=torch.double), retain_graph=True)
    y.backward(torch.ones(3, dtype=torch.double))
    assert x.grad.tolist() == [0.0, 4.0, 0.0]


def test_a_second_backward_is_fine_where_nothing_was_saved():
    x = torch.randn(3, requires_grad=True)
    y = x + 1
    y.backward(torch.ones(3))
    y.backward(torch.ones(3))
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


class Square(Function):
    """x ** 2; backward reads the input, or the saved output too."""

    @staticmethod
    def forward(ctx, x):
        y = x**2
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        x, _ = ctx.saved_tensors
        return g * 2 * x


class SquareByOutput(Square):
    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * 2 * y / x


@pytest.mark.parametrize("function", [Square, SquareByOutput])
def test_a_saved_output_is_not_freed_before_a_second_derivative(function):
    x = torch.tensor(2.0, dtype=torch.double, requires_grad=True)
    assert gradcheck(function.apply, x)
    assert gradgradcheck(function.apply, x)
    y = function.apply(x)
    torch.autograd.grad(y, x, create_graph=True)
    assert torch.autograd.grad(y, x)[0].item() == 4.0


def test_a_saved_output_makes_no_cycle():
    class Saves(Function):
        @staticmethod
        def forward(ctx, x):
            y = x.clone()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            return g

    gc.disable()
    try:
        y = Saves.apply(torch.ones(2, requires_grad=True))
        node = weakref.ref(y.grad_fn)
        y = weakref.ref(y)
        assert y() is None
        assert node() is None
    finally:
        gc.enable()


def test_a_saved_view_that_was_changed_makes_no_cycle():
    class Saves(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            ctx.save_for_backward(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g

    def scope():
        x = torch.tensor(1.0, requires_grad=True).clone()
        x = x.view_as(x)
        Saves.apply(x)
        return weakref.ref(x)

    assert scope()() is None


def test_increment_version_counts_a_change_made_behind_the_back():
    for x in (torch.rand(5, requires_grad=True), torch.zeros(5, dtype=torch.int)):
        before = x._version
        increment_version(x)
        assert x._version == before + 1
    with torch.inference_mode():
        x = torch.rand(5)
        increment_version(x)
    increment_version(x)


def test_a_saved_input_that_was_detached_in_place_raises():
    x = torch.tensor(1.0, requires_grad=True).clone()
    y = x.sin()
    x.detach_()
    with pytest.raises(RuntimeError, match="Trying to use a saved tensor that has been detached"):
        y.backward()


def test_a_saved_output_that_was_detached_in_place_is_fine():
    leaf = torch.tensor(0.0, requires_grad=True)
    x = leaf.clone()
    y = x.exp()
    y.detach_()
    x = leaf.clone()
    y = x.exp()
    x.detach_()
    y.backward()
    assert leaf.grad.item() == 1.0


def test_indexing_does_not_save_the_tensor_indexed():
    mask = torch.tensor([True, False, False])
    x = torch.zeros(3, requires_grad=True)
    y = x + 0
    y[mask] = y[mask]
    y.backward(torch.ones(3))
    assert x.grad.tolist() == [1.0, 1.0, 1.0]


def test_saved_variables_is_the_old_name_and_warns():
    class Saves(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_variables
            return 2 * x * g

    x = torch.tensor(3.0, requires_grad=True)
    with pytest.warns(DeprecationWarning, match="'saved_variables' is deprecated"):
        Saves.apply(x).backward()
    assert x.grad.item() == 6.0


class Kept(Function):
    """The identity; keeps each ctx that its backward is called with."""

    all: ClassVar[list] = []

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx, g):
        Kept.all.append(ctx)
        return ctx.saved_tensors


AFTER = {"nothing": lambda y: y, "an operation": lambda y: y * 2, "a view": lambda y: y.view(1)}


@pytest.mark.parametrize("then", AFTER)
def test_saved_tensors_of_a_kept_ctx_are_gone_with_the_graph_though_it_was_retained(then):
    x = torch.zeros(1, requires_grad=True)  # PyTorch before 2.13
    y = AFTER[then](Kept.apply(x))
    y.backward(retain_graph=True)
    ctx = Kept.all.pop()
    assert ctx.saved_tensors[0].tolist() == [0.0]
    del y
    with pytest.raises(RuntimeError, match="directly access saved tensors after they have already"):
        ctx.saved_tensors  # noqa: B018
