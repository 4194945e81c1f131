"""Graph introspection: grad_fn, next_functions, nodes as objects, gradient edges, repr."""

import pytest

import engine as torch

edge = torch.autograd.graph.get_gradient_edge
GradientEdge = torch.autograd.graph.GradientEdge
grad = torch.autograd.grad


def test_next_functions_tell_nodes_and_output_numbers_and_none_for_constants():
    x, y = torch.randn(5, 5, requires_grad=True), torch.randn(5, 5, requires_grad=True)
    a = x + y
    assert len(a.grad_fn.next_functions) == 2
    for (node, number), leaf in zip(a.grad_fn.next_functions, (x, y), strict=True):
        assert type(node).__name__ == "AccumulateGrad"
        assert number == 0
        assert node.variable is leaf
    b = a + 5
    assert [node for node, _ in b.grad_fn.next_functions] == [a.grad_fn, None]


def test_next_functions_tell_the_output_number():
    x = torch.randn(3, 2, requires_grad=True)
    _, second, _ = x.unbind(0)
    assert (second * 2).grad_fn.next_functions[0] == (second.grad_fn, 1)
    assert second.output_nr == 1


def test_nodes_are_instances_of_node_and_have_a_name():
    x = torch.randn(3, requires_grad=True)
    y = (x * 2).sum()
    assert isinstance(y.grad_fn, torch.autograd.graph.Node)
    assert isinstance(y.grad_fn.next_functions[0][0], torch.autograd.graph.Node)
    assert y.grad_fn.name() == "SumBackward0"
    assert y.grad_fn.next_functions[0][0].name() == "MulBackward0"
    assert issubclass(type(y.grad_fn), torch.autograd.graph.Node)


def test_the_metadata_of_a_node_stays_with_it():
    x = torch.ones(2, 2, requires_grad=True)
    y = x.exp()
    y.grad_fn.metadata["a"] = 1
    z = y * 2
    assert z.grad_fn.next_functions[0][0].metadata == {"a": 1}


def test_a_node_takes_attributes_that_stay():
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    assert y.grad_fn is y.grad_fn
    assert y.grad_fn.next_functions[0][0].variable is x


def test_calling_a_node_is_backward_by_hand():
    x = torch.tensor([3.0], requires_grad=True)
    assert (x * 2).grad_fn(torch.ones(1))[0].tolist() == [2.0]


@pytest.mark.parametrize("count", [0, 2])
def test_calling_a_node_with_another_number_of_gradients_is_a_type_error(count):
    x = torch.tensor([3.0], requires_grad=True)
    with pytest.raises(TypeError, match=f"expected 1 arguments, got {count} instead"):
        x.exp().grad_fn(*[torch.ones(1)] * count)


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * g


def test_grad_accepts_an_edge_for_a_leaf_an_inner_tensor_and_a_custom_node():
    x = torch.tensor([2.0], requires_grad=True)
    y = x * 3
    z = Cube.apply(y)
    out = (z * 2).sum()
    for inside in (x, y, z):
        by_edge = grad(out, edge(inside), retain_graph=True)
        assert torch.equal(by_edge[0], grad(out, inside, retain_graph=True)[0])
    assert x.grad is None


def test_an_edge_of_a_leaf_leads_to_its_accumulation():
    x = torch.tensor([2.0], requires_grad=True)
    assert type(edge(x).node).__name__ == "AccumulateGrad"
    assert edge(x).output_nr == 0
    assert isinstance(edge(x), GradientEdge)


def test_an_edge_may_be_made_by_hand_from_node_and_number():
    x = torch.rand(3, requires_grad=True)
    a, b = (x * 2).unbind(0)[:2]
    out = (a * 3 + b * 5).sum()
    g = grad(out, GradientEdge(b.grad_fn, b.output_nr), retain_graph=True)
    assert g[0].item() == 5.0


def test_several_edges_at_once_equal_the_tensors():
    x, y = torch.rand(3, requires_grad=True), torch.rand(3, requires_grad=True)
    a, b = x * y, x.exp()
    out = (a * b + Cube.apply(a)).sum()
    want = grad(out, (x, y, a, b), retain_graph=True)
    got = grad(out, (edge(x), y, edge(a), edge(b)), retain_graph=True)
    assert all(map(torch.equal, got, want))


def split_at(x, reduce=True):
    middle = x.sin().cos()
    middle = middle.sum() if reduce else middle
    return middle.exp().clone().sin().sum(), edge(middle)


def test_the_gradient_may_go_through_an_edge_in_two_steps():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    out, middle = split_at(x)
    (of_middle,) = grad(out, (middle,))
    (two_steps,) = grad(middle, (x,), grad_outputs=(of_middle,))
    (one_step,) = grad(split_at(x)[0], (x,))
    assert torch.allclose(two_steps, one_step)


def test_backward_accepts_an_edge_as_its_root():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    out, middle = split_at(x)
    (of_middle,) = grad(out, (middle,))
    torch.autograd.backward(middle, grad_tensors=of_middle)
    assert torch.allclose(x.grad, grad(split_at(x)[0], (x,))[0])


def test_the_gradient_of_an_edge_as_root_is_checked():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar output"):
        grad(split_at(x, reduce=False)[1], (x,))
    grad(split_at(x)[1], (x,))
    with pytest.raises(RuntimeError, match="Mismatch in shape: grad_output"):
        grad(split_at(x)[1], (x,), grad_outputs=torch.tensor([1.0, 2.0]))


def test_backward_takes_edges_and_tensors_together_as_inputs():
    x, y = torch.rand(3, requires_grad=True), torch.rand(3, requires_grad=True)
    out = (x * y).sum()
    torch.autograd.backward(out, inputs=(edge(x), y))
    assert torch.equal(x.grad, y.detach())
    assert torch.equal(y.grad, x.detach())


def test_materialized_gradients_are_refused_for_an_unused_edge():
    x, y = torch.rand(3, requires_grad=True), torch.rand(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="materialize_grads cannot be used when"):
        grad((x * 2).sum(), (edge(y),), materialize_grads=True)


def test_a_tensor_without_graph_has_no_edge():
    with pytest.raises(RuntimeError, match="not possible to get the gradient edge"):
        edge(torch.rand(3))


def test_an_edge_keeps_its_place_when_the_tensor_gets_other_memory():
    x = torch.rand(3, requires_grad=True)
    y = x * 2
    place = edge(x)
    out = (y * y).sum()
    x.data = torch.rand(3)
    assert torch.allclose(grad(out, place)[0], 4 * y.detach())


def test_an_edge_keeps_its_place_after_set_():
    x = torch.rand(3, requires_grad=True)
    out = (x * 2).sum()
    place = edge(x)
    with torch.no_grad():
        x.set_(torch.rand(3))
    assert grad(out, place)[0].tolist() == [2.0, 2.0, 2.0]


def test_the_text_of_a_tensor_tells_its_place_in_the_graph():
    a = torch.ones(1, requires_grad=True)
    assert repr(a) == "tensor([1.], requires_grad=True)"
    assert repr(a.clone()) == "tensor([1.], grad_fn=<CloneBackward0>)"
    assert repr(Cube.apply(a)) == "tensor([1.], grad_fn=<CubeBackward>)"


def test_the_text_of_a_view_changed_without_gradients_says_invalid():
    a = torch.ones(1, requires_grad=True)
    with torch.no_grad():
        b = a[:]
        b *= 2
    assert repr(b) == "tensor([2.], grad_fn=<Invalid>)"


def test_hooks_on_nodes_are_seen_from_every_side():
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    seen = []
    y.sum().grad_fn.next_functions[0][0].register_hook(lambda *g: seen.append("mul"))
    y.sum().backward()
    assert seen == ["mul"]


def test_the_old_option_only_inputs_is_taken_and_says_that_it_is_old():
    x = torch.ones(2, requires_grad=True)
    assert grad((x * 2).sum(), x, only_inputs=True)[0].tolist() == [2.0, 2.0]
    with pytest.warns(FutureWarning, match="only_inputs argument is deprecated"):
        grad((x * 2).sum(), x, only_inputs=False)


def test_backward_takes_several_edges_and_tensors_as_its_roots():
    x = torch.rand(3, requires_grad=True)
    for wrap in (edge, lambda t: t):
        a, b = (x * 2).sum(), (x * 3).sum()
        torch.autograd.backward((edge(a), wrap(b)))
    assert x.grad.tolist() == [10.0, 10.0, 10.0]


def test_edges_of_both_outputs_of_one_node_are_told_apart():
    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone(), x * 2

        @staticmethod
        def backward(ctx, g1, g2):
            return g1 + 2 * g2

    x = torch.rand(3, requires_grad=True)
    a, b = Two.apply(x)
    out = (a * 3 + b * 5).sum()
    got = grad(out, (edge(b), edge(a), edge(x)))
    assert [g.tolist() for g in got] == [[5.0] * 3, [3.0] * 3, [13.0] * 3]


PIECES = "relu leaky_relu elu".split()


@pytest.mark.parametrize("name", PIECES)
def test_the_gradient_of_a_function_of_straight_pieces_has_the_derivative_zero(name):
    x = torch.tensor([-9.0, 12.0, 30.0], requires_grad=True)
    f = getattr(torch.nn.functional, name)
    y = f(x, 0.0) if name == "elu" else f(x)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    assert g.requires_grad
    (second,) = torch.autograd.grad(g.sum(), x)
    assert second.tolist() == [0.0, 0.0, 0.0]


Node = torch.autograd.graph.Node


def test_nodes_are_instances_of_node_and_their_classes_subclasses_that_do_not_inherit():
    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            assert isinstance(ctx, Node)
            return x

        @staticmethod
        def backward(ctx, g):
            assert isinstance(ctx, Node)
            return g

    x = torch.rand(3, requires_grad=True)
    leaf_node = x.exp().grad_fn.next_functions[0][0]
    for node in (x.exp().grad_fn, leaf_node, Same.apply(x).grad_fn):
        assert isinstance(node, Node)
        assert issubclass(type(node), Node)
        assert Node not in type(node).mro()
    Same.apply(x).sum().backward()
    kinds = torch._C._functions
    for kind in (kinds.AccumulateGrad, kinds.DelayedError, Node):
        assert issubclass(kind, Node)
        assert not isinstance(kind, Node)
    assert not isinstance(None, Node)
    assert not issubclass(int, Node)


def test_a_node_tells_what_the_gradients_of_its_outputs_look_like():
    x = torch.rand(2, requires_grad=True, dtype=torch.float64)
    (product,) = (x * x).grad_fn._input_metadata
    assert tuple(product.shape) == (2,)
    assert product.dtype == torch.float64
    var, _ = torch.var_mean(torch.rand(3, 4, requires_grad=True), dim=0)
    assert [tuple(m.shape) for m in var.grad_fn._input_metadata] == [(4,), (4,)]


def test_a_backward_tells_whether_its_graph_is_kept():
    told = []

    class Asks(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            told.append(torch._C._autograd._get_current_graph_task_keep_graph())
            return g

    y = Asks.apply(torch.rand(3, requires_grad=True)).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert told == [True, False]


def test_graphs_made_before_set_lead_to_what_the_leaf_was():
    x = torch.ones(2, requires_grad=True)
    before = edge(x)
    y = (x * 3).sum()
    with torch.no_grad():
        x.set_(torch.full((4,), 2.0))
    with pytest.raises(RuntimeError, match="to not have been used in the graph"):
        grad(y, x, retain_graph=True)
    assert grad(y, before, retain_graph=True)[0].tolist() == [3.0, 3.0]
    z = (x * x).sum() + y
    old, new = grad(z, (before, x), retain_graph=True)
    assert old.tolist() == [3.0, 3.0]
    assert new.tolist() == [4.0] * 4
    (x * x).sum().backward()
    assert x.grad.tolist() == [4.0] * 4


def test_hooks_and_sums_of_a_leaf_go_on_after_set():
    seen = []
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda g: seen.append(g.tolist()))
    y = (x * 3).sum()
    with torch.no_grad():
        x.set_(torch.zeros(2))
    y.backward()
    (x * 2).sum().backward()
    assert seen == [[3.0, 3.0], [2.0, 2.0]]
    assert x.grad.tolist() == [5.0, 5.0]
