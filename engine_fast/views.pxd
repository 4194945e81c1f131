# C types of engine/views.py.

from engine_fast cimport interpreter, modes, nodes

cpdef check(nodes.TensorBase x, object name, bint recorded)
cpdef check_recorded(object x, object name)
