"""engine.func: grad, vjp, jvp, jacrev, jacfwd, hessian, alone and nested."""

import numpy as np
import pytest

import engine
from engine import Value, func
from engine.func import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp

X = engine.tensor([0.3, -1.2, 0.7], dtype=engine.float64)
A = engine.tensor([[1.0, 2.0, 3.0], [4.0, -5.0, 6.0]], dtype=engine.float64)


def f(x):
    return (A @ x).sin() * x.sum()


def g(x):
    return (x**3).sum() * x[0].exp()


def same(a, b, tolerance=1e-9):
    np.testing.assert_allclose(a.numpy(), b.numpy(), tolerance, tolerance)


def test_grad_is_the_gradient_outside_of_any_graph():
    found = grad(g)(X)
    same(found, engine.autograd.functional.jacobian(g, X))
    assert not found.requires_grad
    assert X.grad is None


def test_grad_nests_to_any_order():
    s = engine.tensor(0.7, dtype=engine.float64)
    h = lambda t: t**4  # noqa: E731
    orders = [grad(h), grad(grad(h)), grad(grad(grad(h)))]
    assert [d(s).item() for d in orders] == pytest.approx([4 * 0.7**3, 12 * 0.7**2, 24 * 0.7])


def test_jacobians_of_both_modes_agree_and_nest():
    same(jacrev(f)(X), jacfwd(f)(X))
    wanted = jacrev(jacrev(f))(X)
    assert wanted.shape == (2, 3, 3)
    for nested in (jacfwd(jacfwd(f)), jacfwd(jacrev(f)), jacrev(jacfwd(f)), hessian(f)):
        same(nested(X), wanted)
        assert not nested(X).requires_grad


def test_hessian_is_symmetric_and_the_derivative_of_grad():
    found = hessian(g)(X)
    same(found, found.t())
    same(found, jacrev(grad(g))(X))


def test_vjp_and_jvp_are_products_with_the_jacobian():
    j, v, w = jacrev(f)(X), engine.tensor([1.0, 2.0]).double(), engine.ones(3).double()
    value, pull = vjp(f, X)
    same(value, f(X))
    (found,) = pull(v)
    same(found, v @ j)
    same(pull(2 * v)[0], 2 * found)
    value, pushed = jvp(f, (X,), (w,))
    same(value, f(X))
    same(pushed, j @ w)


def test_a_product_with_the_hessian_is_jvp_of_grad():
    w = engine.tensor([1.0, -2.0, 0.5], dtype=engine.float64)
    found = jvp(grad(g), (X,), (w,))[1]
    same(found, hessian(g)(X) @ w)
    assert not found.requires_grad


def test_argnums_says_by_what():
    product = lambda a, b: (a * a * b).sum()  # noqa: E731
    same(grad(product, argnums=1)(X, X), X * X)
    a, b = grad(product, argnums=(0, 1))(X, 2 * X)
    same(a, 4 * X * X)
    same(b, X * X)
    table = hessian(product, argnums=(0, 1))(X, X)
    same(table[0][0], engine.diag(2 * X))
    same(table[1][1], engine.zeros(3, 3).double())
    same(grad(product, argnums=-1)(X, X), X * X)
    with pytest.raises(RuntimeError, match=r"got argnum=2, but only 2 positional inputs"):
        grad(product, argnums=2)(X, X)


def test_arguments_and_outputs_may_be_nested():
    parameters = {"w": X, "b": [engine.tensor(2.0, dtype=engine.float64)]}
    found = grad(lambda p: (p["w"] * p["w"]).sum() * p["b"][0])(parameters)
    same(found["w"], 4 * X)
    assert found["b"][0].item() == pytest.approx((X * X).sum().item())
    for jac in (jacrev, jacfwd):
        outputs = jac(lambda x: {"sum": x.sum(), "pair": (x * 2, x[0])})(X)
        same(outputs["sum"], engine.ones(3).double())
        same(outputs["pair"][0], 2 * engine.eye(3).double())
        assert outputs["pair"][1].tolist() == [1.0, 0.0, 0.0]


def test_what_a_function_returns_beside_is_handed_on():
    both = lambda x: (g(x), {"twice": 2 * x, "text": "a"})  # noqa: E731
    found, aux = grad(both, has_aux=True)(X)
    same(found, grad(g)(X))
    assert aux["text"] == "a"
    assert not aux["twice"].requires_grad
    assert grad_and_value(both, has_aux=True)(X)[1][1]["text"] == "a"
    assert jacrev(both, has_aux=True)(X)[1]["text"] == "a"
    assert jacfwd(both, has_aux=True)(X)[1]["text"] == "a"
    assert vjp(both, X, has_aux=True)[2]["text"] == "a"
    assert jvp(both, (X,), (X,), has_aux=True)[2]["text"] == "a"
    with pytest.raises(RuntimeError, match=r"has_aux needs .* \(output, aux\); got Tensor"):
        grad(g, has_aux=True)(X)


def test_grad_and_value_returns_both():
    found, value = grad_and_value(g)(X)
    same(found, grad(g)(X))
    same(value, g(X))
    assert not value.requires_grad


def test_results_stay_in_the_graph_of_what_else_they_were_made_of():
    w = X.clone().requires_grad_()
    found = grad(lambda x: ((x * w) ** 2).sum())(X)
    found.sum().backward()
    same(w.grad, 4 * X * w.detach())
    x = X.clone().requires_grad_()
    grad(g)(x).sum().backward()
    same(x.grad, hessian(g)(X).sum(0))


def test_it_works_under_no_grad():
    with engine.no_grad():
        same(grad(g)(X), engine.autograd.functional.jacobian(g, X))


def test_constants_have_derivatives_of_zero():
    for jac in (jacrev, jacfwd):
        assert jac(lambda x: engine.ones(2).double())(X).tolist() == [[0.0] * 3] * 2
    assert grad(lambda x: engine.tensor(1.0))(X).tolist() == [0.0] * 3
    assert jvp(lambda x: engine.ones(2), (X,), (X,))[1].tolist() == [0.0, 0.0]
    with pytest.raises(RuntimeError, match="strict=True all outputs must depend"):
        jvp(lambda x: engine.ones(2), (X,), (X,), strict=True)


def test_values_are_taken():
    assert grad(lambda v: v**3)(Value(2.0)).data == 12.0
    assert grad(grad(lambda v: v**3))(Value(2.0)).data == 12.0
    assert jacfwd(lambda v: v**3)(Value(2.0)).data == 12.0
    assert hessian(lambda v: v.exp() * v)(Value(0.0)).data == 2.0


def test_misuse_is_refused_with_a_sentence():
    with pytest.raises(RuntimeError, match=r"scalar tensor, .*shape \(3,\): .* use jacrev"):
        grad(lambda x: x)(X)
    with pytest.raises(RuntimeError, match=r"scalar tensor.*got float"):
        grad(lambda x: 3.0)(X)
    with pytest.raises(TypeError, match=r"needs Tensors, Values or lists of them; got float"):
        grad(g)(3.0)
    with pytest.raises(RuntimeError, match=r"primals and tangents need to be tuples"):
        jvp(g, X, X)


def test_names_of_the_function_are_kept():
    assert func.grad(g).__name__ == "g"
