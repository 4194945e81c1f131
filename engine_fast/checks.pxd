# C types of engine/checks.py.

cimport cython

from engine_fast cimport depth, interpreter, nodes, value

cpdef saveable(object node, tuple tensors, bint again)
cpdef tuple saved_tensors(nodes.NodeBase node)
cpdef bint abandoned(nodes.NodeBase node) except -1
cpdef changeable(object node, tuple tensors)
cpdef joined(object node, object x, tuple args)
@cython.locals(i=Py_ssize_t)
cpdef tuple arguments(nodes.NodeBase node, list grads)
@cython.locals(i=Py_ssize_t, n=Py_ssize_t)
cpdef tuple counted(nodes.NodeBase node, object given)
cpdef bint more_than(Py_ssize_t n, tuple given) except -1
cpdef pure_view(tuple args, tuple outputs)
cpdef dirty(object node, object x, tuple inputs, tuple outputs)
cpdef bint any_in_graphs(tuple xs) except -1
cpdef bint is_view(object x) except -1
cpdef tuple guarded(nodes.NodeBase node, tuple given, tuple grads)
cpdef fit(object g, tuple edge, object node, object i, bint create_graph)
@cython.locals(count=Py_ssize_t)
cpdef Py_ssize_t arrived(list grads) except -1
cpdef list at_one_place(list grads)
