"""The compiled kernels give what their NumPy versions give, whatever arrays they meet."""

import inspect

import numpy as np
import pytest
from hypothesis import given, strategies as st

from engine import builds, kernels

fast = builds.module("kernels")

SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-310, 1e300]
LAYOUTS = {
    "packed": lambda x: x,
    "transposed": lambda x: np.ascontiguousarray(x.swapaxes(-2, -1)).swapaxes(-2, -1),
    "strided": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "backwards": lambda x: np.ascontiguousarray(x[..., ::-1])[..., ::-1],
    "zero strides": lambda x: np.broadcast_to(x[:1, :1], x.shape),
    "unaligned": lambda x: np.frombuffer(b"?" + x.tobytes(), x.dtype, offset=1).reshape(x.shape),
    "other byte order": lambda x: x.astype(x.dtype.newbyteorder()),
}
DTYPES = ["float32", "float64", "float16", "int64"]


@st.composite
def matrices(draw, rows, columns, dtypes=DTYPES):
    """A read-only matrix of a drawn dtype and layout."""
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    numbers = st.sampled_from(SPECIAL) if dtype.kind == "f" else st.integers(-3, 3)
    flat = draw(st.lists(numbers, min_size=rows * columns, max_size=rows * columns))
    with np.errstate(over="ignore"):
        x = np.array(flat, dtype).reshape(rows, columns)
    if x.size:
        x = LAYOUTS[draw(st.sampled_from(sorted(LAYOUTS)))](x)
    x.flags.writeable = False
    return x


def same(a, b):
    return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


sizes = st.integers(0, 5)


def test_every_kernel_has_a_numpy_version_with_its_name_and_parameters():
    names = [n for n, f in vars(kernels).items() if inspect.isfunction(f)]
    assert {"relu_forward", "relu_backward", "matmul_forward", "matmul_backward"} <= set(names)
    assert all(callable(getattr(fast, name)) for name in names)


@given(st.data(), sizes, sizes)
def test_relu_forward_and_backward_are_those_of_numpy(data, rows, columns):
    x, g = (data.draw(matrices(rows, columns)) for _ in "xg")
    y = fast.relu_forward(x)
    assert same(y, kernels.relu_forward(x))
    assert same(fast.relu_backward(g, y), kernels.relu_backward(g, y))


@given(st.data(), sizes, sizes, sizes)
def test_matrix_products_are_those_of_numpy(data, n, m, k):
    ordinary = ["float32", "float64"]
    a, b = data.draw(matrices(n, m, ordinary)), data.draw(matrices(m, k, ordinary))
    g = data.draw(matrices(n, k, ordinary))
    saved = tuple(x if data.draw(st.booleans()) else None for x in (a, b))
    with np.errstate(all="ignore"):
        assert same(fast.matmul_forward(a, b), kernels.matmul_forward(a, b))
        found, right = (k.matmul_backward(g, *saved) for k in (fast, kernels))
        pairs = zip(found, right, strict=True)
        assert all(same(x, y) if y is not None else x is None for x, y in pairs)


@pytest.mark.parametrize("shape", [(2, 3, 4), (4,), ()], ids=str)
def test_arrays_of_other_dimensions_are_left_to_numpy(shape, rng):
    x = rng.standard_normal(shape)
    assert same(fast.relu_forward(x), kernels.relu_forward(x))


def test_batched_products_have_batched_gradients(rng):
    a, b = rng.standard_normal((2, 3, 4)), rng.standard_normal((2, 4, 5))
    g = rng.standard_normal((2, 3, 5))
    for x, y in zip(fast.matmul_backward(g, a, b), kernels.matmul_backward(g, a, b), strict=True):
        assert same(x, y)
