"""Repeated structure made one: boxes that were made in the same way, of boxes that were, fold."""

import math
from dataclasses import replace
from typing import Any

from engine.visualize.boxes import Box

MOST = 500


class TooLarge(ValueError):
    """A graph has too many nodes for a picture, even with its repeated structure folded."""


def folded(boxes: list[Box], most: int = MOST) -> tuple[list[Box], str]:
    """At most that many boxes, and the sentence that says what was folded, "" for nothing.

    First those fold that were made alike; where too many are left, as after a loop, those of one
    line, or of one operation where no lines are known. Raises TooLarge where that is not enough.
    """
    if len(boxes) <= most:
        return boxes, ""
    groups = alike(boxes)
    if len(set(groups)) <= most:
        made = merged(boxes, groups)
        return made, f"{len(boxes)} nodes; those that were made alike are drawn as one"
    few = without_constants(boxes)
    groups = by_line(few)
    if len(set(groups)) <= most:
        made = merged_loops(few, groups)
        return made, f"{len(boxes)} nodes; those of one line or operation are drawn as one"
    raise TooLarge(
        f"draw: a picture holds at most {most} nodes; this graph has {len(boxes)}, and "
        f"{len(set(groups))} where those made alike are one; draw a smaller part of it (an "
        "inner node, one example of a batch), or explore it"
    )


def without_constants(boxes: list[Box]) -> list[Box]:
    """The boxes that are no constants."""
    place: dict[int, int] = {}
    for i, box in enumerate(boxes):
        if box.kind != "constant":
            place[i] = len(place)
    kept = [boxes[i] for i in place]
    return [replace(b, parents=[place[p] for p in b.parents if p in place]) for b in kept]


def by_line(boxes: list[Box]) -> list[int]:
    """The group of each box: the same for one label, line, operation and shape."""
    seen: dict[Any, int] = {}
    groups = []
    for box in boxes:
        key = (box.kind, box.label, box.line or (box.op, box.shape))
        groups.append(seen.setdefault(key, len(seen)))
    return groups


def merged_loops(boxes: list[Box], groups: list[int]) -> list[Box]:
    """One box for each group. Arrows lead to it from groups before it only: what a loop brings
    back is a note."""
    members: dict[int, list[Box]] = {}
    for box, group in zip(boxes, groups, strict=True):
        members.setdefault(group, []).append(box)
    return [loop(k, those, groups) for k, those in members.items()]


def loop(k: int, those: list[Box], groups: list[int]) -> Box:
    """The box that stands for group k."""
    sources = dict.fromkeys(groups[p] for box in those for p in box.parents)
    box = merge(those, groups)
    box.op = " ".join(list(dict.fromkeys(x.op for x in those if x.op))[:4])
    box.parents = [g for g in sources if g < k]
    box.slopes = [None] * len(box.parents)
    later = sum(g > k for g in sources)
    box.notes += ["a loop: of itself too"] if k in sources else []
    box.notes += [f"a loop: of {later} on its right"] if later else []
    return box


def alike(boxes: list[Box]) -> list[int]:
    """The group of each box: the same for boxes of the same operation on the same groups."""
    seen: dict[Any, int] = {}
    groups: list[int] = []
    for box in boxes:
        made_of = tuple(groups[p] for p in box.parents)
        key = (box.kind, box.op, box.shape, made_of)
        groups.append(seen.setdefault(key, len(seen)))
    return groups


def merged(boxes: list[Box], groups: list[int]) -> list[Box]:
    """One box for each group, in order; groups are numbered by their first member."""
    members: dict[int, list[Box]] = {}
    for box, group in zip(boxes, groups, strict=True):
        members.setdefault(group, []).append(box)
    return [merge(those, groups) for those in members.values()]


def merge(those: list[Box], groups: list[int]) -> Box:
    """The box that stands for several."""
    first, last = those[0], those[-1]
    box = Box(first.thing, first.kind, first.label, first.op, shape=first.shape, dtype=first.dtype)
    box.parents, box.slopes = [groups[p] for p in first.parents], list(first.slopes)
    box.count = len(those)
    if first.label and last.label and first.label != last.label:
        box.label = f"{first.label} … {last.label}"
    if first.shape is None:
        box.data = spread([x.data for x in those])
        box.grad = spread([x.grad for x in those])
    elif len(those) == 1:
        box.data, box.grad = first.data, first.grad
    box.notes = list(first.notes)
    box.line = first.line if all(x.line == first.line for x in those) else ""
    return box


def spread(numbers: list[Any]) -> Any:
    """(least, greatest) of the numbers that are there; None where there are none."""
    there = [x for x in numbers if x is not None]
    if not there:
        return None
    if any(math.isnan(x) for x in there):
        return math.nan, math.nan
    return min(there), max(there)
