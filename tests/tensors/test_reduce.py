"""Reductions, scans, sorting and softmax: torch's numbers, differences, edges and errors."""

import warnings

import numpy as np
import pytest
from reference import expressions, make_reduce

import engine
from engine.autograd import grad, gradcheck, gradgradcheck

RECORD = expressions.recorded("reduce")
GROUPS = expressions.by_function(RECORD)
inf, nan = float("inf"), float("nan")


def test_every_recorded_case_still_stands_in_the_program_that_made_it():
    assert list(RECORD) == make_reduce.EXPRESSIONS


@pytest.mark.parametrize("function", GROUPS)
def test_values_derivatives_and_kinds_of_error_are_those_of_torch(function):
    for text in GROUPS[function]:
        assert not expressions.differences(engine, text, RECORD[text], make_reduce.INPUTS)


def random(rng, *shape):
    return engine.tensor(rng.normal(size=shape), requires_grad=True)


FUNCTIONS = {
    "sum": lambda x: x.sum(),
    "sum along": lambda x: x.sum(-1),
    "sum kept": lambda x: x.sum(0, keepdim=True),
    "mean": lambda x: x.mean(),
    "mean along": lambda x: x.mean(-1),
    "var": lambda x: x.var(),
    "var along": lambda x: x.var(0),
    "var biased": lambda x: x.var(-1, unbiased=False, keepdim=True),
    "std": lambda x: x.std(),
    "std along": lambda x: x.std(-1),
    "var_mean": lambda x: engine.var_mean(x, 0),
    "std_mean": lambda x: engine.std_mean(x, -1),
    "prod": lambda x: x.prod(),
    "prod along": lambda x: x.prod(-1),
    "prod kept": lambda x: x.prod(0, keepdim=True),
    "max": lambda x: x.max(),
    "max along": lambda x: x.max(0)[0],
    "min along": lambda x: x.min(-1, keepdim=True)[0],
    "amax": lambda x: x.amax(-1),
    "amin": lambda x: x.amin(),
    "median": lambda x: x.median(),
    "median along": lambda x: x.median(0)[0],
    "sort": lambda x: x.sort()[0],
    "sort descending": lambda x: x.sort(0, descending=True)[0],
    "topk": lambda x: x.topk(2, 0)[0],
    "topk smallest": lambda x: x.topk(1, -1, largest=False)[0],
    "norm": lambda x: x.norm(),
    "norm along": lambda x: x.norm(2, 0),
    "norm 1": lambda x: x.norm(1),
    "norm 3": lambda x: x.norm(3, -1),
    "norm 1.5": lambda x: x.norm(1.5, 0, True),
    "norm 0.5": lambda x: x.norm(0.5),
    "norm inf": lambda x: x.norm(inf, -1),
    "norm -inf": lambda x: x.norm(-inf, 0),
    "logsumexp": lambda x: x.logsumexp(0),
    "logsumexp kept": lambda x: x.logsumexp(-1, keepdim=True),
    "softmax": lambda x: x.softmax(0),
    "softmax along": lambda x: x.softmax(-1),
    "log_softmax": lambda x: x.log_softmax(-1),
    "cumsum": lambda x: x.cumsum(0),
    "cumsum along": lambda x: x.cumsum(-1),
    "cumprod": lambda x: x.cumprod(0),
    "cumprod along": lambda x: x.cumprod(-1),
    "sum_to_size": lambda x: x.sum_to_size(x.shape[1:]),
}
LAYOUTS = {
    "as it is": lambda rng: random(rng, 4, 3),
    "transposed": lambda rng: random(rng, 3, 4).detach().t().requires_grad_(),
    "every second": lambda rng: random(rng, 8, 3).detach()[::2].requires_grad_(),
    "three dimensions": lambda rng: random(rng, 2, 3, 2),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_first_and_second_derivatives_match_differences(name, layout, rng):
    x = LAYOUTS[layout](rng)
    assert gradcheck(FUNCTIONS[name], x)
    assert gradgradcheck(FUNCTIONS[name], x)


WITHOUT_DERIVATIVE_AT_TIES = {"max", "min", "amax", "amin", "median", "sort", "topk"}
WITHOUT_DERIVATIVE_AT_TIES |= {"std", "std_mean", "norm"}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_pass_through_a_broadcast_input(name, rng):
    x = random(rng, 3, 1)
    # Equal elements have no derivative in max and its like, nor has their spread.
    if name.split()[0] in WITHOUT_DERIVATIVE_AT_TIES:
        offsets = engine.tensor(rng.normal(size=(3, 4)))
        assert gradcheck(lambda x: FUNCTIONS[name](x + offsets), x)
    else:
        assert gradcheck(lambda x: FUNCTIONS[name](x.expand(3, 4)), x)
        assert gradgradcheck(lambda x: FUNCTIONS[name](x.expand(3, 4)), x)


@pytest.mark.parametrize("zeros", [0, 1, 2, 3])
def test_prod_and_cumprod_have_right_derivatives_of_third_order_with_zeros(zeros):
    numbers = [2.0, -1.5, 3.0, 0.5, -2.0]
    numbers[1 : 1 + zeros] = [0.0] * zeros
    x = engine.tensor(numbers, dtype=engine.float64, requires_grad=True)
    w = engine.tensor([0.3, -1.0, 0.7, 2.0, 1.1], dtype=engine.float64)
    for f in (lambda x: x.prod(), lambda x: x.cumprod(0)):
        assert gradcheck(f, x)
        assert gradgradcheck(f, x)
        assert gradgradcheck(
            lambda x, f=f: (grad((f(x) * 1.0).sum(), x, create_graph=True)[0] * w).sum(), x
        )


def test_second_derivative_of_prod_with_two_zeros_is_the_product_of_the_rest():
    x = engine.tensor([0.0, 3.0, 0.0, 5.0], dtype=engine.float64, requires_grad=True)
    (g,) = grad(x.prod(), x, create_graph=True)
    assert g.tolist() == [0.0, 0.0, 0.0, 0.0]
    (h,) = grad(g[0], x)
    assert h.tolist() == [0.0, 0.0, 15.0, 0.0]


def test_prod_divides_nothing_so_that_tiny_and_huge_numbers_keep_their_slopes():
    x = engine.tensor([1e-200, 1e-200, 1e200], dtype=engine.float64, requires_grad=True)
    x.prod().backward()
    np.testing.assert_allclose(x.grad.numpy(), [1.0, 1.0, 0.0], rtol=1e-12)


def test_a_norm_above_2_has_second_derivative_0_at_0():
    x = engine.tensor([0.0, 3.0, -4.0], dtype=engine.float64, requires_grad=True)
    (g,) = grad(x.norm(2.5), x, create_graph=True)
    (h,) = grad(g[0], x)
    assert h.tolist() == [0.0, 0.0, 0.0]


def test_where_several_are_the_largest_all_share_but_along_a_dim_the_first_gets_it():
    x = engine.tensor([[2.0, 1.0, 2.0], [2.0, 0.0, 1.0]], requires_grad=True)
    third = 1 / np.float32(3)
    assert grad(x.max(), x)[0].tolist() == [[third, 0.0, third], [third, 0.0, 0.0]]
    assert grad(x.amax(1).sum(), x)[0].tolist() == [[0.5, 0.0, 0.5], [1.0, 0.0, 0.0]]
    assert grad(x.max(1).values.sum(), x)[0].tolist() == [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]


def test_values_and_indices_come_as_a_named_tuple():
    values, indices = engine.max(engine.tensor([[1.0, 5.0], [7.0, 2.0]]), dim=1)
    assert values.tolist() == [5.0, 7.0]
    assert indices.tolist() == [1, 0]
    assert indices.dtype is engine.int64
    sort = engine.tensor([3, 1, 2]).sort()
    assert sort.values.tolist() == [1, 2, 3]
    assert sort.indices.tolist() == [1, 2, 0]


def test_indices_are_outside_the_graph_and_do_not_disturb_it():
    x = engine.tensor([1.0, 5.0, 3.0], requires_grad=True)
    values, indices = x.max(0)
    assert not indices.requires_grad
    (values * indices).backward()
    assert x.grad.tolist() == [0.0, 1.0, 0.0]


def test_sorting_keeps_equal_elements_in_order_both_ways():
    x = engine.tensor([1, 0, 1, 0, 1])
    assert x.argsort().tolist() == [1, 3, 0, 2, 4]
    assert x.argsort(descending=True).tolist() == [0, 2, 4, 1, 3]


def test_nan_sorts_as_the_largest():
    x = engine.tensor([nan, 1.0, inf])
    assert x.argsort().tolist() == [1, 2, 0]
    assert x.topk(1)[1].tolist() == [0]
    assert np.isnan(x.max().item())
    assert x.argmin().item() == 0


def test_the_variance_of_one_element_is_nan_and_warns():
    x = engine.tensor([2.0], requires_grad=True)
    for f, name in ((engine.var, "var"), (engine.std, "std"), (engine.var_mean, "var_mean")):
        with pytest.warns(UserWarning, match=rf"{name}\(\): degrees of freedom is <= 0") as caught:
            y = f(x)
        assert caught[0].filename == __file__
        y = y[0] if isinstance(y, tuple) else y
        assert np.isnan(y.item())
        assert np.isnan(grad(y, x)[0].item())


def test_the_slope_of_std_and_norm_at_0_is_0():
    x = engine.zeros(3, requires_grad=True)
    for y in (x.std(), x.norm(), x.norm(3), x.norm(0.5), x.norm(1), x.norm(inf)):
        assert grad(y, x)[0].tolist() == [0.0, 0.0, 0.0]


def test_softmax_and_its_kin_take_huge_numbers():
    x = engine.tensor([1e4, -1e4, 1e4], dtype=engine.float64, requires_grad=True)
    assert x.softmax(0).tolist() == [0.5, 0.0, 0.5]
    assert x.log_softmax(0)[1].item() == -2e4 - np.log(2)
    assert x.logsumexp(0).item() == 1e4 + np.log(2)
    for y in (x.softmax(0).sum(), x.log_softmax(0).sum(), x.logsumexp(0)):
        assert np.isfinite(grad(y, x)[0].numpy()).all()


def test_log_softmax_keeps_digits_that_softmax_loses():
    x = engine.tensor([0.0, -800.0], dtype=engine.float64)
    assert x.softmax(0)[1].item() == 0.0
    assert x.log_softmax(0)[1].item() == -800.0


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int16", "int32", "int64"])
def test_integers_are_summed_and_multiplied_as_int64(dtype):
    x = engine.tensor([1, 0, 1]).to(getattr(engine, dtype))
    for f in (engine.sum, engine.prod, lambda x: x.cumsum(0), lambda x: x.cumprod(0)):
        assert f(x).dtype is engine.int64
    assert engine.tensor([200, 100]).to(engine.uint8).sum().item() == 300


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_floats_keep_their_dtype(dtype):
    x = engine.tensor([[0.5, 2.0], [1.0, 4.0]]).to(getattr(engine, dtype)).requires_grad_()
    for name in FUNCTIONS:
        y = FUNCTIONS[name](x)
        y = y[0] if isinstance(y, tuple) else y
        assert y.dtype is x.dtype, name
        assert grad(y.sum(), x)[0].dtype is x.dtype, name


def test_inf_and_nan_are_results_and_no_warnings():
    x = engine.tensor([inf, -inf, 1e300, nan], dtype=engine.float64, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in FUNCTIONS:
            y = FUNCTIONS[name](x.reshape(2, 2))
            y = y[0] if isinstance(y, tuple) else y
            grad(y.sum(), x)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_result_has_memory_of_its_own(name, rng):
    for shape in ((2, 1), (2, 2)):
        x = engine.tensor(rng.normal(size=shape))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            y = FUNCTIONS[name](x)
        for t in y if isinstance(y, tuple) else (y,):
            assert not np.shares_memory(t.numpy(), x.numpy())


def test_reductions_take_numpys_names_too():
    x = engine.tensor([[1.0, 2.0], [3.0, 5.0]])
    assert x.sum(axis=0).tolist() == [4.0, 7.0]
    assert x.mean(axis=1, keepdims=True).tolist() == [[1.5], [4.0]]
    assert x.max(axis=1).indices.tolist() == [1, 1]
    assert x.argmax(axis=0, keepdims=True).tolist() == [[1, 1]]


def test_nodes_are_named_as_torchs():
    x = engine.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True)
    alone = ("sum", "mean", "var", "std", "prod", "amax", "amin", "median")
    along = (
        "max",
        "min",
        "sort",
        "topk",
        "logsumexp",
        "softmax",
        "log_softmax",
        "cumsum",
        "cumprod",
    )
    for name in (*alone, *along):
        y = getattr(engine, name)(x, *([1] if name in along else []))
        y = y[0] if isinstance(y, tuple) else y
        assert y.grad_fn.name() == f"{name.title().replace('_', '')}Backward0"


def test_what_backward_needs_may_not_be_changed_in_place():
    x = engine.tensor([1.0, 2.0], requires_grad=True)
    for f in (lambda t: t.var(), lambda t: t.max(), lambda t: t.prod(), lambda t: t.norm()):
        t = x * 1.0
        y = f(t)
        t.mul_(2.0)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.backward()
    t = x * 1.0
    y = t.sum() + t.mean() + t.sort()[0][0] + t.cumsum(0)[1]
    t.mul_(2.0)
    y.backward()


def test_a_running_sum_of_a_million_numbers_is_differentiated_at_once():
    x = engine.ones(1_000_000, dtype=engine.float64, requires_grad=True)
    x.cumsum(0)[-1].backward()
    assert x.grad.sum().item() == 1_000_000
    x.grad = None
    x.cumprod(0)[-1].backward()
    assert x.grad.sum().item() == 1_000_000


X = engine.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
EMPTY = engine.zeros(0, 3)
ERRORS = {
    "a dim beyond the last": (lambda: X.sum(2), IndexError, r"range of \[-2, 1\], but got 2"),
    "a dim twice": (lambda: X.sum((0, -2)), RuntimeError, "dim 0 appears multiple times"),
    "a mean of integers": (
        lambda: engine.tensor([1, 2]).mean(),
        RuntimeError,
        r"mean\(\): .* floating point.* Got: engine.int64; convert it first",
    ),
    "a variance of integers": (lambda: engine.tensor([1]).var(), RuntimeError, r"var\(\): Input"),
    "two corrections": (
        lambda: X.var(unbiased=True, correction=0),
        TypeError,
        "unbiased and correction say the same; give one",
    ),
    "sizes that do not broadcast": (
        lambda: X.sum_to_size(2),
        RuntimeError,
        r"size \[2\] is not expandable to size \[2, 3\]: .* counted from the end",
    ),
    "no sizes": (lambda: X.sum_to_size(), TypeError, r"(missing|at least) .* positional argument"),
    "a norm by name": (lambda: X.norm("nuc"), RuntimeError, "'fro' or inf; got 'nuc'"),
    "a norm of integers": (lambda: engine.tensor([1]).norm(), RuntimeError, r"norm\(\): Input"),
    "a norm of nothing": (
        lambda: EMPTY.norm(inf, 0),
        RuntimeError,
        r"cannot compute the inf norm of no elements \(shape \(0, 3\), dim 0\)",
    ),
    "the largest of none": (
        lambda: EMPTY.max(),
        RuntimeError,
        r"max\(\): Expected reduction dim to be specified for input.numel\(\) == 0.*\(0, 3\)",
    ),
    "the largest along an empty dim": (
        lambda: EMPTY.max(0),
        IndexError,
        r"max\(\): Expected reduction dim 0 to have non-zero size; the input has shape \(0, 3\)",
    ),
    "the place of the largest of none": (lambda: EMPTY.argmax(), IndexError, r"argmax\(\): Exp"),
    "too many of the largest": (
        lambda: X.topk(4),
        RuntimeError,
        "selected index k out of range: k must be from 0 to 3, the size of dim 1; got 4",
    ),
    "a softmax without dim": (lambda: X.softmax(), TypeError, "dim"),
    "a softmax of integers": (
        lambda: engine.tensor([1]).softmax(0),
        NotImplementedError,
        "softmax: not implemented for engine.int64: input must be floating; convert it first",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_says_what_was_needed_and_got(name):
    call, kind, text = ERRORS[name]
    with pytest.raises(kind, match=text):
        call()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "float16"])
@pytest.mark.parametrize(("name", "dims"), [("logsumexp", [0]), ("relu", [])])
def test_results_of_one_number_are_arrays_as_any_other(name, dims, dtype):
    y = getattr(engine.tensor(2, dtype=getattr(engine, dtype)), name)(*dims)
    assert y.sum().item() == y.clone().item() == y[None].item() == y.item()
    y[y > 0] = 5
    assert y.item() == 5
    assert y.add_(1).item() == 6
    assert y.zero_().item() == 0


def test_the_logsumexp_of_one_number_has_a_gradient():
    x = engine.tensor(1.0, requires_grad=True)
    z = (x * 2).logsumexp(0)
    (z * z).backward()
    assert x.grad.item() == 8.0
