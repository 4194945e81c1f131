# C types of engine/ops/reduce.py.

from engine_fast cimport kernels, modes
from engine_fast.nodes cimport array_of
from engine_fast.tensors cimport applied, make

cpdef tuple axes(object dim, Py_ssize_t ndim)
