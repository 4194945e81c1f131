"""The story that a page tells, as data: sources, boxes with their places, arrows, and steps.

Every number in it is the engine's own; the page adds none. Steps are, in this order: "make" (a node
of the forward pass, in the order of the program), "start", "pass" (a node hands its gradient on)
and "keep" (a leaf adds to its `.grad`).
"""

import linecache
import math
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from engine.habits import Value
from engine.nodes import TensorBase
from engine.tensors import make
from engine.visualize.boxes import Box, Known, boxes_of
from engine.visualize.layout import layout
from engine.visualize.recording import Made, RecordingWalk, Visit, made_of
from engine.visualize.svg import route
from engine.visualize.words import clean, number, short

WIDE, LINE, PAD = 7.3, 16.0, 10.0
# A heat map has at most this many rows and columns.
MAP = 16


def story(walk: RecordingWalk, names: Mapping[int, str], title: str, remark: str) -> dict[str, Any]:
    """All that the page of one walk shows. names: of objects, by id, where they have no label."""
    boxes = boxes_of(list(roots_of(walk)), known_of(walk))
    place = {id(box.thing): i for i, box in enumerate(boxes)}
    for box in boxes:
        box.label = clean(box.label) or names.get(id(box.thing), "")
    made = [made_of(box.thing) if box.kind != "constant" else None for box in boxes]
    lines = lines_of(boxes, made)
    files = sorted({where[0] for where in lines if where}, key=order_of(lines))
    return {
        "title": title,
        "remark": remark,
        "sources": [source(file) for file in files],
        **picture(boxes),
        "boxes": [shown(box, where, files) for box, where in zip(boxes, lines, strict=True)],
        "steps": forward(boxes, made) + backward(walk, boxes, place),
    }


def roots_of(walk: RecordingWalk) -> list[Any]:
    """The nodes that the walk started from."""
    return [node for node, _ in walk.roots]


def known_of(walk: RecordingWalk) -> Known:
    """The Tensors whose numbers were recorded, by the node that made them."""
    found: Known = {}
    for node in walk.order:
        made = made_of(node)
        if made is not None and made.array is not None:
            found[id(node), 0] = make(made.array)
    return found


Where = tuple[str, int] | None


def lines_of(boxes: list[Box], made: list[Made | None]) -> list[Where]:
    """File and line of each box; a leaf and a constant stand where they are first used."""
    lines: list[Where] = [(m.file, m.line) if m and m.file else None for m in made]
    first: dict[int, Made] = {}
    for box, m in zip(boxes, made, strict=True):
        for p in box.parents:
            if m and (p not in first or m.serial < first[p].serial):
                first[p] = m
    return [w or (first[i].file, first[i].line) if w or i in first else None for i, w in enumerate(lines)]


def order_of(lines: list[Where]) -> Any:
    """A key that sorts files by their first appearance."""
    seen: dict[str, int] = {}
    for where in lines:
        if where:
            seen.setdefault(where[0], len(seen))
    return seen.__getitem__


def source(file: str) -> dict[str, Any]:
    """The name and the text of a file; a notebook's cell has a text too."""
    lines = [clean(line.rstrip("\n").expandtabs(4)) for line in linecache.getlines(file)]
    return {"name": clean(os.path.basename(file)), "lines": lines}


def encoded(x: Any) -> Any:
    """A number as JSON has it, "nan", "inf" or "-inf"; an array with its heat map; or None."""
    if isinstance(x, Value):
        x = x.data
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
    data = {"text": number(make(array)), "shape": list(array.shape), "cells": rows}
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
        "op": clean(box.op),
        "data": encoded(tensor_of(box.data)),
        "shape": None if box.shape is None else f"{box.dtype} {box.shape}",
        "parents": box.parents,
        "slopes": [encoded(slope) for slope in box.slopes],
        "notes": [clean(note) for note in box.notes],
        "at": [files.index(where[0]), where[1]] if where else None,
    }


def tensor_of(x: Any) -> Any:
    return x if x is None or hasattr(x, "_array") or isinstance(x, (int, float)) else None


def picture(boxes: list[Box]) -> dict[str, Any]:
    """Where boxes and arrows stand; a box has room for any gradient."""
    sizes = [size(box) for box in boxes]
    plan = layout(sizes, [box.parents for box in boxes])
    arrows = []
    for target, box in enumerate(boxes):
        for port, p in enumerate(box.parents):
            path = route(plan, sizes, p, target, port, len(box.parents))
            arrows.append({"from": p, "to": target, "port": port, "path": path})
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
    head = len(short(box.label)) + len(short(box.op)) + 6
    return max(head, 18) * WIDE + 2 * PAD, 3 * LINE + PAD


def forward(boxes: list[Box], made: list[Made | None]) -> list[dict[str, Any]]:
    """The steps that make the nodes, in the order of the program, each leaf before its use."""
    numbers = sorted(
        (i for i, box in enumerate(boxes) if box.kind in ("operation", "function")),
        key=lambda i: (made[i].serial if made[i] else -1, i),  # type: ignore[union-attr]
    )
    order: dict[int, None] = {}
    for i in [*numbers, *range(len(boxes))]:
        for p in [*boxes[i].parents, i]:
            if boxes[p].kind in ("leaf", "constant") or p == i:
                order[p] = None
    return [{"do": "make", "box": i} for i in order if boxes[i].kind != "constant"]


def backward(walk: RecordingWalk, boxes: list[Box], place: dict[int, int]) -> list[dict[str, Any]]:
    """The steps of the walk back."""
    steps = []
    for visit in walk.visits:
        i = place[id(visit.node)]
        arrived = [[k, encoded(g)] for k, g in sorted(visit.arrived.items())]
        if visit.node is walk.visits[0].node:
            steps.append({"do": "start", "box": i, "arrived": arrived})
        if visit.kept is not None:
            before, after = map(encoded, visit.kept)
            steps.append({"do": "keep", "box": i, "arrived": arrived, "before": before, "after": after})
        else:
            given = contributions(visit, boxes[i], place)
            steps.append({"do": "pass", "box": i, "arrived": arrived, "given": given})
    return steps


def contributions(visit: Visit, box: Box, place: dict[int, int]) -> list[dict[str, Any]]:
    """What a node gave to each parent, with the slope where that is a number."""
    ports = [k for k, p in enumerate(box.parents) if box.slopes[k] is not None]
    matched = len(ports) == len(visit.given) and not box.thing_pushes()
    found = []
    for k, given in enumerate(visit.given):
        target = place[id(given.node)]
        port = ports[k] if matched else box.parents.index(target)
        slope = box.slopes[port] if matched else None
        found.append(
            {
                "to": target,
                "output": given.output,
                "port": port,
                "slope": encoded(slope),
                "gives": encoded(given.contribution),
                "before": encoded(given.before),
                "after": encoded(given.after),
            }
        )
    return found
