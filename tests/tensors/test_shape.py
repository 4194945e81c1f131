"""Shapes: torch's numbers, differences, views that share memory, and errors."""

import numpy as np
import pytest
from reference import expressions, make_shape

import engine
from engine.autograd import gradcheck, gradgradcheck

RECORD = expressions.recorded("shape")
GROUPS = expressions.by_function(RECORD)


def test_every_recorded_case_still_stands_in_the_program_that_made_it():
    assert list(RECORD) == make_shape.EXPRESSIONS


@pytest.mark.parametrize("function", GROUPS)
def test_values_derivatives_and_kinds_of_error_are_those_of_torch(function):
    for text in GROUPS[function]:
        assert not expressions.differences(engine, text, RECORD[text], make_shape.INPUTS)


# Every operation, on a tensor of shape (2, 3), with the name of its node.
VIEWS = {
    "x.t()": "TBackward0",
    "x.T": "PermuteBackward0",
    "x.mT": "TransposeBackward0",
    "x.transpose(0, 1)": "TransposeBackward0",
    "x.permute(1, 0)": "PermuteBackward0",
    "x.movedim(0, 1)": "PermuteBackward0",
    "x.view(-1)": "ViewBackward0",
    "x.reshape(3, 2)": "ViewBackward0",
    "x.flatten()": "ViewBackward0",
    "x.unflatten(1, (3, 1))": "ViewBackward0",
    "x.squeeze()": "SqueezeBackward0",
    "x.unsqueeze(1)": "UnsqueezeBackward0",
    "x.expand(2, 2, 3)": "ExpandBackward0",
    "x.narrow(1, 1, 2)": "SliceBackward0",
    "x.select(1, 1)": "SelectBackward0",
    "x.diagonal()": "DiagonalBackward0",
    "x.as_strided((2, 2), (2, 1))": "AsStridedBackward0",
    "x.unfold(1, 2, 1)": "UnfoldBackward0",
}
COPIES = {
    "x.clone()": "CloneBackward0",
    "x.t().contiguous()": "CloneBackward0",
    "x.t().reshape(6)": "UnsafeViewBackward0",
    "x.flip(0)": "FlipBackward0",
    "x.roll(1, 1)": "RollBackward0",
    "x.repeat(2, 1)": "RepeatBackward0",
    "x.tile(2)": "RepeatBackward0",
    "x.clone().copy_(x)": "CopyBackwards",
    "x.clone().fill_(2)": "FillBackward0",
    "x.clone().zero_()": "ZeroBackward0",
}


def run(text, x):
    """What the text means of this x."""
    return eval(text, {"engine": engine, "x": x})


@pytest.mark.parametrize("text", VIEWS)
def test_a_view_shares_memory_and_its_node_is_named_as_torchs(text, rng):
    x = engine.tensor(rng.normal(size=(2, 3)), requires_grad=True)
    view = run(text, x)
    assert view._is_view()
    assert view._base is x
    assert view.grad_fn.name() == VIEWS[text]
    assert np.shares_memory(view.detach().numpy(), x.detach().numpy())


@pytest.mark.parametrize("text", COPIES)
def test_a_copy_shares_nothing_and_its_node_is_named_as_torchs(text, rng):
    x = engine.tensor(rng.normal(size=(2, 3)), requires_grad=True)
    copy = run(text, x)
    assert not copy._is_view()
    assert copy.grad_fn.name() == COPIES[text]
    assert not np.shares_memory(copy.detach().numpy(), x.detach().numpy())


LAYOUTS = {
    "rows": lambda rng: rng.normal(size=(2, 3)),
    "columns": lambda rng: rng.normal(size=(3, 2)).T,
    "every second": lambda rng: rng.normal(size=(4, 3))[::2],
    "broadcast": lambda rng: np.broadcast_to(rng.normal(size=3), (2, 3)),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("text", [*VIEWS, *COPIES])
def test_first_and_second_derivatives_match_differences(text, layout, rng):
    base = engine.from_numpy(LAYOUTS[layout](rng).copy("K")).requires_grad_()

    def f(x):
        x = x * 1  # in the layout of base, and no leaf
        return run(text, x.contiguous() if "view" in text or "as_strided" in text else x) ** 2

    assert gradcheck(f, base)
    assert gradgradcheck(f, base)


OF_ANY_SHAPE = [
    *("x.reshape(-1)", "x.flatten()", "x.ravel()", "x.squeeze()", "x.unsqueeze(0)", "x.clone()"),
    *("x.contiguous()", "x.expand(2, *x.shape)", "x.flip(())", "x.roll(1)", "x.T", "x.tile(2)"),
    *("x.view(x.shape)", "x.repeat(2, *x.shape)", "x.clone().copy_(x)", "x.transpose(0, -1)"),
    *("x.as_strided(x.shape, x.stride())", "x.unsqueeze(-1).unfold(-1, 1, 1)", "x.movedim(0, -1)"),
]


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (1, 1)], ids=str)
@pytest.mark.parametrize("text", OF_ANY_SHAPE)
def test_empty_tensors_and_numbers_go_through(text, shape, rng):
    x = engine.tensor(rng.normal(size=shape), requires_grad=True)
    run(text, x).sum().backward()
    assert x.grad.shape == shape
    assert gradcheck(lambda x: run(text, x) ** 2, x)
    assert gradgradcheck(lambda x: run(text, x) ** 2, x)


def test_the_gradient_of_a_broadcast_input_is_summed_by_hand():
    x = engine.tensor([[1.0], [2.0]], requires_grad=True)
    (x.expand(3, 2, 4) * engine.arange(24.0).view(3, 2, 4)).sum().backward()
    assert x.grad.tolist() == [[114.0], [162.0]]


def test_a_view_under_a_gradient_that_is_expanded():
    x = engine.ones(2, 3, requires_grad=True)
    x.select(0, 1).sum().backward()
    x[:, 1:].sum().backward()
    assert x.grad.tolist() == [[0.0, 1.0, 1.0], [1.0, 2.0, 2.0]]


def test_as_strided_of_elements_that_occur_twice_by_hand():
    x = engine.arange(4.0).requires_grad_()
    rows = x.as_strided((3, 2), (1, 1))
    assert rows.tolist() == [[0.0, 1.0], [1.0, 2.0], [2.0, 3.0]]
    (rows * engine.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])).sum().backward()
    assert x.grad.tolist() == [1.0, 2.0 + 3.0, 4.0 + 5.0, 6.0]


def test_as_strided_counts_from_the_base():
    x = engine.arange(6.0).view(2, 3)
    assert x[1].storage_offset() == 3
    assert x[1].as_strided((2,), (1,)).tolist() == [3.0, 4.0]
    assert x[1].as_strided((2,), (1,), 0).tolist() == [0.0, 1.0]
    assert x.t().as_strided((2, 2), (3, 1)).tolist() == [[0.0, 1.0], [3.0, 4.0]]


def test_as_strided_refuses_memory_that_is_walked_backwards():
    x = engine.from_numpy(np.arange(6.0)[::-1])
    for view in (x, x[1:]):
        with pytest.raises(RuntimeError, match=r"as_strided: .* strides \[-1\].* clone\(\) it"):
            view.as_strided((2,), (1,))
    assert x.clone().as_strided((2,), (1,)).tolist() == [5.0, 4.0]


def test_windows_by_hand():
    x = engine.arange(5.0).requires_grad_()
    assert x.unfold(0, 3, 2).tolist() == [[0.0, 1.0, 2.0], [2.0, 3.0, 4.0]]
    x.unfold(0, 3, 1).sum().backward()
    assert x.grad.tolist() == [1.0, 2.0, 3.0, 2.0, 1.0]


def test_a_copy_keeps_the_layout_but_not_the_repetitions():
    x = engine.zeros(2, 3)
    assert x.t().clone().stride() == (1, 3)
    assert x[0].expand(4, 3).clone().stride() == (3, 1)
    assert x.contiguous() is x
    assert x.t().contiguous().stride() == (2, 1)


def test_copy_keeps_the_dtype_of_its_target():
    whole = engine.zeros(3, dtype=engine.int64)
    whole.copy_(engine.tensor([1.7, -1.7, 2.0]))
    assert whole.tolist() == [1, -1, 2]
    x = engine.zeros(2, dtype=engine.float32)
    source = engine.ones(2, dtype=engine.float64, requires_grad=True)
    x.copy_(source)
    x.sum().backward()
    assert x.dtype is engine.float32
    assert source.grad.dtype is engine.float64


def test_a_value_fills_a_tensor_and_gets_the_sum_of_the_gradient():
    v = engine.Value(2.0)
    x = engine.zeros(3)
    x[1:].fill_(v)
    (x * engine.tensor([1.0, 10.0, 100.0])).sum().as_value().backward()
    assert x.tolist() == [0.0, 2.0, 2.0]
    assert v.grad == 110.0


@pytest.mark.parametrize(
    ("dtype", "number", "stored"),
    [
        ("int64", 1.5, 1),
        ("int64", True, 1),
        ("uint8", -1, 255),
        ("uint8", np.float32(7.9), 7),
        ("bool", 2.5, True),
        ("bool", float("nan"), True),
        ("float32", float("inf"), float("inf")),
        ("float16", -3, -3.0),
    ],
)
def test_a_number_becomes_one_of_the_dtype(dtype, number, stored):
    x = engine.zeros(1, dtype=getattr(engine, dtype))
    for change in ("x.fill_(number)", "x[0].fill_(number)", "x.masked_fill_(x == x, number)"):
        x.zero_()
        eval(change, {"x": x, "number": number})
        assert x.tolist() == [stored]
    x.zero_()
    x[0] = number
    assert x.tolist() == [stored]


@pytest.mark.parametrize(
    ("dtype", "number", "kind"),
    [
        ("int64", float("nan"), RuntimeError),
        ("int64", float("inf"), RuntimeError),
        ("int64", 1e60, RuntimeError),
        ("int64", 2**70, OverflowError),
        ("uint8", 300, RuntimeError),
        ("float32", 1e60, RuntimeError),
        ("float32", -(2**70), OverflowError),
    ],
)
def test_a_number_that_does_not_fit_is_refused(dtype, number, kind):
    x = engine.zeros(2, dtype=getattr(engine, dtype))
    with pytest.raises(kind, match=r"without overflow|too big"):
        x.fill_(number)
    with pytest.raises(kind, match=r"without overflow|too big"):
        x[0] = number
    assert x.tolist() == [0, 0]


def test_meshgrid_and_broadcast_tensors_are_views():
    a, b = engine.arange(2.0), engine.arange(3.0)
    for grid in engine.meshgrid(a, b, indexing="xy"):
        assert grid.shape == (3, 2)
        assert grid._base is a or grid._base is b
    assert all(t._is_view() for t in engine.broadcast_tensors(a[:, None], b))


def test_facts_of_a_tensor():
    x = engine.zeros(2, 3, 4)
    assert x.dim() == x.ndimension() == x.ndim == 3
    assert x.size() == x.shape == (2, 3, 4)
    assert x.size(-1) == 4
    assert x.numel() == x.nelement() == 24
    assert x.stride() == (12, 4, 1)
    assert x.stride(0) == 12
    assert x.element_size() == 4
    assert x.is_contiguous()
    assert not x.mT.is_contiguous()
    assert engine.broadcast_shapes((2, 1), 3) == engine.Size([2, 3])


ERRORS = {
    "x.view(5)": "shape '[5]' is invalid for input of size 6",
    "x.view(-1, -1)": "only one dimension can be inferred",
    "x.t().view(6)": "Use .reshape(...) instead",
    "engine.zeros(0, 3).view(0, -1)": "cannot reshape tensor of 0 elements into shape [0, -1]",
    "x.transpose(0, 5)": "Dimension out of range (expected to be in range of [-2, 1], but got 5)",
    "x.permute(0)": "input.dim() = 2 is not equal to len(dims) = 1",
    "x.permute(0, 0)": "duplicate dims are not allowed",
    "x.flip(0, 0)": "dim 0 appears multiple times in the list of dims",
    "x.flatten(1, 0)": "start_dim cannot come after end_dim; got 1 and 0",
    "x.unflatten(1, (2, 2))": "Provided sizes [2, 2] don't multiply up to the size of dim 1 (3)",
    "x.expand(3, 3)": "The expanded size of the tensor (3) must match the existing size (2) at",
    "x.expand(3)": "the number of sizes provided (1) must be greater or equal to the number of",
    "x.expand(-1, 2, 3)": "(-1) isn't allowed in a leading, non-existing dimension 0",
    "x.narrow(0, 0, 5)": "start (0) + length (5) exceeds dimension size (2)",
    "x.narrow(0, 5, 1)": "start out of range (expected to be in range of [-2, 2], but got 5)",
    "x.narrow(0, 0, -1)": "length must be non-negative; got -1",
    "x.select(0, 5)": "index 5 out of range for tensor of size [2, 3] at dimension 0",
    "x.sum().select(0, 0)": "select() cannot be applied to a 0-dim tensor",
    "x.diagonal(0, 1, 1)": "diagonal dimensions cannot be identical 1, 1",
    "x.unfold(1, 4, 1)": "maximum size for tensor at dimension 1 is 3 but size is 4",
    "x.unfold(1, 1, 0)": "step is 0 but must be > 0",
    "x.as_strided((5, 5), (1, 1))": "requiring a storage of 9 elements are out of bounds for",
    "x.as_strided((2,), (1, 1))": "mismatch in length of strides and shape; got [2] and [1, 1]",
    "x.as_strided((2,), (-1,))": "need to be 0 or more; got [2], [-1] and 0",
    "x.unsqueeze(0).t()": "t() expects a tensor with <= 2 dimensions, but self is 3D",
    "x[0].mT": "only supported on matrices or batches of matrices. Got 1-D",
    "x.movedim((0, 1), (0,))": "source and destination need as many; got (0, 1) and (0,)",
    "x.roll(1, (0, 1))": "shifts and dimensions must align. shifts: 1, dims: 2",
    "x.repeat(2)": "can not be smaller than number of dimensions of tensor; got [2] for the shape",
    "x.repeat(2, -1)": "repeat: needs numbers from 0 up; got [2, -1]",
    "x.detach().copy_(engine.ones(5))": "The size of tensor a (3) must match the size of tensor b",
    "x.detach()[:1].copy_(x)": "copy_: src needs to broadcast to the shape [1, 3]; got [2, 3]",
    "x.detach().fill_(x[0])": "fill_ only supports a 0-dimensional value tensor, but got",
    "x.detach().fill_('a')": "fill_: can't assign a str to a tensor: it needs a number, a Value or",
    "engine.meshgrid(x[0], indexing='no')": 'indexing must be "ij" or "xy"; got \'no\'',
    "engine.broadcast_tensors(x, x[:, :2])": "at non-singleton dimension 1; got the shapes",
}


@pytest.mark.parametrize("text", ERRORS)
def test_misuse_is_refused_with_the_reason(text):
    x = engine.zeros(2, 3, requires_grad=True)
    with pytest.raises((RuntimeError, IndexError, TypeError)) as error:
        run(text, x)
    assert ERRORS[text] in str(error.value)
