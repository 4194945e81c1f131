"""draw: the graph of a Value or a Tensor as a picture, made by engine itself."""

import os
from pathlib import Path
from typing import Any

from engine.visualize import texts
from engine.visualize.boxes import Box, boxes_of
from engine.visualize.converting import converted
from engine.visualize.folding import folded
from engine.visualize.svg import svg


class Drawing:
    """A picture of a graph as it was when `draw` was called. Notebooks show it.

    str(drawing): SVG text. tree(): text for a terminal. dot(): text in the DOT language.
    """

    def __init__(self, boxes: list[Box], caption: str = "", nodes: int = 0):
        self.boxes = boxes
        self.caption = caption
        self.nodes = nodes or len(boxes)
        self._svg = svg(boxes, caption)
        self._tree = texts.tree(boxes, caption)
        self._dot = texts.dot(boxes)

    def __str__(self) -> str:
        return self._svg

    def _repr_svg_(self) -> str:
        return self._svg

    def tree(self) -> str:
        """The graph as a tree of text, results above what they were made of."""
        return self._tree

    def dot(self) -> str:
        """The graph in the DOT language, for graphviz and its kin."""
        return self._dot

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the picture; the name's end chooses .svg, .dot, .txt (the tree), .png or .pdf.

        PNG and PDF need the program rsvg-convert, inkscape or chromium, or the package cairosvg.
        Returns the path. Raises ValueError for another end, ImportError without a converter,
        OSError where it cannot be written.
        """
        path = Path(path)
        kind = path.suffix.lower()
        texts_by_kind = {".svg": self.__str__, ".dot": self.dot, ".txt": self.tree}
        if kind in texts_by_kind:
            path.write_text(texts_by_kind[kind](), encoding="utf-8")
        elif kind in (".png", ".pdf"):
            path.write_bytes(converted(self._svg, kind[1:]))
        else:
            raise ValueError(
                "Drawing.save: needs a name that ends in .svg, .dot, .txt, .png or .pdf; got "
                f"{str(path)!r}"
            )
        return path

    def __repr__(self) -> str:
        return f"<drawing of {self.nodes} nodes; .save('graph.svg') writes it>"


def draw(root: Any) -> Drawing:
    """The graph that root was made by, as a picture.

    root: a Value, a Tensor, or a list of them. Each Value is a box with its label, operation, data
    and gradient (or "no gradient yet"); numbers such as the 2 of `2 * x` are dashed boxes; of
    Tensors there are the leaves and the nodes (`grad_fn`) with their shapes. Above 500 nodes those
    that were made alike are drawn as one, else those of one line or operation, as in a loop;
    ValueError where that does not make 500 of them.
    """
    boxes = boxes_of(root)
    shown, caption = folded(boxes)
    return Drawing(shown, caption, len(boxes))
