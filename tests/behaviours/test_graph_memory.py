"""Deep graphs, the memory of graphs, and reference cycles."""

import gc
import random
import weakref

import pytest

import engine as torch

DEEP = 150_000


def chain(length):
    x = torch.randn(1, requires_grad=True)
    y = x.clone()
    for _ in range(length):
        y = y + y * 0.000001
    return x, y


def test_dropping_a_chain_of_150_000_nodes_does_not_overflow_the_stack():
    x, y = chain(DEEP // 2)
    del x, y


def test_a_chain_of_150_000_custom_functions_is_dropped_and_walked():
    class Id(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return g

    x = torch.randn(1, requires_grad=True)
    y = x.clone()
    for _ in range(DEEP // 3):
        y = Id.apply(y)
    for _ in range(2):
        y.backward(retain_graph=True)
    assert x.grad.tolist() == [2.0]
    del y


def test_a_chain_with_random_skips_of_100_000_nodes_is_dropped_and_walked():
    depth, seed = 50_000, random.Random(1)
    x = torch.randn(1, requires_grad=True)
    y, earlier = x.clone(), [None, None]
    for _ in range(depth):
        picked = seed.choice((True, False))
        y_next = y + 0.000001
        if picked:
            other = earlier[seed.randrange(2)]
            y_next = y_next if other is None else y_next + other * 0.0
        earlier = [earlier[1], y_next]
        y = y_next
    del earlier
    y.backward()
    assert x.grad.tolist() == [1.0]


def test_a_cycle_through_an_intermediate_does_not_break_backward_after_a_collection():
    class Remember(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            ctx.y = y
            return y

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = torch.ones(3, requires_grad=True)
    y = Remember.apply(x)
    z = y * 3
    del y
    gc.collect()
    z.sum().backward()
    assert x.grad.tolist() == [6.0, 6.0, 6.0]


class Canary:
    """Something whose life can be watched."""


class Copy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return g


def hooked_graph(custom, on_node, calls):
    """A result, and a weak reference to what a hook holds beside the node that it hangs on."""
    a = torch.tensor(1.0, requires_grad=True)
    b = Copy.apply(a) if custom else a.clone()
    node, canary = b.grad_fn, Canary()

    def hook(*grads):
        calls.append((node, canary))

    (node if on_node else b).register_hook(hook)
    return b.clone(), weakref.ref(canary)


@pytest.mark.parametrize("custom", [False, True], ids=["clone", "custom"])
@pytest.mark.parametrize("on_node", [False, True], ids=["tensor hook", "node hook"])
def test_a_cycle_of_hook_and_node_lives_while_the_graph_lives_and_dies_after(custom, on_node):
    calls = []
    out, canary = hooked_graph(custom, on_node, calls)
    out.backward(retain_graph=True)
    gc.collect()
    out.backward(retain_graph=True)
    assert len(calls) == 2
    assert canary() is not None
    calls.clear()
    del out
    gc.collect()
    assert canary() is None


def test_a_node_and_what_is_kept_with_it_live_as_long_as_something_made_of_it():
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    y.grad_fn.metadata["canary"] = canary = Canary()
    seen = weakref.ref(canary)
    del canary
    z = y * 2
    del y
    gc.collect()
    assert seen() is not None
    del z
    gc.collect()
    assert seen() is None


def test_saved_tensors_are_freed_by_backward():
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    z = y * y
    ref = weakref.ref(y)
    del y
    out = z.sum()
    del z
    out.backward()
    gc.collect()
    assert ref() is None


def test_a_failed_backward_leaves_nothing_behind():
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            raise ValueError("no")

    x = torch.ones(2, requires_grad=True)
    y = (x * 2).sum() + Fails.apply(x).sum()
    with pytest.raises(ValueError, match="no"):
        y.backward()
    y.grad_fn.metadata["canary"] = Canary()
    seen = weakref.ref(y.grad_fn.metadata["canary"])
    del y
    gc.collect()
    assert seen() is None
    assert torch.is_grad_enabled()
