# C types of engine/ops/shape.py.
