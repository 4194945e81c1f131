# C types of engine/nodes.py: the fields of a tensor, and what every operation asks.

cimport cython

cdef class TensorBase:
    cdef dict __dict__
    cdef object __weakref__
    cdef public object _array, _base, _counter, _grad, _hooks, _node, _view
    cdef public Py_ssize_t _output_nr
    cdef public bint _requires_grad

cdef class Saved:
    cdef public object number, saved, version
    cdef public bint between, inner
    cpdef unpack(self, object node)

cpdef bint needs_grad(object x) except -1
cpdef bint wants_grad(TensorBase t) except -1
cpdef edge_of(object x)
cpdef attach(object x, object node, object number)
cpdef position(object x, tuple where)
cpdef shape_of(object x)
cpdef bint any_needs_grad(object xs) except -1
cpdef tuple all_needs_grad(tuple xs)
cpdef link(object node, tuple inputs)
