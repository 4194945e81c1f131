# C fields of engine/graph.py: the state of a walk.

from engine_fast cimport checks, interpreter, modes, nodes

cdef class Walk:
    cdef object __weakref__
    cdef dict __dict__
    cdef public bint retain_graph, create_graph, writes
    cdef public list order, arrived
    cdef public dict flight, captured, callbacks
    cdef public set needed
    cdef public object wanted
    cpdef add(self, tuple edge, object g)
    cpdef visit_node(self, object node, dict arrived)
    cpdef bint goes_on(self, object node, dict arrived) except -1
