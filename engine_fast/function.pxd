# C types of engine/function.py: what runs for every call of a Function.

cimport cython

from engine_fast cimport checks, interpreter, modes, nodes, quiet
from engine_fast.arguments cimport bound

cdef class FunctionBase(nodes.NodeBase):
    cdef tuple differentiate(self, list grads)
    cdef release(self)

@cython.locals(outputs=tuple, results=tuple, i=Py_ssize_t)
cpdef finish(nodes.NodeBase node, tuple args, object output, bint recorded)
cpdef result(nodes.NodeBase node, Py_ssize_t i, object x, tuple args, bint recorded)
cpdef new_node(object function)
@cython.locals(ctx=nodes.NodeBase, recorded=bint, before=bint, seen=tuple)
cpdef applied(object function, tuple args)
cpdef run(object function, nodes.NodeBase ctx, tuple args)
cpdef gradient_of(object cls)
