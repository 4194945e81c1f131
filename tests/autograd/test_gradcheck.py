"""gradcheck and gradgradcheck: what is right passes, what is wrong fails with its cause."""

import numpy as np
import pytest

import engine
from engine import Function, Value
from engine.autograd import GradcheckError, gradcheck, gradgradcheck
from engine.autograd.gradcheck import get_analytical_jacobian, get_numerical_jacobian


def leaf(rng, *shape):
    return engine.tensor(rng.normal(size=shape) + 0.2, requires_grad=True)


def product(derivative, tangent=None):
    """The Function a * b whose backward, and jvp, are these functions of ctx, a, b and g."""

    class Product(Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            if tangent:
                ctx.save_for_forward(a, b)
            return a * b

        @staticmethod
        def backward(ctx, g):
            return derivative(*ctx.saved_tensors, g)

    if tangent:
        Product.jvp = staticmethod(lambda ctx, ta, tb: tangent(*ctx.saved_tensors, ta, tb))
    return Product.apply


RIGHT = product(lambda a, b, g: (g * b, g * a))


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x * x * g


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 2), (1, 1)], ids=str)
def test_a_right_backward_passes_on_tensors(shape, fast, rng):
    a, b = leaf(rng, *shape), leaf(rng, *shape)
    assert gradcheck(RIGHT, (a, b), fast_mode=fast) is True
    assert gradgradcheck(RIGHT, (a, b), fast_mode=fast) is True


@pytest.mark.parametrize("fast", [False, True])
def test_a_right_backward_passes_on_values_and_a_bare_input(fast, rng):
    assert gradcheck(Cube.apply, Value(1.5), fast_mode=fast) is True
    assert gradgradcheck(Cube.apply, (Value(1.5),), fast_mode=fast) is True
    assert gradcheck(Cube.apply, leaf(rng, 2), fast_mode=fast) is True
    assert gradcheck(lambda a, b: a * b.exp(), (Value(0.5), leaf(rng, 2)), fast_mode=fast)


def test_inputs_are_left_as_they_were(rng):
    a, b, v = leaf(rng, 2, 3), leaf(rng, 3), Value(0.7)
    before = a.tolist(), b.tolist()
    gradcheck(lambda a, b, v: a * b * v, (a, b, v))
    assert (a.tolist(), b.tolist(), v.data) == (*before, 0.7)
    assert (a.grad, b.grad, a._version) == (None, None, 0)


def test_constants_and_other_arguments_stand_beside_the_inputs(rng):
    a, b = leaf(rng, 3), leaf(rng, 3).detach()
    assert gradcheck(lambda a, b, k, name: a * b * k, (a, b, 2.0, "text"))
    assert gradcheck(RIGHT, (a, b))


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.t(),
        lambda t: t[:, ::2],
        lambda t: engine.stack([t, t], 2)[..., 1],
        lambda t: t[1:],
    ],
    ids=["transposed", "every second", "strided", "part"],
)
def test_inputs_in_other_orders_of_memory_are_checked_where_they_lie(change, rng):
    x = change(engine.tensor(rng.normal(size=(4, 4)))).requires_grad_()
    assert gradcheck(Cube.apply, x)
    assert gradgradcheck(Cube.apply, x)


WRONG = {
    "forgets what it is given": (lambda a, b, g: (b, a), "ignores the gradient that it is given"),
    "returns None": (lambda a, b, g: (g * b, None), "no gradient reaches this input"),
    "exchanges inputs": (lambda a, b, g: (g * a, g * b), "this is the gradient of input 1"),
    "has a sign wrong": (lambda a, b, g: (-g * b, g * a), "the wrong sign"),
    "has a factor wrong": (lambda a, b, g: (g * b, 0.5 * g * a), "0.5 times what it should be"),
    "is wrong here and there": (lambda a, b, g: (g * b, g * a * (b > 0)), "entries differ"),
    "turns it over": (lambda a, b, g: (g * b, (g * a).flip(0)), "right but in wrong places"),
}


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("kind", WRONG)
def test_each_kind_of_mistake_is_found_and_its_cause_told(kind, fast, rng):
    derivative, cause = WRONG[kind]
    inputs = engine.tensor([1.0, -2.0, 0.5]).double(), engine.tensor([0.3, 0.9, -1.4]).double()
    inputs = tuple(x.requires_grad_() for x in inputs)
    with pytest.raises(GradcheckError, match=cause) as caught:
        gradcheck(product(derivative), inputs, fast_mode=fast)
    assert "Jacobian mismatch for output 0 with respect to input" in str(caught.value)
    assert gradcheck(product(derivative), inputs, raise_exception=False, fast_mode=fast) is False


def test_the_message_shows_both_jacobians_the_worst_entry_and_the_inputs_name():
    x = engine.tensor([[1.0, 2.0]], dtype=engine.float64, requires_grad=True)
    wrong = product(lambda a, b, g: (g * b, g * a * engine.tensor([1.0, 3.0])))
    with pytest.raises(GradcheckError) as caught:
        gradcheck(wrong, (x, x.detach().clone().requires_grad_()))
    text = str(caught.value)
    assert "with respect to input 1 (b),\nnumerical:[[1. 0.]\n [0. 2.]]" in text
    assert "\nanalytical:[[1. 0.]\n [0. 6.]]\n" in text
    assert "worst entry: d output 0[0, 1] / d input 1[0, 1]: numerical 2, analytical 6\n" in text


def test_a_wrong_value_function_names_the_entry_without_places():
    wrong = product(lambda a, b, g: (g * b, 2.0 * g * a))
    with pytest.raises(GradcheckError, match=r"d output 0 / d input 1: numerical 3, analytical 6"):
        gradcheck(wrong, (Value(3.0), Value(2.0)))


def test_a_transposed_jacobian_is_recognised():
    a = engine.tensor([[0.0, 1.0], [2.0, 3.0]], dtype=engine.float64)

    class Times(Function):
        @staticmethod
        def forward(ctx, x):
            return a @ x

        @staticmethod
        def backward(ctx, g):
            return a @ g

    x = engine.tensor([1.0, 2.0], dtype=engine.float64, requires_grad=True)
    with pytest.raises(GradcheckError, match=r"transposed: backward of y = A x is A\.T @ g"):
        gradcheck(Times.apply, x)


def test_kinks_are_told_from_mistakes():
    x = engine.tensor([0.0, 1.0], dtype=engine.float64, requires_grad=True)
    with pytest.raises(
        GradcheckError, match=r"slopes are 0 below and 1 above.*move the input away"
    ):
        gradcheck(engine.relu, x)


def test_a_function_that_draws_random_numbers_is_told(rng):
    with pytest.raises(GradcheckError, match=r"gives other numbers when called again"):
        gradcheck(lambda x: x * engine.rand(2, dtype=engine.float64), leaf(rng, 2))


def test_a_function_without_a_number_here_is_told():
    x = engine.tensor([0.0], dtype=engine.float64, requires_grad=True)
    with pytest.raises(GradcheckError, match=r"the function itself is nan or infinite"):
        gradcheck(lambda t: t.log(), x)


@pytest.mark.parametrize("dtype", [engine.float32, engine.float16])
def test_single_precision_is_warned_of_once_with_the_input_and_the_cure(dtype):
    x = engine.ones(3, dtype=dtype, requires_grad=True)
    text = r"Input #0 requires gradient and is not a double precision.*\.double\(\)"
    with pytest.warns(UserWarning, match=text) as warned:
        assert not gradcheck(lambda t: t * t * t, (x,), raise_exception=False)
    assert len(warned) == 1
    assert "{" not in str(warned[0].message)
    with (
        pytest.warns(UserWarning, match="double precision"),
        pytest.raises(GradcheckError, match=r"too coarse for differences"),
    ):
        gradcheck(lambda t: t * t * t, (x,))


def test_inputs_whose_elements_share_memory_are_refused(rng):
    x = leaf(rng, 1).expand(2, 2)
    with pytest.raises(RuntimeError, match=r"0th input has a dimension with stride 0.*clone\(\)"):
        gradcheck(Cube.apply, x, raise_exception=False)
    base = np.zeros(3)
    overlap = np.lib.stride_tricks.as_strided(base, (2, 2), (8, 8))
    x = engine.from_numpy(overlap).requires_grad_()
    with pytest.raises(RuntimeError, match=r"1th input has elements that overlap in memory"):
        gradcheck(lambda a, b: a * b, (leaf(rng, 2, 2), x))
    assert gradcheck(Cube.apply, leaf(rng, 3).expand(1, 3))
    y = leaf(rng, 2)
    with pytest.raises(RuntimeError, match=r"Inputs 0 and 1 share memory"):
        gradcheck(lambda a, b: a * b, (y, y.detach().requires_grad_()))
    assert gradcheck(lambda a, b: a * b, (y, y))


def test_a_read_only_input_is_refused():
    array = np.ones(2)
    array.flags.writeable = False
    with pytest.warns(UserWarning, match="not writeable"):
        x = engine.from_numpy(array).requires_grad_()
    with pytest.raises(RuntimeError, match=r"0th input is read-only.*clone"):
        gradcheck(Cube.apply, x)


def test_at_least_one_input_must_require_grad():
    x = engine.ones(2, dtype=engine.float64)
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        gradcheck(Cube.apply, x, raise_exception=False)


def test_another_error_of_the_function_passes_through(rng):
    def broken(x):
        raise RuntimeError("Not a GradcheckError!")

    with pytest.raises(RuntimeError, match="Not a GradcheckError!") as caught:
        gradcheck(broken, leaf(rng, 2), raise_exception=False)
    assert not isinstance(caught.value, GradcheckError)


def test_outputs_that_leave_the_graph_are_refused_or_found(rng):
    with pytest.raises(TypeError, match=r"func needs to return Values or Tensors; got float"):
        gradcheck(lambda x: 3.0, leaf(rng, 2))
    with pytest.raises(
        GradcheckError, match=r"Numerical gradient for function expected to be zero"
    ):
        gradcheck(lambda x: x.detach() * 2, leaf(rng, 2))
    assert gradcheck(lambda x: engine.ones(2), leaf(rng, 2))
    assert gradcheck(lambda x: (), leaf(rng, 2))


def test_outputs_without_a_graph_beside_others_are_left_alone(rng):
    assert gradcheck(lambda x: (x * 2, x.argmax(), x > 0, x.detach()), leaf(rng, 3))


def test_outputs_whose_shape_or_dtype_depends_on_numbers_are_refused():
    x = engine.ones(1, dtype=engine.float64, requires_grad=True)
    with pytest.raises(AssertionError, match=r"outputs with the same shape when inputs are pert"):
        gradcheck(lambda t: engine.cat([t, t]) if (t >= 1).all() else t, x)
    with pytest.raises(AssertionError, match=r"outputs with the same dtype when inputs are pert"):
        gradcheck(lambda t: t.float() if (t >= 1).all() else t, x)
    with pytest.raises(AssertionError, match=r"with the same number of outputs when inputs"):
        gradcheck(lambda t: (t, t) if (t >= 1).all() else t, x)


def random_in_backward(jitter):
    class Jitter(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1.0

        @staticmethod
        def backward(ctx, g):
            return g * (1 + engine.rand_like(g) * jitter)

    return Jitter.apply


@pytest.mark.parametrize("fast", [False, True])
def test_a_backward_that_does_not_repeat_is_found_and_nondet_tol_relaxes_it(fast, rng):
    x = leaf(rng, 5)
    with pytest.raises(GradcheckError, match=r"Backward is not reentrant.*drawn in forward"):
        gradcheck(random_in_backward(1e-7), x, fast_mode=fast)
    assert gradcheck(random_in_backward(1e-7), x, nondet_tol=1e-5, fast_mode=fast)


def test_a_gradient_out_of_nothing_is_found_where_tolerances_hide_it():
    def offset(x):
        y = x.clone()
        y.register_hook(lambda g: g + 1e-2)
        return y

    x = engine.ones(1, dtype=engine.float64, requires_grad=True)
    with pytest.raises(GradcheckError, match="backward not multiplied by grad_output"):
        gradcheck(offset, x, atol=1e-1)


class Pair(Function):
    """Two outputs; `handle` says what backward does with the gradient of the second."""

    handle = staticmethod(lambda g: 0.0 if g is None else g)

    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    @classmethod
    def backward(cls, ctx, g, h):
        if g is None and h is None:
            return None
        return (0.0 if g is None else g * 2) + cls.handle(h) * 3


def test_outputs_without_a_gradient_must_be_handled(rng):
    assert gradcheck(Pair.apply, leaf(rng, 2))

    class Careless(Pair):
        @classmethod
        def backward(cls, ctx, g, h):
            return (g if g is not None else h / 2 * 3) * 2

    text = r"handle undefined output grads: CarelessBackward"
    hint = r"New undefined gradient support .*check_undefined_grad=False leaves it out"
    with pytest.warns(UserWarning, match=hint), pytest.raises(GradcheckError, match=text):
        gradcheck(Careless.apply, leaf(rng, 2))
    with pytest.warns(UserWarning, match=hint):
        assert not gradcheck(Careless.apply, leaf(rng, 2), raise_exception=False)
    assert gradcheck(Careless.apply, leaf(rng, 2), check_undefined_grad=False)


def test_a_gradient_made_of_no_gradient_is_found():
    class Odd(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return engine.ones(2) if g is None else g * 2

    x = engine.ones(2, dtype=engine.float64, requires_grad=True)
    with pytest.raises(GradcheckError, match=r"undefined or zero; OddBackward .* gradient for x"):
        gradcheck(Odd.apply, x)


def test_gradgradcheck_finds_a_first_derivative_that_is_right_and_a_second_that_is_not():
    class Cut(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 3 * x.detach() * x * g

    x = engine.tensor([1.0, 2.0], dtype=engine.float64, requires_grad=True)
    assert gradcheck(Cut.apply, x)
    with pytest.raises(GradcheckError, match=r"0\.5 times what it should be"):
        gradgradcheck(Cut.apply, x)


def test_gradgradcheck_takes_gradients_of_the_outputs(rng):
    x, g = leaf(rng, 3), leaf(rng, 3)
    assert gradgradcheck(Cube.apply, x, g)
    assert gradgradcheck(Cube.apply, (x,), (g,), gen_non_contig_grad_outputs=True)
    assert gradgradcheck(Cube.apply, x, gen_non_contig_grad_outputs=True)


def test_gradgradcheck_of_what_may_be_differentiated_once_raises_its_own_error(rng):
    class Once(Cube):
        @staticmethod
        @engine.once_differentiable
        def backward(ctx, g):
            return 3 * ctx.saved_tensors[0] ** 2 * g

    x = leaf(rng, 2)
    assert gradcheck(Once.apply, x)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradgradcheck(Once.apply, x)


JVP = {
    "right": (lambda a, b, ta, tb: ta * b + a * tb, None),
    "wrong": (lambda a, b, ta, tb: ta * b + 2 * a * tb, "2 times what it should be"),
    "missing": (lambda a, b, ta, tb: ta * b, "no tangent comes from this input"),
}


@pytest.mark.parametrize("kind", JVP)
def test_forward_mode_is_checked_on_request(kind, rng):
    tangent, cause = JVP[kind]
    f = product(lambda a, b, g: (g * b, g * a), tangent)
    inputs = leaf(rng, 2), leaf(rng, 2)
    assert gradcheck(f, inputs)
    if cause is None:
        assert gradcheck(f, inputs, check_forward_ad=True)
        return
    text = rf"computed with forward mode mismatch for output 0 .* input 1 \(b\),[\s\S]*{cause}"
    with pytest.raises(GradcheckError, match=text):
        gradcheck(f, inputs, check_forward_ad=True)
    assert not gradcheck(f, inputs, check_forward_ad=True, raise_exception=False)


def test_forward_and_backward_checks_each_reach_only_their_path(rng):
    def never(*args):
        raise RuntimeError("not to be called")

    inputs = leaf(rng, 2), leaf(rng, 2)
    only_forward = product(never, JVP["right"][0])
    assert gradcheck(only_forward, inputs, check_forward_ad=True, check_backward_ad=False)
    assert gradcheck(product(lambda a, b, g: (g * b, g * a), never), inputs)
    with pytest.raises(AssertionError, match="Expected at least one of check_forward_ad"):
        gradcheck(RIGHT, inputs, check_backward_ad=False)


def test_second_derivatives_are_checked_forward_over_reverse(rng):
    f = product(lambda a, b, g: (g * b, g * a), JVP["right"][0])
    assert gradgradcheck(f, (leaf(rng, 2), leaf(rng, 2)), check_fwd_over_rev=True)
    assert gradgradcheck(
        lambda x: x.exp() * x, leaf(rng, 2), check_fwd_over_rev=True, check_rev_over_rev=False
    )


def test_old_helpers_warn_and_return_jacobians(rng):
    a, b = leaf(rng, 2, 2), leaf(rng, 2, 2)
    private = "was part of PyTorch's private API"
    with pytest.warns(FutureWarning, match=private):
        found = get_numerical_jacobian(lambda xs: (2 * xs[0] + xs[1],), (a, b), eps=1e-6)
    assert all(np.allclose(j.numpy(), k * np.eye(4)) for j, k in zip(found, (2, 1), strict=True))
    with pytest.warns(FutureWarning, match=private):
        (only,) = get_numerical_jacobian(
            lambda xs: (2 * xs[0] + xs[1],), (a, b), target=a, eps=1e-6
        )
    assert np.allclose(only.numpy(), 2 * np.eye(4))
    with pytest.warns(FutureWarning, match=private):
        jacobians, repeats, sizes, types = get_analytical_jacobian((a, b), 2 * a + b)
    assert [j.tolist() for j in jacobians] == [(k * np.eye(4)).tolist() for k in (2, 1)]
    assert (repeats, sizes, types) == (True, True, True)
    with pytest.warns(FutureWarning, match=private):
        assert not get_analytical_jacobian((a,), random_in_backward(1e-6)(a))[1]
    with (
        pytest.warns(FutureWarning, match=private),
        pytest.raises(ValueError, match=r"Expected grad_out to be 1\.0"),
    ):
        get_analytical_jacobian((a,), a * 2, grad_out=2.0)


def test_a_gradcheck_inside_no_grad_finds_no_graph(rng):
    x = leaf(rng, 2)
    with engine.no_grad(), pytest.raises(GradcheckError, match="expected to be zero"):
        gradcheck(Cube.apply, x)
