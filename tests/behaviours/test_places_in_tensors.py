"""Gradients of indexing, assignment and scatter; single operations and reductions."""

import pytest

import engine as torch

grad = torch.autograd.grad
gradcheck = torch.autograd.gradcheck
gradgradcheck = torch.autograd.gradgradcheck


def double(*shape):
    return torch.rand(*shape, dtype=torch.float64, requires_grad=True)


def masked(shape):
    return (torch.arange(torch.Size(shape).numel()) % 3 == 0).reshape(shape)


INDICES = {
    "int": 1,
    "negative": -1,
    "slice": slice(1, 3),
    "stepped slice": slice(None, None, 2),
    "empty slice": slice(2, 2),
    "ellipsis": (..., 1),
    "none": (None, slice(1, 3), None, 2),
    "list": [0, 2, 2],
    "lists": ([0, 1, 1], [2, 3, 3]),
    "list and slice": ([0, 1, 1], slice(1, 3)),
    "slice and list": (slice(0, 2), [0, 3, 3]),
    "apart": ([0, 1], slice(None), [0, 1]),
    "int and ellipsis": (0, ..., 1),
    "tensor": torch.tensor([0, 2, 2]),
    "tensors of two dims": torch.tensor([[0, 1], [2, 2]]),
    "tensor and int": (torch.tensor([0, 1, 1]), 2),
    "0-d tensor": torch.tensor(1),
    "mask": masked((4, 4, 2)),
    "mask of rows": torch.tensor([True, False, True, True]),
    "mask of rows and int": (torch.tensor([True, False, True, True]), 0),
    "true": True,
}


@pytest.mark.parametrize("name", INDICES)
def test_the_gradient_of_indexing_is_the_count_of_how_often_a_place_was_read(name):
    index = INDICES[name]
    x = torch.arange(1.0, 33.0).reshape(4, 4, 2).requires_grad_()
    y = x[index]
    want = torch.zeros(4, 4, 2)
    for place in torch.arange(32).reshape(4, 4, 2)[index].reshape(-1).tolist():
        want.view(-1)[place] += 1
    y.sum().backward()
    assert torch.equal(x.grad, want)


@pytest.mark.parametrize("name", INDICES)
def test_indexing_has_first_and_second_derivatives(name):
    index = INDICES[name]
    assert gradcheck(lambda x: x[index], (double(4, 4, 2),))
    assert gradgradcheck(lambda x: x[index] ** 2, (double(4, 4, 2),))


@pytest.mark.parametrize("name", [n for n in INDICES if n not in ("list", "lists", "tensor")])
@pytest.mark.parametrize("tensor_value", [False, True], ids=["number", "tensor"])
def test_assignment_into_a_clone_stops_the_old_gradient_and_starts_the_new(name, tensor_value):
    index = INDICES[name]
    x = torch.arange(1.0, 33.0).reshape(4, 4, 2).requires_grad_()
    y = x.clone()
    part = y[index].detach()
    value = torch.full(part.shape, 2.0, requires_grad=True) if tensor_value else -100.0
    y_version = y._version
    y[index] = value
    assert y._version > y_version
    assert y.requires_grad
    want = torch.ones(4, 4, 2)
    want[index] = 0.0
    y.backward(torch.ones(4, 4, 2))
    assert torch.equal(x.grad, want)
    if tensor_value and value.numel():
        places = torch.arange(32).reshape(4, 4, 2)[index]
        if len(set(places.reshape(-1).tolist())) == places.numel():
            assert torch.equal(value.grad, torch.ones(part.shape))


def test_assignment_broadcasts_and_sums_the_gradient_back():
    x, v = torch.ones(3, 4, requires_grad=True), torch.ones(4, requires_grad=True)
    y = x * 2
    y[1:] = v
    y.sum().backward()
    assert v.grad.tolist() == [2.0] * 4
    assert x.grad.tolist() == [[2.0] * 4, [0.0] * 4, [0.0] * 4]


def test_assignment_by_a_mask_of_a_number_and_of_a_tensor():
    mask = masked((5, 5))
    x = torch.rand(5, 5, requires_grad=True)
    y = x.clone()
    y[mask] = -1.0
    y.sum().backward()
    assert torch.equal(x.grad, 1 - mask.to(torch.float32))
    value = torch.rand(int(mask.sum()), requires_grad=True)
    z = torch.zeros(5, 5)
    z[mask] = value
    (z * 3).sum().backward()
    assert torch.equal(value.grad, torch.full(value.shape, 3.0))


def test_assignment_into_a_plain_tensor_gives_it_a_history():
    rows = [torch.rand(2, requires_grad=True) for _ in range(3)]
    y = torch.zeros(3, 2)
    for i, row in enumerate(rows):
        y[i] = row
    y.sum().backward()
    assert all(row.grad.tolist() == [1.0, 1.0] for row in rows)


def test_assignment_into_a_leaf_that_requires_grad_is_refused():
    x = torch.rand(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        x[0] = 1.0


def test_the_gradient_of_select_may_be_expanded():
    x = double(2, 3, 4)
    (g,) = grad(x.select(1, 1), x, torch.ones((), dtype=torch.float64).expand(2, 4))
    want = torch.zeros(2, 3, 4, dtype=torch.float64)
    want[:, 1] = 1.0
    assert torch.equal(g, want)
    v = torch.rand(1, 4, dtype=torch.float64).expand(2, 4)
    assert torch.equal(grad(x.select(1, 1), x, v)[0][:, 1], v)


def test_the_gradient_of_a_slice_may_be_expanded():
    x = double(4, 3)
    v = torch.rand(3, dtype=torch.float64).expand(2, 3)
    (g,) = grad(x[1:3], x, v)
    assert torch.equal(g[1:3], v)
    assert g[0].abs().sum() == 0 == g[3].abs().sum()


# --- scatter and its kin ---


INDEX = torch.tensor([[0, 1, 2], [2, 1, 1]])
OPERATIONS = {
    "gather": lambda x, s: x.gather(0, INDEX[:, :2]) * s[:, :2],
    "scatter": lambda x, s: x.scatter(0, torch.tensor([[0, 1, 2]]), s[:1]),
    "scatter number": lambda x, s: x.scatter(0, INDEX, 2.0) + s.sum(),
    "scatter_add": lambda x, s: x.scatter_add(0, INDEX, s),
    "index_add": lambda x, s: x.index_add(0, torch.tensor([0, 0]), s),
    "index_copy": lambda x, s: x.index_copy(0, torch.tensor([2, 0]), s),
    "index_fill": lambda x, s: x.index_fill(0, torch.tensor([1]), 3.0) + s.sum(),
    "index_put": lambda x, s: x.index_put((torch.tensor([2, 0]),), s),
    "index_put accumulate": lambda x, s: x.index_put((torch.tensor([2, 2]),), s, accumulate=True),
    "index_select": lambda x, s: x.index_select(0, torch.tensor([0, 0])) * s,
    "masked_fill": lambda x, s: x.masked_fill(masked((3, 3)), 2.0) + s.sum(),
    "masked_scatter": lambda x, s: x.masked_scatter(masked((3, 3)), s),
    "masked_select": lambda x, s: x.masked_select(masked((3, 3))) + s.sum(),
    "take": lambda x, s: x.take(INDEX) * s,
    "where": lambda x, s: torch.where(masked((2, 3)), x[:2], s),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_scatter_and_its_kin_have_first_and_second_derivatives(name):
    f = OPERATIONS[name]
    assert gradcheck(f, (double(3, 3), double(2, 3)))
    assert gradgradcheck(lambda x, s: f(x, s) ** 2, (double(3, 3), double(2, 3)))


@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
def test_scatter_reduce_has_its_derivative(reduce):
    def f(x, s):
        return x.scatter_reduce(0, INDEX, s, reduce=reduce)

    assert gradcheck(f, (double(3, 3), double(2, 3)))


@pytest.mark.parametrize("reduce", ["amax", "amin"])
def test_scatter_reduce_shares_the_gradient_between_ties(reduce):
    x = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    s = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    x.scatter_reduce(0, torch.tensor([0, 0, 0]), s, reduce=reduce).sum().backward()
    assert x.grad.tolist() == [0.25]
    assert s.grad.tolist() == [0.25] * 3


@pytest.mark.parametrize("reduce", ["amax", "amin"])
def test_index_reduce_shares_the_gradient_between_ties(reduce):
    x = torch.zeros(1, 2, dtype=torch.float64, requires_grad=True)
    s = torch.zeros(3, 2, dtype=torch.float64, requires_grad=True)
    x.index_reduce(0, torch.tensor([0, 0, 0]), s, reduce=reduce).sum().backward()
    assert x.grad.tolist() == [[0.25, 0.25]]
    assert s.grad.tolist() == [[0.25, 0.25]] * 3


@pytest.mark.parametrize("reduce", ["prod", "mean", "amax", "amin"])
def test_index_reduce_has_its_derivative(reduce):
    def f(x, s):
        return x.index_reduce(0, torch.tensor([0, 2, 0]), s, reduce=reduce)

    assert gradcheck(f, (double(3, 3), double(3, 3)))


def test_a_second_derivative_of_a_scattered_product_with_two_zeros_is_refused():
    x = torch.ones(3, dtype=torch.float64, requires_grad=True)
    s = torch.tensor([0.0, 0.0, 2.0], dtype=torch.float64, requires_grad=True)
    y = x.scatter_reduce(0, torch.tensor([0, 0, 1]), s, reduce="prod")
    (g,) = grad(y.sum(), s, create_graph=True)
    with pytest.raises(RuntimeError, match="Double backward is unsupported for src when >1 z"):
        g.sum().backward()


# --- single operations ---


def test_the_derivative_of_zero_to_the_zero_by_the_base_is_zero():
    for exponent in (0, torch.zeros(3, dtype=torch.float64)):
        x = torch.zeros(3, dtype=torch.float64, requires_grad=True)
        (x**exponent).sum().backward()
        assert x.grad.tolist() == [0.0, 0.0, 0.0]


def test_the_derivative_by_the_exponent_at_base_0_is_minus_infinity_0_and_0():
    exponent = torch.tensor([-1.0, 0.0, 1.0], dtype=torch.float64, requires_grad=True)
    (torch.zeros(3, dtype=torch.float64) ** exponent).sum().backward()
    assert exponent.grad[0] == float("-inf")
    assert exponent.grad[2] == 0
    other = torch.tensor([-1.0, 0.0, 1.0], dtype=torch.float64, requires_grad=True)
    (0**other).sum().backward()
    assert torch.equal(other.grad, exponent.grad)


def test_a_matrix_times_an_expanded_vector_has_its_derivatives():
    m, v = double(4, 3), double(1)
    assert gradcheck(lambda m, v: torch.mv(m, v.expand(3)), (m, v))
    assert gradcheck(lambda m, v: m @ v.expand(3, 2), (m, v))


@pytest.mark.parametrize("unbiased", [False, True])
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dim", [0, 1, -1, (0, 1), (0, 2), (0, 1, 2)], ids=str)
def test_var_mean_equals_var_and_mean_with_their_gradients(dim, keepdim, unbiased):
    x = double(3, 4, 5)
    for both, one in ((torch.var_mean, torch.var), (torch.std_mean, torch.std)):
        spread, mean = both(x, dim=dim, keepdim=keepdim, unbiased=unbiased)
        alone = one(x, dim=dim, keepdim=keepdim, unbiased=unbiased)
        mean_alone = torch.mean(x, dim=dim, keepdim=keepdim)
        assert torch.allclose(spread, alone)
        assert torch.allclose(mean, mean_alone)
        got = grad((spread * mean).sum(), x)[0]
        assert torch.allclose(got, grad((alone * mean_alone).sum(), x)[0])


@pytest.mark.skipif("2.13" in getattr(torch, "__version__", ""), reason="it has one there")
def test_an_operation_without_a_derivative_says_so_in_backward():
    x = torch.ones(3, requires_grad=True)
    y = torch.nextafter(x, torch.zeros(3))
    with pytest.raises(NotImplementedError, match=r"nextafter.* is not implemented"):
        y.sum().backward()


def test_reductions_share_ties_over_all_and_take_the_first_along_a_dim():
    x = torch.tensor([2.0, 1.0, 2.0], requires_grad=True)
    x.max().backward()
    assert x.grad.tolist() == [0.5, 0.0, 0.5]
    x.grad = None
    x.max(0).values.backward()
    assert x.grad.tolist() == [1.0, 0.0, 0.0]


def test_the_product_of_numbers_with_zeros_has_its_derivatives():
    for values in ([2.0, 0.0, 3.0], [0.0, 0.0, 3.0]):
        x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
        assert gradcheck(lambda t: t.prod(), (x,))
        assert gradgradcheck(lambda t: t.prod(), (x,))


def test_sort_and_topk_send_the_gradient_to_where_the_numbers_were():
    x = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
    values, order = x.sort()
    assert not order.requires_grad
    values.backward(torch.tensor([10.0, 20.0, 30.0]))
    assert x.grad.tolist() == [30.0, 10.0, 20.0]
    x.grad = None
    x.topk(2).values.backward(torch.tensor([1.0, 2.0]))
    assert x.grad.tolist() == [1.0, 0.0, 2.0]


def test_a_sum_that_leaves_nan_out_gives_it_no_gradient():
    x = torch.tensor([[1.0, float("nan")], [3.0, 4.0]], dtype=torch.float64, requires_grad=True)
    assert x.nansum().item() == 8.0
    assert torch.nansum(x, 0).tolist() == [4.0, 4.0]
    x.nansum().backward()
    assert x.grad.tolist() == [[1.0, 0.0], [1.0, 1.0]]


@pytest.mark.parametrize("accumulate", [False, True])
def test_put_has_its_derivatives_by_both(accumulate):
    index = torch.tensor([0, 8, -6])

    def f(x, s):
        return torch.put(x, index, s, accumulate)

    assert gradcheck(f, (double(3, 3), double(3)))
    assert gradgradcheck(lambda x, s: f(x, s) ** 2, (double(3, 3), double(3)))


def test_the_kth_value_sends_the_gradient_to_where_it_was():
    x = torch.tensor([[3.0, 1.0, 2.0]], requires_grad=True)
    values, places = torch.kthvalue(x, 2)
    assert values.tolist() == [2.0]
    assert places.tolist() == [2]
    values.sum().backward()
    assert x.grad.tolist() == [[0.0, 0.0, 1.0]]
    assert x.kthvalue(1, keepdim=True).values.shape == (1, 1)
    with pytest.raises(RuntimeError, match="selected number k out of range"):
        x.kthvalue(4)


def test_a_result_written_into_out_takes_no_part_in_a_graph():
    a, x = torch.rand(2, requires_grad=True), torch.zeros(2)
    for operands, out in (((a, a), x), ((x, x), a)):
        with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
            torch.mul(*operands, out=out)
    with torch.no_grad():
        assert torch.mul(a, a, out=x) is x
    assert torch.equal(x, (a * a).detach())
    assert torch.exp(torch.zeros(2), out=torch.empty(0)).tolist() == [1.0, 1.0]
