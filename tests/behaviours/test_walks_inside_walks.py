"""Re-entrant backward: a backward inside a backward, and what is called at the end of one."""

import pytest

import engine as torch


def test_backward_inside_the_backward_of_a_function():
    class Inner(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with torch.enable_grad():
                ctx.x = x.detach().requires_grad_()
                ctx.y = ctx.x * ctx.x
            return ctx.y.detach()

        @staticmethod
        def backward(ctx, g):
            with torch.enable_grad():
                ctx.y.sum().backward()
            return ctx.x.grad * g

    x = torch.ones(2, 2) * 3
    x.requires_grad_()
    Inner.apply(x).sum().backward()
    assert torch.equal(x.grad, torch.ones(2, 2) * 6)


class Deep(torch.autograd.Function):
    """Runs a backward of its own in its backward, through itself, x times."""

    @staticmethod
    def forward(ctx, x):
        with torch.enable_grad():
            ctx.x = x.detach().requires_grad_()
            ctx.x = ctx.x - 1
        return ctx.x.detach()

    @staticmethod
    def backward(ctx, g):
        if ctx.x < 0:
            return g
        with torch.enable_grad():
            Deep.apply(ctx.x).sum().backward()
        return g


@pytest.mark.parametrize("depth", [150, 1000])
def test_a_backward_may_stand_inside_a_backward_more_than_a_hundred_deep(depth):
    v = torch.tensor(float(depth), requires_grad=True)
    Deep.apply(v).sum().backward()
    assert v.grad.item() == 1.0


def test_long_chains_of_functions_that_each_walk_on_their_own():
    class Walks(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with torch.enable_grad():
                ctx.x = x.detach().requires_grad_()
                ctx.y = ctx.x * 1.0
            return ctx.y.detach()

        @staticmethod
        def backward(ctx, g):
            with torch.enable_grad():
                torch.autograd.backward(ctx.y, g)
            return ctx.x.grad

    x = torch.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(500):
        y = Walks.apply(y)
    y.backward()
    assert x.grad.item() == 1.0


def test_an_error_in_the_inner_backward_reaches_the_outer_caller():
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            raise Exception("Simulate error")

    class Outer(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with torch.enable_grad():
                ctx.y = Fails.apply(x.detach().requires_grad_())
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            with torch.enable_grad():
                ctx.y.sum().backward()
            return g

    with pytest.raises(Exception, match="Simulate error"):
        Outer.apply(torch.rand(3, requires_grad=True)).sum().backward()
    assert torch.is_grad_enabled()


def test_the_mode_in_backward_is_restored_after_a_grad_inside_it():
    seen = []

    class Looks(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            seen.append(torch.is_grad_enabled())
            with torch.enable_grad():
                inner = torch.ones(1, requires_grad=True)
                torch.autograd.grad((inner * 2).sum(), inner, create_graph=not seen[0])
            seen.append(torch.is_grad_enabled())
            return g * 2

    x = torch.ones(2, requires_grad=True)
    Looks.apply(x).sum().backward()
    torch.autograd.grad(Looks.apply(x).sum(), x, create_graph=True)
    assert seen == [False, False, True, True]


def test_a_leaf_shared_by_the_inner_and_the_outer_backward_gets_both_gradients():
    parameter = torch.ones(2, requires_grad=True)

    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            with torch.enable_grad():
                (parameter * 10).sum().backward()
            return g

    Both.apply(parameter * 2).sum().backward()
    assert parameter.grad.tolist() == [12.0, 12.0]


def test_a_hook_may_run_a_backward_of_its_own():
    x = torch.ones(1, requires_grad=True)
    other = torch.ones(1, requires_grad=True)
    y = x * 2

    def hook(g):
        with torch.enable_grad():
            (other * 3).sum().backward()

    y.register_hook(hook)
    y.sum().backward()
    assert x.grad.tolist() == [2.0]
    assert other.grad.tolist() == [3.0]


ENGINE = torch.autograd.Variable._execution_engine


def test_a_callback_is_called_at_the_end_of_the_backward_and_may_ask_for_another():
    said = []

    class Asks(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            ENGINE.queue_callback(first)
            said.append("backward")
            return g

    def first():
        said.append("first")
        ENGINE.queue_callback(lambda: said.append("second"))

    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: said.append("hook"))
    Asks.apply(y).sum().backward()
    assert said == ["backward", "hook", "first", "second"]


@pytest.mark.parametrize("where", [("outer",), ("inner",), ("outer", "inner")], ids=str)
def test_callbacks_of_a_backward_inside_a_backward_are_called_once_each(where):
    said = []

    class Calls(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, name):
            ctx.name = name
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            if ctx.name in where:
                ENGINE.queue_callback(lambda: said.append(ctx.name))
            if ctx.name == "outer":
                with torch.enable_grad():
                    Calls.apply(torch.ones(2, requires_grad=True), "inner").sum().backward()
            return g, None

    Calls.apply(torch.ones(2, requires_grad=True), "outer").sum().backward()
    assert sorted(said) == sorted(where)


def test_a_callback_outside_of_a_backward_is_refused():
    with pytest.raises(RuntimeError, match="can only be installed during backward pass"):
        ENGINE.queue_callback(lambda: None)


@pytest.mark.parametrize("inner", [False, True], ids=["leaf", "result"])
def test_a_hook_that_differentiates_may_change_the_gradient(inner):
    parameter = torch.rand(10, requires_grad=True)
    handle = []

    def penalty(g):
        handle[0].remove()
        with torch.enable_grad():
            g = g.detach().requires_grad_()
            (g * 2 + 5).sum().backward()
        return g.grad + g.detach()

    y = parameter * 2 if inner else parameter
    handle.append(y.register_hook(penalty))
    y.sum().backward()
    assert parameter.grad.tolist() == [6.0 if inner else 3.0] * 10
