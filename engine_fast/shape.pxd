# C types of engine/ops/shape.py.

from engine_fast cimport interpreter, kernels, modes
from engine_fast.dims cimport axis, complete, each_axis, inverse, reverse, sizes
from engine_fast.nodes cimport array_of
from engine_fast.tensors cimport applied, applied_in_place, make, viewed

cpdef bint shares(object array, tuple shape) except -1
