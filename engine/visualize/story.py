"""The story that a page tells: its sources, and its views."""

import linecache
import os
from collections.abc import Mapping
from typing import Any

from engine.visualize.by_line import by_line
from engine.visualize.folding import MOST
from engine.visualize.recording import RecordingWalk
from engine.visualize.views import backward, forward, recorded, view
from engine.visualize.words import clean


def story(walk: RecordingWalk, names: Mapping[int, str], title: str, remark: str) -> dict[str, Any]:
    """All that the page of one walk shows. names: of objects, by id, where they have no label.

    A graph of more than 500 nodes is folded by line; `inside` has a view for each folded box.
    """
    all_ = recorded(walk, names)
    if len(all_.boxes) > MOST:
        whole, inside = by_line(all_)
        remark += f" Its {len(walk.order)} nodes are folded by the lines that made them."
    else:
        steps = forward(all_.boxes, all_.made) + backward(walk, all_.boxes)
        whole, inside = view(all_.boxes, all_.lines, all_.files, steps), {}
    sources = [source(file) for file in all_.files]
    return {"title": title, "remark": remark, "sources": sources, **whole, "inside": inside}


def source(file: str) -> dict[str, Any]:
    """The name and the text of a file; a notebook's cell has a text too."""
    lines = [clean(line.rstrip("\n").expandtabs(4)) for line in linecache.getlines(file)]
    return {"name": clean(os.path.basename(file)), "lines": lines}
