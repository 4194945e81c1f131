# C types of engine/ops/index.py.
