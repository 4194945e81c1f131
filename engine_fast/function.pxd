# C types of engine/function.py: what runs for every call of a Function.

cimport cython

from engine_fast cimport checks, modes, nodes

cdef class FunctionBase(nodes.NodeBase):
    cdef tuple differentiate(self, list grads)
    cdef release(self)

cpdef materialized(nodes.NodeBase node, Py_ssize_t i, object g)
@cython.locals(outputs=tuple, results=tuple)
cpdef finish(nodes.NodeBase node, tuple args, object output, bint recorded)
cpdef result(nodes.NodeBase node, Py_ssize_t i, object x, tuple args, bint recorded)
cpdef gradient_of(object cls)
