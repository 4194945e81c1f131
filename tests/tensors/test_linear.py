"""Products of vectors and matrices: torch's numbers, differences, dtypes, layouts and errors."""

import itertools

import numpy as np
import pytest
from reference import expressions, make_linear

import engine
from engine.autograd import grad, gradcheck, gradgradcheck
from engine.nn.functional import linear

RECORD = expressions.recorded("linear")
GROUPS = expressions.by_function(RECORD)


def test_every_recorded_case_still_stands_in_the_program_that_made_it():
    assert list(RECORD) == make_linear.EXPRESSIONS


@pytest.mark.parametrize("function", GROUPS)
def test_values_derivatives_and_kinds_of_error_are_those_of_torch(function):
    for text in GROUPS[function]:
        assert not expressions.differences(engine, text, RECORD[text], make_linear.INPUTS)


def plain(rng, *shape):
    return engine.tensor(rng.normal(size=shape), requires_grad=True)


def turned(rng, *shape):
    """A tensor whose dimensions lie in memory the other way round."""
    return engine.from_numpy(rng.normal(size=shape[::-1]).T).requires_grad_()


def spaced(rng, *shape):
    """A tensor of which every second number in memory is left out."""
    return engine.from_numpy(rng.normal(size=(*shape, 2))[..., 0]).requires_grad_()


FUNCTIONS = {
    "mm": (lambda a, b: a.mm(b), (2, 3), (3, 4)),
    "bmm": (lambda a, b: a.bmm(b), (2, 2, 3), (2, 3, 2)),
    "mv": (lambda a, b: a.mv(b), (2, 3), (3,)),
    "dot": (lambda a, b: a.dot(b), (3,), (3,)),
    "outer": (lambda a, b: a.outer(b), (3,), (2,)),
    "a row times a matrix": (lambda a, b: a @ b, (3,), (3, 2)),
    "a row times a batch": (lambda a, b: a @ b, (3,), (2, 3, 2)),
    "a batch times a column": (lambda a, b: a @ b, (2, 2, 3), (3,)),
    "a batch times a matrix": (lambda a, b: a @ b, (2, 2, 3), (3, 2)),
    "a matrix times a batch": (lambda a, b: a @ b, (2, 3), (2, 3, 2)),
    "batches that broadcast": (lambda a, b: a @ b, (2, 1, 2, 3), (3, 3, 1)),
    "no rows": (lambda a, b: a @ b, (0, 3), (3, 2)),
    "nothing to sum": (lambda a, b: a @ b, (2, 0), (0, 2)),
    "linear": (lambda x, w, b: linear(x, w, b), (4, 3), (2, 3), (2,)),
    "linear of a batch": (lambda x, w, b: linear(x, w, b), (2, 2, 3), (2, 3), (2,)),
    "linear of a row": (lambda x, w: linear(x, w), (3,), (2, 3)),
    "addmm": (lambda t, a, b: t.addmm(a, b, beta=0.5, alpha=2.0), (2,), (3, 3), (3, 2)),
    "addmv": (lambda t, a, b: t.addmv(a, b, alpha=2.0), (2,), (2, 3), (3,)),
    "baddbmm": (lambda t, a, b: t.baddbmm(a, b), (2, 2), (2, 2, 3), (2, 3, 2)),
    "tril": (lambda x: x.tril(1), (2, 3, 4)),
    "triu": (lambda x: x.triu(-1), (4, 3)),
    "trace": (lambda x: x.trace(), (3, 2)),
    "diag of a vector": (lambda x: x.diag(1), (3,)),
    "diag of a matrix": (lambda x: x.diag(-1), (3, 4)),
    "einsum, a product": (lambda a, b: engine.einsum("ij,jk->ki", a, b), (2, 3), (3, 2)),
    "einsum, of three": (
        lambda a, b, c: engine.einsum("bi,ij,bj->b", a, b, c),
        (2, 3),
        (3, 2),
        (2, 2),
    ),
    "einsum, a diagonal": (lambda a, b: engine.einsum("iij,j->i", a, b), (2, 2, 3), (3,)),
    "einsum, batches that broadcast": (
        lambda a, b: engine.einsum("...ij,...jk->...ik", a, b),
        (2, 1, 2, 2),
        (3, 2, 1),
    ),
    "einsum, a letter of one operand": (lambda a, b: engine.einsum("ij,k->k", a, b), (2, 3), (2,)),
    "einsum, a size of 1": (lambda a, b: engine.einsum("ij,jk->i", a, b), (2, 3), (1, 2)),
}


@pytest.mark.parametrize("layout", [plain, turned, spaced])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_first_and_second_derivatives_match_differences(name, layout, rng):
    function, *shapes = FUNCTIONS[name]
    inputs = [layout(rng, *shape) for shape in shapes]
    assert gradcheck(function, inputs)
    assert gradgradcheck(function, inputs)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_third_derivatives_match_differences(name, rng):
    function, *shapes = FUNCTIONS[name]
    inputs = [plain(rng, *shape) for shape in shapes]

    def first(*inputs):
        y = function(*inputs)
        return grad((y * y).sum(), inputs, create_graph=True)

    assert gradgradcheck(first, inputs, atol=1e-4, fast_mode=True)


def test_a_matrix_times_an_expanded_vector_has_the_right_gradient(rng):
    a, v = plain(rng, 3, 4), plain(rng, 1)
    assert gradcheck(lambda a, v: a.mv(v.expand(4)), (a, v))
    assert gradcheck(lambda a, v: v.expand(2, 3) @ a, (a, v))


KINDS = ["float16", "float32", "float64", "int64", "uint8"]


@pytest.mark.parametrize(("a", "b"), list(itertools.product(KINDS, repeat=2)))
def test_mixed_dtypes_are_promoted_as_numpys_and_gradients_keep_theirs(a, b):
    x, y = np.ones((2, 3), a), np.ones((3, 2), b)
    s, t = engine.tensor(x), engine.tensor(y)
    for u in (s, t):
        u.requires_grad_(u.is_floating_point())
    out = s @ t
    assert out.numpy(force=True).dtype == (x @ y).dtype
    assert out.tolist() == [[3.0, 3.0], [3.0, 3.0]]
    if out.requires_grad:
        out.sum().backward()
    for u in (s, t):
        assert u.grad is None or u.grad.dtype is u.dtype
        assert u.grad is None or bool((u.grad == 2.0).all())


def test_other_byte_orders_and_strides_are_multiplied_rightly(rng):
    a, b = rng.normal(size=(6, 4)), rng.normal(size=(4, 6))
    for x in (a, a.astype(">f8"), np.asfortranarray(a), a[::-1], a[:, ::-1][:, ::-1]):
        for y in (b, b.astype(">f8"), b[:, ::3]):
            np.testing.assert_allclose((engine.tensor(x) @ engine.tensor(y)).numpy(), x @ y)
    whole = engine.tensor(a)
    np.testing.assert_allclose((whole[::2, 1:] @ whole.t()[1:]).numpy(), a[::2, 1:] @ a.T[1:])


def test_the_operator_takes_arrays_on_either_side():
    a, t = np.eye(2), engine.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=engine.float64)
    assert type(a @ t) is type(t @ a) is engine.Tensor
    assert (a @ t).tolist() == (t @ a).tolist() == t.tolist()
    with pytest.raises(TypeError, match="unsupported operand"):
        t @ 2.0


def test_inf_in_a_product_is_a_result_and_no_warning():
    a = engine.tensor([[float("inf"), -float("inf")]])
    assert np.isnan((a @ a.t().neg().abs() - a @ a.t()).item())
    assert np.isnan((a @ engine.ones(2, 1)).item())


def test_an_operand_that_no_gradient_needs_is_not_kept_and_may_change():
    a, b, c = engine.ones(2, 2, requires_grad=True), engine.ones(2, 2), engine.ones(2)
    for product in (engine.mm, engine.matmul, linear):
        for inputs in ((a * 1.0, b), (b, a * 1.0)):
            y = product(*inputs)
            changed = next(x for x in inputs if x.requires_grad)
            changed.mul_(2.0)
            y.sum().backward()
    y = a.mv(c)
    c.mul_(2.0)
    with pytest.raises(RuntimeError, match=r"shape \(2,\) that MvBackward0 saved is at version 1"):
        y.sum().backward()


def test_a_result_has_memory_of_its_own(rng):
    x = engine.tensor(rng.normal(size=(3, 3)))
    results = [x.tril(), x.triu(), x.diag(), engine.einsum("ij->ji", x), engine.einsum("ii->i", x)]
    results += [engine.einsum("ij", x), engine.einsum("ij->j", x), x @ x]
    assert not any(np.shares_memory(y.numpy(), x.numpy()) for y in results)


def test_addmm_does_not_read_its_input_where_beta_is_0():
    nan, a = engine.full((2, 2), float("nan")), engine.eye(2)
    assert nan.addmm(a, a, beta=0).tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_nodes_are_named_as_torchs():
    a = engine.eye(2, requires_grad=True)
    b = a.unsqueeze(0)
    for name in ("mm", "mv", "dot", "bmm", "tril", "triu"):
        inputs = {"mm": [a, a], "mv": [a, a[0]], "dot": [a[0], a[0]], "bmm": [b, b]}.get(name, [a])
        assert getattr(engine, name)(*inputs).grad_fn.name() == f"{name.capitalize()}Backward0"


def test_einsum_agrees_with_numpys_on_random_equations(rng):
    sizes = dict(zip("abcd", (2, 3, 1, 4), strict=True))
    for _ in range(200):
        terms = ["".join(rng.permutation(list("abcd"))[: rng.integers(1, 4)]) for _ in range(3)]
        letters = sorted(set("".join(terms)))
        output = "".join(rng.permutation(letters)[: rng.integers(0, len(letters) + 1)])
        arrays = [rng.normal(size=[sizes[c] for c in term]) for term in terms]
        equation = f"{','.join(terms)}->{output}"
        inputs = [engine.tensor(x, requires_grad=True) for x in arrays]
        y, theirs = engine.einsum(equation, *inputs), np.einsum(equation, *arrays)
        np.testing.assert_allclose(y.numpy(force=True), theirs, atol=1e-12)
        assert gradcheck(lambda *t, e=equation: engine.einsum(e, *t), inputs, fast_mode=True)


A, U = engine.ones(2, 3), engine.ones(3)
ERRORS = {
    "mm": (lambda: A.mm(A), RuntimeError, r"\(2x3 and 2x3\): the last size of the first, 3, must"),
    "mm of vectors": (lambda: A.mm(U), RuntimeError, "matrices; use matmul; got shapes 2x3 and 3$"),
    "mm of a number": (
        lambda: A.mm(2.0),
        TypeError,
        r"mm\(\): argument 'mat2' must be Tensor, not float; engine.tensor\(...\) makes one",
    ),
    "bmm": (
        lambda: engine.ones(2, 3, 4).bmm(engine.ones(2, 3, 4)),
        RuntimeError,
        r"first two dimensions of batch2 tensor to be: \[2, 4\] but got: \[2, 3\]",
    ),
    "bmm of matrices": (lambda: A.bmm(A), RuntimeError, "must be 3D tensors; got shapes 2x3 and"),
    "mv": (lambda: A.mv(engine.ones(2)), RuntimeError, r"\(n, k\) and a vector .* shapes 2x3 and"),
    "dot": (lambda: U.dot(engine.ones(2)), RuntimeError, "of one length are needed; got shapes 3"),
    "outer": (lambda: U.outer(A), RuntimeError, r"must be vectors .* got shapes 3 and 2x3"),
    "matmul of one number": (
        lambda: A @ engine.tensor(2.0),
        RuntimeError,
        r"both arguments need to be at least 1D; use \* for one number; got shapes 2x3 and \(\)",
    ),
    "matmul": (lambda: A @ A, RuntimeError, "matmul: mat1 and mat2 shapes cannot be multiplied"),
    "matmul by a vector": (lambda: A @ engine.ones(2), RuntimeError, "must be the only size"),
    "batches": (
        lambda: engine.ones(2, 1, 1) @ engine.ones(3, 1, 1),
        RuntimeError,
        "all dimensions but the last two, must match or be 1; got shapes 2x1x1 and 3x1x1",
    ),
    "linear": (lambda: linear(A, engine.ones(4, 2)), RuntimeError, r"that of weight \(n, k\) must"),
    "linear's bias": (
        lambda: linear(A, A, U),
        RuntimeError,
        "bias needs one number per row of weight; got shapes 2x3 and 3",
    ),
    "linear's large bias": (
        lambda: linear(A, A, engine.ones(3, 2)),
        RuntimeError,
        "bias must broadcast to the shape of the product; got shapes 3x2 and 2x2",
    ),
    "addmm": (
        lambda: U.addmm(A, A.t()),
        RuntimeError,
        "addmm: input must broadcast to the shape of the product; got shapes 3 and 2x2",
    ),
    "tril": (lambda: U.tril(), RuntimeError, "tril: input tensor must have at least 2 dim"),
    "triu": (lambda: U.triu(), RuntimeError, "triu: input tensor must have at least 2 dim"),
    "trace": (lambda: U.trace(), RuntimeError, "trace: expected a matrix; got shapes 3"),
    "diag": (lambda: engine.ones(1, 1, 1).diag(), RuntimeError, "supports 1D or 2D tensors; got"),
    "einsum without an equation": (
        lambda: engine.einsum(A, [0, 1]),
        TypeError,
        "the equation must be a text, such as 'ij,jk->ik' .*; got Tensor",
    ),
    "einsum of too few": (
        lambda: engine.einsum("ij,jk", A),
        RuntimeError,
        r"the equation 'ij,jk' does not fit: it names 2 operands; got 1",
    ),
    "einsum of digits": (
        lambda: engine.einsum("i1", A),
        RuntimeError,
        "subscripts must be letters; got 'i1' for operand 0",
    ),
    "einsum of other dimensions": (
        lambda: engine.einsum("ijk,j", A, U),
        RuntimeError,
        "must be that of dimensions; got 'ijk' for operand 0, which has 2",
    ),
    "einsum to a new letter": (
        lambda: engine.einsum("ij->ik", A),
        RuntimeError,
        "'k' must occur once in the output, and in an operand",
    ),
    "einsum of two sizes": (
        lambda: engine.einsum("ij,j", A, engine.ones(2)),
        RuntimeError,
        r"'j' has size 3 and size 2 \(shapes \(2, 3\), \(2,\)\)",
    ),
    "einsum of an oblong diagonal": (
        lambda: engine.einsum("ii", A),
        RuntimeError,
        r"'i' is there twice, for different sizes of \(2, 3\)",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_names_both_shapes_and_what_must_agree(name):
    call, kind, text = ERRORS[name]
    with pytest.raises(kind, match=text):
        call()
