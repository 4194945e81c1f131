# C types of engine/checks.py.

from engine_fast cimport nodes

cpdef fit(object g, tuple edge, object node, object i, bint create_graph)
