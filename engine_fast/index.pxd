# C types of engine/ops/index.py.

from engine_fast cimport kernels, modes
from engine_fast.tensors cimport make
