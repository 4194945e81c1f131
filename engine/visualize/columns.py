"""A large graph packed for a page: its numbers in columns, base64 of little-endian arrays.

What plain Values have in common stands once. The page multiplies and adds what a plain step of the
walk back did, in the same order and so to the same bits; every other step is there in full.
"""

import base64
from collections.abc import Callable, Hashable, Iterable
from typing import Any

import numpy as np

from engine.nodes import Value
from engine.visualize.boxes import Box, from_function
from engine.visualize.recording import Call, Visit
from engine.visualize.views import Recorded, backward_step, encoded, forward, head

# Slopes that follow from the rule, from what it was given.
IMPLIED: dict[str, Callable[[list[Any]], list[Any]]] = {
    "+": lambda data: [1.0, 1.0],
    "-": lambda data: [1.0, -1.0],
    "*": lambda data: [data[1], data[0]],
}


def columns(all_: Recorded, place: dict[int, int]) -> dict[str, Any]:
    """The boxes and steps of a large graph. place: the box of each object, by its id."""
    boxes = all_.boxes
    parts = {"heads": heads(all_), "labels": table(box.label for box in boxes)}
    parts["layers"] = table(all_.layers)
    parts["stacks"] = table(all_.stacks, lambda stack: calls(stack, all_.files))
    return {"columns": {**parts, **numbers(boxes, all_.side), **steps(all_, place)}}


def heads(all_: Recorded) -> dict[str, Any]:
    """What boxes have in common, and which of it each has."""
    found: dict[Any, dict[str, Any]] = {}
    keys = []
    for box in all_.boxes:
        made = head(box, all_)
        keys.append(repr(made))
        found.setdefault(keys[-1], made)
    return table(keys, found.__getitem__)


def table(keys: Iterable[Hashable], shown: Callable[[Any], Any] = lambda key: key) -> Any:
    """The different keys, and for each its number: {"of": [...], "which": column}."""
    numbers: dict[Hashable, int] = {}
    which = [numbers.setdefault(key, len(numbers)) for key in keys]
    return {"of": [shown(key) for key in numbers], "which": whole(which)}


def calls(stack: tuple[Call, ...], files: list[str]) -> list[Any]:
    """The calls that led to a line, those in files that the page shows."""
    return [[files.index(file), line, name] for file, line, name in stack if file in files]


def numbers(boxes: list[Box], side: int) -> dict[str, Any]:
    """Data, parents and slopes of all boxes; in full those of what is no plain number."""
    data = [box.data if type(box.data) is float else 0.0 for box in boxes]
    others = {
        i: encoded(box.data, side) for i, box in enumerate(boxes) if type(box.data) is not float
    }
    flags = [flag(box, boxes) for box in boxes]
    slopes = [s for box, f in zip(boxes, flags, strict=True) if f == 2 for s in known(box)]
    return {
        "data": floats(data),
        "others": {i: x for i, x in others.items() if x is not None},
        "unknown": [i for i, x in others.items() if x is None],
        "counts": whole([len(box.parents) for box in boxes]),
        "parents": whole([i - p for i, box in enumerate(boxes) for p in box.parents]),
        "flags": whole(flags),
        "slopes": floats(slopes),
    }


def known(box: Box) -> list[float]:
    """The slopes of a box that are numbers: not those by constants."""
    return [slope for slope in box.slopes if slope is not None]


def flag(box: Box, boxes: list[Box]) -> int:
    """0: no slope is a number. 1: they follow from the operation. 2: they are listed."""
    if not known(box):
        return 0
    implied = IMPLIED.get(box.op) if len(box.parents) == 2 else None
    if implied is None:
        return 2
    expected = implied([boxes[p].data for p in box.parents])
    same = all(s is None or s == e for s, e in zip(box.slopes, expected, strict=True))
    return 1 if same else 2


def steps(all_: Recorded, place: dict[int, int]) -> dict[str, Any]:
    """The order of the forward and of the backward pass, and the steps that are not plain."""
    visits = all_.walk.visits
    return {
        "made": whole(forward(all_.boxes, all_.made)),
        "visits": whole([place[id(visit.node)] for visit in visits]),
        "full": {
            k: backward_step(visit, all_, place)
            for k, visit in enumerate(visits)
            if not plain(visit, all_.boxes[place[id(visit.node)]])
        },
    }


def plain(visit: Visit, box: Box) -> bool:
    """Whether a step is that of a Value with slopes, or of a leaf without a gradient before."""
    v = box.thing
    if not isinstance(v, Value) or visit.hooked is not None or from_function(v):
        return False
    if type(visit.arrived.get(0)) is not float:
        return False
    if v.is_leaf:
        return visit.kept is not None and visit.kept[0] is None
    return len(visit.given) == len(known(box))


def floats(numbers: list[float]) -> dict[str, str]:
    """A column of doubles."""
    return column(np.asarray(numbers, "<f8"), "Float64Array")


def whole(numbers: list[int]) -> dict[str, str]:
    """A column of whole numbers from 0 up, as narrow as they allow."""
    most = max(numbers, default=0)
    bits = next(bits for bits in (8, 16, 32) if most < 2**bits)
    return column(np.asarray(numbers, f"<u{bits // 8}"), f"Uint{bits}Array")


def column(array: Any, kind: str) -> dict[str, str]:
    return {"kind": kind, "base64": base64.b64encode(array.tobytes()).decode("ascii")}
