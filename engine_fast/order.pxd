# C types of engine/ops/order.py.

from engine_fast cimport kernels
from engine_fast.dims cimport axis
from engine_fast.nodes cimport array_of
from engine_fast.reduce cimport axes, kept
from engine_fast.tensors cimport applied, make

cpdef nonempty(object name, object x, tuple dims)
cpdef over(object name, object kind, object x, object dim=*, object keepdim=*, object nans=*)
cpdef found(object ctx, object x, object y, tuple dims, object nans)
cpdef without(object x, object dim, object keepdim)
cpdef tuple at(object name, object where, object x, object dim)
