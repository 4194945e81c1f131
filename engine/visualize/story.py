"""The story that a page tells: its sources, its boxes and its steps."""

import linecache
import os
from collections.abc import Iterable, Mapping
from typing import Any

from engine.visualize.columns import columns
from engine.visualize.folding import MOST
from engine.visualize.recording import RecordingWalk
from engine.visualize.views import (
    Recorded,
    backward_step,
    forward,
    gradients,
    recorded,
    rules_of,
    shown,
    starts,
)
from engine.visualize.words import clean


def story(
    walk: RecordingWalk,
    names: Mapping[int, str],
    title: str,
    remark: str,
    ungraded: Iterable[tuple[str, int]],
) -> dict[str, Any]:
    """All that the page of one walk shows. names: of objects, by id, where they have no label.
    ungraded: the lines that computed without gradients.

    Of more than 500 nodes the boxes and steps are packed in columns, and the page folds them.
    """
    all_ = recorded(walk, names)
    off = [[all_.files.index(file), line] for file, line in ungraded if file in all_.files]
    place = {id(box.thing): i for i, box in enumerate(all_.boxes)}
    large = len(all_.boxes) > MOST
    if large:
        remark += f" Its {len(walk.order)} nodes are folded by layer, label and line."
    return {
        "title": title,
        "remark": remark,
        "sources": [source(file) for file in all_.files],
        "ungraded": sorted(off),
        "rules": rules_of(all_.boxes),
        "starts": starts(all_, place),
        **(columns(all_, place) if large else plainly(all_, place)),
    }


def plainly(all_: Recorded, place: dict[int, int]) -> dict[str, Any]:
    """The boxes and steps of a small graph, one by one."""
    made = [{"do": "make", "box": i} for i in forward(all_.boxes, all_.made)]
    first = all_.walk.visits[0]
    arrived = gradients(first.arrived, all_.side)
    start = {"do": "start", "box": place[id(first.node)], "arrived": arrived}
    steps = [backward_step(visit, all_, place) for visit in all_.walk.visits]
    boxes = [shown(i, all_) for i in range(len(all_.boxes))]
    return {"boxes": boxes, "steps": [*made, start, *steps]}


def source(file: str) -> dict[str, Any]:
    """The name and the text of a file; a notebook's cell has a text too."""
    lines = [clean(line.rstrip("\n").expandtabs(4)) for line in linecache.getlines(file)]
    return {"name": clean(os.path.basename(file)), "lines": lines}
