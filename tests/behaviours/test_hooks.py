"""Hooks of tensors, of nodes, of accumulation, of several tensors; retain_grad. Each test also
passes with real torch as `torch`."""

import gc
import threading
import weakref

import pytest

import engine as torch
from engine.autograd import Function
from engine.autograd.graph import register_multi_grad_hook


class Doubled(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


class TwoThree(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, g, h):
        return g * 2 + h * 3


def doubled(x):
    return x * 2


DOUBLING = pytest.mark.parametrize("double", [Doubled.apply, doubled], ids=["Function", "mul"])


def accumulation(x):
    """The node that adds to the .grad of the leaf x."""
    return x.view_as(x).grad_fn.next_functions[0][0]


# --- of tensors ---


def test_an_object_without_a_name_can_be_a_hook():
    class Hook:
        def __call__(self, g):
            return g.clone()

    x = torch.randn(5, requires_grad=True)
    y = x.clone()
    y.register_hook(Hook())
    y.sum().backward()
    assert x.grad.tolist() == [1.0] * 5


def test_hooks_are_counted_removed_and_may_replace_the_gradient():
    x, y = torch.ones(2, 2, requires_grad=True), torch.full((2, 2), 4.0, requires_grad=True)
    ones, count = torch.ones(2, 2), []
    z = x**2 + x * 2 + x * y + y
    x.register_hook(lambda g: None)
    first = z.register_hook(lambda g: count.append(1))
    z.backward(ones, retain_graph=True)
    assert sum(count) == 1
    second = z.register_hook(lambda g: count.append(2))
    z.backward(ones, retain_graph=True)
    assert sum(count) == 4
    second.remove()
    z.backward(ones, retain_graph=True)
    assert sum(count) == 5
    first.remove()
    z.register_hook(lambda g: g.mul(2))
    y.grad = None
    z.backward(ones, retain_graph=True)
    assert y.grad.tolist() == ((x + 1) * 2).tolist()
    y.register_hook(lambda g: g.mul(2))
    y.grad = None
    z.backward(ones)
    assert y.grad.tolist() == ((x + 1) * 4).tolist()


def test_a_hook_of_one_output_of_unbind_gets_none_when_only_others_have_a_gradient():
    x = torch.randn(3, requires_grad=True)
    parts = x.unbind()
    seen = []
    parts[0].register_hook(lambda g: seen.append(None if g is None else g.item()))
    parts[0].backward()
    assert seen == [1.0]
    assert x.grad.tolist() == [1.0, 0.0, 0.0]
    for part in parts[1:]:
        part.backward()
    assert seen == [1.0, None, None]
    assert x.grad.tolist() == [1.0, 1.0, 1.0]


def test_hooks_stay_with_the_node_from_before_a_change_in_place():
    seen = []

    def note(g):
        seen.append(g.item())
        return g * 2

    a = torch.tensor([1.0], requires_grad=True)
    b = a.clone()
    b.register_hook(note)
    b.mul_(2)
    b.register_hook(note)
    b.sum().backward()
    assert seen == [1.0, 4.0]
    assert a.grad.tolist() == [8.0]
    seen.clear()
    a.grad = None
    b = a.clone()
    b.register_hook(note)
    b.mul_(2)
    b.mul_(2)
    b.sum().backward()
    assert seen == [4.0]
    assert a.grad.tolist() == [8.0]


@pytest.mark.parametrize(
    "two", [TwoThree.apply, lambda x: torch.var_mean(x, dim=0)], ids=["Function", "var_mean"]
)
def test_hooks_stay_with_a_node_of_several_outputs(two):
    seen = {}
    first, second = two(torch.rand(3, 3, requires_grad=True))
    first.register_hook(lambda g: seen.update(old=g.flatten()[0].item()))
    second.register_hook(lambda g: seen.update(other=g.flatten()[0].item()))
    first.mul_(2)
    first.register_hook(lambda g: seen.update(new=g.flatten()[0].item()))
    (first + second * 3).sum().backward()
    assert seen == {"old": 2.0, "other": 3.0, "new": 1.0}


def test_hooks_of_views_do_not_fire_for_the_node_from_before_a_change_of_the_base():
    def never(g):
        raise AssertionError("the old node is not part of the graph")

    seen = []
    base = torch.tensor([1.0], requires_grad=True).clone()
    first, second = base[:], base[:]
    first.register_hook(never)
    second.register_hook(never)
    first.mul_(2)
    second.grad_fn  # noqa: B018
    second.register_hook(lambda g: seen.append(g.tolist()))
    (first + second).sum().backward()
    assert seen == [[1.0]]


def test_a_hook_needs_a_tensor_that_requires_grad_and_must_be_callable():
    with pytest.raises(RuntimeError, match="cannot register a hook on a tensor that doesn't"):
        torch.ones(2).register_hook(lambda g: None)


# --- of nodes ---


@DOUBLING
def test_pre_hooks_of_a_node_run_in_order_before_its_post_hooks(double):
    before, after = [], []
    x = torch.tensor([1.0], requires_grad=True)
    y = double(x)

    def pre(grads):
        before.append(1)
        return (grads[0] * 2,)

    def post(given, grads):
        assert len(before) == 3
        assert grads[0].tolist() == [8.0]
        assert given[0].tolist() == [16.0]
        after.append(1)
        return given

    y.grad_fn.register_hook(post)
    y.grad_fn.register_hook(post)
    y.grad_fn.register_prehook(pre)
    y.grad_fn.register_prehook(lambda grads: None)
    y.grad_fn.register_prehook(pre)
    y.grad_fn.register_prehook(pre)
    y.grad_fn.register_prehook(lambda grads: grads)
    y.grad_fn.register_prehook(lambda grads: None)
    y.sum().backward()
    assert (len(before), len(after)) == (3, 2)
    assert x.grad.tolist() == [16.0]


@DOUBLING
def test_a_pre_hook_without_a_post_hook_may_return_none(double):
    before = []
    x = torch.rand(2, requires_grad=True)
    y = double(x)
    y.grad_fn.register_prehook(lambda grads: before.append(1))
    y.sum().backward()
    assert before == [1]
    assert x.grad.tolist() == [2.0, 2.0]


def test_a_pre_hook_gets_one_gradient_for_each_output():
    class DoubledTwice(Function):
        @staticmethod
        def forward(ctx, x, n, y):
            ctx.n = n
            return n * x * 2, n, n * y * 2

        @staticmethod
        def backward(ctx, g, _, h):
            return ctx.n * g * 2, None, ctx.n * h * 2

    def pre(grads):
        g, number, h = grads
        assert number is None
        return g * 2, None, h * 2

    a, b = torch.randn(2, requires_grad=True), torch.randn(2, requires_grad=True)
    c, _, d = DoubledTwice.apply(a, 3, b)
    c.grad_fn.register_prehook(pre)
    (c + d).sum().backward()
    assert a.grad.tolist() == b.grad.tolist() == [12.0, 12.0]


def test_a_pre_hook_of_var_mean_scales_both_gradients():
    b = torch.rand(3, 3, requires_grad=True)
    var, mean = torch.var_mean(b, dim=0)
    (var + mean).sum().backward()
    a = b.detach().requires_grad_()
    var, mean = torch.var_mean(a, dim=0)
    mean.grad_fn.register_prehook(lambda grads: (grads[0] * 2, grads[1] * 2))
    (var + mean).sum().backward()
    assert torch.allclose(a.grad, b.grad * 2)


@DOUBLING
def test_hooks_of_a_node_are_removed_before_and_during_backward(double):
    count = []
    x = torch.rand(2, requires_grad=True)
    y = double(x)
    first = y.grad_fn.register_prehook(lambda grads: count.append(1))
    y.grad_fn.register_prehook(lambda grads: count.append(1))
    first.remove()
    y.sum().backward()
    assert count == [1]

    def removes(grads):
        second.remove()
        third.remove()

    y = double(x)
    y.grad_fn.register_prehook(removes)
    second = y.grad_fn.register_prehook(lambda grads: count.append(2))
    third = y.grad_fn.register_prehook(lambda grads: count.append(3))
    third.remove()
    y.sum().backward()
    assert [n for n in count if n == 3] == []
    assert x.grad.tolist() == [4.0, 4.0]


def test_a_hook_removed_by_an_earlier_one_still_runs_in_that_backward():
    count = []
    y = torch.rand(2, requires_grad=True) * 2
    y.grad_fn.register_prehook(lambda grads: later.remove())
    later = y.grad_fn.register_prehook(lambda grads: count.append(1))
    y.sum().backward()
    assert count == [1]


def test_a_hook_of_a_node_must_return_as_many_gradients_as_it_got():
    text = "has returned an incorrect number of values"
    x = torch.rand(2, requires_grad=True)
    for register in ("register_prehook", "register_hook"):
        y = x * 2
        getattr(y.grad_fn, register)(lambda *grads: (None,) * 5)
        with pytest.raises(RuntimeError, match=text):
            y.sum().backward()


@pytest.mark.parametrize("wrong", ["three", [1.0], 2.0, object()], ids=lambda x: type(x).__name__)
def test_a_hook_of_a_node_must_return_tensors(wrong):
    for register in ("register_prehook", "register_hook"):
        y = torch.rand(2, requires_grad=True) * 2
        getattr(y.grad_fn, register)(lambda *grads: (wrong,) * len(grads[0]))
        with pytest.raises(TypeError, match=f"hook <lambda> returned {type(wrong).__name__}: ret"):
            y.sum().backward()


@pytest.mark.parametrize("keepdim", [False, True])
def test_a_gradient_of_another_shape_than_a_sums_is_refused(keepdim):
    y = torch.ones(2, 3_000_000, requires_grad=True).sum(0, keepdim=keepdim)
    y.grad_fn.register_prehook(lambda grads: (torch.ones(5),))
    with pytest.raises((RuntimeError, ValueError)):
        y.sum().backward()


def test_hooks_of_tensors_run_before_those_of_nodes_each_in_their_order():
    log = []

    def of_tensor(g):
        log.append(1)
        return g * 3

    def of_node(grads):
        log.append(2)
        return tuple(g * 2 for g in grads)

    a = torch.tensor(1.0, requires_grad=True)
    b = a.clone()
    b.grad_fn.register_prehook(of_node)
    b.register_hook(of_tensor)
    b.grad_fn.register_prehook(of_node)
    a_node = b.grad_fn.next_functions[0][0]
    a.register_hook(of_tensor)
    a_node.register_prehook(of_node)
    a.register_hook(of_tensor)
    b.sum().backward(retain_graph=True)
    assert log == [1, 2, 2, 1, 1, 2]
    log.clear()
    torch.autograd.grad(b.sum(), inputs=(a,), retain_graph=True)
    assert log == [1, 2, 2, 1, 1]
    log.clear()
    b.sum().backward(inputs=(b,))
    assert log == [1, 2, 2]
    assert b.grad.item() == 3.0


def test_which_hooks_run_where_a_walk_stops_at_a_tensor():
    count = {}

    def counted(name):
        return lambda *grads: count.update({name: count.get(name, 0) + 1})

    a = torch.tensor(1.0, requires_grad=True)
    b = a * 2
    c = b * 2
    a_node = b.grad_fn.next_functions[0][0]
    for x in (a, b):
        x.register_hook(counted("tensor"))
    for node in (a_node, b.grad_fn):
        node.register_hook(counted("post"))
        node.register_prehook(counted("pre"))

    def counts(run):
        count.clear()
        run()
        return [count.get(name, 0) for name in ("tensor", "pre", "post")]

    assert counts(lambda: torch.autograd.grad(c, b, retain_graph=True)) == [1, 0, 0]
    assert counts(lambda: torch.autograd.grad(c, (a, b), retain_graph=True)) == [2, 1, 1]
    assert counts(lambda: c.backward(retain_graph=True)) == [2, 2, 2]
    assert counts(lambda: c.backward(inputs=(a, b), retain_graph=True)) == [2, 2, 2]


def test_hooks_of_what_was_not_asked_for_do_not_run():
    def never(*grads):
        raise AssertionError("not asked for")

    a, b = torch.tensor(1.0, requires_grad=True), torch.tensor(1.0, requires_grad=True)
    a.register_hook(never)
    c = a.clone()
    c.grad_fn.next_functions[0][0].register_hook(never)
    (a + b + c).sum().backward(inputs=[b])
    assert b.grad.item() == 1.0


# --- of accumulation ---


def test_hooks_of_accumulation_see_the_gradient_that_tensor_hooks_changed():
    seen = []
    a = torch.tensor(1.0, requires_grad=True)
    b = a.clone()
    node = b.grad_fn.next_functions[0][0]
    node.register_hook(lambda given, grads: seen.append((len(given), grads[0].item())))
    node.register_prehook(lambda grads: seen.append((len(grads), grads[0].item())))
    a.register_hook(lambda g: g * 2)
    b.backward()
    assert seen == [(1, 2.0), (0, 2.0)]


def test_the_order_is_tensor_hook_pre_hook_accumulate_hook_post_hook():
    x = torch.rand(3, requires_grad=True)

    def add_half(x):
        x.grad.add_(0.5)

    def after(given, grads):
        x.grad = grads[0].mul(10)

    node = accumulation(x)
    x.register_hook(lambda g: g.sub(2.0))
    node.register_prehook(lambda grads: (grads[0].div(5.0),))
    x.register_post_accumulate_grad_hook(add_half)
    node.register_hook(after)
    x.sum().backward()
    assert torch.allclose(x.grad, torch.tensor([3.0, 3.0, 3.0]))


def test_a_post_hook_of_accumulation_gets_the_gradient_added_not_the_sum():
    seen = []
    x = torch.ones(2, requires_grad=True)
    node = accumulation(x)
    node.register_hook(lambda given, grads: seen.append(grads[0].tolist()))
    for factor in (1.0, 2.0):
        (x * factor).sum().backward()
    assert seen == [[1.0, 1.0], [2.0, 2.0]]
    assert x.grad.tolist() == [3.0, 3.0]


def test_an_accumulate_hook_that_returns_something_raises():
    x = torch.rand(2, 3, requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda x: x.grad)
    with pytest.raises(RuntimeError, match=r"hooks should return None."):
        x.sum().backward()


def test_an_accumulate_hook_needs_a_leaf():
    x = 2.0 * torch.rand(3, requires_grad=True)
    text = "post accumulate grad hooks cannot be registered on non-leaf tensors"
    with pytest.raises(RuntimeError, match=text):
        x.register_post_accumulate_grad_hook(lambda x: None)


def test_accumulate_hooks_run_in_order_with_gradients_off_and_may_change_the_leaf():
    def subtract(x):
        x.sub_(x.grad)

    def quadruple(x):
        x.mul_(4.0)

    x, y = torch.rand(3, requires_grad=True), torch.rand(5, requires_grad=True)
    before = x.detach().clone()
    x.register_post_accumulate_grad_hook(subtract)
    x.register_post_accumulate_grad_hook(quadruple)
    y.register_post_accumulate_grad_hook(subtract)
    x.sum().backward()
    (y * 0).sum().backward()
    assert torch.allclose(x, 4.0 * (before - 1.0))


def test_an_optimizer_may_step_in_accumulate_hooks():
    weight = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.5)

    def step(x):
        optimizer.step()
        optimizer.zero_grad()

    handle = weight.register_post_accumulate_grad_hook(step)
    (weight * 2).sum().backward()
    assert weight.tolist() == [0.0, 0.0]
    assert weight.grad is None
    handle.remove()
    (weight * 2).sum().backward()
    assert weight.tolist() == [0.0, 0.0]


class Thing:
    """Something that a hook holds."""


def test_the_closure_of_an_accumulate_hook_lives_as_long_as_the_tensor():
    def scope():
        thing = Thing()

        def hook(x, thing=thing):
            x.sub_(x.grad)

        x = torch.rand(3, requires_grad=True)
        x.register_post_accumulate_grad_hook(hook)
        x.sum().backward()
        return x, weakref.ref(thing)

    gc.disable()
    try:
        x, ref = scope()
        assert ref() is not None
        del x
        gc.collect()
        assert ref() is None
    finally:
        gc.enable()


# --- of several tensors ---


def test_a_multi_grad_hook_gets_all_gradients_once_per_backward():
    a, b, c, d = (torch.rand(2, requires_grad=True) for _ in range(4))
    seen = []
    handle = register_multi_grad_hook((a, b, c, d), lambda grads: seen.append([*grads]))
    out = (b * c).sum()
    out.backward(retain_graph=True)
    out.backward(inputs=(b, c), retain_graph=True)
    assert [[g is not None for g in grads] for grads in seen] == [[False, True, True, False]] * 2
    assert seen[0][1].tolist() == c.tolist()
    handle.remove()
    out.backward()
    assert len(seen) == 2


def in_threads(run, count):
    """Run the function in several threads at once."""
    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class FailsFirst(Function):
    """The identity, whose first backward fails."""

    lock = threading.Lock()
    count = 0

    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        with FailsFirst.lock:
            FailsFirst.count += 1
            if FailsFirst.count == 1:
                raise RuntimeError("the first one fails")
        return g


@pytest.mark.parametrize("mode", ["all", "any"])
def test_a_multi_grad_hook_is_called_once_in_each_of_several_threads(mode):
    a, b, c, d = (torch.rand(2, requires_grad=True) for _ in range(4))
    seen, failed = [], []
    FailsFirst.count = 0

    def hook(grads):
        seen.append([g is not None for g in grads] if mode == "all" else "any")

    register_multi_grad_hook((a, b, c, d), hook, mode=mode)
    out = (b * c).sum()
    in_threads(lambda: out.backward(inputs=(b, c), retain_graph=True), 5)
    assert seen == ([[False, True, True, False]] if mode == "all" else ["any"]) * 5
    if mode == "any":
        return
    seen.clear()
    failing = (FailsFirst.apply(b) * c).sum()

    def run():
        try:
            failing.backward(inputs=(b, c), retain_graph=True)
        except RuntimeError as error:
            failed.append(str(error))

    in_threads(run, 5)
    assert failed == ["the first one fails"]
    assert len(seen) == 4


def test_an_unknown_mode_of_a_multi_grad_hook_raises():
    x = torch.rand(2, requires_grad=True)
    with pytest.raises(ValueError, match="Expects mode to be one of"):
        register_multi_grad_hook((x,), lambda grads: None, mode="unknown")


# --- retain_grad ---


def test_retained_gradients_add_up_and_leaves_need_none():
    x = torch.ones(1, 3, requires_grad=True)
    y = x * 3
    out = (y * y).sum()
    y.retain_grad()
    y.retain_grad()
    out.backward(retain_graph=True)
    assert y.grad.tolist() == (y * 2).tolist()
    out.backward(retain_graph=True)
    assert y.grad.tolist() == (y * 4).tolist()
    x.grad = None
    x.retain_grad()
    x.retain_grad()
    out.backward()
    assert x.grad.tolist() == (x * 18).tolist()


def test_a_retained_gradient_is_taken_after_all_hooks_of_the_tensor():
    for early in (True, False):
        x = torch.tensor(1.0, requires_grad=True)
        y = x.clone()
        if early:
            y.register_hook(lambda g: g * 2)
        y.retain_grad()
        y.register_hook(lambda g: g * 2)
        y.clone().backward()
        assert y.grad.item() == (4.0 if early else 2.0)


def test_a_retained_gradient_is_that_of_the_value_after_changes_in_place():
    a = torch.tensor([1.0], requires_grad=True).clone()
    a.retain_grad()
    a.mul_(2)
    a.mul_(2)
    a.sum().backward()
    assert a.grad.tolist() == [1.0]


def test_a_retained_gradient_is_that_of_the_value_after_changes_of_views():
    x = torch.tensor([1.0], requires_grad=True).clone()
    x.retain_grad()
    view = x[:]
    view *= 2
    x *= 2
    x.sum().backward()
    assert x.grad.tolist() == [1.0]
    plain = torch.zeros(4)
    plain.view(2, 2).add_(torch.randn(2, 2, requires_grad=True))


def test_retained_gradients_of_views_follow_the_new_history():
    base = torch.tensor([1.0], requires_grad=True).clone()
    first, second = base[:], base[:]
    first.retain_grad()
    second.retain_grad()
    first.mul_(2)
    (first + second).sum().backward()
    assert first.grad.tolist() == second.grad.tolist() == [1.0]


@pytest.mark.parametrize(
    "two", [TwoThree.apply, lambda x: torch.var_mean(x, dim=0)], ids=["Function", "var_mean"]
)
def test_retained_gradients_of_two_outputs_of_one_node(two):
    x = torch.rand(3, 3, requires_grad=True)
    first, second = two(x)
    first.retain_grad()
    second.retain_grad()
    first.mul_(2)
    (first + second).sum().backward()
    assert first.grad.tolist() == torch.ones_like(first).tolist()
    assert second.grad.tolist() == torch.ones_like(second).tolist()


def test_retain_grad_keeps_no_tensor_alive():
    def scope():
        y = torch.ones(2, requires_grad=True) * 2
        y.retain_grad()
        return y / 2, weakref.ref(y)

    gc.disable()
    try:
        z, ref = scope()
        assert ref() is None
        z.sum().backward()
    finally:
        gc.enable()


def test_a_module_hook_is_not_run_by_a_second_derivative():
    x, y = torch.rand(1, requires_grad=True), torch.rand(1)
    loss, seen = torch.nn.MSELoss(), []
    loss.register_full_backward_hook(lambda module, inputs, outputs: seen.append(len(inputs)))
    (g,) = torch.autograd.grad(loss(x, y), x, create_graph=True)
    assert torch.autograd.grad(g, x)[0].tolist() == [2.0]
    assert len(seen) == 1


def test_a_hook_may_ask_which_nodes_the_backward_will_come_to():
    will = torch._C._will_engine_execute_node
    a, c = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    b = a * c
    beside, y = b.cos(), (b * 2).sum()
    leaf, other = (edge[0] for edge in b.grad_fn.next_functions)
    seen = []
    b.register_hook(lambda g: seen.append([will(n) for n in (leaf, other, beside.grad_fn)]))
    torch.autograd.backward(y, inputs=(a, b), retain_graph=True)
    y.backward(retain_graph=True)
    assert seen == [[True, False, False], [True, True, False]]
    with pytest.raises(RuntimeError, match=r"currently running autograd\.grad\(\)"):
        torch.autograd.grad(y, a)
    with pytest.raises(RuntimeError, match="during the backward pass"):
        will(y.grad_fn)
    with pytest.raises(RuntimeError, match="expects an grad_fn"):
        will(y)
