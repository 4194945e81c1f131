# The batched kernels of engine/kernels.py: the same names, signatures and numbers.
# What they win is call overhead and temporaries; matrix products go to the BLAS that NumPy
# carries. Arrays that a kernel was not built for go to its NumPy version.

cimport numpy as np

import numpy

from engine import kernels as by_numpy

np.import_array()

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
    return np.PyArray_EMPTY(np.PyArray_NDIM(x), np.PyArray_DIMS(x), np.PyArray_TYPE(x), 0)


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


def relu_forward(np.ndarray x):
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


def relu_backward(np.ndarray g, np.ndarray y):
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


# NumPy's own loop for the product of two matrices, taken from np.matmul: the same numbers to the
# last bit, inf and nan included, without the call around it.
ctypedef void (*product_loop)(char **, np.npy_intp *, np.npy_intp *, void *) noexcept nogil


cdef struct Loop:
    product_loop run
    void *data


cdef Loop loop_of(int kind):
    cdef np.ufunc matmul = <np.ufunc> numpy.matmul
    cdef Loop found
    found.run = NULL
    for i in range(matmul.ntypes):
        if matmul.types[3 * i] == kind and found.run == NULL:
            found.run = <product_loop> <void *> matmul.functions[i]
            found.data = matmul.data[i] if matmul.data != NULL else NULL
    return found


cdef Loop of_float = loop_of(np.NPY_FLOAT32)
cdef Loop of_double = loop_of(np.NPY_FLOAT64)


cdef bint fits(np.ndarray a, np.ndarray b) noexcept:
    """Whether a loop takes the product: two matrices of one floating type whose sizes agree."""
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
        and np.PyArray_DIM(a, 1) == np.PyArray_DIM(b, 0)
    )


cdef np.ndarray product(np.ndarray a, np.ndarray b):
    """a @ b of two matrices that fit."""
    cdef np.npy_intp shape[2]
    cdef np.npy_intp sizes[4]
    cdef np.npy_intp steps[9]
    cdef char *data[3]
    cdef Loop loop = of_float if np.PyArray_TYPE(a) == np.NPY_FLOAT32 else of_double
    shape[0], shape[1] = np.PyArray_DIM(a, 0), np.PyArray_DIM(b, 1)
    cdef np.ndarray y = np.PyArray_EMPTY(2, shape, np.PyArray_TYPE(a), 0)
    sizes[0], sizes[1], sizes[2], sizes[3] = 1, shape[0], np.PyArray_DIM(a, 1), shape[1]
    steps[0] = steps[1] = steps[2] = 0
    steps[3], steps[4] = np.PyArray_STRIDE(a, 0), np.PyArray_STRIDE(a, 1)
    steps[5], steps[6] = np.PyArray_STRIDE(b, 0), np.PyArray_STRIDE(b, 1)
    steps[7], steps[8] = np.PyArray_STRIDE(y, 0), np.PyArray_STRIDE(y, 1)
    data[0], data[1] = <char *> np.PyArray_DATA(a), <char *> np.PyArray_DATA(b)
    data[2] = <char *> np.PyArray_DATA(y)
    with nogil:
        loop.run(data, sizes, steps, loop.data)
    return y


def matmul_forward(np.ndarray a, np.ndarray b):
    return product(a, b) if fits(a, b) else by_numpy.matmul_forward(a, b)


cdef inline np.ndarray transposed(np.ndarray x):
    return x if x is None or np.PyArray_NDIM(x) != 2 else np.PyArray_SwapAxes(x, 0, 1)


def matmul_backward(np.ndarray g, np.ndarray a, np.ndarray b):
    cdef np.ndarray left = transposed(a), right = transposed(b)
    if (left is not None and not fits(left, g)) or (right is not None and not fits(g, right)):
        return by_numpy.matmul_backward(g, a, b)
    return (
        None if right is None else product(g, right),
        None if left is None else product(left, g),
    )
