# C types of engine/fused.py.

cimport cython

from engine_fast cimport elementary as m
from engine_fast cimport interpreter, modes, value
from engine_fast.value cimport Extra, Value

@cython.locals(i=Py_ssize_t, out="double *")
cpdef object as_row(object numbers, object where)
@cython.locals(p=Value)
cpdef adopt(Value v, Extra extra, list parents, object slopes)
@cython.locals(v=Value)
cdef Value wide(double y, list parents, object slopes, object op)

@cython.locals(p=Value)
cdef double take(object x, object op, list parents, Py_ssize_t i) except? -1
@cython.locals(i=Py_ssize_t, numbers="double *")
cdef object taken(list xs, object op, list parents)
@cython.locals(parents=list, i=Py_ssize_t, numbers="double *", y=double, p=Value, v=Value)
cpdef Value sum(list xs)
@cython.locals(parents=list, i=Py_ssize_t, n=Py_ssize_t, slopes="double *", y=double, a=double, b=double, v=Value)
cpdef Value dot(list xs, list ys)
@cython.locals(i=Py_ssize_t)
cpdef add_products(object total, object xs, object ys)
@cython.locals(parents=list, i=Py_ssize_t, n=Py_ssize_t, numbers="double *", y=double, equals=double, slope=double, p=Value, v=Value)
cpdef Value maximum(list xs)
@cython.locals(i=Py_ssize_t, top=double, total=double)
cdef double shares(double *x, double *y, Py_ssize_t first, Py_ssize_t n) noexcept
@cython.locals(i=Py_ssize_t, x="double *", y="double *", p=Value)
cdef int keep_constants(object row, object out, list parents) except -1
@cython.locals(parents=list, y=double, v=Value)
cpdef Value logsumexp(list xs)
@cython.locals(parents=list, y=double, slopes="double *", numbers="double *", v=Value)
cpdef Value cross_entropy(list xs, Py_ssize_t k)
@cython.locals(parents=list, i=Py_ssize_t, numbers="double *", y="double *", into="double *", log_sum=double, total=Value, p=Value, q=Value, v=Value)
cpdef list softmax(list xs)
@cython.locals(x=double)
cpdef list values(list numbers, bint requires_grad)
cpdef list numbers(list xs)
cpdef bint same(list xs, list ys)
@cython.locals(found=list, others=list)
cpdef tuple split(list params)
@cython.locals(v=Value, i=Py_ssize_t, lacking=list)
cpdef list read_columns(list vs, double[::1] x, double[::1] g)
@cython.locals(v=Value, i=Py_ssize_t)
cpdef write_column(list vs, double[::1] x)
@cython.locals(v=Value)
cpdef clear_grads(list vs, bint none)
