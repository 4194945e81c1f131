# C types of engine/ops/elementwise.py.

from engine_fast cimport nodes, value
from engine_fast.tensors cimport apply_rule, checked_operand, put_rule
