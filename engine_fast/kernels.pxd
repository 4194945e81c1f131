# The kernels that compiled modules call directly.

cimport numpy as np

ctypedef void (*loop_function)(char **, np.npy_intp *, np.npy_intp *, void *) noexcept nogil

cdef struct Loop:
    loop_function run
    void *data

cdef class Elementwise:
    cdef object ufunc
    cdef Loop loops[2]
    cdef bint compares
    cdef int operands
    cdef np.ndarray result(self, np.ndarray x, object out)
    cpdef run(self, object a, object b=*, object out=*)
    cdef object slow(self, object a, object b, object out)
    cdef np.ndarray fast(self, object a, object b, object out)

cpdef Elementwise elementwise(object ufunc)
cpdef relu_forward(np.ndarray x)
cpdef relu_backward(np.ndarray g, np.ndarray y)
cpdef copied(np.ndarray x)
cpdef filled(np.ndarray x, double number)
cpdef fill(np.ndarray x, double number)
cpdef add_to(np.ndarray x, np.ndarray g)
cpdef put_number(np.ndarray x, np.ndarray mask, object number)
cpdef power_backward(np.ndarray g, np.ndarray a, double k)
cpdef sum_forward(np.ndarray x, tuple dims, bint keepdim)
cpdef centred(np.ndarray x, tuple dims)
cpdef extreme_forward(np.ndarray x, tuple dims, bint keepdim, bint largest)
cpdef softmax_forward(np.ndarray x, tuple dims, bint log)
cpdef softmax_backward(np.ndarray g, np.ndarray y, tuple dims, bint log)
cpdef taken(np.ndarray x, np.ndarray places, int dim)
cpdef joined(list arrays, int dim, bint new)
cpdef put_back(np.ndarray x, np.ndarray places, int dim, tuple shape)
cpdef spread(np.ndarray g, tuple shape, tuple dims)
cpdef expanded(np.ndarray x, tuple shape)
cpdef matmul_forward(np.ndarray a, np.ndarray b)
cpdef matmul_backward(np.ndarray g, np.ndarray a, np.ndarray b)
