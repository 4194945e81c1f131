# C types of engine/tensors.py: what runs for every operation on tensors.

cimport cython

from engine_fast cimport differentiation, interpreter, kernels, modes, nodes, value
from engine_fast.function cimport finish, new_node
from engine_fast.views cimport check as check_change, link as link_view

cdef class Plan:
    cdef public object rule, name_in_place, forward, backward, kind
    cdef public kernels.Elementwise loop
    cdef public list needs
    cdef public tuple constants
    cdef public bint keeps_integers, selection
    cpdef compute(self, tuple arrays)
    cpdef compute_in(self, object wanted, tuple arrays)
    cpdef node(self)

cpdef Plan plan_of(object rule)

cdef class RuleBase(nodes.NodeBase):
    cdef public Plan plan
    cdef tuple differentiate(self, list grads)
    cdef release(self)

@cython.locals(given=list, operands=list)
cpdef tuple slopes_times(nodes.NodeBase node, Plan plan, object g, tuple saved)
cpdef times(object g, object slope, bint selection)
cpdef as_ndarray(object x)
@cython.locals(t=nodes.TensorBase)
cpdef make(object array)
cpdef apply_rule(object rule, tuple operands)
cpdef apply_plan(Plan plan, tuple operands)
@cython.locals(kinds=list)
cpdef tuple as_operands(tuple operands)
@cython.locals(i=Py_ssize_t)
cpdef tuple of_one_dtype(object rule, tuple operands)
cpdef as_float(object x, object rule)
cpdef as_array(object x, object wanted, object rule)
@cython.locals(node=RuleBase, saved=list, i=Py_ssize_t, n=Py_ssize_t, keep=int, need=int)
cpdef record(Plan plan, tuple operands, tuple arrays, nodes.TensorBase out)
cpdef operand(object x)
@cython.locals(ctx=nodes.NodeBase, recorded=bint)
cpdef applied(object operation, tuple args)
cpdef bint unseen() except -1
cpdef bint is_fresh(nodes.NodeBase ctx, tuple args, object out) except -1
cpdef viewed(object operation, tuple args)
cpdef joined(nodes.NodeBase ctx, tuple args, object out)
cpdef applied_in_place(object operation, object name, tuple args)
cpdef checked_operand(object x)
cpdef tuple with_operands(object x, tuple others)
cpdef put_rule(nodes.TensorBase x, object rule, tuple others)
cpdef bint directly(nodes.TensorBase x, Plan plan, tuple operands) except -1
cpdef bint is_mask_of(nodes.TensorBase mask, nodes.TensorBase x) except -1
