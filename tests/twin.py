"""The interpreted twin of a compiled module, for tests that compare the two in one process."""

import importlib
import sys

import engine

TOGETHER = ("modes", "value")  # a Value reads the modes of its own build


def interpreted(name):
    """engine/NAME.py as Python runs it, also where `engine.NAME` is the compiled module."""
    kept = {n: sys.modules.pop(f"engine.{n}") for n in TOGETHER}
    for n in TOGETHER:
        delattr(engine, n)
    try:
        return importlib.import_module(f"engine.{name}")
    finally:
        for n, module in kept.items():
            sys.modules[f"engine.{n}"] = module
            setattr(engine, n, module)
