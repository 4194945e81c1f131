# engine/function.py asks the nodes and the modes in C.

from engine_fast cimport modes, nodes
