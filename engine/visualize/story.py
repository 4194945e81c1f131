"""The story that a page tells, as data: sources, boxes with their places, arrows, and steps.

Every number in it is the engine's own; the page adds none. Steps are, in this order: "make" (a node
of the forward pass, in the order of the program), "start", "pass" (a node hands its gradient on)
and "keep" (a leaf adds to its `.grad`).
"""

import inspect
import linecache
import math
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from engine.habits import Value
from engine.nodes import TensorBase, value
from engine.registry import RULES
from engine.tensors import make
from engine.visualize.boxes import Box, boxes_in
from engine.visualize.folding import MOST, TooLarge, spread
from engine.visualize.layout import layout
from engine.visualize.recording import Made, RecordingWalk, Visit, made_of
from engine.visualize.svg import arrow
from engine.visualize.words import clean, number, short

WIDE, LINE, PAD, GAP = 7.3, 16.0, 10.0, 84.0
SHOWN = (int, float, tuple, TensorBase)
# A heat map has at most this many rows and columns.
MAP = 16


def story(walk: RecordingWalk, names: Mapping[int, str], title: str, remark: str) -> dict[str, Any]:
    """All that the page of one walk shows. names: of objects, by id, where they have no label."""
    boxes = boxes_in(walk.order, {})
    for box in boxes:
        box.label = clean(box.label) or names.get(id(box.thing), "")
        box.data = walk.data.get(id(box.thing), box.data)
    made = [made_of(box.thing) if box.kind != "constant" else None for box in boxes]
    lines = lines_of(boxes, made)
    files = sorted({where[0] for where in lines if where}, key=order_of(lines))
    if len(boxes) > MOST:
        boxes, lines, steps = folded_by_line(walk, boxes, made, lines, files)
        remark += f" Its {len(walk.order)} nodes are folded by the lines that made them."
    else:
        steps = forward(boxes, made) + backward(walk, boxes)
    return {
        "title": title,
        "remark": remark,
        "sources": [source(file) for file in files],
        **picture(boxes),
        "rules": {box.op: slopes_of(box) for box in boxes if slopes_of(box)},
        "boxes": [shown(box, where, files) for box, where in zip(boxes, lines, strict=True)],
        "steps": steps,
    }


Where = tuple[str, int] | None


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
            if boxes[p].kind in ("leaf", "constant") or p == i:
                order[p] = None
    return [{"do": "make", "box": i} for i in order if boxes[i].kind != "constant"]


def backward(walk: RecordingWalk, boxes: list[Box]) -> list[dict[str, Any]]:
    """The steps of the walk back."""
    place = {id(box.thing): i for i, box in enumerate(boxes)}
    steps = []
    for visit in walk.visits:
        i = place[id(visit.node)]
        arrived = [[k, encoded(g)] for k, g in sorted(visit.arrived.items())]
        if visit.node is walk.visits[0].node:
            steps.append({"do": "start", "box": i, "arrived": arrived})
        if visit.kept is not None:
            before, after = map(encoded, visit.kept)
            steps.append(
                {"do": "keep", "box": i, "arrived": arrived, "before": before, "after": after}
            )
        else:
            given = contributions(visit, boxes[i], place)
            steps.append({"do": "pass", "box": i, "arrived": arrived, "given": given})
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


def folded_by_line(
    walk: RecordingWalk,
    boxes: list[Box],
    made: list[Made | None],
    lines: list[Where],
    files: list[str],
) -> tuple[list[Box], list[Where], list[dict[str, Any]]]:
    """One box for all that a line made, or for all its leaves; with its line, and the steps.

    What has no recorded line folds by its operation. Raises TooLarge where that leaves too many.
    """
    numbers, keys = numbered(boxes, lines, labels=True)
    if len(numbers) > MOST:
        numbers, keys = numbered(boxes, lines, labels=False)
    if len(numbers) > MOST:
        raise TooLarge(
            f"explore: a page holds at most {MOST} nodes; this graph has {len(boxes)}, made by "
            f"{len(numbers)} lines; explore a smaller part of it"
        )
    group = [-1 if key is None else numbers[key] for key in keys]
    members: list[list[int]] = [[] for _ in numbers]
    for i, number_ in enumerate(group):
        if number_ >= 0:
            members[number_].append(i)
    folded = [fold(those, boxes, lines, files, group) for those in members]
    order = sorted(range(len(folded)), key=lambda k: first_made(members[k], made))
    steps = [{"do": "make", "box": k} for k in order]
    return (
        folded,
        [lines[those[0]] for those in members],
        steps + folded_backward(walk, boxes, group),
    )


def numbered(
    boxes: list[Box], lines: list[Where], labels: bool
) -> tuple[dict[Any, int], list[Any]]:
    """The key of each box, that of what it folds with (None for a constant, which is not shown),
    and the keys' numbers in order. labels: whether boxes of different labels stay apart."""
    numbers: dict[Any, int] = {}
    keys: list[Any] = []
    for box, where in zip(boxes, lines, strict=True):
        key = (box.kind == "leaf", where or (box.op, box.shape), labels and box.label)
        keys.append(None if box.kind == "constant" else key)
        if keys[-1] is not None:
            numbers.setdefault(key, len(numbers))
    return numbers, keys


def first_made(those: list[int], made: list[Made | None]) -> tuple[int, int]:
    """When the first of some boxes was made."""
    return min((m.serial if m else -1, i) for i in those for m in [made[i]])


def fold(
    those: list[int], boxes: list[Box], lines: list[Where], files: list[str], group: list[int]
) -> Box:
    """The box for several; arrows lead to it from boxes before it only, the others are notes."""
    first, where = boxes[those[0]], lines[those[0]]
    box = Box(first.thing, first.kind, count=len(those))
    file = f"{os.path.basename(where[0])} " if where and len(files) > 1 else ""
    here = f"{file}line {where[1]}" if where else ""
    box.label = f"leaves of {here}".strip() if first.kind == "leaf" else here
    if len(those) == 1 and first.label:
        box.label = first.label
    box.op = " ".join(list(dict.fromkeys(boxes[i].op for i in those if boxes[i].op))[:4])
    box.data = spread([x for i in those for x in extremes(boxes[i].data)])
    number_ = group[those[0]]
    sources = dict.fromkeys(group[p] for i in those for p in boxes[i].parents if group[p] >= 0)
    box.parents = [k for k in sources if k < number_]
    box.slopes = [None] * len(box.parents)
    box.notes = ["a loop: also made of what it made itself"] if number_ in sources else []
    later = len([k for k in sources if k > number_])
    box.notes += [f"a loop: also made of {later} boxes to its right"] if later else []
    labels = dict.fromkeys(boxes[i].label for i in those if boxes[i].label)
    box.notes += [f"labels: {', '.join(list(labels)[:20])}"] if labels else []
    return box


def extremes(x: Any) -> list[float]:
    """Least and greatest of a number or an array; nothing for nothing."""
    if isinstance(x, Value):
        return [x.data]
    if isinstance(x, TensorBase):
        return [float(x._array.min()), float(x._array.max())] if x._array.size else []
    return [] if x is None else [float(x)]


def folded_backward(
    walk: RecordingWalk, boxes: list[Box], group: list[int]
) -> list[dict[str, Any]]:
    """The steps of the walk back by groups, each when the last of its members was visited."""
    place = {id(box.thing): i for i, box in enumerate(boxes)}
    arrived: dict[int, list[float]] = {}
    gave: dict[int, dict[int, list[float]]] = {}
    for visit in walk.visits:
        k = group[place[id(visit.node)]]
        arrived[k] = arrived.pop(k, [])  # to the end of the order
        arrived[k] += [x for g in visit.arrived.values() for x in extremes(g)]
        for given in visit.given:
            target = group[place[id(given.node)]]
            gave.setdefault(k, {}).setdefault(target, []).extend(extremes(given.contribution))
    return [
        {
            "do": "fold",
            "box": k,
            "arrived": [[0, encoded(spread(all_))]],
            "given": [
                {"to": target, "number": len(those), "gives": encoded(spread(those))}
                for target, those in gave.get(k, {}).items()
            ],
        }
        for k, all_ in arrived.items()
    ]
