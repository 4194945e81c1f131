# C types of engine/views.py.

cimport cython

from engine_fast cimport interpreter, modes, nodes

cdef class View:
    cdef public object changed, number, operation, refusal
    cdef public View previous
    cdef public tuple rest
    cdef public Py_ssize_t version

cpdef Py_ssize_t changes(list counter) except -1
@cython.locals(before=View, how=View)
cpdef link(
    nodes.TensorBase out, nodes.TensorBase source, object operation, tuple rest, object number
)
cpdef check(nodes.TensorBase x, object name, bint recorded)
cpdef check_recorded(object x, object name)
