"""Accumulation of .grad, and backward or grad with create_graph."""

import warnings

import pytest

import engine as torch


def test_a_second_backward_adds_to_grad_in_place_and_with_create_graph_makes_a_new_one():
    for create_graph, factor in ((False, 2.0), (True, 1.0)):
        x = torch.randn(5, 5, requires_grad=True)
        y = x + 2
        y.backward(torch.ones(5, 5), retain_graph=True)
        seen, before = x.grad, x.grad.clone()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            y.backward(torch.ones(5, 5), create_graph=create_graph)
        assert torch.equal(seen, before * factor)


@pytest.mark.filterwarnings("ignore:Using backward")
@pytest.mark.parametrize("create_graph", [False, True])
def test_an_assigned_grad_stays_the_same_object_unless_the_graph_is_created(create_graph):
    x = torch.tensor([1.5, 1.5]).requires_grad_()
    x.grad = torch.tensor([1.5, 1.5])
    before = x.grad
    x.backward(torch.tensor([1.5, 1.5]), create_graph=create_graph)
    assert (before is x.grad) is not create_graph
    assert x.grad.tolist() == [3.0, 3.0]


def test_a_gradient_shared_by_several_paths_is_not_changed_while_it_waits():
    x = torch.ones(5, 5, requires_grad=True)
    y = torch.ones(5, 5, requires_grad=True)
    (x + y + (x + x) * 1 + y).backward(torch.ones(5, 5))
    assert torch.equal(x.grad, torch.full((5, 5), 3.0))
    assert torch.equal(y.grad, torch.full((5, 5), 2.0))


def test_a_gradient_given_to_backward_is_not_changed_by_later_backwards():
    x = torch.ones(3, requires_grad=True)
    g = torch.ones(3)
    for _ in range(2):
        (x + 1).backward(g)
    assert g.tolist() == [1.0, 1.0, 1.0]
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_two_leaves_that_receive_the_same_gradient_do_not_share_their_grad():
    x, y = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    (x + y).backward(torch.ones(3))
    x.grad.zero_()
    assert y.grad.tolist() == [1.0, 1.0, 1.0]


def test_an_assigned_grad_must_be_a_tensor_or_none():
    x = torch.randn(5, 5)
    with pytest.raises(TypeError, match="expected to be a Tensor or None"):
        x.grad = 0
    x.grad = None


@pytest.mark.parametrize("wrong", [(2, 2), (5,), ()], ids=str)
def test_an_assigned_grad_must_have_the_shape(wrong):
    with pytest.raises(RuntimeError, match=r"of size|different size"):
        torch.randn(5, 5).grad = torch.zeros(wrong)


def test_an_assigned_grad_must_have_the_dtype():
    with pytest.raises(RuntimeError, match="dtype"):
        torch.randn(2, 2).grad = torch.zeros(2, 2, dtype=torch.float64)
    with pytest.raises(RuntimeError, match="dtype"):
        torch.randn(2, 2).grad = torch.zeros(2, 2, dtype=torch.int64)


def test_a_tensor_cannot_be_its_own_grad():
    x = torch.randn(5, 5)
    with pytest.raises(RuntimeError, match="can't assign Variable as its own grad"):
        x.grad = x


def test_a_half_precision_tensor_takes_a_half_precision_grad():
    x = torch.zeros(5, 5, dtype=torch.float16)
    x.grad = torch.zeros(5, 5, dtype=torch.float16)
    assert x.grad.dtype == torch.float16


def test_gradients_without_elements_broadcast_to_the_right_shapes():
    a = torch.rand(4, 0, requires_grad=True)
    b = torch.rand(4, 1, requires_grad=True)
    (a + b).sum().backward()
    assert a.grad.shape == (4, 0)
    assert torch.equal(b.grad, torch.zeros(4, 1))


def test_gradients_without_elements_accumulate():
    a = torch.rand(4, 0, requires_grad=True)
    for _ in range(2):
        (a * 2).sum().backward()
    assert a.grad.shape == (4, 0)


def leaf(memory_format):
    return torch.rand(2, 3, 4, 5).to(memory_format=memory_format).requires_grad_()


@pytest.mark.parametrize("of_b", ["contiguous_format", "channels_last"])
@pytest.mark.parametrize("of_a", ["contiguous_format", "channels_last"])
def test_the_grad_of_a_dense_leaf_lies_in_memory_as_the_leaf(of_a, of_b):
    a, b = leaf(getattr(torch, of_a)), leaf(getattr(torch, of_b))
    a.sum().backward()
    assert a.grad.stride() == a.stride()
    a.grad = None
    (a * b).sum().backward()
    assert a.grad.stride() == a.stride()
    assert b.grad.stride() == b.stride()


def test_the_grad_of_a_transposed_leaf_lies_in_memory_as_the_leaf():
    a = torch.rand(3, 4).t().requires_grad_()
    (a * torch.rand(4, 3)).sum().backward()
    assert a.grad.stride() == a.stride() == (1, 4)


def test_the_grad_of_a_leaf_with_gaps_is_contiguous():
    c = torch.rand(4, 4)[::2, ::2].detach().requires_grad_()
    c.sum().backward()
    assert c.grad.stride() == (2, 1)
    c.grad = None
    (c * torch.rand(2, 2)).sum().backward()
    assert c.grad.stride() == (2, 1)


# --- create_graph and double backward ---


class Exp2(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = 2.0 * x.exp()
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return 0.5 * g * y + g * x.exp()


def test_derivatives_of_a_function_that_saves_input_and_output_are_right_to_the_fourth():
    x = torch.tensor([0.5, -1.0], dtype=torch.float64, requires_grad=True)
    y = Exp2.apply(x)
    for _ in range(4):
        (y,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        assert torch.allclose(y, 2 * x.exp())


@pytest.mark.filterwarnings("ignore:Using backward")
def test_gradient_and_hessian_times_vector_through_backward_with_create_graph():
    x, y = torch.randn(2, 2, requires_grad=True), torch.randn(2, 2, requires_grad=True)
    z = x**2 + y * x + y**2
    z.backward(torch.ones(2, 2), create_graph=True)
    assert torch.allclose(x.grad, 2 * x + y)
    assert torch.allclose(y.grad, x + 2 * y)
    x_grad, y_grad = x.grad.detach().clone(), y.grad.detach().clone()
    (2 * x.grad + y.grad).backward(torch.ones(2, 2))
    assert torch.allclose(x.grad, x_grad + 5)
    assert torch.allclose(y.grad, y_grad + 4)


def test_backward_with_create_graph_warns_of_the_cycle_and_grad_does_not():
    b = torch.rand(3, requires_grad=True)
    if hasattr(torch, "set_warn_always"):
        torch.set_warn_always(True)
    with pytest.warns(UserWarning, match="Using backward\\(\\) with create_graph=True"):
        (b * b).sum().backward(create_graph=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.autograd.grad((b * b).sum(), b, create_graph=True)
    b.grad = None


def test_a_gradient_outside_the_graph_cannot_be_differentiated():
    x = torch.rand(3, requires_grad=True)
    (g,) = torch.autograd.grad((x**3).sum(), x)
    assert not g.requires_grad
    assert g.grad_fn is None
    with pytest.raises(RuntimeError, match="does not require grad"):
        torch.autograd.grad(g.sum(), x)


def test_create_graph_keeps_the_graph_by_default():
    x = torch.rand(3, requires_grad=True)
    y = (x**3).sum()
    torch.autograd.grad(y, x, create_graph=True)
    assert torch.allclose(torch.autograd.grad(y, x)[0], 3 * x**2)


def test_grad_outputs_may_themselves_be_differentiated():
    x = torch.rand(3, dtype=torch.float64, requires_grad=True)
    v = torch.rand(3, dtype=torch.float64, requires_grad=True)
    (g,) = torch.autograd.grad(x**2, x, v, create_graph=True)
    by_x, by_v = torch.autograd.grad(g.sum(), (x, v))
    assert torch.allclose(by_x, 2 * v)
    assert torch.allclose(by_v, 2 * x)


def test_backward_notices_a_grad_that_it_saved_and_that_was_added_to_since():
    x, w = (torch.ones(2, requires_grad=True) for _ in range(2))
    (x * 3).sum().backward()
    y = (x.grad * w).sum()
    (x * 2).sum().backward()
    assert x.grad.tolist() == [5.0, 5.0]
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_an_expanded_tensor_assigned_to_grad_is_added_to_as_well():
    x = torch.ones(3, requires_grad=True)
    x.grad = given = torch.ones(1).expand(3)
    (x * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert x.grad.tolist() == [2.0, 3.0, 4.0]
    assert given.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.filterwarnings("ignore:Using backward")
@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("there", [False, True])
def test_a_leaf_turned_in_place_gets_one_sum_of_what_arrives_from_before_and_after(
    there, create_graph
):
    x, w = torch.ones(2, 2, requires_grad=True), torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    before = (x * w).sum()
    with torch.no_grad():
        x.t_()
    if there:
        x.grad = torch.ones(2, 2)
    seen = []
    x.register_hook(seen.append)
    (before + (x * w).sum()).backward(create_graph=create_graph)
    assert [g.tolist() for g in seen] == [[[2.0, 4.0], [6.0, 8.0]]]
    assert (x.grad - float(there)).tolist() == [[2.0, 4.0], [6.0, 8.0]]
