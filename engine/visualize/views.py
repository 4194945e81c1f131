"""One view of a page: boxes with their places, arrows, and the steps that fill them in.

Every number in it is the engine's own; the page adds none. Steps are "make" (a node of the forward
pass, in the order of the program), "start", "pass" (a node hands its gradient on) and "keep" (a
leaf adds to its `.grad`).
"""

import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.habits import Value
from engine.nodes import TensorBase, value
from engine.registry import RULES
from engine.tensors import make
from engine.visualize.boxes import Box, boxes_in
from engine.visualize.layout import layout
from engine.visualize.recording import Made, RecordingWalk, Visit, made_of
from engine.visualize.svg import arrow
from engine.visualize.words import clean, number, short

WIDE, LINE, PAD, GAP = 7.3, 16.0, 10.0, 84.0
SHOWN = (int, float, tuple, TensorBase)
# A heat map has at most this many rows and columns.
MAP = 16

Where = tuple[str, int] | None


@dataclass(slots=True)
class Recorded:
    """A walk and its boxes; of each box where it was made, and its file and line. files: those of
    the lines, by first appearance."""

    walk: RecordingWalk
    boxes: list[Box]
    made: list[Made | None]
    lines: list[Where]
    files: list[str]


def recorded(walk: RecordingWalk, names: Mapping[int, str]) -> Recorded:
    """What there is to show of a walk. names: of objects, by id, where they have no label."""
    boxes = boxes_in(walk.order, {})
    for box in boxes:
        box.label = clean(box.label) or names.get(id(box.thing), "")
        box.data = walk.data.get(id(box.thing), box.data)
    made = [made_of(box.thing) if box.kind != "constant" else None for box in boxes]
    lines = lines_of(boxes, made)
    files = list(dict.fromkeys(where[0] for where in lines if where))
    return Recorded(walk, boxes, made, lines, files)


def view(boxes: list[Box], lines: list[Where], files: list[str], steps: Any) -> dict[str, Any]:
    """A view as the page has it."""
    return {
        **picture(boxes),
        "rules": {box.op: slopes_of(box) for box in boxes if slopes_of(box)},
        "boxes": [shown(box, where, files) for box, where in zip(boxes, lines, strict=True)],
        "steps": steps,
    }


def lines_of(boxes: list[Box], made: list[Made | None]) -> list[Where]:
    """File and line of each box; a leaf and a constant stand where they are first used."""
    lines: list[Where] = [(m.file, m.line) if m and m.file else None for m in made]
    first: dict[int, Made] = {}
    for box, m in zip(boxes, made, strict=True):
        for p in box.parents:
            if m and (p not in first or m.serial < first[p].serial):
                first[p] = m
    return [
        w or (first[i].file, first[i].line) if w or i in first else None
        for i, w in enumerate(lines)
    ]


def encoded(x: Any) -> Any:
    """A number as JSON has it, "nan", "inf" or "-inf"; an array with its heat map; or None."""
    if isinstance(x, Value):
        x = x.data
    if isinstance(x, tuple):
        return {"text": number(x), "cells": []} if x[0] != x[1] else encoded(x[0])
    if isinstance(x, TensorBase):
        return array_data(x._array)
    if x is None or isinstance(x, int) or math.isfinite(x):
        return x
    return repr(float(x))


def array_data(array: Any) -> Any:
    """What a page shows of an array."""
    if array.ndim == 0:
        return encoded(array.item())
    cells = array.reshape(-1, array.shape[-1]) if array.size else array.reshape(0, 0)
    rows = [[encoded(x) for x in row] for row in cells[:MAP, :MAP].tolist()]
    data: dict[str, Any] = {"text": number(make(array)), "shape": list(array.shape), "cells": rows}
    with np.errstate(all="ignore"):
        if array.size and array.dtype.kind == "f":
            finite = np.abs(array[np.isfinite(array)])
            data["most"] = float(finite.max()) if finite.size else 0.0
    return data


def shown(box: Box, where: Where, files: list[str]) -> dict[str, Any]:
    """One box as the page has it."""
    return {
        "kind": box.kind,
        "label": box.label,
        "count": box.count,
        "op": clean(box.op),
        "data": encoded(box.data) if isinstance(box.data, SHOWN) else None,
        "shape": None if box.shape is None else f"{box.dtype} {box.shape}",
        "parents": box.parents,
        "slopes": [encoded(slope) for slope in box.slopes],
        "notes": [clean(note) for note in box.notes],
        "at": [files.index(where[0]), where[1]] if where else None,
    }


def slopes_of(box: Box) -> str:
    """The slopes of a rule as its text has them: of operands a, b and the result y."""
    rule = RULES.get(value.op_of(box.thing) or "") if isinstance(box.thing, Value) else None
    if rule is None or rule._slopes is None:
        return ""
    try:
        text = inspect.getsource(rule._slopes)
    except OSError:  # typed into an interactive session
        return ""
    return clean(text.partition("return ")[2].strip()) if text.count("return ") == 1 else ""


def picture(boxes: list[Box]) -> dict[str, Any]:
    """Where boxes and arrows stand; a box has room for any gradient."""
    sizes = [size(box) for box in boxes]
    plan = layout(sizes, [box.parents for box in boxes], GAP)
    arrows = []
    for target, box in enumerate(boxes):
        for port, p in enumerate(box.parents):
            height = (port + 1) / (len(box.parents) + 1)
            path, tip = arrow(plan, sizes, p, target, height)
            arrows.append({"from": p, "to": target, "port": port, "path": path, "tip": tip})
    places = [
        [round(plan.x[i], 1), round(plan.y[i] - high / 2, 1), round(wide, 1), high]
        for i, (wide, high) in enumerate(sizes)
    ]
    return {"places": places, "arrows": arrows, "size": [round(plan.wide, 1), round(plan.high, 1)]}


def size(box: Box) -> tuple[float, float]:
    """Width and height of a box on a page."""
    if box.kind == "constant":
        words = [number(box.data)] if isinstance(box.data, (int, float)) else ["constant"]
        return len(words[0]) * WIDE + 2 * PAD, LINE + PAD
    head = len(short(box.label)) + len(short(box.op)) + 8
    numbers = 23 if box.shape is None and box.count == 1 else 34
    return max(head, numbers) * WIDE + 2 * PAD, 3 * LINE + PAD


def forward(boxes: list[Box], made: list[Made | None]) -> list[dict[str, Any]]:
    """The steps that make the nodes, in the order of the program, each leaf before its use."""
    numbers = sorted(
        (i for i, box in enumerate(boxes) if box.kind in ("operation", "function")),
        key=lambda i: (made[i].serial if made[i] else -1, i),  # type: ignore[union-attr]
    )
    order: dict[int, None] = {}
    for i in [*numbers, *range(len(boxes))]:
        for p in [*boxes[i].parents, i]:
            if boxes[p].kind in ("leaf", "outside", "constant") or p == i:
                order[p] = None
    return [{"do": "make", "box": i} for i in order if boxes[i].kind != "constant"]


def backward(walk: RecordingWalk, boxes: list[Box]) -> list[dict[str, Any]]:
    """The steps of the walk back, of those of its nodes that have a box."""
    place = {id(box.thing): i for i, box in enumerate(boxes) if box.kind != "outside"}
    targets = {id(box.thing): i for i, box in enumerate(boxes)}
    steps: list[dict[str, Any]] = []
    for visit in walk.visits:
        i = place.get(id(visit.node))
        if i is None:
            continue
        arrived = [[k, encoded(g)] for k, g in sorted(visit.arrived.items())]
        step = {"box": i, "arrived": arrived}
        if visit is walk.visits[0]:
            steps.append({"do": "start", **step})
        if visit.kept is not None:
            before, after = map(encoded, visit.kept)
            steps.append({"do": "keep", **step, "before": before, "after": after})
        else:
            given = contributions(visit, boxes[i], targets)
            steps.append({"do": "pass", **step, "given": given})
    return steps


def contributions(visit: Visit, box: Box, place: dict[int, int]) -> list[dict[str, Any]]:
    """What a node gave to each parent, with the slope where that is a number."""
    free = [(p, k) for k, p in enumerate(box.parents)]
    found = []
    for given in visit.given:
        target = place[id(given.node)]
        port = next(k for p, k in free if p == target)
        free.remove((target, port))
        found.append(
            {
                "to": target,
                "output": given.output,
                "port": port,
                "slope": encoded(box.slopes[port]),
                "gives": encoded(given.contribution),
                "before": encoded(given.before),
                "after": encoded(given.after),
            }
        )
    return found
