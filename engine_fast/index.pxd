# C types of engine/ops/index.py.

from engine_fast cimport kernels, modes, nodes
from engine_fast.nodes cimport array_of
from engine_fast.tensors cimport applied_in_place, is_mask_of, make

cpdef tuple halved(object index, object x)
