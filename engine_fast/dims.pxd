# C types of engine/ops/dims.py.

cimport cython

cpdef Py_ssize_t axis(object dim, Py_ssize_t ndim) except -1
cpdef tuple each_axis(object dims, Py_ssize_t ndim)
cpdef tuple sizes(tuple given)
cpdef bint fills(tuple shape, object n) except -1
cpdef tuple complete(tuple shape, object n)
@cython.locals(back=list)
cpdef tuple inverse(tuple order)
cpdef tuple reverse(Py_ssize_t ndim)
