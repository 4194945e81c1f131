# C types of engine/ops/join.py.

cimport cython

from engine_fast cimport interpreter, kernels, modes
from engine_fast.dims cimport axis
from engine_fast.nodes cimport array_of
from engine_fast.tensors cimport applied, make

cpdef part(object g, object dim, object start, object n)
cpdef list of_one_dtype(list arrays)
@cython.locals(i=Py_ssize_t, found=list)
cpdef list listed(object tensors, object where)
cpdef list some(object tensors, object where)
@cython.locals(i=Py_ssize_t)
cpdef check_aligned(list tensors, object dim)
cpdef bint holds_tensor(object tensors) except -1
