"""Measurements of `engine` beside its peers: `python -m benchmarks --help`.

Every figure is a ratio of two times taken in the same run, in turns; nothing here asserts a time.
"""
