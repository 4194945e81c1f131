# C fields of engine/quiet.py.

from engine_fast cimport interpreter

cdef class Quiet:
    cdef object before

cpdef begin()
cpdef end(object before)
cpdef setting()
cpdef restore(object setting)
