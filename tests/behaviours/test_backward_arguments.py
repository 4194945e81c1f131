"""What grad() and backward() take and refuse. Each test also passes with real torch as `torch`."""

import warnings

import pytest

import engine as torch
from engine.autograd import Function, grad


def leaf(*shape):
    return torch.randn(*shape, dtype=torch.double, requires_grad=True)


def close(a, b):
    return torch.allclose(a, b)


def test_allow_unused_gives_none_and_without_it_an_error():
    x, y = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    gx, gy = grad(x * 2, [x, y], allow_unused=True)
    assert gx.tolist() == [2.0]
    assert gy is None
    with pytest.raises(RuntimeError, match="Set allow_unused=True"):
        grad(x * 2, [x, y], allow_unused=False)
    with pytest.raises(RuntimeError, match="Set allow_unused=True"):
        grad(x * 2, [x, y])


def test_backward_raises_if_one_output_needs_no_gradient():
    x, y = leaf(2, 2), torch.randn(2, 2, dtype=torch.double)
    ones = torch.ones(2, 2, dtype=torch.double)
    with pytest.raises(RuntimeError, match="does not require grad"):
        torch.autograd.backward([x + y, y * 2], [ones, ones])


def test_backward_of_what_needs_no_gradient_raises():
    with pytest.raises(RuntimeError, match="does not require grad"):
        torch.ones(1).backward()


def test_backward_with_none_for_more_than_one_number_raises():
    y = torch.randn(5, 5, requires_grad=True) + 2
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar"):
        torch.autograd.backward([y], [None])


def test_backward_with_a_gradient_of_a_mixed_expression_and_of_a_leaf():
    x, z, alone = leaf(3, 3), leaf(3, 3), leaf(3, 3)
    y = (torch.rand(3, 3, dtype=torch.double) + 0.5).requires_grad_(True)
    g = torch.randn(3, 3, dtype=torch.double)
    alone.backward(g)
    assert alone.grad.tolist() == g.tolist()
    (x + (y * z) + 4 * z**2 * x / y).backward(g)
    assert close(x.grad, (4 * z.pow(2) / y + 1) * g)
    assert close(y.grad, (z - 4 * x * z.pow(2) / y.pow(2)) * g)
    assert close(z.grad, (8 * x * z / y + y) * g)


def test_grad_raises_when_outputs_or_inputs_need_no_gradient():
    x = torch.ones(1)
    y = x**2
    for outputs, inputs in ((x, y), (y, x)):
        with pytest.raises(RuntimeError, match="does not require grad"):
            grad(outputs, inputs)


def test_grad_with_no_inputs_raises_a_value_error():
    x = torch.tensor([1.0], requires_grad=True)
    # PyTorch: a ValueError in its current tests, a RuntimeError before.
    with pytest.raises((ValueError, RuntimeError), match=r"non-empty inputs|cannot be empty"):
        grad(2 * x, [], grad_outputs=torch.tensor([1.0]))


def test_grad_by_an_inner_tensor_leaves_grad_alone():
    start, y = leaf(2, 2), leaf(2, 2)
    ones = torch.ones(2, 2, dtype=torch.double)

    def f(x):
        return x**2 + y * x + y**2

    x = start
    for _ in range(5):
        (g,) = grad(f(x), x, grad_outputs=ones, create_graph=True)
        assert y.grad is None
        assert start.grad is None
        assert close(g, 2 * x + y)
        x = x + 0.05 * g
    assert f(x).sum().item() > f(start).sum().item()
    x.backward(ones)
    assert y.grad is not None
    assert start.grad is not None


def test_grad_by_two_outputs_of_one_node():
    called = []
    x = torch.randn(4, 2, requires_grad=True)
    x.register_hook(lambda *grads: called.append(1))
    a, b = x.chunk(2)
    g = torch.randn(2, 2)
    ga, gb = grad((a + 2 * b), [a, b], grad_outputs=g, create_graph=True)
    assert ga.tolist() == g.tolist()
    assert gb.tolist() == (g * 2).tolist()
    assert called == []
    assert x.grad is None


def test_gradients_in_shards_equal_those_in_one_go():
    leaves = [torch.zeros(2, 2, requires_grad=True) for _ in range(4)]
    inner = [x * i + x * x for i, x in enumerate(leaves)]
    loss = sum(y * i for i, y in enumerate(inner)).sum()
    shards = [inner[:2], inner[2:]]
    grads = [g for shard in shards for g in grad(loss, shard, retain_graph=True)]
    torch.autograd.backward(inner, grads)
    for i, x in enumerate(leaves):
        assert x.grad.tolist() == (i * i * (1 + x)).tolist()


def expression(x, y):
    return x**2 + y * x + y**2


def test_inputs_limits_accumulation():
    x, y = leaf(2, 2), leaf(2, 2)
    ones = torch.ones(2, 2, dtype=torch.double)
    for inputs, reached in (([x, y], [x, y]), ([x], [x]), ([y], [y]), (y, [y])):
        x.grad = y.grad = None
        torch.autograd.backward(expression(x, y), ones, inputs=inputs)
        for variable, slope in ((x, 2 * x + y), (y, x + 2 * y)):
            if any(variable is r for r in reached):
                assert close(variable.grad, slope)
            else:
                assert variable.grad is None


def test_empty_inputs_raise():
    x, y = leaf(2, 2), leaf(2, 2)
    with pytest.raises(RuntimeError, match="cannot be empty"):
        torch.autograd.backward(expression(x, y), torch.ones(2, 2), inputs=[])
    with pytest.raises(RuntimeError, match="cannot be empty"):
        expression(x, y).sum().backward(inputs=[])


def test_inputs_may_be_one_tensor_of_shape_0():
    x = torch.randn([], dtype=torch.double, requires_grad=True)
    (x**2).backward(inputs=x)
    assert close(x.grad, 2 * x)


def test_inputs_may_hold_inner_tensors_which_then_get_grad():
    x, y, z = leaf(2, 2), leaf(2, 2), leaf(2, 2)
    inner = x * 1
    ones = torch.ones(2, 2, dtype=torch.double)
    out = expression(inner, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        out.backward(ones, create_graph=True, inputs=[x, y, inner])
        assert close(x.grad, 2 * x + y)
        assert close(y.grad, x + 2 * y)
        assert close(inner.grad, 2 * inner + y)
        out.backward(ones, create_graph=True, inputs=[z])
        assert z.grad is None
        x.grad = y.grad = inner.grad = None


def test_inputs_refuse_what_needs_no_gradient():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"requires_grad=False|does not require grad"):
        (x * 2).sum().backward(inputs=[torch.ones(2)])


class NeverRun(Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        raise AssertionError("this node cannot reach what was asked for")


def test_nodes_that_cannot_reach_the_inputs_are_not_run():
    x = NeverRun.apply(torch.randn(1, requires_grad=True) * 2)
    y, z = torch.randn(1, requires_grad=True), torch.randn(1, requires_grad=True)
    assert grad(x, (y,), allow_unused=True) == (None,)
    gy, gz = grad(x + z, (y, z), allow_unused=True)
    assert gy is None
    assert gz.tolist() == [1.0]
    torch.autograd.backward(x, inputs=(y,))
    assert y.grad is None


def test_the_same_root_twice_counts_twice():
    a, b = leaf(2, 2), leaf(2, 2)
    x = a * b
    g = torch.randn_like(x)
    torch.autograd.backward([x, x], [g, g])
    assert close(a.grad, b * g * 2)
    assert close(b.grad, a * g * 2)


def test_several_roots_and_roots_below_others():
    x = leaf(4)
    y = x**2
    z = y**3
    gy, gz = torch.randn_like(x), torch.randn_like(x)
    torch.autograd.backward([y, z], [gy, gz])
    assert close(x.grad, 2 * x * gy + 6 * x.pow(5) * gz)


def test_a_gradient_of_another_shape_is_refused_with_both_shapes():
    x = torch.randn(2, 2, requires_grad=True)
    g = torch.ones(2)
    text = (
        f"Mismatch in shape: grad_output[0] has a shape of {g.shape} and output[0] has a shape of "
        f"{x.shape}."
    )
    with pytest.raises(RuntimeError) as caught:
        grad([x * 1], [x], grad_outputs=[g], create_graph=True)
    assert str(caught.value).startswith(text)


def test_a_gradient_of_another_shape_is_refused_by_backward_too():
    x = torch.randn(2, 2, requires_grad=True)
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        (x * 1).backward(torch.ones(2))


def test_zeros_in_place_of_none_need_allow_unused_or_nothing():
    x, a = torch.tensor(0.5, requires_grad=True), torch.tensor(1.0, requires_grad=True)
    y = x * a
    slope = grad(y, x, create_graph=True)
    assert grad(slope, x, create_graph=True, allow_unused=True) == (None,)
    second = grad(slope, x, create_graph=True, allow_unused=True, materialize_grads=True)
    third = grad(second, x, materialize_grads=True)
    assert second[0].item() == third[0].item() == 0.0
    with pytest.raises(ValueError, match="Expected allow_unused to be True or not passed when"):
        grad(y, x, allow_unused=False, materialize_grads=True)


def test_zeros_in_place_of_none_need_no_gradient():
    x, y = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    found = grad((x**2).sum(), (x, y), allow_unused=True, materialize_grads=True)
    assert [g.requires_grad for g in found] == [False, False]
    assert found[1].tolist() == [0.0, 0.0, 0.0]


def test_gradients_given_are_not_changed():
    x = torch.rand(2, 2, requires_grad=True)
    first, second = x.clone(), x.clone()
    g = torch.rand(2, 2)
    before = g.tolist()
    torch.autograd.backward((first, second), (g, torch.rand(2, 2)))
    assert g.tolist() == before


def test_many_gradients_at_once():
    x = torch.randn(2, 2, requires_grad=True)
    batch = torch.arange(3).expand(2, 2, 3).transpose(0, 2)
    (found,) = grad(x.clone(), (x,), (batch,), is_grads_batched=True)
    assert found.tolist() == batch.tolist()
    text = "If `is_grads_batched=True`, we interpret the first"
    with pytest.raises(RuntimeError, match=text):
        grad(x.clone(), (x,), (torch.ones(2, 2),), is_grads_batched=True)
    (found,) = grad(x.sum(), (x,), (torch.arange(3),), is_grads_batched=True)
    assert found.tolist() == batch.tolist()
    with pytest.raises(RuntimeError, match=text):
        grad(x.sum(), (x,), (torch.ones(2).unsqueeze(1),), is_grads_batched=True)


def test_an_input_that_is_named_twice_gets_its_gradient_once():
    x = torch.ones(2, requires_grad=True)
    (x * 3).sum().backward(inputs=[x, x])
    assert x.grad.tolist() == [3.0, 3.0]
