# C types of engine/creation.py.

from engine_fast cimport quiet
from engine_fast.tensors cimport as_ndarray, make

cpdef made(object array, bint requires_grad=*)
cpdef new_array(object data, object wanted, object where)
cpdef bint is_sequence(object x) except -1
cpdef array_of_list(list data, object wanted, object where)
cpdef common(list kinds)
cpdef dict kinds_in(object data, object where)
cpdef dict kinds_of(list same, object kind, object where)
cpdef dtype_of(object x, object where)
cpdef plain(object data, object where)
cpdef converted(object data, object wanted, object where)
cpdef tuple shape_of(tuple sizes, object size, object where)
cpdef whole(object n, object name, object where)
cpdef floating(object dtype)
