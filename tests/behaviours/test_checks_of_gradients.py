"""gradcheck and gradgradcheck: what they accept, notice and refuse."""

import sys
import warnings

import pytest

import engine as torch

gradcheck = torch.autograd.gradcheck
gradgradcheck = torch.autograd.gradgradcheck
module = sys.modules[gradcheck.__module__]
FAST = pytest.mark.parametrize("fast_mode", [False, True], ids=["slow", "fast"])


def double(*shape):
    return torch.rand(*shape, dtype=torch.float64, requires_grad=True)


class Jitter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, jitter=0.0):
        ctx.jitter = jitter
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return Jitter.apply(g, ctx.jitter) * (1 + torch.rand_like(g) * ctx.jitter), None


def shifted(x):
    """x, with a gradient that is 0.01 too large."""
    y = x.clone()
    y.register_hook(lambda g: g + 1e-2)
    return y


@FAST
def test_both_accept_a_bare_tensor(fast_mode):
    x = double(10)
    assert gradcheck(lambda t: t.mul(5), x, fast_mode=fast_mode)
    assert gradgradcheck(lambda t: t.mul(5) * t, x, fast_mode=fast_mode)


@FAST
def test_a_backward_that_is_not_repeatable_is_noticed(fast_mode):
    x = double(5, 5)
    assert gradcheck(lambda t: Jitter.apply(t, 0.0), x, fast_mode=fast_mode)
    with pytest.raises(RuntimeError, match="Backward is not reentrant"):
        gradcheck(lambda t: Jitter.apply(t, 1e-6), x, fast_mode=fast_mode)
    with pytest.raises(RuntimeError, match="Backward is not reentrant"):
        gradgradcheck(lambda t: Jitter.apply(t, 1e-12), x, fast_mode=fast_mode)


@FAST
def test_nondet_tol_lets_small_differences_pass(fast_mode):
    x = double(5, 5)
    assert gradcheck(lambda t: Jitter.apply(t, 0.0), x, nondet_tol=1e-5, fast_mode=fast_mode)
    assert gradcheck(lambda t: Jitter.apply(t, 1e-6), x, nondet_tol=1e-5, fast_mode=fast_mode)
    assert gradgradcheck(lambda t: Jitter.apply(t, 1e-12), x, nondet_tol=1e-5, fast_mode=fast_mode)


@FAST
def test_an_output_whose_shape_depends_on_the_values_is_refused(fast_mode):
    def f(x):
        return torch.cat([x, x]) if bool((x >= 1).all()) else x

    with pytest.raises(AssertionError, match="return outputs with the same shape when inputs are"):
        gradcheck(f, (torch.ones(1, dtype=torch.float64, requires_grad=True),), fast_mode=fast_mode)


@FAST
def test_an_output_whose_dtype_depends_on_the_values_is_refused(fast_mode):
    def f(x):
        return x.to(torch.float32) if bool((x >= 1).all()) else x

    with pytest.raises(AssertionError, match="return outputs with the same dtype when inputs are"):
        gradcheck(f, (torch.ones(1, dtype=torch.float64, requires_grad=True),), fast_mode=fast_mode)


@FAST
def test_a_wrong_gradient_is_a_gradcheck_error_that_names_output_and_input(fast_mode):
    x = double(1)
    text = "Jacobian mismatch for output 0 with respect to input 0"
    with pytest.raises(module.GradcheckError, match=text):
        gradcheck(shifted, (x,), fast_mode=fast_mode)
    assert issubclass(module.GradcheckError, RuntimeError)
    assert gradcheck(shifted, (x,), raise_exception=False, fast_mode=fast_mode) is False


@FAST
def test_an_error_of_the_user_passes_through_even_without_raise_exception(fast_mode):
    def f(x):
        raise RuntimeError("Not a GradcheckError!")

    with pytest.raises(RuntimeError, match="Not a GradcheckError!"):
        gradcheck(f, (double(1),), raise_exception=False, fast_mode=fast_mode)


@FAST
def test_an_output_without_graph_must_not_depend_on_the_input(fast_mode):
    x = double(1)

    def f(x):
        return torch.tensor([x.item()])

    with pytest.raises(RuntimeError, match="Numerical gradient for function expected to be zero"):
        gradcheck(f, x, fast_mode=fast_mode)
    assert gradcheck(f, x, raise_exception=False, fast_mode=fast_mode) is False
    assert gradcheck(lambda x: (), (x,), fast_mode=fast_mode)


def test_a_gradient_for_a_zero_gradient_is_noticed():
    def f(x):
        y = x * 2
        y.register_hook(lambda g: g + 1e-2)
        return y

    with pytest.raises(RuntimeError, match="backward not multiplied by grad_output"):
        gradcheck(f, (torch.zeros(1, dtype=torch.float64, requires_grad=True),), atol=1e-1)


def test_a_function_that_fails_on_undefined_gradients_is_reported():
    class Needs(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            if g is None:
                raise RuntimeError("no gradient")
            return g * 2

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(RuntimeError, match="handle undefined output grads"):
            gradcheck(Needs.apply, (double(1),))
        assert gradcheck(Needs.apply, (double(1),), raise_exception=False) is False
        assert gradcheck(Needs.apply, (double(1),), check_undefined_grad=False)


def test_a_hook_that_refuses_an_undefined_gradient_is_reported():
    def f(x):
        def hook(g):
            if g is None:
                raise RuntimeError("x is undefined")

        y = x.clone()
        y.register_hook(hook)
        return y

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(RuntimeError, match="handle undefined output grads"):
            gradcheck(f, (double(1),))


def test_inputs_that_need_no_gradient_are_refused():
    with pytest.raises(ValueError, match=r"require gradient|requires_grad"):
        gradcheck(lambda x: x * 2, (torch.rand(2, dtype=torch.float64),))


def test_an_expanded_input_is_refused():
    x = torch.rand(1, dtype=torch.float64).expand(3).requires_grad_()
    with pytest.raises(RuntimeError, match="stride 0"):
        gradcheck(lambda t: t * 2, (x,))


def test_batched_gradients_are_checked():
    x = double(3)
    assert gradcheck(lambda t: t * t, (x,), check_batched_grad=True)
    assert gradgradcheck(lambda t: t * t, (x,), check_batched_grad=True)


def test_several_inputs_and_outputs_and_arguments_that_are_no_tensors():
    a, b = double(2, 2), double(2)
    assert gradcheck(lambda a, n, b: (a * n + b, b.exp() * a), (a, 3.0, b))
    assert gradgradcheck(lambda a, n, b: (a * n * a + b, b.exp() * a), (a, 3.0, b))


def pair(inputs):
    x, y = inputs
    return 2 * x + y, x + 2 * y


def test_the_old_numerical_jacobian_warns_and_works():
    a, b = double(2, 2), double(2, 2)
    old = module.get_numerical_jacobian
    eye = torch.eye(4, dtype=torch.float64)
    with pytest.warns(FutureWarning, match="was part of PyTorch's private API"):
        jacobian = old(pair, (a, b), target=a, eps=1e-6)
    assert torch.allclose(jacobian[0], 2 * eye)
    with pytest.warns(FutureWarning):
        jacobian = old(pair, (a, b), eps=1e-6)
    assert torch.allclose(jacobian[0], 2 * eye)
    assert torch.allclose(jacobian[1], eye)
    with pytest.warns(FutureWarning), pytest.raises(ValueError, match="Expected grad_out to be 1"):
        old(pair, (a, b), eps=1e-6, grad_out=2.0)


def test_the_old_analytical_jacobian_warns_and_works():
    a, b = double(2, 2), double(2, 2)
    old = module.get_analytical_jacobian
    eye = torch.eye(4, dtype=torch.float64)
    with pytest.warns(FutureWarning, match="was part of PyTorch's private API"):
        jacobians, reentrant, sizes, types = old((a, b), pair((a, b))[0])
    assert torch.allclose(jacobians[0], 2 * eye)
    assert torch.allclose(jacobians[1], eye)
    assert reentrant
    assert sizes
    assert types
    out = Jitter.apply(a, 1e-6)
    with pytest.warns(FutureWarning):
        assert not old((a,), out)[1]
    with pytest.warns(FutureWarning), pytest.raises(ValueError, match="Expected grad_out to be 1"):
        old((a,), out, grad_out=2.0)


def test_options_that_contradict_each_other_are_refused():
    for options in (
        {"check_batched_forward_grad": True},
        {"check_backward_ad": False, "check_forward_ad": False},
    ):
        with pytest.raises(AssertionError, match="to be True"):
            gradcheck(lambda x: x * 2, (double(2),), **options)
