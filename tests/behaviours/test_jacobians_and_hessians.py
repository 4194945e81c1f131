"""autograd.functional: jacobian, hessian, vjp, jvp, vhp, hvp."""

import warnings

import pytest

import engine as torch

F = torch.autograd.functional
gradcheck, gradgradcheck = torch.autograd.gradcheck, torch.autograd.gradgradcheck
ALL = ("jacobian", "vjp", "jvp", "hessian", "vhp", "hvp")
WITH_V = ("vjp", "jvp", "vhp", "hvp")


def double(*shape):
    return torch.rand(*shape, dtype=torch.float64)


def scalar(x):
    return x.pow(3).sum()


def call(name, f, x, **options):
    if name in WITH_V:
        v = None if name == "vjp" and f is scalar else torch.ones_like(x)
        return getattr(F, name)(f, x, v, **options)[1]
    return getattr(F, name)(f, x, **options)


@pytest.mark.parametrize("name", ALL)
def test_what_is_not_a_tensor_is_refused(name):
    with pytest.raises(TypeError, match="must be either a Tensor or a tuple of Tensors"):
        getattr(F, name)(lambda x: 3.0, double(2), *([double(2)] if name in WITH_V else []))
    with pytest.raises(TypeError, match="must be either a Tensor or a tuple of Tensors"):
        getattr(F, name)(scalar, 2.0, *([double(2)] if name in WITH_V else []))


@pytest.mark.parametrize("name", ["hessian", "vhp", "hvp"])
def test_second_derivatives_need_one_number(name):
    with pytest.raises(RuntimeError, match="The Tensor returned by the function given to"):
        call(name, lambda x: x * 2, double(2))
    with pytest.raises(RuntimeError, match="should return a single Tensor"):
        call(name, lambda x: (x.sum(), x.sum()), double(2))


@pytest.mark.parametrize("name", WITH_V)
def test_v_must_have_the_shape_of_what_it_is_multiplied_with(name):
    x = double(2)
    with pytest.raises(RuntimeError, match=r"v|Entry"):
        getattr(F, name)(scalar if "h" in name else lambda t: t * 2, x, double(3))
    with pytest.raises(RuntimeError):
        getattr(F, name)(scalar if "h" in name else lambda t: t * 2, x, (x, x))


@pytest.mark.parametrize("name", ["jvp", "vhp", "hvp"])
def test_v_may_be_left_out_for_one_number_only(name):
    x = torch.tensor(2.0, dtype=torch.float64)
    out, product = getattr(F, name)(lambda t: t**3, x)
    assert out.item() == 8.0
    assert product.item() == 12.0
    with pytest.raises(RuntimeError, match=r"v can only be None|The vector v can only be None"):
        getattr(F, name)(scalar, double(2))


def test_vjp_needs_v_unless_the_output_is_one_number():
    assert torch.allclose(F.vjp(scalar, torch.ones(2))[1], torch.full((2,), 3.0))
    with pytest.raises(RuntimeError, match="v can only be None"):
        F.vjp(lambda x: x * 2, double(2))


STRICT = ("jacobian", "vjp", "jvp", "hessian", "vhp", "hvp")


@pytest.mark.parametrize("name", STRICT)
def test_strict_refuses_an_output_that_does_not_depend_on_the_input(name):
    def detached(x):
        return x.detach().sum() if name in ("hessian", "vhp", "hvp") else x.detach()

    text = "Output 0 of the user-provided function does not|not in"
    with pytest.raises(RuntimeError, match=text):
        call(name, detached, double(2), strict=True)
    out = call(name, detached, double(2), strict=False)
    assert out.abs().sum() == 0


@pytest.mark.parametrize("name", ["jacobian", "vjp", "jvp", "hvp", "vhp", "hessian"])
def test_strict_refuses_an_input_that_is_not_used(name):
    def unused(x, y):
        return (x * x).sum()

    x, y = double(2), double(2)
    v = () if name not in WITH_V else (torch.ones((), dtype=torch.float64),)
    v = ((torch.ones_like(x), torch.ones_like(y)),) if name in ("jvp", "vhp", "hvp") else v
    if name != "jvp":
        with pytest.raises(RuntimeError, match=r"independent of (the )?input"):
            getattr(F, name)(unused, (x, y), *v, strict=True)
    getattr(F, name)(unused, (x, y), *v)


@pytest.mark.parametrize("name", ["jacobian", "hessian"])
def test_strict_and_vectorize_do_not_go_together(name):
    with pytest.raises(RuntimeError, match="not supported together"):
        getattr(F, name)(scalar, double(2), strict=True, vectorize=True)


@pytest.mark.parametrize("name", ALL)
def test_all_work_under_no_grad_and_their_results_need_no_grad(name):
    with torch.no_grad():
        out = call(name, scalar, double(2))
    assert not out.requires_grad
    assert out.abs().sum() > 0


@pytest.mark.parametrize("name", ALL)
def test_results_are_differentiable_with_create_graph(name):
    x = double(3).requires_grad_()
    assert call(name, scalar, x, create_graph=True).requires_grad
    assert gradcheck(lambda t: call(name, scalar, t, create_graph=True), (x,))
    assert gradgradcheck(lambda t: call(name, scalar, t, create_graph=True), (x,))


@pytest.mark.parametrize("vectorize", [False, True])
def test_the_jacobian_is_nested_as_outputs_and_inputs_are(vectorize):
    x, y = double(2), double(3)
    one = F.jacobian(lambda a: a.exp(), x, vectorize=vectorize)
    assert one.shape == (2, 2)
    assert torch.allclose(one, torch.diag(x.exp()))
    row = F.jacobian(lambda a, b: a.sum() * b, (x, y), vectorize=vectorize)
    assert [j.shape for j in row] == [(3, 2), (3, 3)]
    table = F.jacobian(lambda a, b: (a * 2, b.sum()), (x, y), vectorize=vectorize)
    assert [[j.shape for j in r] for r in table] == [[(2, 2), (2, 3)], [(2,), (3,)]]
    assert torch.allclose(table[1][1], torch.ones(3, dtype=torch.float64))


@pytest.mark.parametrize("vectorize", [False, True])
def test_the_hessian_is_nested_as_the_inputs_are(vectorize):
    x, y = double(2), double(3)
    h = F.hessian(scalar, x, vectorize=vectorize)
    assert torch.allclose(h, torch.diag(6 * x))
    table = F.hessian(lambda a, b: (a.sum() * b**2).sum(), (x, y), vectorize=vectorize)
    assert [[j.shape for j in r] for r in table] == [[(2, 2), (2, 3)], [(3, 2), (3, 3)]]
    assert torch.allclose(table[1][1], torch.diag(torch.ones_like(y)) * 2 * x.sum())


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.exp(),
        lambda x: x.sum(),
        lambda x: x.sum().reshape(()),
        lambda x: (x, x.to(torch.float32).to(torch.float64)),
        lambda x: torch.zeros(2, dtype=torch.float64),
        lambda x: tuple(x * i for i in range(5)),
    ],
    ids=["plain", "sum", "0-d", "through another dtype", "unrelated", "many outputs"],
)
def test_the_vectorized_jacobian_equals_the_loop(f):
    x = double(2, 3)
    loop, together = F.jacobian(f, x), F.jacobian(f, x, vectorize=True)
    loop, together = (r if isinstance(r, tuple) else (r,) for r in (loop, together))
    assert all(torch.allclose(a, b) for a, b in zip(loop, together, strict=True))
    forward = F.jacobian(f, x, vectorize=True, strategy="forward-mode")
    forward = forward if isinstance(forward, tuple) else (forward,)
    assert all(torch.allclose(a, b) for a, b in zip(loop, forward, strict=True))


def test_the_vectorized_hessian_equals_the_loop_and_warns_of_nothing():
    def f(a, b):
        return (a.exp() * b).sum()

    inputs = double(3), double(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        together = F.hessian(f, inputs, vectorize=True)
        F.jacobian(lambda x: x * 2, double(2), vectorize=True)
    loop = F.hessian(f, inputs)
    for i in range(2):
        for j in range(2):
            assert torch.allclose(loop[i][j], together[i][j])


def test_the_jacobian_agrees_with_vjp_and_jvp():
    def f(x):
        return x.exp() * x.sum()

    x, v = double(3), double(3)
    j = F.jacobian(f, x)
    assert torch.allclose(F.jvp(f, x, v)[1], j @ v)
    assert torch.allclose(F.vjp(f, x, v)[1], v @ j)
    assert torch.allclose(F.jvp(f, x, v)[0], f(x))


def test_the_hessian_agrees_with_vhp_and_hvp():
    def f(x):
        return (x.exp() * x.sum()).sum()

    x, v = double(3), double(3)
    h = F.hessian(f, x)
    assert torch.allclose(F.hvp(f, x, v)[1], h @ v)
    assert torch.allclose(F.vhp(f, x, v)[1], v @ h)


def test_products_come_as_tuples_where_the_inputs_did():
    x, y = double(2), double(2)
    out, product = F.vjp(lambda a, b: a * b, (x, y), torch.ones(2, dtype=torch.float64))
    assert isinstance(out, torch.Tensor)
    assert isinstance(product, tuple)
    assert torch.allclose(product[0], y)
    assert torch.allclose(product[1], x)
    outs, products = F.jvp(lambda a: (a * 2, a * 3), x, y)
    assert isinstance(outs, tuple)
    assert torch.allclose(products[1], 3 * y)
    for name in ("vhp", "hvp"):
        _, product = getattr(F, name)(lambda a, b: (a * b).sum(), (x, y), (x, y))
        assert torch.allclose(product[0], y)
        assert torch.allclose(product[1], x)


@pytest.mark.parametrize("shape", [(), (1,), (1, 1, 1)], ids=str)
def test_one_element_may_have_any_shape_where_second_derivatives_are_asked_for(shape):
    def f(x):
        return x.pow(3).sum().view(shape)

    x, v = torch.rand(2), torch.ones(2)
    expected = torch.diag(6 * x)
    for vectorize in (False, True):
        assert torch.allclose(F.hessian(f, x, vectorize=vectorize), expected)
    assert torch.allclose(F.vhp(f, x, v)[1], 6 * x)
    assert torch.allclose(F.hvp(f, x, v)[1], 6 * x)
    assert torch.allclose(F.vjp(f, x)[1], 3 * x**2)


def test_a_vector_of_another_size_is_refused_with_both_sizes():
    text = r"should be torch.Size\(\[3\]\) but got torch.Size\(\[2\]\)"
    with pytest.raises(RuntimeError, match=text):
        F.vjp(lambda x: x * 2, torch.ones(3), torch.ones(2))


def test_the_standard_basis_has_one_block_for_each_tensor():
    tensors = (torch.ones(2, dtype=torch.float64), torch.ones(()))
    blocks = F._construct_standard_basis_for(tensors, (2, 1))
    assert [b.dtype for b in blocks] == [torch.float64, torch.float32]
    assert torch.cat([b.float() for b in blocks], 1).tolist() == torch.eye(3).tolist()
