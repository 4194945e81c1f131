"""explore: one HTML file that steps through the forward and the backward pass of a program."""

import html
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.builds import backend
from engine.nodes import DIFFERENTIABLE, TensorBase, edge_of
from engine.visualize.recording import Recorder, RecordingWalk, walked
from engine.visualize.story import story

TEMPLATE = Path(__file__).with_name("page.html")


def explore(
    root_or_function: Any, path: str | os.PathLike[str], *, title: str = "engine explore"
) -> Path:
    """Write a page that shows how a result was computed, and its backward pass step by step.

    root_or_function: a Value or a Tensor of one number, or a function without arguments that
    returns one; of a function the page shows its lines too. The page is one file that needs no
    network and no other file. No `.grad` changes; hooks run once.
    A graph of more than 500 nodes is folded by the lines that made it. Returns the path.

    Raises TypeError or RuntimeError for what has no gradient, ValueError for a graph that
    more than 500 lines made, OSError where the page cannot be written.
    """
    root = root_or_function
    if callable(root) and not isinstance(root, DIFFERENTIABLE):
        with Recorder():
            root = root_or_function()
    remark = "The backward pass from the result; the engine computed every number on this page."
    return write(walked(root), {}, Path(path), title, remark)


def write(
    walk: RecordingWalk, names: Mapping[int, str], path: Path, title: str, remark: str
) -> Path:
    """Write the page of one walk."""
    told = story(walk, names, title, remark)
    text = json.dumps(told, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    page = TEMPLATE.read_text(encoding="utf-8").replace("{{TITLE}}", html.escape(title))
    # A page ends its script at the first "</script", wherever that stands.
    page = page.replace("{{STORY}}", text.replace("<", "\\u003c"))
    path.write_text(page, encoding="utf-8", newline="\n")
    return path


def explore_script(script: str, arguments: list[str]) -> int:
    """Run a script as `engine run` does, and write the page of its last backward pass.

    arguments: `-o page.html`, or script.html beside script.py is written; the others are the
    script's own. Raises what the script raises. Returns the exit status.
    """
    from engine.run import run

    page = Path(script).with_suffix(".html")
    if arguments[:1] == ["-o"] and len(arguments) > 1:
        page, arguments = Path(arguments[1]), arguments[2:]
    page = page.absolute()  # the script may change the working directory
    recorder = Recorder()
    with recorder:
        try:
            run(script, arguments)
        except SystemExit as end:
            if end.code not in (None, 0):
                raise
    return finished(recorder, os.path.basename(script), page)


def finished(recorder: Recorder, name: str, page: Path) -> int:
    """Write the page of what was recorded, and say so; returns the exit status."""
    try:
        walk, remark = chosen(recorder, name)
        names = names_of(vars(sys.modules["__main__"]))
        write(walk, names, page, f"{name}, step by step", remark)
    except (RuntimeError, ValueError, OSError) as error:
        print(f"engine explore: {error}", file=sys.stderr)
        return 1
    print(f"engine explore: open {page} in a browser. {remark}", file=sys.stderr)
    return 0


def chosen(recorder: Recorder, name: str) -> tuple[RecordingWalk, str]:
    """The walk to show, and the sentence that says which."""
    if recorder.last is not None:
        which = (
            "The one backward pass"
            if recorder.walks == 1
            else f"The last of {recorder.walks} backward passes"
        )
        return recorder.last, f"{which} of {name}, on engine, the {backend()} build."
    if recorder.made is None or edge_of(recorder.made) is None:
        raise RuntimeError(
            f"{name} made no graph: nothing in it was computed from Values, or from "
            "Tensors that require grad"
        )
    return walked(recorder.made), f"{name} calls no backward(); this is that of its last result."


def names_of(variables: Mapping[str, Any]) -> dict[int, str]:
    """The names of a script's variables at its end, by the Value, leaf or node that they hold."""
    names: dict[int, str] = {}
    for name, x in variables.items():
        if isinstance(x, DIFFERENTIABLE) and not name.startswith("_"):
            inner = isinstance(x, TensorBase) and x._grad_fn is not None
            names.setdefault(id(x._grad_fn if inner else x), name)
    return names
