# C types of engine/ops/index.py.

cimport cython

from engine_fast cimport interpreter, kernels, modes, nodes
from engine_fast.nodes cimport array_of
from engine_fast.tensors cimport applied, applied_in_place, is_mask_of, make, unseen, viewed

cpdef as_item(object item)
cpdef listed(object item)
cpdef as_places(object array)
cpdef tuple as_tuple(object index)
cpdef bint is_item(object x) except -1
cpdef tuple separated(object index, tuple shape)
cpdef bint hold_arrays(list items) except -1
@cython.locals(d=Py_ssize_t)
cpdef tuple within(list items, tuple shape)
cpdef tuple halved(object index, nodes.TensorBase x)
@cython.locals(ellipsis=bint)
cpdef list filled(list items, tuple shape)
cpdef bint is_mask(object item) except -1
cpdef tuple halves(object item, tuple shape, Py_ssize_t d)
cpdef check_place(object i, object n, object d)
cpdef save_index(nodes.NodeBase ctx, tuple index, tuple others=*)
cpdef bint only_masks(tuple index) except -1
cpdef add_back(object array, tuple index, tuple shape)
cpdef taken(object array, tuple index)
cpdef bint trivial(tuple basic) except -1
cpdef last_part(tuple basic)
cpdef bint is_every(object x) except -1
cpdef basic_view(object input, tuple basic)
