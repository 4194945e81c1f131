"""vjp, jvp, jacobian, hessian, vhp, hvp: values, structure, graphs and errors."""

import numpy as np
import pytest

import engine
from engine import Value
from engine.autograd import functional, grad
from engine.autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp
from engine.autograd.gradcheck import gradcheck
from engine.autograd.jacobians import Point


def random(rng, *shape, requires_grad=False):
    return engine.tensor(rng.normal(size=shape), requires_grad=requires_grad)


FUNCTIONS = {
    "vector": (lambda x: (x * x).exp()[:2] * x.sum(), [(3,)]),
    "matrix": (lambda x: x.mm(x.t()).tanh(), [(2, 3)]),
    "number out": (lambda x: (x**3).sum(), [(2, 2)]),
    "number in": (lambda x: engine.stack([x, x * x]), [()]),
    "numbers": (lambda x: x.sin(), [()]),
    "two in": (lambda x, y: x.exp() * y.sum(), [(3,), (2, 2)]),
    "two out": (lambda x: (x * 2, x.prod()), [(3,)]),
    "two in, two out": (lambda x, y: (x * y.sum(), y**2), [(2,), (3,)]),
    "unused": (lambda x, y: (x * 2, y.sum()), [(2,), (2,)]),
    "empty": (lambda x: x * 2, [(0, 2)]),
}


def called(name, rng):
    """The function, its inputs as it takes them (one, or a tuple), and those in a tuple."""
    f, shapes = FUNCTIONS[name]
    inputs = tuple(random(rng, *shape) for shape in shapes)
    return f, inputs if len(inputs) > 1 else inputs[0], inputs


def tuple_of(x):
    return x if isinstance(x, tuple) else (x,)


def numerical(f, inputs):
    """For each output and input the Jacobian by differences, of shape output + input."""
    point = Point(f, inputs, list(range(len(inputs))))
    by_input = [point.numerical(j, 1e-6) for j in range(len(inputs))]
    return [
        [by_input[j][i].T.reshape((*o.shape, *x.shape)) for j, x in enumerate(inputs)]
        for i, o in enumerate(point.outputs)
    ]


@pytest.mark.parametrize(
    "options", [{}, {"vectorize": True}, {"strategy": "forward-mode"}], ids=str
)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_jacobian_is_that_of_differences_in_the_structure_of_outputs_and_inputs(name, options, rng):
    f, given, inputs = called(name, rng)
    found = jacobian(f, given, **options)
    outputs = f(*inputs)
    rows = found if isinstance(outputs, tuple) else (found,)
    for i, row in enumerate(rows):
        assert isinstance(row, tuple) == isinstance(given, tuple)
        for j, part in enumerate(tuple_of(row)):
            wanted = numerical(f, inputs)[i][j]
            assert part.shape == wanted.shape
            np.testing.assert_allclose(part.numpy(), wanted, 1e-6, 1e-6)
            assert not part.requires_grad


@pytest.mark.parametrize("name", FUNCTIONS)
def test_vjp_and_jvp_are_products_with_the_jacobian(name, rng):
    f, given, inputs = called(name, rng)
    wanted = numerical(f, inputs)
    v = tuple(random(rng, *o.shape) for o in tuple_of(f(*inputs)))
    w = tuple(random(rng, *x.shape) for x in inputs)
    outputs, pulled = vjp(f, given, v if len(v) > 1 else v[0])
    same, pushed = jvp(f, given, w if len(w) > 1 else w[0])
    assert isinstance(outputs, tuple) == isinstance(same, tuple) == isinstance(pushed, tuple)
    for j, g in enumerate(tuple_of(pulled)):
        parts = (np.tensordot(a.numpy(), wanted[i][j], a.ndim) for i, a in enumerate(v))
        np.testing.assert_allclose(g.numpy(), sum(parts), 1e-5, 1e-6)
    for i, t in enumerate(tuple_of(pushed)):
        parts = (np.tensordot(wanted[i][j], b.numpy(), b.ndim) for j, b in enumerate(w))
        np.testing.assert_allclose(t.numpy(), sum(parts), 1e-5, 1e-6)
    for o, p in zip(tuple_of(outputs), tuple_of(f(*inputs)), strict=True):
        assert engine.equal(o, p)


def scalar(x, y):
    return ((x * y.sum()).exp() + x**3).sum() + (y * y * y).prod()


@pytest.mark.parametrize(
    "options", [{}, {"vectorize": True}, {"outer_jacobian_strategy": "forward-mode"}], ids=str
)
def test_hessian_is_the_jacobian_of_the_gradient(options, rng):
    inputs = random(rng, 2), random(rng, 3)
    found = hessian(scalar, inputs, **options)

    def gradient(*args):
        return grad(scalar(*args), args, create_graph=True)

    leaves = tuple(x.clone().requires_grad_() for x in inputs)
    wanted = numerical(gradient, leaves)
    for i in range(2):
        for j in range(2):
            np.testing.assert_allclose(found[i][j].numpy(), wanted[i][j], 1e-5, 1e-5)
    assert hessian(lambda x: (x**3).sum(), inputs[0]).shape == (2, 2)


def test_vhp_and_hvp_are_products_with_the_hessian(rng):
    inputs = random(rng, 2), random(rng, 3)
    v = random(rng, 2), random(rng, 3)
    h = hessian(scalar, inputs)
    for product in (vhp, hvp):
        value, found = product(scalar, inputs, v)
        assert engine.equal(value, scalar(*inputs))
        for i in range(2):
            wanted = sum(h[i][j].numpy() @ v[j].numpy() for j in range(2))
            np.testing.assert_allclose(found[i].numpy(), wanted, 1e-9)


def test_the_vector_may_be_left_out_for_a_single_number():
    x = engine.tensor(2.0, dtype=engine.float64)
    assert vjp(lambda t: t**3, x)[1].item() == 12.0
    assert jvp(lambda t: t**3, x)[1].item() == 12.0
    assert vhp(lambda t: t**3, x)[1].item() == 12.0
    assert hvp(lambda t: t**3, x)[1].item() == 12.0
    assert vjp(lambda t: t[:1], engine.ones(3))[1].tolist() == [1.0, 0.0, 0.0]


def test_values_are_differentiated_too():
    a, b = Value(2.0), Value(3.0)
    assert jacobian(lambda v: v**3, a).data == 12.0
    assert [g.data for g in jacobian(lambda v, w: v * w, (a, b))] == [3.0, 2.0]
    assert [[h.data for h in row] for row in hessian(lambda v, w: v * v * w, (a, b))] == [
        [6.0, 4.0],
        [4.0, 0.0],
    ]
    assert hvp(lambda v: v**3, a, Value(2.0))[1].data == 24.0
    assert jvp(lambda v: engine.stack([v, v * v]), a, Value(1.0))[1].tolist() == [1.0, 4.0]
    assert jacobian(lambda v, t: t * v, (a, engine.ones(2)))[0].tolist() == [1.0, 1.0]
    assert (a.grad, b.grad) == (0.0, 0.0)


CREATE = {
    "vjp": lambda x, v: vjp(lambda t: t.exp() * t, x, v, create_graph=True)[1],
    "jvp": lambda x, v: jvp(lambda t: t.exp() * t, x, v, create_graph=True)[1],
    "jacobian": lambda x, v: jacobian(lambda t: t.exp() * t, x, create_graph=True),
    "hessian": lambda x, v: hessian(lambda t: (t.exp() * t).sum(), x, create_graph=True),
    "vhp": lambda x, v: vhp(lambda t: (t.exp() * t).sum(), x, v, create_graph=True)[1],
    "hvp": lambda x, v: hvp(lambda t: (t.exp() * t).sum(), x, v, create_graph=True)[1],
}


@pytest.mark.parametrize("name", CREATE)
def test_results_can_be_differentiated_on_request(name, rng):
    x, v = random(rng, 2, requires_grad=True), random(rng, 2, requires_grad=True)
    assert gradcheck(CREATE[name], (x, v))
    assert not CREATE[name](x.detach(), v.detach()).is_leaf


@pytest.mark.parametrize("name", ["vjp", "jvp", "vhp", "hvp"])
def test_results_stand_outside_the_graph_and_leave_gradients_alone(name, rng):
    x, v = random(rng, 2, requires_grad=True), random(rng, 2)
    f = (lambda t: (t**3).sum()) if name in ("vhp", "hvp") else (lambda t: t**3)
    value, found = getattr(functional, name)(f, x, v)
    assert not value.requires_grad
    assert not found.requires_grad
    assert x.grad is None


def test_everything_works_under_no_grad(rng):
    x, v = random(rng, 2), random(rng, 2)
    f, s = (lambda t: t**3), (lambda t: (t**3).sum())
    with engine.no_grad():
        inside = [vjp(f, x, v)[1], jvp(f, x, v)[1], jacobian(f, x), hessian(s, x), vhp(s, x, v)[1]]
        inside.append(hvp(s, x, v)[1])
    outside = [vjp(f, x, v)[1], jvp(f, x, v)[1], jacobian(f, x), hessian(s, x), vhp(s, x, v)[1]]
    outside.append(hvp(s, x, v)[1])
    for a, b in zip(inside, outside, strict=True):
        assert engine.equal(a, b)
        assert not a.requires_grad


def cut(x):
    return x.detach()


def apart(x):
    """Requires grad, and does not depend on x."""
    return engine.ones(4).requires_grad_().clone()


def first_three(x):
    return 3 * x[:3]


def text_beside(x):
    return 3 * x[:3], "text"


ONE = {name: getattr(functional, name) for name in ("vjp", "jvp", "jacobian")}
TWO = {name: getattr(functional, name) for name in ("hessian", "vhp", "hvp")}


def arguments(name, v):
    return () if name in ("jacobian", "hessian") else (v,)


@pytest.mark.parametrize("name", [*ONE, *TWO])
def test_inputs_and_outputs_must_be_tensors(name):
    x, v = engine.rand(4), engine.rand(3)
    f = getattr(functional, name)
    text = rf"The inputs given to {name} must be either a Tensor or a tuple .* at index 1 .*int"
    with pytest.raises(TypeError, match=text):
        f(first_three, (x, 2), *arguments(name, v))
    if name in ("jvp", "vhp", "hvp"):
        v = engine.rand(4)
    with pytest.raises(
        TypeError, match=rf"outputs of the user-provided function given to {name} m"
    ):
        f(text_beside, x, *arguments(name, v))


@pytest.mark.parametrize("name", TWO)
def test_second_derivatives_need_one_output_of_one_element(name):
    x = engine.rand(4)
    with pytest.raises(RuntimeError, match=rf"given to {name} should contain a single element"):
        TWO[name](first_three, x, *arguments(name, x))
    with pytest.raises(RuntimeError, match=rf"function given to {name} should return a single T"):
        TWO[name](lambda t: (t.sum(), t.sum()), x, *arguments(name, x))


@pytest.mark.parametrize("name", ["vjp", "jvp", "vhp", "hvp"])
def test_the_vector_must_fit(name):
    x = engine.rand(4)
    f = getattr(functional, name)
    function = (lambda t: t.exp().sum()) if name in TWO else (lambda t: t.exp())
    with pytest.raises(RuntimeError, match=r"The vector v can only be None if the .* a single"):
        f(lambda t: t[:2].exp() if name == "vjp" else function(t), x)
    with pytest.raises(RuntimeError, match=r"The given v should contain a single Tensor"):
        f(function, x, (x, x))
    with pytest.raises(RuntimeError, match=r"v has invalid size: should be .*4.* but got .*2"):
        f(function, x, x[:2])
    with pytest.raises(TypeError, match=rf"The v given to {name} must be either a Tensor"):
        f(function, x, (x, 2))
    with pytest.raises(
        TypeError, match=rf"The v given to {name} .* but the given v has type .*int"
    ):
        f(function, x, 2)


@pytest.mark.parametrize("name", [*ONE, *TWO])
def test_strict_refuses_what_does_not_depend_and_without_it_there_are_zeros(name):
    x = engine.rand(4)
    f, more = getattr(functional, name), arguments(name, engine.rand(4))
    end = (lambda t: t.sum()) if name in TWO else (lambda t: t)
    with pytest.raises(RuntimeError, match=r"Output 0 .* does not require gradients"):
        f(lambda t: end(cut(t)), x, *more, strict=True)
    with pytest.raises(RuntimeError, match=r"independent of (the )?input.* not allowed in strict"):
        f(lambda t: end(apart(t)), x, *more, strict=True)
    for function in (cut, apart):
        found = f(lambda t, g=function: end(g(t)), x, *more)
        found = found[1] if more else found
        assert not found.any()


@pytest.mark.parametrize("name", [*ONE, *TWO])
def test_strict_refuses_constant_derivatives_where_they_matter(name):
    x = engine.rand(4, requires_grad=True)
    f, more = getattr(functional, name), arguments(name, engine.rand(4))
    linear = (lambda t: (3 * t).sum()) if name in TWO else (lambda t: t.clone())
    options = {} if name in TWO else {"create_graph": True}
    with pytest.raises(RuntimeError, match=r"jacobian of the user-provided function .*independent"):
        f(linear, x, *more, strict=True, **options)
    found = f(linear, x, *more, **options)
    assert (found[1] if more else found).shape[0] == 4


def test_strategies_that_do_not_exist_or_fit_are_refused():
    x = engine.rand(2)
    for f in (
        lambda **k: jacobian(lambda t: t, x, **{"strategy": "sideways", **k}),
        lambda **k: hessian(lambda t: t.sum(), x, **{"outer_jacobian_strategy": "sideways", **k}),
    ):
        with pytest.raises(AssertionError, match=r'either "forward-mode" or "reverse-mode"'):
            f()
    with pytest.raises(RuntimeError, match=r"are not supported together"):
        jacobian(lambda t: t, x, strict=True, vectorize=True)
    with pytest.raises(NotImplementedError, match=r"create_graph=True.*not supported together"):
        jacobian(lambda t: t, x, strategy="forward-mode", create_graph=True)
