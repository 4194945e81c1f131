"""How numbers, tensors and boxes read in pictures, trees and pages."""

import re
from typing import Any

import numpy as np

from engine.visualize.boxes import Box

NOT_YET = "no gradient yet"
LONGEST = 28
# What XML 1.0 has no way to write, and line ends, which would part a line.
UNWRITABLE = re.compile("[^ -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def clean(text: str) -> str:
    """text on one line, of characters that XML can hold."""
    return UNWRITABLE.sub("\N{REPLACEMENT CHARACTER}", text.replace("\n", " ").replace("\t", " "))


def short(text: str) -> str:
    """A label as a box shows it: at most 28 characters."""
    text = clean(text)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def number(x: Any) -> str:
    """A number with four significant digits; least … greatest of two."""
    if isinstance(x, tuple):
        return number(x[0]) if x[0] == x[1] else f"{number(x[0])} … {number(x[1])}"
    if hasattr(x, "_array"):
        return of_array(x._array)
    return f"{x:.4g}"


def of_array(array: Any) -> str:
    """The numbers of an array of at most three, otherwise least, mean and greatest."""
    if array.shape == ():
        return f"{array.item():.4g}"
    if array.size <= 3:
        return f"[{', '.join(f'{x:.4g}' for x in array.ravel().tolist())}]"
    with np.errstate(all="ignore"):
        return f"{array.min():.4g} … {array.max():.4g}, mean {array.mean():.4g}"


def exact(x: Any) -> str:
    """A number in full."""
    if isinstance(x, tuple):
        return f"{x[0]!r} … {x[1]!r}"
    return number(x) if hasattr(x, "_array") else repr(x)


def heading(box: Box) -> str:
    """Label and operation, and how many nodes a folded box stands for."""
    times = f"{box.count} × " if box.count > 1 else ""
    parts = [short(box.label), short(box.op)]
    return times + "  ".join(part for part in parts if part)


def lines(box: Box) -> list[tuple[str, str]]:
    """What stands in a box: pairs of a class ("head data grad none note") and a text."""
    if box.kind == "constant" and box.shape is None:
        return [("none", "a constant") if box.data is None else ("data", number(box.data))]
    shown = [("head", heading(box))] if heading(box) else []
    if box.shape is not None:
        shown.append(("note", f"{box.dtype} {box.shape}"))
    if box.data is not None:
        shown.append(("data", f"data {number(box.data)}"))
    if box.has_gradient:
        there = box.grad is not None
        shown.append(("grad", f"grad {number(box.grad)}") if there else ("none", NOT_YET))
    notes = [*box.notes, box.line] if box.line else box.notes
    return shown + [("note", short(note)) for note in notes]


def sentence(box: Box) -> str:
    """Everything about a box in one line, in full precision: for tooltips and screen readers."""
    parts = [clean(box.label) or box.kind]
    parts += [f"operation {clean(box.op)}"] if box.op else []
    parts += [f"shape {box.shape}"] if box.shape is not None else []
    parts += [f"data {exact(box.data)}"] if box.data is not None else []
    if box.has_gradient:
        parts.append(NOT_YET if box.grad is None else f"gradient {exact(box.grad)}")
    parts += [f"made at {clean(box.line)}"] if box.line else []
    return ", ".join([*parts, *map(clean, box.notes)])
