# The batched kernels of engine/kernels.py: the same names, signatures and numbers.
# What they win is call overhead and temporaries; matrix products go to the BLAS that NumPy
# carries. Arrays that a kernel was not built for go to its NumPy version.

cimport cython
cimport numpy as np

import numpy

from engine import kernels as by_numpy
from engine.quiet import quiet

from engine_fast cimport elementary as m
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF
from libc.math cimport sqrt, sqrtf
from libc.string cimport memcpy, memset

np.import_array()

cdef extern from "buffers.h":
    np.ndarray empty "engine_empty"(int n, np.npy_intp *dims, int kind)

ctypedef fused real:
    float
    double


cdef inline bint plain(np.ndarray x, int kind) noexcept:
    """Whether x is packed in C order, of this kind of number, in the machine's byte order."""
    return (
        np.PyArray_TYPE(x) == kind
        and np.PyArray_IS_C_CONTIGUOUS(x)
        and np.PyArray_ISBEHAVED_RO(x)
    )


cdef inline np.ndarray like(np.ndarray x):
    return empty(np.PyArray_NDIM(x), np.PyArray_DIMS(x), np.PyArray_TYPE(x))


cdef void relu(const real *x, real *y, np.npy_intp n) noexcept nogil:
    cdef np.npy_intp i
    for i in range(n):
        y[i] = 0 if x[i] <= 0 else x[i]


cdef void relu_slope(const real *g, const real *y, real *out, np.npy_intp n) noexcept nogil:
    cdef np.npy_intp i
    cdef real gi  # read always: a load under a condition is not vectorised
    for i in range(n):
        gi = g[i]
        out[i] = 0 if y[i] <= 0 else gi


cpdef relu_forward(np.ndarray x):
    cdef np.npy_intp n = np.PyArray_SIZE(x)
    cdef np.ndarray y
    if plain(x, np.NPY_FLOAT32):
        y = like(x)
        relu[float](<const float *> np.PyArray_DATA(x), <float *> np.PyArray_DATA(y), n)
    elif plain(x, np.NPY_FLOAT64):
        y = like(x)
        relu[double](<const double *> np.PyArray_DATA(x), <double *> np.PyArray_DATA(y), n)
    else:
        return by_numpy.relu_forward(x)
    return y


cpdef relu_backward(np.ndarray g, np.ndarray y):
    cdef np.npy_intp n = np.PyArray_SIZE(y)
    cdef np.ndarray out
    if not np.PyArray_SAMESHAPE(g, y):
        return by_numpy.relu_backward(g, y)
    if plain(y, np.NPY_FLOAT32) and plain(g, np.NPY_FLOAT32):
        out = like(y)
        relu_slope[float](
            <const float *> np.PyArray_DATA(g),
            <const float *> np.PyArray_DATA(y),
            <float *> np.PyArray_DATA(out),
            n,
        )
    elif plain(y, np.NPY_FLOAT64) and plain(g, np.NPY_FLOAT64):
        out = like(y)
        relu_slope[double](
            <const double *> np.PyArray_DATA(g),
            <const double *> np.PyArray_DATA(y),
            <double *> np.PyArray_DATA(out),
            n,
        )
    else:
        return by_numpy.relu_backward(g, y)
    return out


cdef Loop loop_of(str name, str kind):
    """The loop of a ufunc for operands of that kind, "f" or "d", taken from NumPy: the same numbers
    to the last bit, inf and nan included, without the call around it."""
    cdef object public = getattr(numpy, name)
    cdef np.ufunc ufunc = <np.ufunc> public
    cdef int i
    cdef Loop found
    found.run, found.data = NULL, NULL
    for i in range(ufunc.ntypes):
        # `types` by its Python name: NumPy 2.5 declares it to Cython no more.
        if public.types[i][0] == kind and found.run == NULL:
            found.run = <loop_function> <void *> ufunc.functions[i]
            found.data = ufunc.data[i] if ufunc.data != NULL else NULL
    return found


cdef enum:
    MANY = 10000  # numbers from which on the lock of the interpreter is released


cdef class Elementwise:
    """A ufunc by its own loop, for packed arrays of one shape and kind, a row or a number beside
    one; everything else goes to the NumPy version."""

    def __init__(self, ufunc):
        self.ufunc = ufunc
        self.operands = ufunc.nin
        self.loops[0], self.loops[1] = loop_of(ufunc.__name__, "f"), loop_of(ufunc.__name__, "d")
        self.compares = any([kinds[0] == "f" and kinds[-1] == "?" for kinds in ufunc.types])

    cdef np.ndarray result(self, np.ndarray x, object out):
        """The array for the result, as long as x; None where no loop is to write into out."""
        if out is None:
            return empty(
                np.PyArray_NDIM(x), np.PyArray_DIMS(x),
                np.NPY_BOOL if self.compares else np.PyArray_TYPE(x),
            )
        if self.compares or not steps(out, x, np.PyArray_TYPE(x)):
            return None
        return out

    cpdef run(self, object a, object b=None, object out=None):
        cdef np.ndarray y = self.fast(a, b, out)
        return self.slow(a, b, out) if y is None else y

    def __call__(self, object a, object b=None, object out=None):
        return self.run(a, b, out)

    cdef object slow(self, object a, object b, object out):
        """By NumPy itself, in C too: no Ctrl-C comes in while gradients are written."""
        with quiet():
            return numpy.asarray(
                self.ufunc(a, out=out) if b is None else self.ufunc(a, b, out=out)
            )

    cdef np.ndarray fast(self, object a, object b, object out):
        cdef np.ndarray x = widest(a, b), y
        cdef Run run
        cdef int kind, size, last = 1 if b is None else 2
        cdef np.npy_intp n
        if x is None or last != self.operands:
            return None
        kind, n = np.PyArray_TYPE(x), np.PyArray_SIZE(x)
        if not plain(x, kind) or (kind != np.NPY_FLOAT32 and kind != np.NPY_FLOAT64):
            return None
        run.loop = self.loops[kind == np.NPY_FLOAT64]
        run.inner = n
        size = np.PyArray_ITEMSIZE(x)
        if run.loop.run == NULL or not reads(&run, 0, a, x, size):
            return None
        if last == 2 and not reads(&run, 1, b, x, size):
            return None
        y = self.result(x, out)
        if y is None:
            return None
        run.data[last], run.steps[last] = <char *> np.PyArray_DATA(y), np.PyArray_ITEMSIZE(y)
        if out is not None and not (
            separate(&run, 0, last, n * size) and (last == 1 or separate(&run, 1, last, n * size))
        ):
            return None
        if n > MANY:
            with nogil:
                go(&run, last, n)
        else:
            go(&run, last, n)
        return y


cdef struct Run:
    Loop loop
    char *data[3]
    np.npy_intp steps[3]
    bint stays[3]  # the operand is a row, the same for each row of the result
    np.npy_intp inner  # the length of a row, or all
    double wide[2]
    float narrow[2]


cdef inline np.ndarray widest(object a, object b):
    """The array whose shape the result has, if any has."""
    if not isinstance(a, np.ndarray):
        return b if isinstance(b, np.ndarray) else None
    if isinstance(b, np.ndarray) and np.PyArray_NDIM(b) > np.PyArray_NDIM(a):
        return b
    return a


cdef bint is_one_number(np.ndarray x, int kind) noexcept:
    """Whether x, of this kind, is one number in memory, spread over its whole shape."""
    cdef int d
    if np.PyArray_TYPE(x) != kind or not np.PyArray_ISBEHAVED_RO(x):
        return False
    for d in range(np.PyArray_NDIM(x)):
        if np.PyArray_DIM(x, d) != 1 and np.PyArray_STRIDE(x, d) != 0:
            return False
    return True


cdef bint reads(Run *run, int i, object operand, np.ndarray x, int size) noexcept:
    """Take operand i of a result like x, whose numbers have that size; False where no loop can."""
    cdef np.ndarray array
    run.stays[i] = False
    if isinstance(operand, np.ndarray):
        array = operand
        run.data[i] = <char *> np.PyArray_DATA(array)
        run.steps[i] = size
        if not plain(array, np.PyArray_TYPE(x)):
            run.steps[i] = 0
            return is_one_number(array, np.PyArray_TYPE(x)) and np.PyArray_SAMESHAPE(array, x)
        if np.PyArray_SAMESHAPE(array, x):
            return True
        if np.PyArray_NDIM(array) == 0:
            run.steps[i] = 0
            return True
        run.stays[i] = (
            np.PyArray_NDIM(array) == 1
            and np.PyArray_NDIM(x) > 1
            and np.PyArray_DIM(array, 0) == np.PyArray_DIM(x, np.PyArray_NDIM(x) - 1)
        )
        run.inner = np.PyArray_DIM(array, 0)
        return run.stays[i]
    if type(operand) is int and -65536 < <object> operand < 65536:  # as exact in float32
        run.wide[i] = <double> <long> operand
    elif type(operand) is float:
        run.wide[i] = operand
    else:
        return False
    run.narrow[i] = <float> run.wide[i]
    run.data[i] = <char *> &run.narrow[i] if size == 4 else <char *> &run.wide[i]
    run.steps[i] = 0
    return True


cdef inline bint separate(Run *run, int i, int last, np.npy_intp n) noexcept:
    """Whether operand i, n bytes long, and the result are one piece of memory, or share none."""
    cdef char *a = run.data[i]
    cdef char *b = run.data[last]
    if run.steps[i] == 0 or run.stays[i]:
        return a + n <= b or b + n <= a
    return a == b or a + n <= b or b + n <= a


cdef void go(Run *run, int last, np.npy_intp n) noexcept nogil:
    """Run the loop for n numbers, row by row where an operand is a row."""
    cdef int i
    cdef np.npy_intp done = 0
    if run.inner == 0:
        return
    while done < n:
        run.loop.run(run.data, &run.inner, run.steps, run.loop.data)
        done += run.inner
        for i in range(last + 1):
            if i == last or not run.stays[i]:
                run.data[i] += run.inner * run.steps[i]


cpdef Elementwise elementwise(object ufunc):
    return Elementwise(ufunc)


cpdef copied(np.ndarray x):
    cdef np.ndarray y
    if not plain(x, np.NPY_FLOAT32) and not plain(x, np.NPY_FLOAT64):
        return by_numpy.copied(x)
    y = like(x)
    memcpy(data_of(y), data_of(x), np.PyArray_NBYTES(x))
    return y


cdef inline bint refilled(np.ndarray x, double number) noexcept:
    """Set every element of x to the number, where a loop can."""
    cdef np.npy_intp i, n = np.PyArray_SIZE(x)
    cdef float *narrow = <float *> np.PyArray_DATA(x)
    cdef double *wide = <double *> np.PyArray_DATA(x)
    if not np.PyArray_ISWRITEABLE(x):
        return False
    if plain(x, np.NPY_FLOAT32):
        for i in range(n):
            narrow[i] = <float> number
        return True
    if plain(x, np.NPY_FLOAT64):
        for i in range(n):
            wide[i] = number
        return True
    return False


cpdef filled(np.ndarray x, double number):
    cdef int kind = np.PyArray_TYPE(x)
    if (kind != np.NPY_FLOAT32 and kind != np.NPY_FLOAT64) or not np.PyArray_ISNOTSWAPPED(x):
        return by_numpy.filled(x, number)
    cdef np.ndarray y = like(x)
    refilled(y, number)
    return y


cpdef fill(np.ndarray x, double number):
    if not refilled(x, number):
        by_numpy.fill(x, number)


cdef void added(real *x, const real *g, np.npy_intp n) noexcept nogil:
    cdef np.npy_intp i
    for i in range(n):
        x[i] += g[i]


cdef object add = Elementwise(numpy.add).run


cpdef add_to(np.ndarray x, np.ndarray g):
    cdef np.npy_intp n = np.PyArray_SIZE(x), size = np.PyArray_NBYTES(x)
    cdef int kind = np.PyArray_TYPE(x)
    cdef char *a = <char *> np.PyArray_DATA(x)
    cdef char *b = <char *> np.PyArray_DATA(g)
    cdef bint apart = a == b or a + size <= b or b + size <= a
    if n > MANY or not (plain(x, kind) and plain(g, kind) and apart):
        add(x, g, x)
    elif not (np.PyArray_SAMESHAPE(x, g) and np.PyArray_ISWRITEABLE(x)):
        add(x, g, x)
    elif kind == np.NPY_FLOAT32:
        added[float](<float *> a, <const float *> b, n)
    elif kind == np.NPY_FLOAT64:
        added[double](<double *> a, <const double *> b, n)
    else:
        add(x, g, x)


cdef void put(real *x, const np.npy_bool *mask, real number, np.npy_intp n) noexcept nogil:
    cdef np.npy_intp i
    for i in range(n):
        x[i] = number if mask[i] else x[i]


cpdef put_number(np.ndarray x, np.ndarray mask, object number):
    cdef np.npy_intp n = np.PyArray_SIZE(x)
    cdef bint same = np.PyArray_SAMESHAPE(x, mask) and plain(mask, np.NPY_BOOL)
    if same and np.PyArray_ISWRITEABLE(x) and plain(x, np.NPY_FLOAT32):
        put[float](<float *> data_of(x), <np.npy_bool *> data_of(mask), <float> number, n)
    elif same and np.PyArray_ISWRITEABLE(x) and plain(x, np.NPY_FLOAT64):
        put[double](<double *> data_of(x), <np.npy_bool *> data_of(mask), number, n)
    else:
        by_numpy.put_number(x, mask, number)


cdef Elementwise multiply = Elementwise(numpy.multiply)
cdef Elementwise divide = Elementwise(numpy.divide)


cdef void square_slope(const real *g, const real *a, real *out, np.npy_intp n) noexcept nogil:
    cdef np.npy_intp i
    for i in range(n):
        out[i] = g[i] * (2 * a[i])


cpdef power_backward(np.ndarray g, np.ndarray a, double k):
    cdef np.npy_intp n = np.PyArray_SIZE(a)
    cdef np.ndarray out
    if k != 2:
        return by_numpy.power_backward(g, a, k)
    if not np.PyArray_SAMESHAPE(g, a):
        return multiply.run(g, multiply.run(a, 2.0))
    if plain(a, np.NPY_FLOAT32) and plain(g, np.NPY_FLOAT32):
        out = like(a)
        square_slope[float](
            <const float *> data_of(g), <const float *> data_of(a), <float *> data_of(out), n
        )
        return out
    if plain(a, np.NPY_FLOAT64) and plain(g, np.NPY_FLOAT64):
        out = like(a)
        square_slope[double](
            <const double *> data_of(g), <const double *> data_of(a), <double *> data_of(out), n
        )
        return out
    return multiply.run(g, multiply.run(a, 2.0))


cdef extern from "numpy/arrayobject.h":
    ctypedef struct PyArray_Descr
    PyArray_Descr *described "PyArray_DESCR"(np.ndarray x)
    object NewFromDescr "PyArray_NewFromDescr"(
        PyTypeObject *kind, PyArray_Descr *descr, int nd, np.npy_intp *dims,
        np.npy_intp *strides, void *data, int flags, PyObject *like,
    )


cpdef spread(np.ndarray g, tuple shape, tuple dims):
    cdef np.npy_intp sizes[64]
    cdef np.npy_intp steps[64]
    cdef int d, own = 0, n = len(shape), missing = n - np.PyArray_NDIM(g)
    if n > 64 or (missing and missing != len(dims)):
        return by_numpy.spread(g, shape, dims)
    for d in range(n):
        sizes[d], steps[d] = shape[d], 0
        if d in dims and missing:
            continue
        if np.PyArray_DIM(g, own) != (1 if d in dims else sizes[d]):
            return by_numpy.spread(g, shape, dims)  # which may refuse it
        if d not in dims:
            steps[d] = np.PyArray_STRIDE(g, own)
        own += 1
    return seen(g, n, sizes, steps)


cpdef expanded(np.ndarray x, tuple shape):
    cdef np.npy_intp sizes[64]
    cdef np.npy_intp steps[64]
    cdef int d, own, n = len(shape), missing = n - np.PyArray_NDIM(x)
    if n > 64 or missing < 0:
        return by_numpy.expanded(x, shape)
    for d in range(n):
        sizes[d], steps[d], own = shape[d], 0, d - missing
        if own < 0 and sizes[d] >= 0:
            continue
        if own >= 0 and np.PyArray_DIM(x, own) == sizes[d]:
            steps[d] = np.PyArray_STRIDE(x, own)
        elif own < 0 or np.PyArray_DIM(x, own) != 1 or sizes[d] < 0:
            return by_numpy.expanded(x, shape)  # which refuses it
    return seen(x, n, sizes, steps)


cdef np.ndarray seen(np.ndarray g, int n, np.npy_intp *sizes, np.npy_intp *steps):
    """The memory of g with another shape, to be read."""
    Py_INCREF(<object> <PyObject *> described(g))  # which the new array takes over
    cdef np.ndarray y = NewFromDescr(
        <PyTypeObject *> np.ndarray, described(g), n, sizes, steps, np.PyArray_DATA(g), 0, NULL
    )
    np.set_array_base(y, g)
    return y


cdef Loop of_float = loop_of("matmul", "f")
cdef Loop of_double = loop_of("matmul", "d")


cdef bint fits(np.ndarray a, bint a_turned, np.ndarray b, bint b_turned) noexcept:
    """Whether a loop takes the product: two matrices, turned or not, of one floating type whose
    sizes agree."""
    cdef int kind = np.PyArray_TYPE(a)
    return (
        np.PyArray_NDIM(a) == 2
        and np.PyArray_NDIM(b) == 2
        and kind == np.PyArray_TYPE(b)
        and (kind == np.NPY_FLOAT32 or kind == np.NPY_FLOAT64)
        and of_float.run != NULL
        and of_double.run != NULL
        and np.PyArray_ISBEHAVED_RO(a)
        and np.PyArray_ISBEHAVED_RO(b)
        and np.PyArray_DIM(a, not a_turned) == np.PyArray_DIM(b, b_turned)
    )


cdef np.ndarray product(np.ndarray a, bint a_turned, np.ndarray b, bint b_turned):
    """a @ b of two matrices that fit."""
    cdef np.npy_intp shape[2]
    cdef np.npy_intp sizes[4]
    cdef np.npy_intp steps[9]
    cdef char *data[3]
    cdef Loop loop = of_float if np.PyArray_TYPE(a) == np.NPY_FLOAT32 else of_double
    shape[0], shape[1] = np.PyArray_DIM(a, a_turned), np.PyArray_DIM(b, not b_turned)
    cdef np.ndarray y = empty(2, shape, np.PyArray_TYPE(a))
    sizes[0], sizes[1], sizes[2], sizes[3] = 1, shape[0], np.PyArray_DIM(b, b_turned), shape[1]
    steps[0] = steps[1] = steps[2] = 0
    steps[3], steps[4] = np.PyArray_STRIDE(a, a_turned), np.PyArray_STRIDE(a, not a_turned)
    steps[5], steps[6] = np.PyArray_STRIDE(b, b_turned), np.PyArray_STRIDE(b, not b_turned)
    steps[7], steps[8] = np.PyArray_STRIDE(y, 0), np.PyArray_STRIDE(y, 1)
    data[0], data[1] = <char *> np.PyArray_DATA(a), <char *> np.PyArray_DATA(b)
    data[2] = <char *> np.PyArray_DATA(y)
    if np.PyArray_SIZE(a) > MANY or np.PyArray_SIZE(b) > MANY or np.PyArray_SIZE(y) > MANY:
        with nogil:
            loop.run(data, sizes, steps, loop.data)
    else:
        loop.run(data, sizes, steps, loop.data)
    return y


cpdef matmul_forward(np.ndarray a, np.ndarray b):
    return product(a, 0, b, 0) if fits(a, 0, b, 0) else by_numpy.matmul_forward(a, b)


cpdef matmul_backward(np.ndarray g, np.ndarray a, np.ndarray b):
    if (a is not None and not fits(a, 1, g, 0)) or (b is not None and not fits(g, 0, b, 1)):
        return by_numpy.matmul_backward(g, a, b)
    return (
        None if b is None else product(g, 0, b, 1),
        None if a is None else product(a, 1, g, 0),
    )


cdef inline void *data_of(np.ndarray x) noexcept:
    return NULL if x is None else np.PyArray_DATA(x)


# NumPy's own loops for e ** x, log, sums and others: the same numbers to the last bit.
cdef Loop[2] exps, logs, sums, differences, products, quotients, maxima, minima
for _kind, _letter in enumerate("fd"):  # float32 and float64
    exps[_kind] = loop_of("exp", _letter)
    logs[_kind] = loop_of("log", _letter)
    sums[_kind] = loop_of("add", _letter)
    differences[_kind] = loop_of("subtract", _letter)
    products[_kind] = loop_of("multiply", _letter)
    quotients[_kind] = loop_of("divide", _letter)
    maxima[_kind] = loop_of("maximum", _letter)
    minima[_kind] = loop_of("minimum", _letter)


cdef inline void each(Loop loop, void *x, void *y, np.npy_intp n, np.npy_intp size) noexcept nogil:
    """y = f(x) for n numbers of that size, packed."""
    cdef char *data[2]
    cdef np.npy_intp steps[2]
    data[0], data[1], steps[0], steps[1] = <char *> x, <char *> y, size, size
    loop.run(data, &n, steps, loop.data)


cdef inline void total(Loop loop, void *x, void *y, np.npy_intp n, np.npy_intp size) noexcept nogil:
    """y += the sum of n numbers of that size, packed."""
    cdef char *data[3]
    cdef np.npy_intp steps[3]
    data[0], data[1], data[2] = <char *> y, <char *> x, <char *> y
    steps[0], steps[1], steps[2] = 0, size, 0
    loop.run(data, &n, steps, loop.data)


cdef struct Block:
    np.npy_intp outer, n, inner  # the sizes of a packed array before, in and behind what is reduced


cdef bint is_block(np.ndarray x, tuple dims, Block *b):
    """Whether x holds packed floats, and these dimensions of it lie side by side."""
    cdef np.npy_intp sizes[3]
    cdef int d, found = 0, part = 0
    sizes[0] = sizes[1] = sizes[2] = 1
    for d in range(np.PyArray_NDIM(x)):
        if d in dims:
            if part == 2:
                return False
            part, found = 1, found + 1
        elif part == 1:
            part = 2
        sizes[part] *= np.PyArray_DIM(x, d)
    b.outer, b.n, b.inner = sizes[0], sizes[1], sizes[2]
    return (
        found == len(dims)
        and (found or np.PyArray_NDIM(x) == 0)
        and (plain(x, np.NPY_FLOAT32) or plain(x, np.NPY_FLOAT64))
    )


cdef np.ndarray without(np.ndarray x, tuple dims, bint keepdim):
    """An array for what a reduction of x over dims gives."""
    cdef np.npy_intp sizes[64]
    cdef int d, n = 0
    for d in range(np.PyArray_NDIM(x)):
        if d not in dims:
            sizes[n] = np.PyArray_DIM(x, d)
            n += 1
        elif keepdim:
            sizes[n] = 1
            n += 1
    return empty(n, sizes, np.PyArray_TYPE(x))


cdef void fold(
    Loop loop, const void *x, void *y, Block b, np.npy_intp size, bint skip
) noexcept nogil:
    """y = f(y, x) along what is reduced, as NumPy goes: a line in one loop, or row after row. Of
    each the first may be skipped, which y starts with."""
    cdef char *data[3]
    cdef np.npy_intp steps[3]
    cdef np.npy_intp i, o, row = b.inner * size
    cdef np.npy_intp many = b.n - skip if b.inner == 1 else b.inner
    cdef np.npy_intp rows = 1 if b.inner == 1 else b.n - skip
    steps[0] = steps[2] = 0 if b.inner == 1 else size
    steps[1] = size
    data[1] = <char *> x
    for o in range(b.outer if many else 0):
        data[1] += skip * row
        for i in range(rows):
            data[0] = data[2] = <char *> y + o * row
            loop.run(data, &many, steps, loop.data)
            data[1] += many * size


cdef void unfold(
    Loop loop, const void *x, const void *t, void *y, Block b, np.npy_intp size
) noexcept nogil:
    """y = f(x, t), where t holds one number for each line of what is reduced."""
    cdef char *data[3]
    cdef np.npy_intp steps[3]
    cdef np.npy_intp i, o, row = b.inner * size
    cdef np.npy_intp many = b.n if b.inner == 1 else b.inner
    cdef np.npy_intp rows = 1 if b.inner == 1 else b.n
    steps[0] = steps[2] = size
    steps[1] = 0 if b.inner == 1 else size
    data[0], data[2] = <char *> x, <char *> y
    for o in range(b.outer if many else 0):
        for i in range(rows):
            data[1] = <char *> t + o * row
            loop.run(data, &many, steps, loop.data)
            data[0] += many * size
            data[2] += many * size


cdef void both(
    Loop loop, const void *a, const void *b, void *y, np.npy_intp n, np.npy_intp size
) noexcept nogil:
    """y = f(a, b) for n numbers of that size, packed."""
    cdef char *data[3]
    cdef np.npy_intp steps[3]
    data[0], data[1], data[2] = <char *> a, <char *> b, <char *> y
    steps[0] = steps[1] = steps[2] = size
    loop.run(data, &n, steps, loop.data)


cpdef sum_forward(np.ndarray x, tuple dims, bint keepdim):
    cdef np.ndarray y
    cdef Block b
    if not is_block(x, dims, &b):
        return by_numpy.sum_forward(x, dims, keepdim)
    y = without(x, dims, keepdim)
    memset(data_of(y), 0, np.PyArray_NBYTES(y))
    reduce(&sums[0], x, y, b, 0)
    return y


cpdef centred(np.ndarray x, tuple dims):
    cdef np.ndarray t, y
    cdef Block b
    cdef int kind = np.PyArray_TYPE(x) == np.NPY_FLOAT64
    cdef np.npy_intp size = np.PyArray_ITEMSIZE(x)
    if not is_block(x, dims, &b):
        return by_numpy.centred(x, dims)
    t = divide.run(sum_forward(x, dims, True), <double> b.n)
    y = like(x)
    unfold(differences[kind], data_of(x), data_of(t), data_of(y), b, size)
    return y


cpdef extreme_forward(np.ndarray x, tuple dims, bint keepdim, bint largest):
    cdef np.ndarray y
    cdef Block b
    cdef np.npy_intp i, row
    if np.PyArray_SIZE(x) == 0 or not is_block(x, dims, &b):
        return by_numpy.extreme_forward(x, dims, keepdim, largest)
    y = without(x, dims, keepdim)
    row = b.inner * np.PyArray_ITEMSIZE(x)
    for i in range(b.outer):
        memcpy(<char *> data_of(y) + i * row, <char *> data_of(x) + i * b.n * row, row)
    reduce(&maxima[0] if largest else &minima[0], x, y, b, 1)
    return y


cdef inline void reduce(
    Loop *loops, np.ndarray x, np.ndarray y, Block b, bint skip
) noexcept:
    """Fold x into y, with the lock of the interpreter released where that takes long."""
    cdef Loop loop = loops[np.PyArray_TYPE(x) == np.NPY_FLOAT64]
    cdef np.npy_intp size = np.PyArray_ITEMSIZE(x)
    cdef void *numbers = data_of(x)
    cdef void *found = data_of(y)
    if np.PyArray_SIZE(x) > MANY:
        with nogil:
            fold(loop, numbers, found, b, size, skip)
    else:
        fold(loop, numbers, found, b, size, skip)


cdef enum:
    SHORT = 64  # lines for which a call of a loop costs more than its numbers


cdef inline void less_top(const real *x, real *y, Block b) noexcept nogil:
    """y is x less the largest of its short line."""
    cdef np.npy_intp i, o
    cdef real top
    for o in range(b.outer):
        top = -m.inf
        for i in range(o * b.n, o * b.n + b.n):
            if x[i] > top or x[i] != x[i]:
                top = x[i]
        for i in range(o * b.n, o * b.n + b.n):
            y[i] = x[i] - top


@cython.cdivision(True)
cdef inline void over_total(real *y, const real *t, Block b, bint log) noexcept nogil:
    """y over the number of its short line, or less it for logarithms."""
    cdef np.npy_intp i, o
    for o in range(b.outer):
        for i in range(o * b.n, o * b.n + b.n):
            y[i] = y[i] - t[o] if log else y[i] / t[o]


cdef void softmax(
    const real *x, real *y, real *powers, real *t, Block b, bint kind, bint log
) noexcept nogil:
    """y is the softmax of x, or its logarithm; t has room for one number for each line."""
    cdef np.npy_intp i, lines = b.outer * b.inner, size = sizeof(real)
    cdef bint short = b.inner == 1 and b.n < SHORT
    if short:
        less_top(x, y, b)
    else:
        for i in range(lines):
            t[i] = -m.inf
        fold(maxima[kind], x, t, b, size, 0)
        unfold(differences[kind], x, t, y, b, size)
    each(exps[kind], y, powers, lines * b.n, size)
    memset(t, 0, lines * size)
    fold(sums[kind], powers, t, b, size, 0)
    if log:
        each(logs[kind], t, t, lines, size)
    if short:
        over_total(y, t, b, log)
    else:
        unfold(differences[kind] if log else quotients[kind], y, t, y, b, size)


cpdef softmax_forward(np.ndarray x, tuple dims, bint log):
    cdef np.ndarray y, powers, t
    cdef Block b
    if not is_block(x, dims, &b):
        return by_numpy.softmax_forward(x, dims, log)
    y, t = like(x), without(x, dims, True)
    powers = like(x) if log else y
    if np.PyArray_TYPE(x) == np.NPY_FLOAT32:
        softmax[float](
            <const float *> data_of(x), <float *> data_of(y), <float *> data_of(powers),
            <float *> data_of(t), b, 0, log,
        )
    else:
        softmax[double](
            <const double *> data_of(x), <double *> data_of(y), <double *> data_of(powers),
            <double *> data_of(t), b, 1, log,
        )
    return y


cpdef softmax_backward(np.ndarray g, np.ndarray y, tuple dims, bint log):
    cdef np.ndarray out, rest, t
    cdef Block b
    cdef int kind = np.PyArray_TYPE(y) == np.NPY_FLOAT64
    cdef np.npy_intp n = np.PyArray_SIZE(y), size = np.PyArray_ITEMSIZE(y)
    if not (
        is_block(y, dims, &b) and plain(g, np.PyArray_TYPE(y)) and np.PyArray_SAMESHAPE(g, y)
    ):
        return by_numpy.softmax_backward(g, y, dims, log)
    out, rest, t = like(y), like(y), without(y, dims, True)
    memset(data_of(t), 0, np.PyArray_NBYTES(t))
    if log:
        each(exps[kind], data_of(y), data_of(rest), n, size)
        fold(sums[kind], data_of(g), data_of(t), b, size, 0)
        unfold(products[kind], data_of(rest), data_of(t), data_of(rest), b, size)
        both(differences[kind], data_of(g), data_of(rest), data_of(out), n, size)
    else:
        both(products[kind], data_of(g), data_of(y), data_of(out), n, size)
        fold(sums[kind], data_of(out), data_of(t), b, size, 0)
        unfold(products[kind], data_of(y), data_of(t), data_of(rest), b, size)
        both(differences[kind], data_of(out), data_of(rest), data_of(out), n, size)
    return out


cdef bint take(
    const real *x, const np.npy_int64 *places, real *y, Block b, np.npy_intp k, bint puts
) noexcept nogil:
    """y is what stands in x at k places for each line of n, or, the other way round, y gets what
    stands in x there; False where a place is none."""
    cdef np.npy_intp o, i, j = 0
    cdef np.npy_int64 p
    for o in range(b.outer):
        for i in range(k * b.inner):
            p = places[j]
            if not 0 <= p < b.n:
                return False
            p = (o * b.n + p) * b.inner + i % b.inner
            if puts:
                y[p] = x[j]
            else:
                y[j] = x[p]
            j += 1
    return True


cdef bint has_places(np.ndarray places, int ndim, np.npy_intp *sizes, int dim, Block *b) noexcept:
    """Whether places has the sizes of an array but for dimension dim."""
    cdef int d
    if not plain(places, np.NPY_INT64) or np.PyArray_NDIM(places) != ndim:
        return False
    b.outer = b.inner = b.n = 1
    for d in range(ndim):
        if d == dim:
            b.n = sizes[d]
        elif np.PyArray_DIM(places, d) != sizes[d]:
            return False
        elif d < dim:
            b.outer *= sizes[d]
        else:
            b.inner *= sizes[d]
    return 0 <= dim < ndim


cpdef taken(np.ndarray x, np.ndarray places, int dim):
    cdef Block b
    cdef np.ndarray y
    cdef np.npy_intp k
    cdef bint done = False
    if has_places(places, np.PyArray_NDIM(x), np.PyArray_DIMS(x), dim, &b):
        y, k = empty(
            np.PyArray_NDIM(x), np.PyArray_DIMS(places), np.PyArray_TYPE(x)
        ), np.PyArray_DIM(places, dim)
        if plain(x, np.NPY_FLOAT32):
            done = take[float](
                <const float *> data_of(x), <const np.npy_int64 *> data_of(places),
                <float *> data_of(y), b, k, False,
            )
        elif plain(x, np.NPY_FLOAT64):
            done = take[double](
                <const double *> data_of(x), <const np.npy_int64 *> data_of(places),
                <double *> data_of(y), b, k, False,
            )
    return y if done else by_numpy.taken(x, places, dim)


cdef bint fits_beside(np.ndarray x, np.ndarray first, int dim, bint new) noexcept:
    """Whether x is packed, and as the first of several but for its length along dim."""
    cdef int d
    if not plain(x, np.PyArray_TYPE(first)) or np.PyArray_NDIM(x) != np.PyArray_NDIM(first):
        return False
    for d in range(np.PyArray_NDIM(x)):
        if np.PyArray_DIM(x, d) != np.PyArray_DIM(first, d) and (new or d != dim):
            return False
    return True


cdef np.ndarray room_for(list arrays, int dim, bint new):
    """An array for these along dim; None where they are not to be copied as they lie."""
    cdef np.ndarray first = arrays[0]
    cdef int d, n = np.PyArray_NDIM(first) + new, kind = np.PyArray_TYPE(first)
    cdef np.npy_intp sizes[64]
    if not 0 <= dim < n or n > 64 or (kind != np.NPY_FLOAT32 and kind != np.NPY_FLOAT64):
        return None
    for d in range(n):
        sizes[d] = 0 if d == dim else np.PyArray_DIM(first, d - (new and d > dim))
    for x in arrays:
        if not fits_beside(x, first, dim, new):
            return None
        sizes[dim] += 1 if new else np.PyArray_DIM(x, dim)
    return empty(n, sizes, kind)


cdef void pieces(
    char *to, const char *x, np.npy_intp n, np.npy_intp step, np.npy_intp size
) noexcept nogil:
    """Copy n pieces of so many bytes to places that far apart; a single number in one move."""
    cdef np.npy_intp i
    if size == 4:
        for i in range(n):
            memcpy(to + i * step, x + i * 4, 4)
    elif size == 8:
        for i in range(n):
            memcpy(to + i * step, x + i * 8, 8)
    else:
        for i in range(n):
            memcpy(to + i * step, x + i * size, size)


cpdef joined(list arrays, int dim, bint new):
    cdef np.ndarray a, y = room_for(arrays, dim, new)
    cdef np.npy_intp o, size, outer = 1, start = 0, row = 0
    if y is None:
        return by_numpy.joined(arrays, dim, new)
    for o in range(dim):
        outer *= np.PyArray_DIM(y, o)
    row = np.PyArray_NBYTES(y) // outer if outer else 0
    for a in arrays:
        size = np.PyArray_NBYTES(a) // outer if outer else 0
        pieces(<char *> data_of(y) + start, <char *> data_of(a), outer, row, size)
        start += size
    return y


cpdef put_back(np.ndarray x, np.ndarray places, int dim, tuple shape):
    cdef np.npy_intp sizes[64]
    cdef Block b
    cdef np.ndarray y
    cdef int d, n = len(shape)
    cdef bint done = False
    for d in range(n):
        sizes[d] = shape[d]
    if has_places(places, n, sizes, dim, &b) and np.PyArray_SIZE(x) == np.PyArray_SIZE(places):
        y = np.PyArray_ZEROS(n, sizes, np.PyArray_TYPE(x), 0)
        if plain(x, np.NPY_FLOAT32):
            done = take[float](
                <const float *> data_of(x), <const np.npy_int64 *> data_of(places),
                <float *> data_of(y), b, np.PyArray_DIM(places, dim), True,
            )
        elif plain(x, np.NPY_FLOAT64):
            done = take[double](
                <const double *> data_of(x), <const np.npy_int64 *> data_of(places),
                <double *> data_of(y), b, np.PyArray_DIM(places, dim), True,
            )
    return y if done else by_numpy.put_back(x, places, dim, shape)


@cython.cdivision(True)
cdef void cross_entropy(
    const real *x, const np.npy_int64 *places, real *losses, real *totals, real *y,
    np.npy_intp n, np.npy_intp k, bint kind,
) noexcept nogil:
    cdef np.npy_intp i, j
    cdef real top
    for i in range(n):
        top = -m.inf
        for j in range(i * k, i * k + k):
            if x[j] > top or x[j] != x[j]:
                top = x[j]
        for j in range(i * k, i * k + k):
            y[j] = x[j] - top
        losses[i] = y[i * k + places[i]]
        totals[i] = 0
    each(exps[kind], y, y, n * k, sizeof(real))
    for i in range(n):
        total(sums[kind], y + i * k, totals + i, k, sizeof(real))
        for j in range(i * k, i * k + k):
            y[j] = y[j] / totals[i]
    each(logs[kind], totals, totals, n, sizeof(real))
    for i in range(n):
        losses[i] = totals[i] - losses[i]


cdef bint takes_classes(np.ndarray x, np.ndarray places) noexcept:
    """Whether a loop takes these scores, and one place in each row."""
    cdef np.npy_intp i
    cdef np.npy_int64 *classes = <np.npy_int64 *> np.PyArray_DATA(places)
    if (
        np.PyArray_NDIM(x) != 2
        or np.PyArray_NDIM(places) != 2
        or np.PyArray_DIM(places, 0) != np.PyArray_DIM(x, 0)
        or np.PyArray_DIM(places, 1) != 1
        or not plain(places, np.NPY_INT64)
        or not (plain(x, np.NPY_FLOAT32) or plain(x, np.NPY_FLOAT64))
    ):
        return False
    for i in range(np.PyArray_DIM(x, 0)):
        if not 0 <= classes[i] < np.PyArray_DIM(x, 1):
            return False
    return exps[0].run != NULL and logs[0].run != NULL and sums[0].run != NULL


def cross_entropy_forward(np.ndarray x, np.ndarray places, int dim):
    cdef np.ndarray y, losses, totals
    cdef np.npy_intp n, k
    cdef np.npy_intp shape[2]
    if dim != 1 or not takes_classes(x, places):
        return by_numpy.cross_entropy_forward(x, places, dim)
    n, k = np.PyArray_DIM(x, 0), np.PyArray_DIM(x, 1)
    shape[0], shape[1] = n, 1
    y = like(x)
    losses = np.PyArray_EMPTY(2, shape, np.PyArray_TYPE(x), 0)
    totals = like(losses)
    if np.PyArray_TYPE(x) == np.NPY_FLOAT32:
        cross_entropy[float](
            <const float *> data_of(x), <const np.npy_int64 *> data_of(places),
            <float *> data_of(losses), <float *> data_of(totals), <float *> data_of(y), n, k, 0,
        )
    else:
        cross_entropy[double](
            <const double *> data_of(x), <const np.npy_int64 *> data_of(places),
            <double *> data_of(losses), <double *> data_of(totals), <double *> data_of(y), n, k, 1,
        )
    return losses, y


cdef void cross_entropy_slope(
    const char *g, np.npy_intp step, const real *y, const np.npy_int64 *places, real *out,
    np.npy_intp n, np.npy_intp k,
) noexcept nogil:
    cdef np.npy_intp i, j
    cdef real gi
    for i in range(n):
        gi = (<const real *> (g + i * step))[0]  # a mean's gradient has no stride
        for j in range(i * k, i * k + k):
            out[j] = gi * y[j]
        j = i * k + places[i]
        out[j] = gi * (y[j] - <real> 1)


def cross_entropy_backward(np.ndarray g, np.ndarray y, np.ndarray places, int dim):
    cdef np.ndarray out
    cdef np.npy_intp n, k
    if (
        dim != 1
        or not takes_classes(y, places)
        or np.PyArray_TYPE(g) != np.PyArray_TYPE(y)
        or not np.PyArray_ISBEHAVED_RO(g)
        or not np.PyArray_SAMESHAPE(g, places)
    ):
        return by_numpy.cross_entropy_backward(g, y, places, dim)
    n, k = np.PyArray_DIM(y, 0), np.PyArray_DIM(y, 1)
    out = like(y)
    if np.PyArray_TYPE(y) == np.NPY_FLOAT32:
        cross_entropy_slope[float](
            <const char *> data_of(g), np.PyArray_STRIDE(g, 0), <const float *> data_of(y),
            <const np.npy_int64 *> data_of(places), <float *> data_of(out), n, k,
        )
    else:
        cross_entropy_slope[double](
            <const char *> data_of(g), np.PyArray_STRIDE(g, 0), <const double *> data_of(y),
            <const np.npy_int64 *> data_of(places), <double *> data_of(out), n, k,
        )
    return out


cdef inline real root_of(real x) noexcept nogil:
    return sqrtf(x) if real is float else sqrt(x)


cdef inline bint steps(np.ndarray x, np.ndarray g, int kind) noexcept:
    """Whether x, packed, can be changed in place element by element with g, packed too."""
    return (
        plain(x, kind)
        and np.PyArray_ISWRITEABLE(x)
        and plain(g, kind)
        and np.PyArray_SAMESHAPE(x, g)
    )


cdef inline bint apart(np.ndarray x, np.ndarray g) noexcept:
    """Whether x and g, as long as each other, are one piece of memory, or share none."""
    cdef char *a = <char *> np.PyArray_DATA(x)
    cdef char *b = <char *> np.PyArray_DATA(g)
    return a == b or a + np.PyArray_NBYTES(x) <= b or b + np.PyArray_NBYTES(x) <= a


cdef inline bint all_step(np.ndarray x, np.ndarray g, tuple others) noexcept:
    """Whether a loop takes the step: x and g, and what is kept for them, None or an array."""
    cdef int kind = np.PyArray_TYPE(x)
    if (kind != np.NPY_FLOAT32 and kind != np.NPY_FLOAT64) or not steps(x, g, kind):
        return False
    if not apart(x, g):
        return False
    for other in others:
        if other is not None and not steps(other, g, kind):
            return False
    return True


# Steps go from block to block, and in a block by loops that do one thing each: such loops become
# SIMD, and the block stays in the cache. d is the gradient, and what comes of it.
cdef enum:
    BLOCK = 512


cdef inline void decayed(
    const real *x, const real *g, real *d, np.npy_intp n, real decay
) noexcept nogil:
    cdef np.npy_intp i
    for i in range(n):
        d[i] = g[i]
    if decay != 0:
        for i in range(n):
            d[i] += decay * x[i]


cdef void sgd(
    real *x, const real *g, real *buffer, np.npy_intp n, bint first,
    real rate, real momentum, real keep, real decay, bint nesterov,
) noexcept nogil:
    cdef np.npy_intp i
    cdef real d[BLOCK]
    if buffer == NULL and decay == 0:
        for i in range(n):
            x[i] -= rate * g[i]
        return
    decayed[real](x, g, d, n, decay)
    if buffer != NULL:
        if first:
            for i in range(n):
                buffer[i] = d[i]
        else:
            for i in range(n):
                buffer[i] = momentum * buffer[i] + keep * d[i]
        if nesterov:
            for i in range(n):
                d[i] += momentum * buffer[i]
        else:
            for i in range(n):
                d[i] = buffer[i]
    for i in range(n):
        x[i] -= rate * d[i]


cdef void sgd_blocks(
    real *x, const real *g, real *buffer, np.npy_intp n, bint first,
    real rate, real momentum, real keep, real decay, bint nesterov,
) noexcept nogil:
    cdef np.npy_intp k = 0
    while k < n:
        sgd[real](
            x + k, g + k, NULL if buffer == NULL else buffer + k, min(n - k, <np.npy_intp> BLOCK),
            first, rate, momentum, keep, decay, nesterov,
        )
        k += BLOCK


def sgd_step(
    np.ndarray x, np.ndarray g, np.ndarray buffer, bint first,
    double rate, double momentum, double keep, double decay, bint nesterov,
):
    cdef np.npy_intp n = np.PyArray_SIZE(x)
    cdef void *a = data_of(x)
    cdef void *b = data_of(g)
    cdef void *c = data_of(buffer)
    if not all_step(x, g, (buffer,)):
        by_numpy.sgd_step(x, g, buffer, first, rate, momentum, keep, decay, nesterov)
    elif np.PyArray_TYPE(x) == np.NPY_FLOAT32:
        with nogil:
            sgd_blocks[float](
                <float *> a, <const float *> b, <float *> c, n,
                first, rate, momentum, keep, decay, nesterov,
            )
    else:
        with nogil:
            sgd_blocks[double](
                <double *> a, <const double *> b, <double *> c, n,
                first, rate, momentum, keep, decay, nesterov,
            )


@cython.cdivision(True)  # by 0 as IEEE 754 has it
cdef void adam(
    real *x, const real *g, real *mean, real *square, real *largest, np.npy_intp n,
    real rate, real root, real keep1, real beta2, real keep2, real eps, real decay, real shrink,
) noexcept nogil:
    cdef np.npy_intp i
    cdef real d[BLOCK]
    if shrink != 1:
        for i in range(n):
            x[i] *= shrink
    decayed[real](x, g, d, n, decay)
    for i in range(n):
        mean[i] += keep1 * (d[i] - mean[i])
    for i in range(n):
        square[i] = square[i] * beta2 + keep2 * d[i] * d[i]
        d[i] = square[i]
    if largest != NULL:
        for i in range(n):
            d[i] = d[i] if largest[i] < d[i] or d[i] != d[i] else largest[i]
            largest[i] = d[i]
    for i in range(n):
        x[i] -= rate * mean[i] / (root_of(d[i]) / root + eps)


cdef void adam_blocks(
    real *x, const real *g, real *mean, real *square, real *largest, np.npy_intp n,
    real rate, real root, real keep1, real beta2, real keep2, real eps, real decay, real shrink,
) noexcept nogil:
    cdef np.npy_intp k = 0
    while k < n:
        adam[real](
            x + k, g + k, mean + k, square + k, NULL if largest == NULL else largest + k,
            min(n - k, <np.npy_intp> BLOCK), rate, root, keep1, beta2, keep2, eps, decay, shrink,
        )
        k += BLOCK


def adam_step(
    np.ndarray x, np.ndarray g, np.ndarray mean, np.ndarray square, np.ndarray largest,
    object rate, object root, double beta1, double beta2,
    double eps, double decay, double shrink,
):
    cdef np.npy_intp n = np.PyArray_SIZE(x)
    cdef void *a = data_of(x)
    cdef void *b = data_of(g)
    cdef void *c = data_of(mean)
    cdef void *d = data_of(square)
    cdef void *e = data_of(largest)
    cdef double keep1 = 1 - beta1, keep2 = 1 - beta2, fixed_rate, fixed_root
    cdef bint vectors = isinstance(rate, np.ndarray) or isinstance(root, np.ndarray)
    if vectors or not all_step(x, g, (mean, square, largest)):
        by_numpy.adam_step(
            x, g, mean, square, largest, rate, root, beta1, beta2, eps, decay, shrink
        )
        return
    fixed_rate, fixed_root = rate, root
    if np.PyArray_TYPE(x) == np.NPY_FLOAT32:
        with nogil:
            adam_blocks[float](
                <float *> a, <const float *> b, <float *> c, <float *> d, <float *> e, n,
                fixed_rate, fixed_root, keep1, beta2, keep2, eps, decay, shrink,
            )
    else:
        with nogil:
            adam_blocks[double](
                <double *> a, <const double *> b, <double *> c, <double *> d, <double *> e, n,
                fixed_rate, fixed_root, keep1, beta2, keep2, eps, decay, shrink,
            )
