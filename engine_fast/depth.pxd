# C types of engine/depth.py.

from engine_fast cimport interpreter, modes

cpdef bint in_walk() except -1
cpdef run(object walk)
