"""no_grad, enable_grad, set_grad_enabled: blocks, decorators, generators, coroutines."""

import threading
import warnings
from contextlib import suppress

import pytest

import engine as torch


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return g


def test_no_grad_is_a_block_and_a_decorator():
    x, y = torch.ones(5, 5, requires_grad=True), torch.ones(5, 5) * 4
    with torch.no_grad():
        w = x + y

    def adder(x, y):
        return x + y

    for f in (torch.no_grad()(adder), torch.no_grad(adder)):
        z = f(x, y)
        for result in (w, z):
            assert not result.requires_grad
            assert result.grad_fn is None
            with pytest.raises(RuntimeError, match="does not require grad"):
                result.backward(torch.ones(5, 5))
    assert torch.is_grad_enabled()


def test_nested_functions_with_and_without_gradients_restore_the_mode():
    x = torch.ones(2, requires_grad=True)

    @torch.enable_grad()
    def inner():
        assert torch.is_grad_enabled()
        return x * 2

    @torch.no_grad()
    def outer():
        assert not torch.is_grad_enabled()
        y = inner()
        assert not torch.is_grad_enabled()
        return y, x * 2

    a, b = outer()
    assert a.requires_grad
    assert not b.requires_grad
    assert torch.is_grad_enabled()


def test_enable_grad_decorates_without_parentheses():
    x = torch.ones(1, requires_grad=True)

    def doubled(x):
        return x * 2

    with torch.no_grad():
        assert torch.enable_grad(doubled)(x).requires_grad
        assert torch.enable_grad()(doubled)(x).requires_grad
        assert not doubled(x).requires_grad


def test_the_mode_comes_back_after_an_exception():
    with pytest.raises(ZeroDivisionError), torch.no_grad():
        raise ZeroDivisionError
    assert torch.is_grad_enabled()

    @torch.no_grad()
    def fails():
        raise KeyError

    with pytest.raises(KeyError):
        fails()
    assert torch.is_grad_enabled()


def test_set_grad_enabled_is_a_block_and_a_plain_call():
    x = torch.tensor([1.0], requires_grad=True)
    with torch.set_grad_enabled(False):
        y = x * 2
    assert not y.requires_grad
    with torch.set_grad_enabled(True):
        y = x * 2
    assert y.requires_grad
    with torch.set_grad_enabled(False):
        torch.set_grad_enabled(True)
        y = x * 2
    assert y.requires_grad
    assert torch.is_grad_enabled()


def test_set_grad_enabled_wraps_functions_and_restores_the_mode_when_decorating():
    mode_in = []

    @torch.set_grad_enabled(False)
    def inner(x):
        mode_in.append(torch.is_grad_enabled())
        return x * x

    assert torch.is_grad_enabled()
    inner(torch.ones(1))
    assert mode_in == [False]
    assert torch.is_grad_enabled()


def test_a_custom_function_under_no_grad_gives_a_result_without_grad():
    x = torch.ones(1, requires_grad=True)
    with torch.no_grad():
        y = Double.apply(x)
    assert x.requires_grad
    assert not y.requires_grad
    assert y.grad_fn is None


def test_a_custom_function_that_returns_a_leaf_under_no_grad_leaves_the_leaf_alone():
    v = torch.ones(1, requires_grad=True)
    with torch.no_grad():
        w = Same.apply(v)
    assert w.grad_fn is None
    assert v.requires_grad
    assert v.grad_fn is None


# --- generators ---


def test_a_decorated_generator_keeps_its_mode_and_its_caller_keeps_another():
    @torch.no_grad()
    def without():
        for i in range(10):
            assert not torch.is_grad_enabled()
            yield i

    @torch.enable_grad()
    def with_grad():
        for i in range(10):
            assert torch.is_grad_enabled()
            yield i

    with torch.enable_grad():
        for _ in without():
            assert torch.is_grad_enabled()
    with torch.no_grad():
        for _ in with_grad():
            assert not torch.is_grad_enabled()


def test_generators_that_call_each_other_keep_their_modes():
    @torch.enable_grad()
    def with_grad(depth):
        assert torch.is_grad_enabled()
        if depth:
            yield from without(depth - 1)
            assert torch.is_grad_enabled()
        yield depth

    @torch.no_grad()
    def without(depth):
        assert not torch.is_grad_enabled()
        if depth:
            yield from with_grad(depth - 1)
            assert not torch.is_grad_enabled()
        yield depth

    assert list(with_grad(5)) == [0, 1, 2, 3, 4, 5]
    assert list(without(4)) == [0, 1, 2, 3, 4]
    assert torch.is_grad_enabled()


def test_a_decorated_coroutine_receives_what_is_sent_in_its_own_mode():
    @torch.no_grad()
    def without():
        got = []
        assert not torch.is_grad_enabled()
        got.append((yield 0))
        assert not torch.is_grad_enabled()
        got.append((yield 1))
        assert not torch.is_grad_enabled()
        return got

    steps = without()
    assert next(steps) == 0
    assert torch.is_grad_enabled()
    assert steps.send("a") == 1
    assert torch.is_grad_enabled()
    with pytest.raises(StopIteration) as end:
        steps.send("b")
    assert end.value.value == ["a", "b"]
    assert torch.is_grad_enabled()


class Unexpected(Exception):
    pass


def test_an_exception_thrown_into_a_decorated_coroutine_and_handled_there_leaves_the_modes():
    @torch.no_grad()
    def steady():
        while True:
            assert not torch.is_grad_enabled()
            try:
                yield 1
            except Unexpected:
                assert not torch.is_grad_enabled()
                yield 2

    steps = steady()
    assert next(steps) == 1
    assert steps.throw(Unexpected) == 2
    assert torch.is_grad_enabled()
    assert next(steps) == 1
    assert torch.is_grad_enabled()


def test_an_exception_thrown_into_a_decorated_coroutine_and_not_handled_comes_out():
    seen = []

    @torch.no_grad()
    def falls():
        try:
            yield 1
        finally:
            seen.append(torch.is_grad_enabled())

    steps = falls()
    next(steps)
    with pytest.raises(Unexpected):
        steps.throw(Unexpected)
    assert seen == [False]
    assert torch.is_grad_enabled()


def test_closing_a_decorated_coroutine_restores_the_mode():
    seen = []

    @torch.no_grad()
    def closing():
        try:
            yield 1
        except GeneratorExit:
            seen.append(torch.is_grad_enabled())
            raise

    steps = closing()
    next(steps)
    steps.close()
    assert seen == [False]
    assert torch.is_grad_enabled()


def test_a_coroutine_that_swallows_its_closing_is_an_error_and_restores_the_mode():
    @torch.no_grad()
    def stubborn():
        with suppress(GeneratorExit):
            yield 1
        yield 2

    steps = stubborn()
    next(steps)
    with pytest.raises(RuntimeError, match="ignored GeneratorExit"):
        steps.close()
    assert torch.is_grad_enabled()


# --- what else ---


def test_decorating_a_class_warns_and_decorating_functions_and_methods_does_not():
    with pytest.warns(FutureWarning, match="Decorating classes is deprecated"):

        @torch.no_grad()
        class Foo:
            pass

    with warnings.catch_warnings():
        warnings.simplefilter("error")

        @torch.no_grad()
        def foo():
            pass

        class Foo2:
            @torch.no_grad()
            def foo(self):
                return torch.is_grad_enabled()

        assert Foo2().foo() is False


def test_a_new_thread_starts_with_gradients_on():
    seen = []
    with torch.no_grad():
        thread = threading.Thread(target=lambda: seen.append(torch.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_grad_mode_in_forward_is_off_and_outside_it_is_restored():
    seen = []

    class Looks(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            seen.append(torch.is_grad_enabled())
            with torch.enable_grad():
                y = (x.detach().requires_grad_() * 2).sum()
                seen.append(y.requires_grad)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            seen.append(torch.is_grad_enabled())
            return g * 2

    Looks.apply(torch.ones(2, requires_grad=True)).sum().backward()
    assert seen == [False, True, False]
    assert torch.is_grad_enabled()


def test_inference_mode_records_nothing():
    x = torch.ones(2, requires_grad=True)
    with torch.inference_mode():
        assert not (x * 2).requires_grad
    assert (x * 2).requires_grad


def test_inference_mode_can_be_asked_for_and_nests():
    enabled = torch.is_inference_mode_enabled
    assert not enabled()
    with torch.inference_mode():
        assert enabled()
        with torch.inference_mode(False):
            assert (enabled(), torch.is_grad_enabled()) == (False, True)
        assert (enabled(), torch.is_grad_enabled()) == (True, False)
    assert not enabled()
    assert torch.inference_mode(enabled)()
    assert torch.inference_mode(mode=enabled)()
    assert not torch.inference_mode(False)(enabled)()
    assert not enabled()
    with torch.inference_mode():
        x = torch.ones(1)
    assert not torch.is_inference(x)
    assert not x.is_inference()


def test_a_generator_in_inference_mode_has_its_gradients_off():
    @torch.inference_mode()
    def steps():
        yield torch.is_grad_enabled()

    assert next(steps()) is False
