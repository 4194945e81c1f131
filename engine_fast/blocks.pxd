# C types of engine/blocks.py.

from engine_fast cimport interpreter, modes

cdef class Entered:
    cdef dict __dict__
    cdef object __weakref__
    cdef public list before
    cdef public bint mode
