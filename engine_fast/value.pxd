# C types of engine/value.py: the fields of a node, and of what runs for every node.

cimport cython

from engine_fast cimport interpreter, modes, rules, special

cdef class Value:
    cdef readonly double _data, _slope_a, _slope_b
    cdef double _flight
    cdef public double _grad
    cdef readonly Value _a, _b
    cdef public object _extra
    cdef long long _mark
    cdef public unsigned char _requires_grad

cdef class Extra:
    cdef public object attributes, ctx, hooks, op, push, slopes
    cdef public list parents
    cdef public Py_ssize_t index, seen
    cdef long long walk
    @cython.locals(i=Py_ssize_t, slopes="double *")
    cpdef list pairs(self)
    cpdef bint runs_user_code(self)

cpdef bint is_number(object x)
cpdef Extra extra_of(Value v)
cpdef double as_float(object x, object where) except? -1
cpdef double as_number(object x, object where) except? -1
cdef Value watch(object what, Value v, object more=*)
@cython.locals(v=Value)
cdef Value node(double y, Value a, double slope_a, Value b, double slope_b, object op)
cdef bint tracked(Value v)
@cython.locals(x=double, y=double, v=Value)
cdef Value unary(Value a, rules.unary_value value, rules.unary_slope slope, object op)
@cython.locals(x=double, y=double, k=double, v=Value)
cdef Value option(Value a, object number, rules.binary_value value, rules.option_slope slope, object op)
@cython.locals(v=Value, p=Value, q=Value, x=double, z=double, y=double, slope_a=double, slope_b=double)
cdef object binary(object a, object b, rules.binary_value value, rules.binary_slopes slopes, object op)
@cython.locals(v=Value, p=Value, q=Value, x=double, z=double, y=double, slope_a=double, slope_b=double)
cdef object with_number(object a, object b, rules.binary_value value, rules.binary_slopes slopes, object op)
cdef object named(object a, object b, rules.binary_value value, rules.binary_slopes slopes, object op)
cpdef Value observed(Value v, object op, tuple operands)
@cython.locals(order=list, leaves=list)
cpdef bint walk(Value root, double gradient) except -1
@cython.locals(v=Value, p=Value, waiting=list)
cdef bint arrange(list order, list leaves, Value root, long long now) except -1
cdef bint has_parents(Value v)
@cython.locals(p=Value, parents=list, i=Py_ssize_t)
cdef Value further(Extra extra, long long now, list leaves)
@cython.locals(v=Value, g=double, c=double)
cdef int push_back(list order) except -1
@cython.locals(c=double)
cpdef double contribution(Value v, double gradient, double slope) except? -1
@cython.locals(v=Value)
cpdef keep_all(list leaves)
cpdef bint has_grad(Value v)
@cython.locals(p=Value, i=Py_ssize_t, c=double, slopes="double *")
cdef int spread(Value v, double g, Extra extra) except -1
