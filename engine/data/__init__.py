"""Data to train on: real digits that ship with engine, made points, and files of one's own."""

from engine.data.files import load, split
from engine.data.images import digits
from engine.data.points import moons

__all__ = ["digits", "load", "moons", "split"]
