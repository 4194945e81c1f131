# C types of engine/arguments.py.

from engine_fast cimport nodes

cpdef tuple bound(object function, tuple args, dict kwargs)
cpdef tuple bind(object function, tuple args, dict kwargs)
