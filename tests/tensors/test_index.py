"""Indexing, assignment, gathering, scattering and masks: torch's numbers, differences, errors."""

import numpy as np
import pytest
from reference import expressions, make_index

import engine
from engine.autograd import gradcheck, gradgradcheck

RECORD = expressions.recorded("index")
GROUPS = expressions.by_function(RECORD)
nan, inf = float("nan"), float("inf")


def test_every_recorded_case_still_stands_in_the_program_that_made_it():
    assert list(RECORD) == make_index.EXPRESSIONS


@pytest.mark.parametrize("function", GROUPS)
def test_values_derivatives_and_kinds_of_error_are_those_of_torch(function):
    for text in GROUPS[function]:
        assert not expressions.differences(engine, text, RECORD[text], make_index.INPUTS)


def run(text, **names):
    """What the text means with these names, and with integer and bool tensors of few letters."""
    letters = {
        "i": engine.tensor([[1, 0, 1], [0, 0, 1]]),
        "k": engine.tensor([2, 0, 2]),
        "b": engine.tensor([[True, False, True], [False, True, True]]),
    }
    return eval(text, {"engine": engine, "nan": nan, **letters, **names})


def random(rng, *shape):
    return engine.tensor(rng.normal(size=shape), requires_grad=True)


def checked(f, *inputs):
    assert gradcheck(f, inputs)
    assert gradgradcheck(f, inputs)


TAKEN = {
    "x[0]": "SelectBackward0",
    "x[:, 1]": "SelectBackward0",
    "x[0, :]": "SelectBackward0",
    "x[:, 1:]": "SliceBackward0",
    "x[0, 1:]": "SliceBackward0",
    "x[None]": "UnsqueezeBackward0",
    "x[...]": "AliasBackward0",
    "x[[0, 0, 1]]": "IndexBackward0",
    "x[:, k]": "IndexBackward0",
    "x[[0, 1], [2, 2]]": "IndexBackward0",
    "x[b]": "IndexBackward0",
    "x[0, k]": "IndexBackward0",
    "x[k[1], None, ..., [1, 1]]": "IndexBackward0",
    "x.gather(1, i)": "GatherBackward0",
    "x.gather(0, i)": "GatherBackward0",
    "x.take_along_dim(i[:1], 0)": "GatherBackward0",
    "x.take(i)": "TakeBackward0",
    "x.index_select(1, k)": "IndexSelectBackward0",
    "x.repeat_interleave(k, 1)": "IndexSelectBackward0",
    "x.masked_select(b)": "MaskedSelectBackward0",
    "x.diag_embed(1)": "DiagEmbedBackward0",
}
# Of x and y, both of shape (2, 3).
PUT = {
    "x.index_add(1, k, y)": "IndexAddBackward0",
    "x.index_add(0, i[0, :2], y, alpha=3)": "IndexAddBackward0",
    "x.index_copy(1, k, y)": "IndexCopyBackward0",
    "x.index_fill(1, k, y.sum())": "IndexFillBackward0",
    "x.index_put((i[0], k), y[0])": "IndexPutBackward0",
    "x.index_put((i[0], k), y[0], accumulate=True)": "IndexPutBackward0",
    "x.scatter(0, i, y)": "ScatterBackward0",
    "x.scatter(1, i, y)": "ScatterBackward0",
    "x.scatter(1, i[:, :2], y)": "ScatterBackward0",
    "x.scatter_add(0, i, y)": "ScatterAddBackward0",
    "x.scatter_add(1, i[:1], y)": "ScatterAddBackward0",
    "x.scatter(1, i, y, reduce='add')": "ScatterAddBackward0",
    "x.masked_fill(b, y.sum())": "MaskedFillBackward0",
    "x.masked_scatter(b, y)": "MaskedScatterBackward0",
    "engine.where(b, x, y)": "WhereBackward0",
    "engine.where(b[0], x[:1], y)": "WhereBackward0",
    "x.where(b, y[0])": "WhereBackward0",
    "b.where_else(x, y)": "WhereBackward0",
}
LAYOUTS = {
    "rows": lambda rng: rng.normal(size=(2, 3)),
    "columns": lambda rng: rng.normal(size=(3, 2)).T,
    "every second": lambda rng: rng.normal(size=(4, 3))[::2],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("text", TAKEN)
def test_taken_elements_have_the_derivatives_of_differences(text, layout, rng):
    x = engine.from_numpy(LAYOUTS[layout](rng)).requires_grad_()
    assert run(text, x=x).grad_fn.name() == TAKEN[text]
    checked(lambda x: run(text, x=x) ** 2, x)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("text", PUT)
def test_put_elements_have_the_derivatives_of_differences(text, layout, rng):
    x, y = (engine.from_numpy(LAYOUTS[layout](rng)).requires_grad_() for _ in "xy")
    assert run(text, x=x, y=y).grad_fn.name() == PUT[text]
    checked(lambda x, y: run(text, x=x, y=y) ** 2, x, y)


ASSIGNMENTS = [
    *("0] = y[1]", "0, 1] = y[1, 1]", ":, 1:] = y[:, :2]", "...] = y", "None] = y", "b] = y.sum()"),
    *("b] = y[b]", "b] = 2.0", "[1, 0]] = y", "[0, 0]] = y", "k[:1] * 0] = y[:1]", ":, k] = y"),
    *("i] = y.unsqueeze(1)", "i] = y.sum()", "0, k] = y[0]", "k[1], [1, 1]] = y[0, :2]"),
    "0] = y[0].sum()",
    *("True] = y", "[]] = y[:0]", "1] += y[0]", "1] *= y[0]", "b] -= y.sum()", "0] = x[1] * 2"),
]


@pytest.mark.parametrize("text", ASSIGNMENTS)
@pytest.mark.parametrize("target", ["x", "x.t().clone().t()", "x * 1"])
def test_assignments_have_the_derivatives_of_differences(text, target, rng):
    code = compile(f"x[{text}", "assignment", "exec")

    def f(x, y):
        x = run(target, x=x.clone())
        letters = {name: run(name) for name in "ikb"}
        exec(code, {"x": x, "y": y, **letters})
        return x**2

    checked(f, random(rng, 2, 3), random(rng, 2, 3))


def test_elements_taken_more_than_once_get_the_sum_of_the_gradients_by_hand():
    x = engine.tensor([1.0, 2.0, 3.0], requires_grad=True)
    x[[0, 2, 0, 0]].sum().backward()
    assert x.grad.tolist() == [3.0, 0.0, 1.0]


def test_of_places_assigned_twice_the_last_stays_and_gets_the_gradient_by_hand():
    x = engine.zeros(3)
    y = engine.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    x[[0, 2, 0, 1]] = y
    assert x.tolist() == [3.0, 4.0, 2.0]
    (x * engine.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert y.grad.tolist() == [0.0, 100.0, 1.0, 10.0]


def test_rows_assigned_to_a_plain_tensor_give_it_a_history():
    x = engine.ones(2, requires_grad=True)
    rows = engine.zeros(2, 2)
    assert not rows.requires_grad
    for i in range(2):
        rows[i] = x * (i + 1)
    assert rows.requires_grad
    rows.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


@pytest.mark.parametrize("dtype", [engine.float32, engine.float64, engine.bool], ids=str)
@pytest.mark.parametrize("shape", [(1,), (1, 1)], ids=str)
def test_one_number_of_any_dtype_fills_where_a_mask_holds(shape, dtype):
    mask = engine.tensor([True, False, True])
    for index, expected in (
        (engine.stack([mask, ~mask]), [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]),
        ((slice(None), mask), [[1.0, 0.0, 1.0], [1.0, 0.0, 1.0]]),
        ((0, mask), [[1.0, 0.0, 1.0], [0.0, 0.0, 0.0]]),
    ):
        x = engine.zeros(2, 3)
        x[index] = engine.ones(shape, dtype=dtype)
        assert (x.tolist(), x.dtype) == (expected, engine.float32)


def test_one_number_of_another_dtype_gets_the_gradient_of_all_that_it_filled():
    x, t = engine.zeros(3, dtype=engine.float64), engine.tensor([2.0], requires_grad=True)
    x[engine.tensor([True, False, True])] = t
    (x * x).sum().backward()
    assert (t.grad.tolist(), t.grad.dtype) == ([8.0], engine.float32)


def test_places_and_two_masks_take_one_number_of_their_own_dtype_alone():
    x, one = engine.zeros(2, 2), engine.ones(1, dtype=engine.float64)
    masks = engine.tensor([True, False]), engine.tensor([True, False])
    for index in ([0], masks):
        with pytest.raises(RuntimeError, match="Index put requires the source and destination"):
            x[index] = one


def test_masked_assignment_to_a_gradient():
    g = engine.tensor([1.0, 2.0, 3.0])
    x = engine.tensor([-1.0, 0.0, 1.0])
    g[x < 0] = 0
    assert g.tolist() == [0.0, 2.0, 3.0]
    assert g._version == 1


def test_integers_slices_and_none_give_views_all_else_copies():
    x = engine.zeros(2, 3)
    for at in (0, slice(1), None, ..., (0, 1), (..., 0), engine.tensor(1), np.int64(0), ()):
        assert x[at]._is_view()
    for at in ([0], (0, [1]), engine.tensor([0]), x > 0, True, np.array([1]), range(1)):
        assert not x[at]._is_view()


def test_what_is_taken_at_one_place_is_a_tensor_as_any_other():
    y = engine.tensor([1.0, 2.0]).take(engine.tensor(1))
    assert y.add_(1).tolist() == 3.0
    assert y.softmax(0).tolist() == 1.0
    assert y.expand([1]).tolist() == [3.0]
    assert engine.stack([y, y]).tolist() == [3.0, 3.0]


def test_what_an_array_index_takes_lies_row_by_row():
    x = engine.zeros(4, 5)
    assert x[:, [0, 1]].view(-1).shape == (8,)
    assert x.index_select(1, engine.tensor([0, 1])).is_contiguous()


def test_integers_beside_arrays_are_applied_first():
    x = engine.arange(24).view(2, 3, 4)
    assert x[0, :, [1, 2]].shape == (3, 2)  # NumPy's has shape (2, 3)
    assert x[[0, 1], :, [1, 2]].shape == (2, 3)


def test_a_list_that_holds_more_than_numbers_is_read_as_a_tuple():
    x = engine.arange(6).view(2, 3)
    assert x[[slice(None), [0, 2]]].tolist() == [[0, 2], [3, 5]]
    assert x[[engine.tensor([1]), ...]].tolist() == [[3, 4, 5]]
    assert x[[0, 1]].tolist() == x.tolist()
    with pytest.warns(UserWarning, match=r"read as a tuple of lists; write x\[tuple\(index\)\]"):
        assert x[[[0, 1], [2, 0]]].tolist() == [2, 3]
    assert x[engine.tensor([[0, 1], [1, 0]])].shape == (2, 2, 3)


def test_a_value_is_assigned_and_gets_the_sum_of_the_gradient():
    v = engine.Value(2.0)
    x = engine.zeros(2, 2)
    x[:, 1] = v
    x[0, [0]] = v * 3
    x.masked_fill_(x == 0, v)
    assert x.tolist() == [[6.0, 2.0], [2.0, 2.0]]
    x.sum().as_value().backward()
    assert v.grad == 6.0


def test_the_side_that_where_does_not_take_gets_zeros_even_from_nan():
    x = engine.tensor([4.0, -1.0], requires_grad=True)
    y = engine.where(x > 0, x.sqrt(), engine.zeros(2))
    assert y.tolist() == [2.0, 0.0]
    g = engine.tensor([1.0, nan])
    a, b = engine.ones(2, requires_grad=True), engine.ones(2, requires_grad=True)
    engine.where(engine.tensor([True, False]), a, b).backward(g)
    assert a.grad.tolist() == [1.0, 0.0]
    assert b.grad[0].item() == 0.0
    assert b.grad[1].isnan()


@pytest.mark.parametrize("text", ["x.log()", "x.sqrt()", "x.acosh()", "1 / x", "x ** 0.5"])
def test_where_keeps_the_nan_of_the_other_branchs_value_out(text):
    x = engine.tensor([-2.0, 0.0, 3.0], requires_grad=True)
    chosen = engine.where(x > 1, run(text, x=x), x * 5)
    assert not chosen.isnan().any()
    safe = engine.where(x > 1, x, 2.0)  # the cure for gradients: choose before, not after
    engine.where(x > 1, run(text, x=safe), x * 5).sum().backward()
    assert x.grad[:2].tolist() == [5.0, 5.0]
    assert engine.isfinite(x.grad).all()


def test_where_of_numbers_and_dtypes():
    b = engine.tensor([True, False])
    assert engine.where(b, 1, 2).dtype is engine.int64
    assert engine.where(b, 1.0, 2).dtype is engine.float32
    x = engine.ones(2, dtype=engine.float32, requires_grad=True)
    out = engine.where(b, x, engine.ones(2, dtype=engine.float64))
    assert out.dtype is engine.float64
    out.sum().backward()
    assert x.grad.dtype is engine.float32
    assert [t.tolist() for t in engine.where(b)] == [[0]]


def test_gradients_of_empty_selections_are_zeros():
    x = engine.ones(2, 3, requires_grad=True)
    (x[x > 5].sum() + x[[]].sum() + x[:, :0].sum()).backward()
    assert x.grad.tolist() == [[0.0] * 3] * 2


def test_one_number_is_scattered_filled_and_gathered():
    s = engine.tensor(2.0, requires_grad=True)
    n, row = engine.tensor(0), engine.tensor([0])
    assert s.gather(0, n).shape == ()
    assert s.scatter(0, n, 5.0).item() == 5.0
    assert s.index_select(0, row).shape == ()
    (s.scatter_add(0, n, s * 3) + s.index_fill(0, n, 1.0) + s.clone()[...]).backward()
    assert s.grad.item() == 5.0


def test_a_source_larger_than_the_index_is_used_in_part():
    x = engine.zeros(2, 3)
    y = engine.ones(3, 4, requires_grad=True)
    x.scatter_(1, engine.tensor([[2], [0]]), y)
    assert x.tolist() == [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    x.sum().backward()
    assert y.grad.sum().item() == 2.0


def test_changes_in_place_move_the_version_and_return_the_tensor():
    x = engine.zeros(2, 3)
    k, b = engine.tensor([0, 2]), engine.tensor([True, False, True])
    ones = engine.ones(2, 2)
    assert x.index_add_(1, k, ones) is x
    assert x.index_copy_(1, k, ones) is x
    assert x.index_fill_(1, k, 3) is x
    assert x.scatter_(1, engine.tensor([[0], [1]]), ones) is x
    assert x.scatter_add_(1, engine.tensor([[0], [1]]), ones) is x
    assert x.masked_fill_(b, 4) is x
    assert x.masked_scatter_(b, engine.ones(4)) is x
    assert x.index_put_((k[:1],), ones[0, 0]) is x
    assert x._version == 8


def test_an_assignment_with_overlap_takes_the_old_numbers():
    x = engine.arange(5.0)
    x[1:] = x[:-1]
    assert x.tolist() == [0.0, 0.0, 1.0, 2.0, 3.0]


ERRORS = {
    "x[5]": (IndexError, "index 5 is out of bounds for dimension 0 with size 2"),
    "x[[7]]": (IndexError, "index 7 is out of bounds for dimension 0 with size 2"),
    "x[0, 0, 0]": (IndexError, "too many indices for tensor of dimension 2; got 3"),
    "x.sum()[0]": (IndexError, "invalid index of a 0-dim tensor. Use `tensor.item()`"),
    "x[1.5]": (IndexError, "are valid indices (got float)"),
    "x[x]": (IndexError, "must be long, int, byte or bool tensors; got float32"),
    "x[::-1]": (ValueError, "step must be greater than zero; got -1; flip reverses"),
    "x[[0, 1], [0, 1, 2]]": (IndexError, "shape mismatch: indexing"),
    "x[:, b]": (IndexError, "too many indices"),
    "x[b[:, :2]]": (IndexError, "The shape of the mask [2, 2] at index 1 does not match the shape"),
    "x.__setitem__(0, 'a')": (TypeError, "can't assign a str to a tensor"),
    "x.__setitem__(0, [1, 2, 3])": (TypeError, "can't assign a list to a tensor"),
    "x.__setitem__(0, engine.ones(4))": (RuntimeError, "must match the size of tensor b (4)"),
    "x.__setitem__(b, engine.ones(3))": (
        RuntimeError,
        "value tensor of shape [3] cannot be broadcast to indexing result of shape [4]",
    ),
    "x.__setitem__(b, engine.ones(4).double())": (
        RuntimeError,
        "got engine.float32 for the destination and engine.float64 for the source; convert it",
    ),
    "x.gather(0, k)": (RuntimeError, "same number of dimensions as input tensor; got 1 and 2"),
    "x.gather(0, x)": (RuntimeError, "gather(): Expected dtype int32/int64 for index; got"),
    "x.gather(0, i + 5)": (RuntimeError, "index 6 is out of bounds for dimension 0 with size 2"),
    "x.gather(0, i.repeat(1, 2))": (RuntimeError, "Size does not match at dimension 1 expected"),
    "x.scatter(0, i, x[:1])": (RuntimeError, "no larger size than src [1, 3]"),
    "x.scatter(0, i, 1.0, reduce='no')": (RuntimeError, "reduce needs to be None or \"add\"; got"),
    "x.scatter(0, i, x.double())": (RuntimeError, "source and destination dtypes match, got"),
    "x.index_select(0, i)": (IndexError, "Index is supposed to be a vector; got 2 dimensions"),
    "x.index_select(0, k)": (IndexError, "index 2 is out of bounds for dimension 0 with size 2"),
    "x.index_add(0, k, x)": (RuntimeError, "index 2 is out of bounds for dimension 0"),
    "x.index_add(1, k, x[:, :1])": (RuntimeError, "Number of indices (3) should be equal to"),
    "x.index_copy(1, k, x[:1])": (IndexError, "it needs the shape [2, 3], for dim: 1; got [1, 3]"),
    "x.index_fill(1, k, x)": (RuntimeError, "index_fill_ only supports a 0-dimensional value"),
    "x.masked_fill(b, x)": (RuntimeError, "masked_fill_ only supports a 0-dimensional value"),
    "x.masked_fill(x, 1)": (RuntimeError, "only supports boolean masks, but got mask with dtype"),
    "x[0].masked_fill_(b, 1)": (RuntimeError, "the mask needs to broadcast to the shape [3]; got"),
    "x.masked_scatter(b, x[0])": (RuntimeError, "source < number of ones in mask; got 3 and 4"),
    "x.take(k + 9)": (IndexError, "tried to access index 11 on a tensor of 6 elements"),
    "x.take(x)": (RuntimeError, "take(): Expected a long tensor for index, but got"),
    "engine.where(x, x, x)": (RuntimeError, "expected condition to be a boolean tensor, but got"),
    "engine.where(b, x, x[:, :2])": (RuntimeError, "at non-singleton dimension 1; got the shapes"),
    "x.repeat_interleave(k, 0)": (RuntimeError, "repeats.size(0) = 3 and input.size(0) = 2"),
    "x.diag_embed(0, 1, 1)": (RuntimeError, "dim1 and dim2 must differ; got 1 and 1"),
}


@pytest.mark.parametrize("text", ERRORS)
def test_misuse_is_refused_with_the_reason_and_changes_nothing(text):
    kind, message = ERRORS[text]
    x = engine.zeros(2, 3)
    with pytest.raises(kind) as error:
        run(text, x=x)
    assert message in str(error.value)
    assert x.tolist() == [[0.0] * 3] * 2
