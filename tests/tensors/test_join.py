"""Joining and splitting: torch's numbers, differences, views that are followed, and errors."""

import numpy as np
import pytest
from reference import expressions, make_join

import engine
from engine.autograd import gradcheck, gradgradcheck

RECORD = expressions.recorded("join")
GROUPS = expressions.by_function(RECORD)


def test_every_recorded_case_still_stands_in_the_program_that_made_it():
    assert list(RECORD) == make_join.EXPRESSIONS


@pytest.mark.parametrize("function", GROUPS)
def test_values_derivatives_and_kinds_of_error_are_those_of_torch(function):
    for text in GROUPS[function]:
        assert not expressions.differences(engine, text, RECORD[text], make_join.INPUTS)


def run(text, **names):
    """What the text means with these names."""
    return eval(text, {"engine": engine, **names})


JOINED = {
    "engine.cat([x, y])": "CatBackward0",
    "engine.cat([x, y, x], 1)": "CatBackward0",
    "engine.cat([x.t(), y.t()], -1)": "CatBackward0",
    "engine.cat([x, x[:, :0], y], 1)": "CatBackward0",
    "engine.cat([x[0].expand(2, 3), y])": "CatBackward0",
    "engine.concat([x, y], 1)": "CatBackward0",
    "engine.stack([x, y])": "StackBackward0",
    "engine.stack([x, y, y], 1)": "StackBackward0",
    "engine.stack([x.t(), y.t()], -1)": "StackBackward0",
    "engine.stack([x.sum(), y.mean()])": "StackBackward0",
    "engine.hstack([x, y])": "CatBackward0",
    "engine.vstack([x[0], y])": "CatBackward0",
}
PARTS = {
    "x.unbind()": "UnbindBackward0",
    "x.unbind(1)": "UnbindBackward0",
    "x.t().unbind(-1)": "UnbindBackward0",
    "x.split(2, 1)": "SplitBackward0",
    "x.split([1, 2], 1)": "SplitWithSizesBackward0",
    "x.split_with_sizes([1, 1])": "SplitWithSizesBackward0",
    "x.chunk(2, -1)": "SplitBackward0",
    "x.tensor_split(2, 1)": "SliceBackward0",
    "x.unsafe_split(1)": "UnsafeSplitBackward0",
    "x.unsafe_chunk(3, 1)": "UnsafeSplitBackward0",
}


@pytest.mark.parametrize("text", JOINED)
def test_joined_tensors_have_the_derivatives_of_differences(text, rng):
    x, y = (engine.tensor(rng.normal(size=(2, 3)), requires_grad=True) for _ in "xy")
    assert run(text, x=x, y=y).grad_fn.name() == JOINED[text]
    assert gradcheck(lambda x, y: run(text, x=x, y=y) ** 2, (x, y))
    assert gradgradcheck(lambda x, y: run(text, x=x, y=y) ** 2, (x, y))


@pytest.mark.parametrize("text", PARTS)
def test_parts_have_the_derivatives_of_differences(text, rng):
    x = engine.tensor(rng.normal(size=(2, 3)), requires_grad=True)
    parts = run(text, x=x)
    assert isinstance(parts, tuple)
    assert {part.grad_fn.name() for part in parts} == {PARTS[text]}
    assert all(np.shares_memory(p.detach().numpy(), x.detach().numpy()) for p in parts)

    def f(x):
        parts = run(text, x=x)
        return parts[0] ** 2, parts[-1] * parts[0].sum()

    assert gradcheck(f, x)
    assert gradgradcheck(f, x)


def test_parts_know_which_output_of_their_node_they_are():
    x = engine.ones(3, 2, requires_grad=True)
    parts = x.unbind()
    assert [part.output_nr for part in parts] == [0, 1, 2]
    assert parts[0].grad_fn is parts[2].grad_fn


def test_a_part_that_is_not_used_gets_zeros():
    x = engine.ones(3, requires_grad=True)
    (x.split(1)[1] * 5).sum().backward()
    assert x.grad.tolist() == [0.0, 5.0, 0.0]


def test_a_tensor_is_iterated_over_by_rows_of_its_graph():
    x = engine.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    total = 0
    for i, row in enumerate(x):
        total = total + row.sum() * (i + 1)
    total.backward()
    assert x.grad.tolist() == [[1.0, 1.0], [2.0, 2.0]]


def test_an_input_that_occurs_twice_gets_both_gradients():
    x = engine.ones(2, requires_grad=True)
    (engine.cat([x, x]) * engine.tensor([1.0, 2.0, 3.0, 4.0])).sum().backward()
    assert x.grad.tolist() == [4.0, 6.0]


def test_gradients_have_the_dtype_of_their_input():
    x = engine.ones(2, dtype=engine.float32, requires_grad=True)
    y = engine.ones(2, dtype=engine.float64, requires_grad=True)
    out = engine.cat([x, y])
    assert out.dtype is engine.float64
    out.sum().backward()
    assert (x.grad.dtype, y.grad.dtype) == (engine.float32, engine.float64)


def test_a_constant_among_joined_tensors_gets_no_gradient():
    x = engine.ones(2, requires_grad=True)
    out = engine.stack([x, engine.zeros(2)])
    assert out.grad_fn.needs_input_grad[:2] == (True, False)
    assert out.grad_fn.next_functions[1][0] is None


ERRORS = {
    "engine.cat([])": (ValueError, "expected a non-empty list of Tensors"),
    "engine.cat(x)": (TypeError, "must be tuple of Tensors, not Tensor: put them in a list"),
    "engine.cat([x, 1])": (TypeError, "expected Tensor as element 1 in argument 0, but got int"),
    "engine.cat([x, x[0]])": (RuntimeError, "same number of dimensions: got 2 and 1"),
    "engine.cat([x, x[:, :2]])": (
        RuntimeError,
        "must match except in dimension 0. Expected size 3 but got size 2 for tensor number 1",
    ),
    "engine.cat([x.sum(), x.sum()])": (RuntimeError, "zero-dimensional tensor (at position 0)"),
    "engine.stack([])": (RuntimeError, "stack expects a non-empty TensorList"),
    "engine.hstack([])": (RuntimeError, "hstack expects a non-empty TensorList"),
    "engine.stack([x, x[0]])": (RuntimeError, "got [2, 3] at entry 0 and [3] at entry 1"),
    "engine.stack([x, x], 4)": (IndexError, "expected to be in range of [-3, 2], but got 4"),
    "x.sum().unbind()": (IndexError, "tensor has no dimensions"),
    "x.split(0)": (RuntimeError, "split_size can only be 0 if dimension size is 0, but got"),
    "x.split(-1)": (RuntimeError, "split_size be non-negative, but got split_size=-1"),
    "x.sum().split(1)": (RuntimeError, "split expects at least a 1-dimensional tensor"),
    "x.split([1, 3])": (RuntimeError, "sum exactly to 2 (input tensor's size at dimension 0), but"),
    "x.chunk(0)": (RuntimeError, "chunk expects `chunks` to be greater than 0, got: 0"),
    "x.sum().chunk(1)": (RuntimeError, "chunk expects at least a 1-dimensional tensor"),
    "x.tensor_split(0)": (RuntimeError, "number of sections must be larger than 0, got 0"),
    "x.sum().tensor_split(1)": (RuntimeError, "at least a 1-dimensional tensor; got 0-d"),
}


@pytest.mark.parametrize("text", ERRORS)
def test_misuse_is_refused_with_the_reason(text):
    kind, message = ERRORS[text]
    with pytest.raises(kind) as error:
        run(text, x=engine.zeros(2, 3))
    assert message in str(error.value)
