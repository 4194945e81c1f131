# C types of engine/ops/join.py.

cimport cython
from engine_fast.dims cimport axis
from engine_fast.nodes cimport array_of
from engine_fast.tensors cimport applied, make

cpdef joined(list arrays, object dim)
cpdef list listed(object tensors, object where)
@cython.locals(i=Py_ssize_t)
cpdef check_aligned(list tensors, object dim)
cpdef bint holds_tensor(object tensors) except -1
