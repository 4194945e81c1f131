"""Hooks of modules: their order, what they may replace, and when backward hooks run."""

import pytest

import engine
from engine import nn


class Twice(nn.Module):
    def forward(self, x, factor=2.0):
        return x * factor


class Pair(nn.Module):
    def forward(self, x, text, y):
        return x * y, text, y.detach()


class Broken(nn.Module):
    def forward(self, x):
        raise ZeroDivisionError("broken")


@pytest.fixture
def x():
    return engine.tensor([1.0, 2.0], requires_grad=True)


def test_forward_pre_hooks_replace_arguments(x):
    net = Twice()
    net.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
    net.register_forward_pre_hook(lambda module, args: args[0] * 10)
    net.register_forward_pre_hook(lambda module, args: None)
    assert net(x).tolist() == [40.0, 60.0]


def test_forward_pre_hooks_with_keywords_replace_both(x):
    net = Twice()
    net.register_forward_pre_hook(
        lambda module, args, kwargs: (args, {"factor": kwargs["factor"] + 1}), with_kwargs=True
    )
    net.register_forward_pre_hook(lambda module, args, kwargs: None, with_kwargs=True)
    assert net(x, factor=3.0).tolist() == [4.0, 8.0]


def test_forward_pre_hooks_with_keywords_must_return_a_pair(x):
    net = Twice()
    net.register_forward_pre_hook(lambda module, args, kwargs: args, with_kwargs=True)
    with pytest.raises(RuntimeError, match=r"None or a pair \(args, kwargs\); got tuple"):
        net(x)


def test_forward_hooks_see_and_replace_the_output(x):
    net, seen = Twice(), []
    net.register_forward_hook(lambda module, args, output: output + 1)
    net.register_forward_hook(
        lambda module, args, kwargs, output: seen.append((len(args), kwargs, output.tolist())),
        with_kwargs=True,
    )
    assert net(x, factor=3.0).tolist() == [4.0, 7.0]
    assert seen == [(1, {"factor": 3.0}, [4.0, 7.0])]


def test_hooks_run_in_order_of_registration_unless_prepended(x):
    net, seen = Twice(), []
    for name, prepend in (("a", False), ("b", False), ("c", True)):
        net.register_forward_hook(lambda *_, name=name: seen.append(name), prepend=prepend)
    net(x)
    assert seen == ["c", "a", "b"]


def test_handles_remove_their_hook_once_and_at_the_end_of_with(x):
    net, seen = Twice(), []
    handle = net.register_forward_hook(lambda *_: seen.append("kept"))
    with net.register_forward_hook(lambda *_: seen.append("with")):
        net(x)
    handle.remove()
    handle.remove()
    net(x)
    assert seen == ["kept", "with"]


def test_a_hook_that_must_always_run_sees_a_failed_forward(x):
    net, seen = Broken(), []
    net.register_forward_hook(lambda *_: seen.append("usual"))
    net.register_forward_hook(lambda m, args, output: seen.append(output), always_call=True)
    with pytest.raises(ZeroDivisionError, match="broken"):
        net(x)
    assert seen == [None]


def test_a_hook_that_must_always_run_runs_once_when_all_is_well(x):
    net, seen = Twice(), []
    net.register_forward_hook(lambda m, args, out: seen.append(out.tolist()), always_call=True)
    net(x)
    assert seen == [[2.0, 4.0]]


def test_backward_hooks_see_the_gradients_of_inputs_and_outputs(x):
    net, seen = nn.Linear(2, 3), []
    net.register_full_backward_hook(lambda module, gi, go: seen.append((module, gi, go)))
    net(x).sum().backward()
    ((module, grad_input, grad_output),) = seen
    assert module is net
    assert grad_output[0].tolist() == [1.0, 1.0, 1.0]
    assert grad_input[0].tolist() == pytest.approx(net.weight.sum(0).tolist())
    assert x.grad.tolist() == grad_input[0].tolist()


def test_what_is_no_tensor_has_none_and_what_is_not_reached_has_0_or_none(x):
    net, seen = Pair(), []
    net.register_full_backward_hook(lambda module, gi, go: seen.append((gi, go)))
    product, text, y = net(x, "text", engine.tensor([3.0, 4.0]))
    assert text == "text"
    assert not y.requires_grad
    product.sum().backward()
    ((grad_input, grad_output),) = seen
    assert grad_input[0].tolist() == [3.0, 4.0]
    assert grad_input[1] is None
    assert grad_input[2].tolist() == [0.0, 0.0]
    assert grad_output[0].tolist() == [1.0, 1.0]
    assert grad_output[1:] == (None, None)


def test_backward_hooks_replace_the_gradients_of_inputs(x):
    net = Twice()
    net.register_full_backward_hook(lambda module, gi, go: (gi[0] * 10,))
    net(x).sum().backward()
    assert x.grad.tolist() == [20.0, 20.0]


def test_backward_pre_hooks_replace_the_gradients_of_outputs(x):
    net, seen = Twice(), []
    net.register_full_backward_pre_hook(lambda module, go: go[0] * 3)
    net.register_full_backward_pre_hook(lambda module, go: seen.append(go[0].tolist()))
    net.register_full_backward_hook(lambda module, gi, go: seen.append(go[0].tolist()))
    net(x).sum().backward()
    assert seen == [[3.0, 3.0], [3.0, 3.0]]
    assert x.grad.tolist() == [6.0, 6.0]


def test_a_backward_hook_that_returns_another_number_of_gradients_is_refused(x):
    net = Twice()
    net.register_full_backward_hook(lambda module, gi, go: (gi[0], gi[0]))
    with pytest.raises(RuntimeError, match=r"Twice: .*must return None or 1 gradients; got 2"):
        net(x).sum().backward()


def test_without_a_tracked_input_the_hook_runs_at_the_output_and_says_so():
    net, seen = nn.Linear(2, 1), []
    net.register_full_backward_hook(lambda module, gi, go: seen.append((gi, go[0].tolist())))
    y = net(engine.ones(2)).sum()
    with pytest.warns(UserWarning, match="Linear: no input of the module requires a gradient"):
        y.backward()
    assert seen == [((None,), [1.0])]


def test_backward_hooks_do_not_run_without_gradients(x):
    net, seen = Twice(), []
    net.register_full_backward_hook(lambda *_: seen.append("ran"))
    with engine.no_grad():
        net(x)
    net(x.detach())
    assert seen == []


def test_second_derivatives_go_through_backward_hooks(x):
    class Cube(nn.Module):
        def forward(self, x):
            return x * x * x

    net, seen = Cube(), []
    net.register_full_backward_hook(lambda module, gi, go: seen.append(gi[0].tolist()))
    (first,) = engine.autograd.grad(net(x).sum(), x, create_graph=True)
    (second,) = engine.autograd.grad(first.sum(), x)
    assert seen[0] == [3.0, 12.0]
    assert second.tolist() == [6.0, 12.0]


def test_each_call_has_gradients_of_its_own(x):
    net, seen = Twice(), []
    net.register_full_backward_hook(lambda module, gi, go: seen.append(gi[0].tolist()))
    (net(x) * 3 + net(x) * 5).sum().backward()
    assert sorted(seen) == [[6.0, 6.0], [10.0, 10.0]]
    assert x.grad.tolist() == [16.0, 16.0]
