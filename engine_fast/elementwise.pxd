# C types of engine/ops/elementwise.py.
