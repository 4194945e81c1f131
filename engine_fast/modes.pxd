# C types of engine/modes.py: an operation reads `watched` without asking Python.

cdef int watched
cdef object state
