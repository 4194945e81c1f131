# C types of engine/ops/shape.py.

from engine_fast cimport kernels, modes
from engine_fast.nodes cimport array_of
from engine_fast.tensors cimport applied, applied_in_place, make
