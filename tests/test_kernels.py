"""The compiled kernels give what their NumPy versions give, whatever arrays they meet."""

import inspect
import re

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


@given(st.data(), sizes, sizes, st.sampled_from([0.0, -1.5, np.inf]))
def test_arrays_filled_with_a_number_are_those_of_numpy(data, rows, columns, number):
    x = data.draw(matrices(rows, columns, ["float32", "float64", "float16"]))
    assert same(fast.filled(x, number), kernels.filled(x, number))
    a, b = x.copy(), x.copy()
    fast.fill(a[:, ::2], number)
    kernels.fill(b[:, ::2], number)
    assert same(a, b)


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


UFUNCS = {f.__name__: f for f in (np.add, np.multiply, np.divide, np.power, np.maximum, np.less)}
LOOPS = {f: (fast.elementwise(f), kernels.elementwise(f)) for f in (*UFUNCS.values(), np.exp)}


def bits(a, b):
    """Whether two arrays are the same, 0.0 and -0.0 told apart."""
    return same(a, b) and np.array_equal(np.signbit(a), np.signbit(b))


@given(st.data(), sizes, sizes, st.sampled_from(sorted(UFUNCS)))
def test_elementwise_loops_are_those_of_numpy(data, rows, columns, name):
    """Of two matrices, a matrix and a row, one number in an array, or one of Python's."""
    a = data.draw(matrices(rows, columns))
    row = data.draw(matrices(1, columns, [a.dtype.name]))[0]
    others = [data.draw(matrices(rows, columns)), row, row[:1].reshape(-1)[:1].sum(), 2.0, -3, 0.1]
    b = data.draw(st.sampled_from(others))
    if a.dtype.kind == "i" or (isinstance(b, np.ndarray) and b.dtype.kind == "i"):
        a, b = np.abs(a), np.abs(b)  # whole numbers have no negative powers
    pair = (a, b) if data.draw(st.booleans()) else (b, a)
    found, right = (loop(*pair) for loop in LOOPS[UFUNCS[name]])
    assert found.dtype == right.dtype
    assert np.array_equal(found, right, equal_nan=right.dtype.kind == "f")


@given(st.data(), sizes, sizes)
def test_loops_write_into_what_they_read_as_numpy_does(data, rows, columns):
    a = data.draw(matrices(rows, columns, ["float32", "float64"]))
    whole = [np.concatenate([a.ravel(), a.ravel()]) for _ in "12"]
    n = a.size
    for places in ((slice(n), slice(n)), (slice(n), slice(n // 2, n // 2 + n))):
        for x, loop in zip(whole, LOOPS[np.add], strict=True):
            out, other = x[places[0]], x[places[1]]
            assert loop(out, other, out) is not None
        assert bits(*whole)
    for loop in LOOPS[np.exp]:
        assert loop(a.copy(), None, a.copy()).shape == a.shape


@given(st.data(), sizes, sizes)
def test_sums_and_what_they_spread_back_are_those_of_numpy(data, rows, columns):
    x = data.draw(matrices(rows, columns))
    dims = data.draw(st.sampled_from([(0, 1), (0,), (1,), ()]))
    keepdim = data.draw(st.booleans())
    total = fast.sum_forward(x, dims, keepdim)
    assert same(total, kernels.sum_forward(x, dims, keepdim))
    found, right = (k.spread(total, x.shape, dims) for k in (fast, kernels))
    assert same(found, right)
    assert not found.flags.writeable
    assert np.shares_memory(found, total) == bool(x.size)


@given(st.data(), st.integers(0, 2), st.integers(0, 2))
def test_arrays_in_a_larger_shape_are_those_of_numpy(data, rows, columns):
    x = data.draw(matrices(rows, columns))
    shape = data.draw(st.lists(st.integers(-1, 2), max_size=4).map(tuple))
    try:
        right = kernels.expanded(x, shape)
    except ValueError as error:
        with pytest.raises(ValueError, match=re.escape(str(error))):
            fast.expanded(x, shape)
        return
    found = fast.expanded(x, shape)
    assert same(found, right)
    assert not found.flags.writeable
    assert np.shares_memory(found, x) == bool(found.size)


@pytest.mark.parametrize("shape", [(1,), (9,), (129,), (64, 10), (512, 33), (3, 50, 70)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_sum_of_all_numbers_is_rounded_as_numpys(shape, dtype, rng):
    x = rng.standard_normal(shape).astype(dtype)
    dims = tuple(range(x.ndim))
    assert bits(fast.sum_forward(x, dims, False), kernels.sum_forward(x, dims, False))
    zeros = np.full(shape, -0.0, dtype)
    assert bits(fast.sum_forward(zeros, dims, False), kernels.sum_forward(zeros, dims, False))


# Any dimensions of arrays up to three, sizes of 1 and long lines among them.
REDUCED = [
    ((), ()),
    ((129,), (0,)),
    *[((33, n), dims) for n in (1, 2, 3, 40, 300) for dims in ((0,), (1,), (0, 1), (1, 0))],
    *[((n, 9, k), (i,)) for n in (1, 5) for k in (1, 4) for i in range(3)],
    *[((6, 1, 50), dims) for dims in ((0, 1), (1, 2), (0, 2), (0, 1, 2))],
    ((0, 3), (0,)),
    ((3, 0), (0,)),
    ((2, 9000), (1,)),
    ((9000, 2), (0,)),
]


@pytest.mark.parametrize(("shape", "dims"), REDUCED, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_reductions_are_rounded_as_numpys(shape, dims, dtype, rng):
    x = np.asarray(rng.standard_normal(shape) * 3).astype(dtype)
    y = np.asarray(rng.choice([0.0, -0.0, 1.0], shape)).astype(dtype)
    none = any(shape[d] == 0 for d in dims)
    for a in (x, y, np.full(shape, -0.0).astype(dtype)):
        for keepdim in (False, True):
            pair = [k.sum_forward(a, dims, keepdim) for k in (fast, kernels)]
            assert bits(*pair)
            for largest in () if none else (False, True):
                pair = [k.extreme_forward(a, dims, keepdim, largest) for k in (fast, kernels)]
                assert bits(*pair)
        if a.dtype.kind == "f":
            assert bits(fast.centred(a, dims), kernels.centred(a, dims))


@pytest.mark.parametrize(("shape", "dims"), REDUCED, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("log", [False, True])
def test_softmax_forward_and_backward_are_rounded_as_numpys(shape, dims, dtype, log, rng):
    x, g = (np.asarray(rng.standard_normal(shape) * 3).astype(dtype) for _ in "xg")
    y = fast.softmax_forward(x, dims, log)
    assert bits(y, kernels.softmax_forward(x, dims, log))
    for h in (g, np.broadcast_to(y.dtype.type(0.3), shape)):
        assert bits(*[k.softmax_backward(h, y, dims, log) for k in (fast, kernels)])


@given(st.data(), sizes, sizes, st.sampled_from([(0, 1), (0,), (1,)]), st.booleans())
def test_reductions_of_special_numbers_are_those_of_numpy(data, rows, columns, dims, flag):
    x, g = (data.draw(matrices(rows, columns, ["float32", "float64", "float16"])) for _ in "xg")
    with np.errstate(all="ignore"):
        assert same(*[k.centred(x, dims) for k in (fast, kernels)])
        if all(x.shape[d] for d in dims):
            assert same(*[k.extreme_forward(x, dims, True, flag) for k in (fast, kernels)])
        y = fast.softmax_forward(x, dims, flag)
        assert same(y, kernels.softmax_forward(x, dims, flag))
        g = g.astype(y.dtype)
        assert same(*[k.softmax_backward(g, y, dims, flag) for k in (fast, kernels)])


@given(st.data(), st.integers(1, 5), st.integers(1, 5), st.integers(0, 3), st.sampled_from([0, 1]))
def test_elements_taken_and_put_back_are_those_of_numpy(data, rows, columns, count, dim):
    """Places from the end, which take_along_axis knows too, are NumPy's affair."""
    x = data.draw(matrices(rows, columns))
    n = x.shape[dim]
    lines = columns if dim == 0 else rows
    found = [data.draw(st.permutations(range(n)))[: min(count, n)] for _ in range(lines)]
    places = np.array(found, np.int64).reshape(lines, -1)
    places = np.ascontiguousarray(places.T if dim == 0 else places)
    places = places - n if data.draw(st.booleans()) else places
    y = fast.taken(x, places, dim)
    assert same(y, kernels.taken(x, places, dim))
    assert same(*[k.put_back(y, places, dim, x.shape) for k in (fast, kernels)])


@given(st.data(), sizes, sizes, sizes, st.sampled_from([0, 1, 2]), st.booleans())
def test_joined_arrays_are_those_of_numpy(data, rows, columns, more, dim, new):
    """Of two lengths along dim, where that is none that is new, and of three layouts."""
    other = (rows, columns) if new else (more, columns) if dim == 0 else (rows, more)
    dim = dim if new else min(dim, 1)
    a = data.draw(matrices(rows, columns, ["float32", "float64"]))
    b, c = (data.draw(matrices(*other, [a.dtype.name])) for _ in "bc")
    a, b, c = (x.astype(x.dtype.newbyteorder("=")) for x in (a, b, c))
    assert bits(*[k.joined([a, b, c], dim, new) for k in (fast, kernels)])


@pytest.mark.parametrize("module", [fast, kernels], ids=["fast", "numpy"])
@pytest.mark.parametrize("shape", [(2,), (2, 4), (2, 3, 1)], ids=str)
def test_arrays_that_do_not_fit_beside_each_other_are_refused(module, shape):
    for new in (False, True):
        with pytest.raises(ValueError, match=r"must match|same shape|number of dimensions"):
            module.joined([np.ones((2, 3)), np.ones(shape)], 0, new)


@pytest.mark.parametrize("module", [fast, kernels], ids=["fast", "numpy"])
def test_a_place_outside_an_array_is_refused(module):
    with pytest.raises(IndexError, match="out of bounds"):
        module.taken(np.ones((2, 3)), np.array([[0], [3]]), 1)
    with pytest.raises(IndexError, match="out of bounds"):
        module.put_back(np.ones((2, 1)), np.array([[0], [3]]), 1, (2, 3))


@given(st.data(), sizes, sizes, st.sampled_from(SPECIAL))
def test_copies_and_numbers_put_under_a_mask_are_those_of_numpy(data, rows, columns, number):
    x = data.draw(matrices(rows, columns, ["float32", "float64", "float16"]))
    mask = data.draw(matrices(rows, columns)) > 0
    ours, right = fast.copied(x), kernels.copied(x)
    assert bits(ours, right)
    assert ours.strides == right.strides
    for module, copy in ((fast, ours), (kernels, right)):
        with np.errstate(over="ignore"):
            module.put_number(copy, mask, np.asarray(number).astype(x.dtype))
    assert bits(ours, right)


@given(st.data(), sizes, sizes)
def test_a_sum_in_place_is_that_of_numpy(data, rows, columns):
    kinds = ["float32", "float64", "float16"]
    x, g = (data.draw(matrices(rows, columns, kinds)) for _ in "xg")
    ours, right = x.copy("K"), x.copy("K")
    g = g.astype(x.dtype) if data.draw(st.booleans()) else g
    for module, into in ((fast, ours), (kernels, right)):
        with np.errstate(over="ignore"):
            module.add_to(into, g)
    assert same(ours, right)


def test_a_sum_in_place_of_overlapping_arrays_reads_what_was_there():
    for module in (fast, kernels):
        x = np.arange(8.0)
        module.add_to(x[1:], x[:-1])
        assert x.tolist() == [0.0, 1.0, 3.0, 5.0, 7.0, 9.0, 11.0, 13.0]


@given(st.data(), sizes, sizes, st.sampled_from([0.0, 1.0, 2.0, 3.0, -1.0, 0.5]))
def test_the_gradient_of_a_power_is_that_of_numpy(data, rows, columns, k):
    g, a = (data.draw(matrices(rows, columns, ["float32", "float64"])) for _ in "ga")
    assert same(fast.power_backward(g, a, k), kernels.power_backward(g, a, k))


@pytest.mark.parametrize("shape", [(2, 3, 4), (4,), ()], ids=str)
def test_arrays_of_other_dimensions_are_left_to_numpy(shape, rng):
    x = rng.standard_normal(shape)
    assert same(fast.relu_forward(x), kernels.relu_forward(x))


def test_batched_products_have_batched_gradients(rng):
    a, b = rng.standard_normal((2, 3, 4)), rng.standard_normal((2, 4, 5))
    g = rng.standard_normal((2, 3, 5))
    for x, y in zip(fast.matmul_backward(g, a, b), kernels.matmul_backward(g, a, b), strict=True):
        assert same(x, y)


@given(st.data(), st.integers(1, 6), st.integers(1, 20))
def test_cross_entropy_forward_and_backward_are_those_of_numpy(data, rows, classes):
    """Of any layout and dtype; places of classes from the end are NumPy's affair."""
    x = data.draw(matrices(rows, classes, ["float32", "float64", "float16"]))
    column = data.draw(st.lists(st.integers(-1, classes - 1), min_size=rows, max_size=rows))
    places = np.array(column, np.int64).reshape(rows, 1)
    g = np.broadcast_to(x.dtype.type(0.25), (rows, 1))
    g = g if data.draw(st.booleans()) else x[:, :1] * x.dtype.type(0.1)
    with np.errstate(all="ignore"):
        losses, y = fast.cross_entropy_forward(x, places, 1)
        right = kernels.cross_entropy_forward(x, places, 1)
        assert same(losses, right[0])
        assert same(y, right[1])
        found = fast.cross_entropy_backward(g, y, places, 1)
        assert same(found, kernels.cross_entropy_backward(g, y, places, 1))


@pytest.mark.parametrize("k", [1, 7, 8, 9, 127, 128, 129, 1000])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_cross_entropy_of_long_rows_sums_as_numpy_does(k, dtype, rng):
    x = rng.standard_normal((5, k)).astype(dtype)
    places = rng.integers(0, k, (5, 1))
    pairs = zip(
        fast.cross_entropy_forward(x, places, 1),
        kernels.cross_entropy_forward(x, places, 1),
        strict=True,
    )
    assert all(same(ours, right) for ours, right in pairs)


def test_a_place_that_is_no_class_raises_what_numpy_raises():
    for module in (fast, kernels):
        with pytest.raises(IndexError, match="out of bounds"):
            module.cross_entropy_forward(np.ones((2, 3)), np.array([[0], [3]]), 1)


NUMBERS = st.sampled_from([*SPECIAL, 0.5, -3.0])
RATES = st.sampled_from([0.0, 0.1, 1.0])


@st.composite
def steps(draw, count):
    """Arrays of one dtype for a step, the first to be changed; now and then one of a layout that
    the loops are not made for."""
    dtype, n = draw(st.sampled_from(["float32", "float64", "float16"])), draw(st.integers(0, 9))
    found = []
    for _ in range(count):
        with np.errstate(over="ignore"):
            x = np.array(draw(st.lists(NUMBERS, min_size=n, max_size=n))).astype(dtype)
        found.append(np.repeat(x, 2)[::2] if draw(st.integers(0, 5)) == 0 else x)
    return found


def both_steps(name, arrays, *options):
    """What the compiled and the NumPy version make of these arrays, in place."""
    found = []
    for module in (fast, kernels):
        copies = [None if x is None else x.copy() for x in arrays]
        with np.errstate(all="ignore"):
            getattr(module, name)(*copies, *options)
        found.append(copies)
    return zip(*found, strict=True)


@given(steps(3), st.booleans(), st.booleans(), st.booleans(), RATES, RATES)
def test_a_step_of_sgd_is_that_of_numpy(arrays, with_buffer, first, nesterov, rate, decay):
    x, g, buffer = arrays
    arrays = [x, g, buffer if with_buffer else None]
    options = (first, rate, 0.9, 0.7, decay, nesterov)
    for ours, right in both_steps("sgd_step", arrays, *options):
        assert ours is right is None or same(ours, right)


@given(steps(5), st.booleans(), RATES, RATES, st.sampled_from([1.0, 0.9]))
def test_a_step_of_adam_is_that_of_numpy(arrays, amsgrad, rate, decay, shrink):
    arrays[3] = abs(arrays[3])
    arrays[4] = arrays[4] if amsgrad else None
    options = (rate, 0.5, 0.9, 0.999, 1e-8, decay, shrink)
    for ours, right in both_steps("adam_step", arrays, *options):
        assert ours is right is None or same(ours, right)


@pytest.mark.parametrize("n", [511, 512, 513, 5000])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_steps_of_long_arrays_are_those_of_numpy(n, dtype, rng):
    x, g, mean, square, largest = (rng.standard_normal(n).astype(dtype) for _ in range(5))
    square = square * square
    adam = (0.01, 0.5, 0.9, 0.999, 1e-8, 0.1, 0.99)
    pairs = [*both_steps("adam_step", (x, g, mean, square, largest), *adam)]
    pairs += both_steps("sgd_step", (x, g, mean), False, 0.1, 0.9, 0.7, 0.1, True)
    assert all(same(ours, right) for ours, right in pairs)


@pytest.mark.parametrize("place", [0, 1, 600])
def test_a_step_with_a_gradient_in_the_same_memory_is_that_of_numpy(place, rng):
    numbers = rng.normal(size=1200)
    found = [numbers.copy(), numbers.copy()]
    for module, array in zip((fast, kernels), found, strict=True):
        x, g = array[place : place + 600], array[:600]
        module.sgd_step(x, g, None, False, 0.1, 0.0, 1.0, 0.0, False)
    assert found[0].tobytes() == found[1].tobytes()


def test_a_rate_for_each_number_is_taken_as_by_numpy(rng):
    x, g, mean = rng.standard_normal((3, 4))
    rates = np.array([0.1, 0.2, 0.3, 0.0])
    options = (rates, np.sqrt(rates + 0.1), 0.9, 0.999, 1e-8, 0.0, 1.0)
    for ours, right in both_steps("adam_step", (x, g, mean, mean * mean, None), *options):
        assert ours is right is None or same(ours, right)


@pytest.mark.parametrize("module", [fast, kernels], ids=["fast", "numpy"])
def test_a_step_refuses_a_read_only_array_and_leaves_it(module):
    x = np.ones(3)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        module.sgd_step(x, np.ones(3), None, False, 0.1, 0.0, 1.0, 0.0, False)
    assert x.tolist() == [1.0] * 3
