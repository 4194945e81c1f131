"""explore: one HTML file that steps through the forward and the backward pass of a program."""

import html
import json
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.builds import backend
from engine.nodes import DIFFERENTIABLE, TensorBase, edge_of
from engine.visualize.javascript import translated
from engine.visualize.recording import Recorder, RecordingWalk, walked
from engine.visualize.story import story

HERE = Path(__file__).parent
# In this order: a name that is no function must stand before its use.
NAMES = "layout graph words picture telling about quiz sliders page"
SCRIPTS = tuple(f"{name}.js" for name in NAMES.split())


def explore(
    root_or_function: Any, path: str | os.PathLike[str], *, title: str = "engine explore"
) -> Path:
    """Write a page that shows how a result was computed, and its backward pass step by step.

    root_or_function: a Value or a Tensor of one number, or a function without arguments that
    returns one; of a function the page shows its lines too. The page is one file that needs no
    network and no other file. No `.grad` changes; hooks run once.
    A graph of more than 500 nodes is folded by layer, label and line; a click opens a box, down to
    each node; each adds some 40 bytes to the page. Sliders on leaves change a number, and the page
    computes the rest again, where it knows the rules. Returns the path.

    Raises TypeError or RuntimeError for what has no gradient, OSError where the page cannot be
    written.
    """
    root, recorder = root_or_function, Recorder()
    if callable(root) and not isinstance(root, DIFFERENTIABLE):
        with recorder:
            root = root_or_function()
    remark = "The backward pass from the result; the engine computed every number on this page."
    told = story(walked(root), {}, title, remark, recorder.ungraded)
    return write(told, Path(path))


def write(told: dict[str, Any], path: Path) -> Path:
    """Write the page of a story."""
    path.write_text(page(told), encoding="utf-8", newline="\n")
    return path


def page(told: dict[str, Any]) -> str:
    """The text of the page: one file, with its style, its scripts, its rules and its story."""
    text = json.dumps(told, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    parts = {
        "TITLE": html.escape(told["title"]),
        "STYLE": part("page.css"),
        "ARITHMETIC": part("arithmetic.js"),
        "SCRIPT": "\n".join(map(part, SCRIPTS)),
        "RULES": translated(rules_in(told)),
        # A page ends its script at the first "</script", wherever that stands.
        "STORY": text.replace("<", "\\u003c"),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], part("page.html"))


def part(name: str) -> str:
    """The text of one file of the page."""
    return HERE.joinpath(name).read_text(encoding="utf-8")


def rules_in(told: dict[str, Any]) -> list[str]:
    """The names of the rules in a story."""
    boxes = told["columns"]["heads"]["of"] if "columns" in told else told["boxes"]
    return sorted({box["rule"] for box in boxes if "rule" in box})


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
        told = story(walk, names, f"{name}, step by step", remark, recorder.ungraded)
        write(told, page)
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
            inner = isinstance(x, TensorBase) and x._node is not None
            names.setdefault(id(x._node if inner else x), name)
    return names
