# C types of engine/modes.py: an operation reads `watched` without asking Python.

from engine_fast cimport interpreter

cdef int watched
cdef object state
cpdef count(int change)
cpdef bint set_grad(bint mode) except -1
cpdef tuple set_observers(tuple observers)
cpdef bint is_grad_enabled() except -1
cpdef tuple observers()
