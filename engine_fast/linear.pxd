# C types of engine/ops/linear.py.

from numpy cimport ndarray

from engine_fast cimport kernels, modes, nodes
from engine_fast.checks cimport saved_tensors
from engine_fast.nodes cimport array_of
from engine_fast.tensors cimport applied, make

cpdef keep_factors(nodes.NodeBase ctx, object a, object b)
cpdef bint are_factors(ndarray a, ndarray b) except -1
