# The batched kernels of engine/kernels.py: the same names, signatures and numbers.
# What they win is call overhead and temporaries; matrix products go to the BLAS that NumPy
# carries. Arrays that a kernel was not built for go to its NumPy version.

cimport numpy as np

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


cdef inline bint matrices(np.ndarray a, np.ndarray b) noexcept:
    """Whether BLAS can take the product: two matrices of one floating type that fit."""
    cdef int kind = np.PyArray_TYPE(a)
    return (
        np.PyArray_NDIM(a) == 2
        and np.PyArray_NDIM(b) == 2
        and kind == np.PyArray_TYPE(b)
        and (kind == np.NPY_FLOAT32 or kind == np.NPY_FLOAT64)
        and np.PyArray_DIM(a, 1) == np.PyArray_DIM(b, 0)
    )


def matmul_forward(np.ndarray a, np.ndarray b):
    if matrices(a, b):
        return np.PyArray_MatrixProduct(a, b)
    return by_numpy.matmul_forward(a, b)


def matmul_backward(np.ndarray g, np.ndarray a, np.ndarray b, bint need_a, bint need_b):
    if not (matrices(a, b) and matrices(g, np.PyArray_Transpose(b, NULL))):
        return by_numpy.matmul_backward(g, a, b, need_a, need_b)
    return (
        np.PyArray_MatrixProduct(g, np.PyArray_Transpose(b, NULL)) if need_a else None,
        np.PyArray_MatrixProduct(np.PyArray_Transpose(a, NULL), g) if need_b else None,
    )
