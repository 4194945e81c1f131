# C types of engine/ops/shape.py.

from engine_fast cimport interpreter, kernels, modes
from engine_fast.dims cimport axis, complete, each_axis, inverse, reverse, sizes
from engine_fast.nodes cimport array_of
from engine_fast.tensors cimport applied, applied_in_place, make, unseen, viewed

cpdef reshaped(object g, tuple shape)
cpdef put_back(object array, object view, tuple shape, tuple how)
cpdef bint shares(object array, tuple shape) except -1
