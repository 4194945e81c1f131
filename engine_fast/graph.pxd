# C types of engine/graph.py: the state of a walk, and what it does for every node.

cimport cython

from engine_fast cimport checks, interpreter, modes, nodes, quiet, value

@cython.locals(order=list, open_nodes=list, edge=tuple)
cpdef list topological(list roots, object numbers=*)
cpdef current_walk()
cpdef set_walk(object walk)

cdef class Walk:
    cdef object __weakref__
    cdef public bint retain_graph, create_graph, writes
    cdef public list order, flight, arrived
    cdef public dict captured, callbacks
    cdef public set needed
    cdef public object numbers, wanted
    @cython.locals(arrived=list, i=Py_ssize_t, n=Py_ssize_t)
    cpdef add(self, tuple edge, object g)
    cpdef let_write(self, list inputs)
    cpdef bint leads_on(self, object node, Py_ssize_t i) except -1
    @cython.locals(n=Py_ssize_t)
    cpdef run(self)
    cpdef visit(self, object node, list grads)
    cpdef visit_leaf(self, nodes.TensorBase leaf, list grads)
    @cython.locals(i=Py_ssize_t, edge=tuple, given=tuple, runs=bint)
    cpdef visit_node(self, nodes.NodeBase node, list grads)
    cpdef bint goes_on(self, object node, list grads) except -1
    cpdef at_leaf(self, object x, object g)
