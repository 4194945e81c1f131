# C fields of engine/quiet.py.

cdef class Quiet:
    cdef object before
