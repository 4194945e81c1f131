"""A change of an index, a mask or of classes after their use gives no wrong gradient."""

import pytest

import engine

PLACES = engine.tensor([0, 2])
MASK = engine.tensor([True, False, False])
WEIGHTS = engine.tensor([10.0, 20.0])
COUNTED = engine.tensor([1.0, 2.0, 3.0])


def assigned(x, places):
    y = x * 1
    y[places] = 0.0
    return y


def scores(x):
    return engine.stack([x, x * 2])


# An operation on three numbers and an index, by name, and the index.
OPERATIONS = {
    "index": (lambda x, i: x[i] * WEIGHTS, PLACES),
    "mask": (lambda x, m: x[m] * 3, MASK),
    "assignment": (assigned, PLACES),
    "assignment by a mask": (assigned, MASK),
    "gather": (lambda x, i: x.gather(0, i) * WEIGHTS, PLACES),
    "index_select": (lambda x, i: x.index_select(0, i) * WEIGHTS, PLACES),
    "take": (lambda x, i: engine.take(x, i) * WEIGHTS, PLACES),
    "scatter": (lambda x, i: x.scatter(0, i, 0.0), PLACES),
    "scatter_add": (lambda x, i: engine.zeros(3).scatter_add(0, i, x[:2]) * COUNTED, PLACES),
    "scatter_reduce": (
        lambda x, i: engine.zeros(3).scatter_reduce(0, i, x[:2], "sum") * COUNTED,
        PLACES,
    ),
    "index_add": (lambda x, i: engine.zeros(3).index_add(0, i, x[:2]) * COUNTED, PLACES),
    "index_copy": (lambda x, i: engine.zeros(3).index_copy(0, i, x[:2]) * COUNTED, PLACES),
    "index_fill": (lambda x, i: x.index_fill(0, i, 0.0), PLACES),
    "masked_fill": (lambda x, m: x.masked_fill(m, 0.0), MASK),
    "masked_select": (lambda x, m: x.masked_select(m), MASK),
    "masked_scatter": (lambda x, m: engine.zeros(3).masked_scatter(m, x), MASK),
}
CHECKED = {
    "where": (lambda x, m: engine.where(m, x, 0.0), MASK),
    "cross_entropy": (lambda x, i: engine.nn.functional.cross_entropy(scores(x), i), PLACES),
    "nll_loss": (lambda x, i: engine.nn.functional.nll_loss(scores(x), i), PLACES),
}


def gradient(f, index, change):
    x = engine.tensor([1.0, 2.0, 3.0], requires_grad=True)
    index = index.clone()
    y = f(x, index).sum()
    if change:
        index.fill_(1)
    y.backward()
    return x.grad.tolist()


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_changed_index_changes_no_gradient(name):
    f, index = OPERATIONS[name]
    assert gradient(f, index, change=True) == gradient(f, index, change=False)


@pytest.mark.parametrize("name", CHECKED)
def test_a_changed_condition_or_class_is_noticed(name):
    f, index = CHECKED[name]
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        gradient(f, index, change=True)


@pytest.mark.parametrize("operation", ["max", "min", "sort", "topk", "median"])
def test_changing_the_indices_that_an_operation_returned_changes_no_gradient(operation):
    x = engine.tensor([1.0, 3.0, 2.0], requires_grad=True)
    options = (2, 0) if operation == "topk" else (0,)
    values, indices = getattr(x, operation)(*options)
    (expected,) = engine.autograd.grad((values * values).sum(), x, retain_graph=True)
    indices.zero_()
    (values * values).sum().backward()
    assert x.grad.tolist() == expected.tolist()
