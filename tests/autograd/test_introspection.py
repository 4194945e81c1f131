"""What a graph says of itself: nodes, next_functions, edges, hooks on nodes and Values."""

import gc
import weakref

import pytest

import engine
from engine import Function, Value
from engine.autograd import Variable, grad, graph
from engine.autograd.function import FunctionCtx, InplaceFunction


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x * x * g


def leaf(*numbers):
    return engine.tensor(numbers, requires_grad=True)


LEAVES = {"tensor": lambda: leaf(1.0, 2.0), "value": lambda: Value(2.0)}


@pytest.mark.parametrize("kind", LEAVES)
def test_next_functions_lead_down_to_the_leaves(kind):
    a, b = LEAVES[kind](), LEAVES[kind]()
    y = a * b + 1.0
    assert y.grad_fn.name() == "AddBackward0"
    (product, place), constant = y.grad_fn.next_functions
    assert (product.name(), place, constant) == ("MulBackward0", 0, (None, 0))
    ends = [node for node, _ in product.next_functions]
    assert [type(end).__name__ for end in ends] == ["AccumulateGrad"] * 2
    assert ends[0].variable is a
    assert ends[1].variable is b
    assert ends[0].next_functions == ()
    assert a.grad_fn is None


@pytest.mark.parametrize("kind", LEAVES)
def test_a_functions_node_is_its_ctx(kind):
    y = Cube.apply(LEAVES[kind]())
    node = y.grad_fn
    assert node is y.grad_fn
    assert isinstance(node, (graph.Node, FunctionCtx))
    assert type(node).__name__ == node.name() == "CubeBackward"
    assert node.next_functions[0][0].name() == "AccumulateGrad"
    assert (y * 2).grad_fn.next_functions[0] == (node, 0)
    assert y.output_nr == 0


def test_output_numbers_tell_outputs_apart():
    class Both(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, g, h):
            return g * 2 + h * 3

    for x in (leaf(1.0), Value(1.0)):
        a, b = Both.apply(x)
        assert (a.output_nr, b.output_nr) == (0, 1)
        assert (b + a).grad_fn.next_functions == ((b.grad_fn, 1), (b.grad_fn, 0))


def test_views_of_a_values_node_are_equal_and_hash_alike():
    v = Value(2.0)
    w = v * v
    assert w.grad_fn == w.grad_fn
    assert w.grad_fn != (v * v).grad_fn
    assert len({w.grad_fn, w.grad_fn}) == 1
    assert w.grad_fn.next_functions[0] == w.grad_fn.next_functions[1]
    assert isinstance(w.grad_fn, graph.Node)


def test_nodes_of_values_made_by_hand_show_their_parents():
    a, b, c = Value(1.0), Value(2.0), Value(3.0)
    v = Value(6.0, (a, b, c), (1.0, 1.0, 1.0))
    assert [node.variable for node, _ in v.grad_fn.next_functions] == [a, b, c]
    assert Value(6.0, (a,), "twice").grad_fn.name() == "twiceBackward"


def test_nodes_print_with_their_name():
    x = leaf(1.0)
    assert repr((x * 2).grad_fn).startswith("<MulBackward0 object at 0x")
    assert repr(Cube.apply(x).grad_fn).startswith("<CubeBackward object at 0x")
    assert repr((Value(1.0) * 2).grad_fn).startswith("<MulBackward0 object at 0x")


def test_metadata_is_a_dict_of_the_nodes_own():
    x = leaf(1.0)
    y = x * 2
    y.grad_fn.metadata["note"] = 1
    assert y.grad_fn.metadata == {"note": 1}
    assert (x * 2).grad_fn.metadata == {}
    assert Cube.apply(x).grad_fn.metadata == {}


def test_a_node_is_called_by_hand_with_one_gradient_per_output():
    y = Cube.apply(leaf(1.0, 2.0))
    assert y.grad_fn(engine.ones(2)).tolist() == [3.0, 12.0]
    assert y.grad_fn.apply(engine.ones(2)).tolist() == [3.0, 12.0]
    product = leaf(1.0) * leaf(2.0)
    assert [g.tolist() for g in product.grad_fn(engine.ones(1))] == [[2.0], [1.0]]
    for grads in ((), (engine.ones(2), engine.ones(2))):
        with pytest.raises(TypeError, match=rf"CubeBackward: expected 1 .*got {len(grads)}"):
            y.grad_fn(*grads)


def test_hooks_of_a_node_run_before_and_after_in_order_of_registration():
    x, order = leaf(1.0), []
    y = x * 2
    z = y * 3
    y.grad_fn.register_hook(lambda given, grads: order.append("after 1"))
    y.grad_fn.register_prehook(lambda grads: order.append("before 1"))
    y.grad_fn.register_prehook(lambda grads: order.append("before 2"))
    y.register_hook(lambda g: order.append("tensor"))
    handle = y.grad_fn.register_hook(lambda given, grads: order.append("after 2"))
    z.sum().backward(retain_graph=True)
    assert order == ["tensor", "before 1", "before 2", "after 1", "after 2"]
    handle.remove()
    z.sum().backward()
    assert order[5:] == ["tensor", "before 1", "before 2", "after 1"]


def test_hooks_of_a_node_may_replace_gradients():
    x = leaf(1.0)
    y = x * 2
    y.grad_fn.register_prehook(lambda grads: (grads[0] * 10,))
    y.grad_fn.register_hook(lambda given, grads: (given[0] + 1, *given[1:]))
    y.sum().backward()
    assert x.grad.tolist() == [21.0]


@pytest.mark.parametrize("name", ["neg", "exp", "square", "relu"])
def test_a_hook_of_a_node_may_take_the_gradient_away(name):
    x = leaf(1.0)
    y = getattr(x, name)()
    y.grad_fn.register_prehook(lambda grads: (None,))
    y.sum().backward()
    assert x.grad is None


def test_hooks_of_accumulate_grad_stand_on_the_leaf():
    x, seen = leaf(1.0), []
    node = (x * 2).grad_fn.next_functions[0][0]
    node.register_prehook(lambda grads: (grads[0] * 5,))
    node.register_hook(lambda given, grads: seen.append((len(given), x.grad.tolist())))
    (x * 3).sum().backward()
    assert x.grad.tolist() == [15.0]
    assert seen == [(0, [15.0])]


def test_hooks_on_the_nodes_of_values_are_refused_and_the_value_named():
    v = Value(1.0)
    w = v * 2
    for node in (w.grad_fn, w.grad_fn.next_functions[0][0]):
        with pytest.raises(TypeError, match=r"hooks stand on the Value itself: v\.register_hook"):
            node.register_hook(lambda *_: None)


def test_a_values_hook_gets_a_value_and_may_return_another_or_a_number():
    v, seen = Value(3.0), []
    w = v * v
    w.register_hook(seen.append)
    handle = w.register_hook(lambda g: g * 10.0)
    w.register_hook(lambda g: 7.0 if g.data == 20.0 else None)
    (w * 2.0).backward()
    assert type(seen[0]) is Value
    assert (seen[0].data, w.grad, v.grad) == (2.0, 7.0, 42.0)
    handle.remove()
    v.grad = None
    (w * 2.0).backward()
    assert v.grad == 12.0


def test_a_leaf_values_hook_sees_what_all_paths_bring():
    v, seen = Value(3.0), []
    v.register_hook(lambda g: seen.append(g.data))
    (v * v + v).backward()
    assert (seen, v.grad) == ([7.0], 7.0)
    with pytest.raises(RuntimeError, match=r"register a hook on a Value that doesn't require"):
        Value(1.0, requires_grad=False).register_hook(print)


def test_every_value_keeps_its_gradient():
    v = Value(2.0)
    w = v * 3.0
    assert w.retain_grad() is None
    assert (w.retains_grad, v.retains_grad) == (True, False)
    (w * 2.0).backward()
    assert w.grad == 2.0


def test_an_edge_stands_for_its_tensor():
    x = leaf(1.0, 2.0)
    y = x * x
    z = Cube.apply(y).sum()
    edges = [graph.get_gradient_edge(t) for t in (x, y, z)]
    assert isinstance(edges[0].node, graph.Node)
    assert edges[1] == graph.GradientEdge(y.grad_fn, 0)
    by_edges = grad(z, edges[:2], retain_graph=True)
    for a, b in zip(by_edges, grad(z, (x, y), retain_graph=True), strict=True):
        assert engine.equal(a, b)
    assert engine.equal(grad(edges[2], x, retain_graph=True)[0], by_edges[0])
    (steps,) = grad(y, x, grad(z, edges[1], retain_graph=True), retain_graph=True)
    assert engine.equal(steps, by_edges[0])
    engine.autograd.backward(edges[2], inputs=[edges[0]], retain_graph=True)
    assert engine.equal(x.grad, by_edges[0])


@pytest.mark.parametrize("number", [-1, 1, 2**70, None, "0"])
def test_an_edge_needs_the_number_of_an_output(number):
    x = leaf(1.0)
    edge = graph.GradientEdge((x * 2).grad_fn, number)
    with pytest.raises(IndexError, match=r"GradientEdge: output_nr .* MulBackward0, one of \[0\]"):
        engine.autograd.backward(edge, engine.ones(1))
    with pytest.raises(IndexError, match="output_nr"):
        grad(x.sum(), edge)
    with pytest.raises(IndexError, match="output_nr"):
        grad(x.sum(), graph.GradientEdge(graph.get_gradient_edge(x).node, 1))


def test_an_edge_keeps_the_graph_without_the_numbers():
    x = leaf(1.0)
    y = x * 2
    edge, gone = graph.get_gradient_edge(y), weakref.ref(y)
    z = y * 3
    del y
    gc.collect()
    assert gone() is None
    assert grad(z, edge)[0].tolist() == [3.0]


def test_edges_of_values_are_the_values():
    v = Value(2.0)
    w = v * v
    y = Cube.apply(w)
    edges = [graph.get_gradient_edge(t) for t in (v, w)]
    assert [g.data for g in grad(y, edges, retain_graph=True)] == [192.0, 48.0]
    assert grad(graph.get_gradient_edge(y), v)[0].data == 192.0


def test_an_edge_needs_a_graph():
    with pytest.raises(RuntimeError, match=r"gradient edge for a Tensor that does not require"):
        graph.get_gradient_edge(engine.ones(1))


def test_zeros_are_not_made_for_an_unused_edge():
    x, other = leaf(1.0), leaf(1.0, 2.0) * 2
    (g,) = grad((x * 2).sum(), other, materialize_grads=True)
    assert g.tolist() == [0.0, 0.0]
    with pytest.raises(RuntimeError, match=r"materialize_grads cannot be used .*GradientEdge"):
        grad((x * 2).sum(), graph.get_gradient_edge(other), materialize_grads=True)


def test_a_multi_grad_hook_gets_all_gradients_once_a_backward():
    a, b, unused = leaf(1.0), leaf(2.0), leaf(3.0)
    c, seen = a * b, []
    with graph.register_multi_grad_hook([a, c, unused], seen.append):
        (c * 2).sum().backward(retain_graph=True)
        assert [g if g is None else g.tolist() for g in seen[0]] == [[4.0], [2.0], None]
        c.sum().backward(inputs=[b], retain_graph=True)
        assert len(seen) == 2
        assert [g is None for g in seen[1]] == [True, False, True]
    c.sum().backward()
    assert len(seen) == 2


def test_a_multi_grad_hook_may_want_the_first_alone():
    a, seen = leaf(1.0), []
    c = a * 2
    handle = graph.register_multi_grad_hook([a, c], seen.append, mode="any")
    c.sum().backward(retain_graph=True)
    c.sum().backward(retain_graph=True)
    assert [g.tolist() for g in seen] == [[1.0], [1.0]]
    handle.remove()
    c.sum().backward()
    assert len(seen) == 2
    with pytest.raises(ValueError, match=r"Expects mode to be one of \('all', 'any'\)"):
        graph.register_multi_grad_hook([a], seen.append, mode="some")


def test_multi_grad_hooks_keep_threads_apart():
    import threading

    a, counts = leaf(1.0), []
    c = a * 2
    with graph.register_multi_grad_hook([a, c], lambda grads: counts.append(len(grads))):
        threads = [
            threading.Thread(target=lambda: (c * 1).sum().backward(retain_graph=True))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert counts == [2] * 8
    assert a.grad.tolist() == [16.0]


def test_increment_version_makes_backward_notice():
    x = leaf(1.0)
    y = x * 2
    z = y * y
    before = y._version
    graph.increment_version(y)
    assert y._version == before + 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()
    graph.increment_version([engine.ones(1), engine.ones(1)])
    with pytest.raises(TypeError, match=r"increment_version: needs Tensors; got float"):
        graph.increment_version(1.0)


def test_variable_is_an_old_name():
    x = engine.ones(2)
    v = Variable(x, requires_grad=True)
    assert isinstance(v, Variable)
    assert isinstance(x, Variable)
    assert not isinstance(1.0, Variable)
    assert v.is_leaf
    assert v.requires_grad
    v.data[0] = 5.0
    assert x.tolist() == [5.0, 1.0]
    with pytest.raises(TypeError, match=r"Variable: data has to be a tensor, but got list"):
        Variable([1.0])


def test_an_inplace_function_is_a_function():
    class Double(InplaceFunction):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = leaf(1.0)
    Double.apply(x * 1).sum().backward()
    assert x.grad.tolist() == [2.0]


def test_batches_of_gradients_are_loops_with_stacked_results():
    x, unused = leaf(1.0, 2.0), leaf(1.0)
    y = x**3
    (rows,) = grad(y, x, engine.eye(2), is_grads_batched=True, retain_graph=True)
    assert rows.tolist() == [[3.0, 0.0], [0.0, 12.0]]
    found = grad(y, (x, unused), engine.eye(2), is_grads_batched=True, allow_unused=True)
    assert found[1] is None
    with pytest.raises(RuntimeError, match="second time"):
        grad(y, x, engine.eye(2), is_grads_batched=True)
    y, v = x**2, Value(3.0)
    (second,) = grad(y, x, engine.ones(1, 2), is_grads_batched=True, create_graph=True)
    assert second.requires_grad
    (of_value,) = grad(x * v, v, engine.ones(2, 2), is_grads_batched=True)
    assert of_value.tolist() == [3.0, 3.0]
    with pytest.raises(ValueError, match=r"first dimensions, the batch, are equal; got \[1, 2\]"):
        grad((y, y), x, (engine.ones(1, 2), engine.ones(2, 2)), is_grads_batched=True)
