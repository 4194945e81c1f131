# C types of engine/ops/reduce.py.
