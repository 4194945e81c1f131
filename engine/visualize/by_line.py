"""Graphs too large for a page: one box for all that a line made, and a view of what it holds."""

import os
from dataclasses import replace
from typing import Any

from engine.habits import Value
from engine.nodes import TensorBase
from engine.visualize.boxes import Box
from engine.visualize.folding import MOST, TooLarge, spread
from engine.visualize.recording import Made, RecordingWalk
from engine.visualize.views import Recorded, Where, backward, encoded, forward, view

# So many boxes may stand in all views of insides together, so many in one of them.
ROOM, LARGEST = 4000, 100

View = dict[str, Any]


def by_line(all_: Recorded) -> tuple[View, dict[int, View]]:
    """The view of a graph folded by line, and for each folded box a view of its first nodes.

    Leaves stand with the line that first uses them; what has no line folds by its operation.
    Raises TooLarge where that leaves too many boxes.
    """
    group, members = grouped(all_)
    folded = [fold(those, all_, group) for those in members]
    order = sorted(range(len(folded)), key=lambda k: first_made(members[k], all_.made))
    steps = [{"do": "make", "box": k} for k in order] + folded_backward(
        all_.walk, all_.boxes, group
    )
    lines = [all_.lines[those[0]] for those in members]
    room = max(10, min(LARGEST, ROOM // len(members)))
    inside = {k: opened(those[:room], all_) for k, those in enumerate(members) if len(those) > 1}
    return view(folded, lines, all_.files, steps), inside


def grouped(all_: Recorded) -> tuple[list[int], list[list[int]]]:
    """The group of each box, -1 for a constant, and the members of each group."""
    numbers, keys = numbered(all_.boxes, all_.lines, labels=True)
    if len(numbers) > MOST:
        numbers, keys = numbered(all_.boxes, all_.lines, labels=False)
    if len(numbers) > MOST:
        raise TooLarge(
            f"explore: a page holds at most {MOST} nodes; this graph has {len(all_.boxes)}, made "
            f"by {len(numbers)} lines; explore a smaller part of it"
        )
    group = [-1 if key is None else numbers[key] for key in keys]
    members: list[list[int]] = [[] for _ in numbers]
    for i, k in enumerate(group):
        if k >= 0:
            members[k].append(i)
    return group, members


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


def opened(those: list[int], all_: Recorded) -> View:
    """The view of some boxes, with what they were made of as boxes from outside."""
    inner = set(those)
    chosen = sorted(inner.union(*(all_.boxes[i].parents for i in those)))
    place = {i: k for k, i in enumerate(chosen)}
    boxes = []
    for i in chosen:
        box = all_.boxes[i]
        if i in inner:
            boxes.append(replace(box, parents=[place[p] for p in box.parents]))
        elif box.kind == "constant":
            boxes.append(box)
        else:
            boxes.append(replace(box, kind="outside", parents=[], slopes=[], notes=[]))
    made = [all_.made[i] for i in chosen]
    steps = forward(boxes, made) + backward(all_.walk, boxes)
    return view(boxes, [all_.lines[i] for i in chosen], all_.files, steps)


def fold(those: list[int], all_: Recorded, group: list[int]) -> Box:
    """The box for several; arrows lead to it from boxes before it only, the others are notes."""
    boxes = all_.boxes
    first, where = boxes[those[0]], all_.lines[those[0]]
    box = Box(first.thing, first.kind, count=len(those))
    file = f"{os.path.basename(where[0])} " if where and len(all_.files) > 1 else ""
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
