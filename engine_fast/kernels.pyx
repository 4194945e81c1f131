# The batched kernels of engine/kernels.py: the same names, signatures and numbers.
# What they win is call overhead and temporaries; matrix products go to the BLAS that NumPy
# carries. Arrays that a kernel was not built for go to its NumPy version.

cimport cython
cimport numpy as np

import numpy

from engine import kernels as by_numpy

from libc.math cimport sqrt, sqrtf

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


cdef inline bint all_step(np.ndarray x, np.ndarray g, tuple others) noexcept:
    """Whether a loop takes the step: x and g, and what is kept for them, None or an array."""
    cdef int kind = np.PyArray_TYPE(x)
    if (kind != np.NPY_FLOAT32 and kind != np.NPY_FLOAT64) or not steps(x, g, kind):
        return False
    for other in others:
        if other is not None and not steps(other, g, kind):
            return False
    return True


cdef inline void *data_of(np.ndarray x) noexcept:
    return NULL if x is None else np.PyArray_DATA(x)


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
