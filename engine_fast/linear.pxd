# C types of engine/ops/linear.py.
