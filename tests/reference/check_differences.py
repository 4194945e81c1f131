"""Checks with real torch what docs/differences.md says that PyTorch prints.

Run it where torch and pytest are installed: python tests/reference/check_differences.py
"""

import sys
from pathlib import Path

import torch

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]

from test_differences import agree, printed, sections  # noqa: E402

wrong = 0
for section in sections():
    program, lines = section.values
    found = printed(program, torch)
    if not agree([line for who, line in lines if who == "PyTorch"], found):
        wrong += 1
        print(f"{section.id}: PyTorch prints {found}")
sys.exit(f"{wrong} differ" if wrong else None)
