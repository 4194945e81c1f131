# C types of engine/tensors.py: what runs for every operation on tensors.

cimport cython

from engine_fast cimport modes, nodes

cpdef times(object g, object slope, bint selection)
cpdef as_ndarray(object x)
@cython.locals(t=nodes.TensorBase)
cpdef make(object array)
cpdef apply_rule(object rule, tuple operands)
cpdef as_operands(tuple operands)
cpdef list as_arrays(object rule, object operands)
cpdef as_array(object x, object wanted, object where)
@cython.locals(keep=frozenset, edges=list, saved=list)
cpdef record(object rule, object operands, list arrays, nodes.TensorBase out)
cpdef operand(object x)
