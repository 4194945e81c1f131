# C types of engine/ops/reduce.py.

from engine_fast cimport interpreter, kernels, modes
from engine_fast.dims cimport axis, each_axis, sizes
from engine_fast.nodes cimport array_of, is_floating
from engine_fast.tensors cimport applied, make

cpdef tuple axes(object dim, Py_ssize_t ndim)
cpdef tuple kept(tuple shape, tuple dims)
cpdef count(object x, tuple dims)
cpdef spread(object g, tuple shape, tuple dims)
cpdef floating(object x, object name)
cpdef tuple scores(object name, object x, object dim, object dtype)
cpdef mean_of(object ctx, object x, tuple dims, object keepdim)
cpdef as_of(object x, object array)
cpdef variance(object ctx, object x, tuple dims, double divisor, object keepdim)
