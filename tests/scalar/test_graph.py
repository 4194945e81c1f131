"""The graph of Values and the walk back: order, accumulation, depth, failure, lifetime."""

import gc
import math
import weakref

import pytest

import engine
from engine import Value
from engine.autograd import backward, grad


class Fails(engine.Function):
    """Its backward raises: half of the graph has been walked by then."""

    @staticmethod
    def forward(ctx, x):
        return x * 1.0

    @staticmethod
    def backward(ctx, g):
        raise ValueError("half-way")


# --- what backward adds up ---


def test_a_diamond_hands_on_once_all_of_it_has_arrived():
    x = Value(3.0)
    y = x * 2
    left, right = y * y, y + 1
    (left * right + left).backward()
    # z = y**3 + 2 y**2 with y = 2x
    assert y.grad == 3 * 36.0 + 4 * 6.0
    assert x.grad == 2 * y.grad


@pytest.mark.parametrize("depth", [1, 5, 60])
def test_a_ladder_of_diamonds_takes_linear_time(depth):
    x = v = Value(1.0)
    for _ in range(depth):
        v = v + v
    v.backward()
    assert x.grad == 2.0**depth


def test_a_value_used_twice_in_one_operation_counts_twice():
    for text, slope in [("v + v", 2.0), ("v * v", 6.0), ("v - v", 0.0), ("v / v", 0.0)]:
        v = Value(3.0)
        eval(text, {"v": v}).backward()
        assert v.grad == pytest.approx(slope, abs=1e-15), text


def test_contributions_are_added_in_one_order_whatever_the_addresses():
    def total():
        parts = [Value(0.1 * k + 1e8 * (k % 3)) for k in range(40)]
        x = Value(1.0)
        y = sum((p * x for p in parts), Value(0.0))
        (y * y + y).backward()
        return x.grad.hex()

    keep = [object() for _ in range(1000)]
    first = total()
    del keep
    assert {total() for _ in range(5)} == {first}


def test_a_second_backward_adds_to_leaves_and_sets_inner_nodes_afresh():
    x = Value(3.0)
    y = x * x
    z = y * 2
    for times in (1, 2, 3):
        z.backward()
        assert (x.grad, y.grad, z.grad) == (12.0 * times, 2.0, 1.0)


def test_two_roots_that_share_a_part_add_up_at_the_leaves():
    x = Value(3.0)
    y = x * x
    (y * 2).backward()
    (y * 5).backward()
    assert (x.grad, y.grad) == (42.0, 5.0)


def test_backward_of_a_leaf_gives_it_a_gradient_of_1():
    x = Value(3.0)
    x.backward()
    x.backward()
    assert x.grad == 2.0


def test_backward_starts_from_the_gradient_that_it_is_given():
    x = Value(3.0)
    y = x * x
    y.backward(0.5)
    y.backward(Value(2.0))
    assert x.grad == 15.0


def test_backward_into_inputs_leaves_all_others_alone():
    x, w = Value(3.0), Value(2.0)
    y = x * w
    z = y * y
    z.backward(inputs=[x])
    assert (x.grad, w.grad, y.grad, z.grad) == (24.0, 0.0, 0.0, 0.0)
    z.backward(inputs=y)
    assert (x.grad, y.grad) == (24.0, 12.0)


def test_backward_of_several_values_is_that_of_their_sum():
    x = Value(3.0)
    backward([x * x, x * 5])
    assert x.grad == 11.0
    backward([x * x, x * 5], [1.0, 2.0])
    assert x.grad == 27.0


def test_none_as_a_gradient_means_none_yet_and_reads_as_0():
    x = Value(3.0)
    (x * x).backward()
    x.grad = None
    assert (x.grad, type(x.grad)) == (0.0, float)
    (x * x).backward()
    assert x.grad == 6.0
    x.zero_grad()
    assert x.grad == 0.0


def test_a_constant_gets_no_gradient_and_stays_out_of_the_graph():
    x, c = Value(3.0), Value(4.0, requires_grad=False)
    y = x * c
    y.backward()
    assert (x.grad, c.grad, y._children) == (4.0, 0.0, (x,))
    assert not (c * c).requires_grad
    assert (c * c)._prev == set()


def test_detach_ends_the_graph_and_keeps_the_number():
    x = Value(3.0)
    y = (x * x).detach()
    assert (y.data, y.requires_grad, y.is_leaf) == (9.0, False, True)
    (x * y).backward()
    assert x.grad == 9.0


def test_no_grad_makes_results_outside_the_graph():
    x = Value(3.0)
    with engine.no_grad():
        y = x * x
        with engine.enable_grad():
            z = x * x
    assert (y.requires_grad, y._prev) == (False, set())
    assert z.requires_grad
    assert x.requires_grad


def test_setting_data_changes_this_node_and_not_what_was_made_of_it():
    x = Value(3.0)
    y = x * x
    x.data = 5.0
    assert (y.data, x.data) == (9.0, 5.0)
    y.backward()
    assert x.grad == 6.0  # the slopes of the forward pass


def test_setting_data_is_noticed_where_the_slope_is_worked_out_again():
    x = Value(3.0)
    y = x * x
    x.data = 5.0
    with pytest.raises(RuntimeError, match="'mul' was changed after it was used"):
        grad(y, x, create_graph=True)


# --- depth ---


def test_a_chain_of_2_000_000_nodes_is_built_walked_and_freed():
    x = v = Value(1.0)
    for _ in range(2_000_000):
        v = v * 1.0
    v.backward()
    assert x.grad == 1.0
    v.backward()
    assert x.grad == 2.0
    del v


def test_a_deep_graph_is_walked_by_the_general_walk_too():
    x = v = Value(1.0)
    for _ in range(100_000):
        v = v * 1.0 + 0.0
    (found,) = grad(v, x)
    assert found.data == 1.0


def test_a_wide_graph_is_walked():
    xs = [Value(1.0) for _ in range(100_000)]
    sum(xs, Value(0.0)).backward()
    assert all(x.grad == 1.0 for x in xs)


def test_nodes_that_nothing_holds_are_freed_at_once():
    gc.disable()
    try:
        freed = []

        class Told(Value):
            def __del__(self):
                freed.append(self.data)

        x = Told(2.0)
        y = x * x
        y.backward()
        del x
        assert freed == []
        del y
        assert freed == [2.0]
    finally:
        gc.enable()


def test_a_cycle_through_something_of_the_users_is_found_by_the_collector():
    x = Value(2.0)
    x.held = held = type("Held", (), {})()
    held.value = x * x
    ghost = weakref.ref(held)
    del x, held
    gc.collect()
    assert ghost() is None


def test_a_backward_of_the_users_own_that_holds_its_node_is_collected():
    class Mark:
        pass

    mark = Mark()
    ghost = weakref.ref(mark)

    def build(mark):
        a = Value(2.0)
        out = Value(8.0, (a,), "cube")

        def push(mark=mark):
            a.grad += 12.0 * out.grad

        out._backward = push
        out.backward()

    build(mark)
    del mark
    gc.collect()
    assert ghost() is None


# --- failure ---


def test_a_failed_backward_changes_no_grad_and_can_be_followed_by_another():
    x = Value(2.0)
    s = x * 3
    y = Fails.apply(s) + s * s
    x.grad, s.grad = 5.0, 7.0
    with pytest.raises(ValueError, match="half-way"):
        y.backward()
    assert (x.grad, s.grad, y.grad) == (5.0, 7.0, 0.0)
    (s * x).backward()
    assert (x.grad, s.grad) == (5.0 + 12.0, 2.0)
    assert engine.is_grad_enabled()


def test_a_failing_backward_of_the_users_own_leaves_every_grad_as_it_was():
    a, b = Value(2.0), Value(3.0)
    out = Value(6.0, (a, b), "product")

    def push():
        a.grad += 100.0
        raise KeyError("mine")

    out._backward = push
    a.grad, b.grad = 1.0, 2.0
    with pytest.raises(KeyError, match="mine"):
        (out * a).backward()
    assert (a.grad, b.grad, out.grad) == (1.0, 2.0, 0.0)
    out._backward = lambda: None
    (out * a).backward()
    assert a.grad == 1.0 + 6.0


# --- hooks ---


def test_a_hook_sees_the_gradient_and_may_return_another():
    seen = []
    x = Value(3.0)
    y = x * 2
    y.register_hook(lambda g: seen.append(g.data))
    handle = y.register_hook(lambda g: g * 10)
    (y * 5).backward()
    assert (seen, y.grad, x.grad) == ([5.0], 50.0, 100.0)
    handle.remove()
    x.grad = None
    (y * 5).backward()
    assert (seen, x.grad) == ([5.0, 5.0], 10.0)


def test_a_hook_of_a_leaf_runs_once_with_the_whole_gradient():
    seen = []
    x = Value(3.0)
    x.register_hook(lambda g: seen.append(g.data) or 0.5)
    (x * x + x).backward()
    assert (seen, x.grad) == ([7.0], 0.5)


def test_retain_grad_does_nothing_as_inner_gradients_are_kept():
    x = Value(3.0)
    y = x * 2
    assert y.retain_grad() is None
    y.backward()
    assert y.grad == 1.0


# --- grad_fn ---


def test_grad_fn_of_a_value_is_a_view_named_as_pytorch_names_it():
    x = Value(3.0)
    y = x * x
    assert (x.grad_fn, type(y.grad_fn).__name__, y.grad_fn.name()) == (
        None,
        "MulBackward0",
        "MulBackward0",
    )
    assert y.grad_fn == y.grad_fn
    assert y.grad_fn != (x * x).grad_fn
    ((parent, number), _) = (y * 2).grad_fn.next_functions
    assert (parent, number) == (y.grad_fn, 0)


# --- grad ---


def test_grad_gives_derivatives_of_any_order():
    x = Value(0.5)
    y = x.sin()
    found = []
    for _ in range(6):
        (y,) = grad(y, x, create_graph=True)
        found.append(y.data)
    s, c = math.sin(0.5), math.cos(0.5)
    assert found == pytest.approx([c, -s, -c, s, c, -s], rel=1e-15)


def test_grad_returns_values_and_touches_no_grad():
    x = Value(3.0)
    y = x * x
    z = y * x
    (found, inner) = grad(z, [x, y])
    assert (type(found), found.data, found.requires_grad) == (Value, 27.0, False)
    assert (inner.data, x.grad, y.grad, z.grad) == (3.0, 0.0, 0.0, 0.0)


def test_grad_weights_its_outputs():
    x = Value(3.0)
    (found,) = grad([x * x, x * 5], x, grad_outputs=[Value(1.0), 2.0])
    assert found.data == 16.0


def test_grad_of_an_unused_input_is_an_error_none_or_zero():
    x, w = Value(3.0), Value(2.0)
    with pytest.raises(RuntimeError, match=r"input 1 appears to not .* Set allow_unused=True"):
        grad(x * x, [x, w])
    assert grad(x * x, w, allow_unused=True) == (None,)
    (zero,) = grad(x * x, w, materialize_grads=True)
    assert (zero.data, type(zero)) == (0.0, Value)


def test_backward_with_create_graph_is_refused_and_names_grad():
    x = Value(3.0)
    with pytest.raises(RuntimeError, match=r"engine.autograd.grad\(v, inputs, create_graph=True\)"):
        (x * x).backward(create_graph=True)


@pytest.mark.parametrize("kind", ["slopes", "closure"])
def test_nodes_made_by_hand_refuse_second_derivatives_by_name(kind):
    x = Value(3.0)
    y = Value(9.0, (x,), (6.0,)) if kind == "slopes" else Value(9.0, (x,), "square")
    if kind == "closure":
        y._backward = lambda: None
    with pytest.raises(RuntimeError, match="made by hand"):
        grad(y, x, create_graph=True)
