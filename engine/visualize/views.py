"""What a page is told of one walk: boxes, and the steps that fill them in.

Every number in it is the engine's own. Steps are "make" (a node of the forward pass, in the order
of the program), "start", "pass" (a node hands its gradient on) and "keep" (a leaf adds to its
`.grad`). Where the boxes stand is the page's own affair (`layout.js`).
"""

import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine import value
from engine.habits import Value
from engine.nodes import TensorBase
from engine.registry import RULES
from engine.tensors import make
from engine.visualize.boxes import Box, boxes_in, is_rule
from engine.visualize.javascript import recipe
from engine.visualize.recording import Call, Made, RecordingWalk, Visit, made_of
from engine.visualize.words import clean, number

SHOWN = (int, float, TensorBase)
# A heat map has at most this many rows and columns, and all heat maps of a page so many cells.
MAP, ALL_CELLS = 16, 100_000


@dataclass(slots=True)
class Recorded:
    """A walk and its boxes; of each box where it was made, the calls that led to its line, and the
    layers that were called.
    files: those of the lines, by first appearance. side: rows and columns of its heat maps."""

    walk: RecordingWalk
    boxes: list[Box]
    made: list[Made | None]
    stacks: list[tuple[Call, ...]]
    layers: list[tuple[str, ...]]
    files: list[str]
    side: int


def recorded(walk: RecordingWalk, names: Mapping[int, str]) -> Recorded:
    """What there is to show of a walk. names: of objects, by id, where they have no label."""
    boxes = boxes_in(walk.order, {})
    for box in boxes:
        box.label = clean(box.label) or names.get(id(box.thing), "")
        box.data = walk.data.get(id(box.thing), box.data)
        box.notes = walk.notes.get(id(box.thing), box.notes)
    made = [made_of(box.thing) if box.kind != "constant" else None for box in boxes]
    origins = origins_of(boxes, made)
    stacks = [m.stack if m else () for m in origins]
    layers = [m.layers if m else () for m in origins]
    files = list(dict.fromkeys(call[0] for stack in stacks for call in stack[:1]))
    arrays = 4 * sum(box.shape is not None for box in boxes)
    side = min(MAP, max(2, math.isqrt(ALL_CELLS // max(arrays, 1))))
    return Recorded(walk, boxes, made, stacks, layers, files, side)


def origins_of(boxes: list[Box], made: list[Made | None]) -> list[Made | None]:
    """What made each box; of a leaf and a constant what first used it."""
    first: dict[int, Made] = {}
    for box, m in zip(boxes, made, strict=True):
        for p in box.parents:
            if m and (p not in first or m.serial < first[p].serial):
                first[p] = m
    return [
        first.get(i) if boxes[i].kind in ("leaf", "constant") and not (m and m.stack) else m
        for i, m in enumerate(made)
    ]


def encoded(x: Any, side: int = MAP) -> Any:
    """A number as JSON has it, "nan", "inf" or "-inf"; an array with its heat map; or None."""
    if isinstance(x, Value):
        x = x.data
    if isinstance(x, TensorBase):
        return array_data(x._array, side)
    if x is None or isinstance(x, int) or math.isfinite(x):
        return x
    return repr(float(x))


def array_data(array: Any, side: int) -> Any:
    """What a page shows of an array: its shape, least and greatest, and cells of a heat map."""
    if array.ndim == 0:
        return encoded(array.item())
    cells = array.reshape(-1, array.shape[-1]) if array.size else array.reshape(0, 0)
    rows = [[encoded(x) for x in row] for row in cells[:side, :side].tolist()]
    data: dict[str, Any] = {"text": number(make(array)), "shape": list(array.shape), "cells": rows}
    if array.size and array.dtype.kind == "f":
        finite = np.abs(array[np.isfinite(array)])
        data["most"] = float(finite.max()) if finite.size else 0.0
    if array.size:
        data["range"] = [encoded(x.item()) for x in (array.min(), array.max())]
    return data


def shown(i: int, all_: Recorded) -> dict[str, Any]:
    """Box i as the page has it."""
    box, stack = all_.boxes[i], all_.stacks[i]
    return {
        **head(box, all_),
        "label": box.label,
        "data": encoded(box.data, all_.side) if isinstance(box.data, SHOWN) else None,
        "parents": box.parents,
        "slopes": [encoded(slope) for slope in box.slopes],
        "at": [all_.files.index(stack[0][0]), stack[0][1]] if stack else None,
        "layers": list(all_.layers[i]),
    }


def head(box: Box, all_: Recorded) -> dict[str, Any]:
    """What many boxes of a large graph have in common."""
    return {
        "kind": box.kind,
        "op": clean(box.op),
        "shape": None if box.shape is None else f"{box.dtype} {box.shape}",
        "notes": [clean(note) for note in box.notes],
        "ctx": [clean(text) for text in all_.walk.kept.get(id(box.thing), [])],
        **computed(box),
    }


def computed(box: Box) -> dict[str, Any]:
    """How the page can compute a box again; "hooks" where code of the program has a say."""
    found: dict[str, Any] = {}
    if isinstance(box.thing, Value):
        if is_rule(box.thing) and box.parents:
            found = of_rule(box.thing)
    elif box.kind == "function":
        found = recipe(box.thing, box.shape)
    return found | ({"hooks": True} if any("hook" in note for note in box.notes) else {})


def of_rule(v: Any) -> dict[str, Any]:
    """The rule that made a Value, and its number k if it has one."""
    name = value.op_of(v)
    if RULES[name].operands[-1] == "k":
        return {"rule": name, "k": encoded(v._slope_b)}
    return {"rule": name}


def rules_of(boxes: list[Box]) -> dict[str, str]:
    """The slopes of the rules among the boxes, as their text has them: of operands a, b and the
    result y; by the name of the rule."""
    names = {name for box in boxes if (name := computed(box).get("rule"))}
    texts = {name: slopes_of(name) for name in sorted(names)}
    return {name: text for name, text in texts.items() if text}


def slopes_of(name: str) -> str:
    """The slopes of one rule as text; "" where they are not one expression."""
    try:
        text = inspect.getsource(RULES[name]._slopes)  # type: ignore[arg-type]
    except (OSError, TypeError):  # typed into an interactive session
        return ""
    return clean(text.partition("return ")[2].strip()) if text.count("return ") == 1 else ""


def forward(boxes: list[Box], made: list[Made | None]) -> list[int]:
    """The boxes in the order in which the program made them, each leaf before its use; not the
    constants."""
    numbers = sorted(
        (i for i, box in enumerate(boxes) if box.kind in ("operation", "function")),
        key=lambda i: (made[i].serial if made[i] else -1, i),  # type: ignore[union-attr]
    )
    order: dict[int, None] = {}
    for i in [*numbers, *range(len(boxes))]:
        for p in [*boxes[i].parents, i]:
            if boxes[p].kind == "leaf" or p == i:
                order[p] = None
    return [i for i in order if boxes[i].kind != "constant"]


def starts(all_: Recorded, place: dict[int, int]) -> list[Any]:
    """What the walk began with: box, output, gradient."""
    begun = {(place[id(part.node)], part.output): part.after for part in all_.walk.starts}
    return [[i, k, encoded(g, all_.side)] for (i, k), g in begun.items()]


def backward_step(visit: Visit, all_: Recorded, place: dict[int, int]) -> dict[str, Any]:
    """One step of the walk back, in full."""
    i, side = place[id(visit.node)], all_.side
    step: dict[str, Any] = {"box": i, "arrived": gradients(visit.arrived, side)}
    if visit.hooked is not None:
        step["hooked"] = gradients(visit.hooked, side)
    if visit.kept is not None:
        before, after = (encoded(x, side) for x in visit.kept)
        return {"do": "keep", **step, "before": before, "after": after}
    return {"do": "pass", **step, "given": contributions(visit, all_.boxes[i], place, side)}


def gradients(by_output: dict[int, Any], side: int) -> list[Any]:
    """Pairs of an output and its gradient."""
    return [[k, encoded(g, side)] for k, g in sorted(by_output.items())]


def contributions(visit: Visit, box: Box, place: dict[int, int], side: int) -> list[dict[str, Any]]:
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
                "gives": encoded(given.contribution, side),
                "before": encoded(given.before, side),
                "after": encoded(given.after, side),
            }
        )
    return found
