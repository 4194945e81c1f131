"""What `explore` writes down while a program runs: the line of each node, each step of backward."""

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from engine.graph import Edge, Walk, current_walk
from engine.nodes import DIFFERENTIABLE, TensorBase, Value, edge_of, modes, state, value
from engine.tensors import make

OURS = tuple(str(Path(__file__).parents[2] / name) for name in ("engine/", "engine_fast/"))
# Of an array that is larger, only least, mean and greatest are kept.
CELLS = 1024


@dataclass(frozen=True, slots=True)
class Made:
    """Where a node was made: the file, its line, and how many nodes were made before it. array: a
    copy of what it holds, for a Tensor that is not large. operands: as they were given."""

    file: str
    line: int
    serial: int
    array: Any = None
    operands: tuple[Any, ...] = ()


@dataclass(slots=True)
class Given:
    """One contribution: to output `output` of `node`, where `before` had arrived, then `after`."""

    node: Any
    output: int
    contribution: Any
    before: Any
    after: Any


@dataclass(slots=True)
class Visit:
    """One step of a walk: the node, what had arrived at its outputs, what it gave; for a leaf,
    `.grad` before and after."""

    node: Any
    arrived: dict[int, Any]
    given: list[Given] = field(default_factory=list)
    kept: tuple[Any, Any] | None = None


class RecordingWalk(Walk):
    """The walk back, each step written down. It computes what any walk computes."""

    def __init__(self, roots: list[Edge], inputs: Any, retain: bool, create: bool):
        super().__init__(roots, inputs, retain, create)
        self.roots = roots
        self.visits: list[Visit] = []
        self.of_node: dict[int, Visit] = {}
        self.data = {id(node): numbers_of(node) for node in self.order}

    def add(self, edge: Edge, g: Any) -> None:
        node, i = edge
        before = self.flight.get(id(node), {}).get(i)
        super().add(edge, g)
        after = self.flight.get(id(node), {}).get(i)
        if self.visits and g is not None and after is not None:
            self.visits[-1].given.append(Given(node, i, g, before, after))

    def visit(self, node: Any, arrived: dict[int, Any]) -> None:
        self.visits.append(Visit(node, dict(arrived)))
        self.of_node[id(node)] = self.visits[-1]
        super().visit(node, arrived)

    def at_leaf(self, x: Any, g: Any) -> Any:
        g = super().at_leaf(x, g)
        if isinstance(x, TensorBase) or x.is_leaf:
            before = x._grad if isinstance(x, TensorBase) or x._has_grad else None
            self.of_node[id(x)].kept = before, g if before is None else before + g
        return g


def numbers_of(node: Any) -> Any:
    """What a Value or a leaf holds now: a program changes its leaves after backward."""
    if isinstance(node, Value):
        return node.data
    if isinstance(node, TensorBase):
        return make(node._array.copy())
    made = made_of(node)
    return make(made.array) if made is not None and made.array is not None else None


class Recorder:
    """Records what this thread does inside a `with` block: where each node is made, and the last
    walk back. Values take the general walk meanwhile, whose numbers are the same."""

    def __init__(self) -> None:
        self.count = 0
        self.walks = 0
        self.last: RecordingWalk | None = None
        self.made: Any = None

    def __enter__(self) -> "Recorder":
        self.locked = value._free.acquire(False)
        self.before = modes.set_observers((*state.observers, self))
        return self

    def __exit__(self, *error: object) -> None:
        modes.set_observers(self.before)
        if self.locked:
            value._free.release()

    def walk(self, *args: Any) -> Walk:
        """The walk that `backward` is to take. Not shown: a walk to some inputs, as autograd.grad's
        is, and one inside another."""
        roots, inputs, retain, create = args
        if inputs is not None or current_walk() is not None:
            return Walk(*args)
        self.walks += 1
        self.last = RecordingWalk(roots, inputs, retain, create)
        return self.last

    def __call__(self, out: Any, op: Any, operands: Any) -> None:
        file, line = place()
        for x in out if isinstance(out, tuple) else (out,):
            if isinstance(x, DIFFERENTIABLE) and edge_of(x) is not None:
                self.note(x, Made(file, line, self.count), operands)

    def note(self, x: Any, made: Made, operands: Any) -> None:
        """Keep with a node where it was made, and of a Tensor what it holds."""
        self.count += 1
        self.made = x
        if isinstance(x, Value):
            x.made_ = made
        elif x._grad_fn is not None:
            numbers = tuple(y if isinstance(y, (int, float)) else None for y in operands)
            array = x._array.copy() if x._array.size <= CELLS else None
            x._grad_fn.metadata["made_"] = Made(made.file, made.line, made.serial, array, numbers)


def place() -> tuple[str, int]:
    """The file and line of the program, outside of engine."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(OURS):
        frame = frame.f_back
    return (frame.f_code.co_filename, frame.f_lineno) if frame is not None else ("", 0)


def made_of(node: Any) -> Made | None:
    """Where a node was made, if that was recorded."""
    if isinstance(node, Value):
        return getattr(node, "made_", None)
    return None if isinstance(node, TensorBase) else node.metadata.get("made_")


def walked(root: Any) -> RecordingWalk:
    """The walk back from a Value or a Tensor of one number; no `.grad` changes, nothing is freed.

    Raises TypeError for another object, RuntimeError for what has no gradient or many numbers.
    """
    edge = edge_of(root)
    if not isinstance(root, DIFFERENTIABLE):
        raise TypeError(
            f"explore: needs a Value or a Tensor, or a function that returns one; got "
            f"{type(root).__name__}"
        )
    if edge is None:
        raise RuntimeError(
            f"explore: needs a result that requires grad; this {type(root).__name__} does not, as "
            "nothing it was made of does, or it was made under no_grad or by detach()"
        )
    if isinstance(root, TensorBase) and root._array.size != 1:
        raise RuntimeError(
            f"explore: needs a result of one number to start from; got shape "
            f"{tuple(root._array.shape)}; take its sum() or mean()"
        )
    walk = RecordingWalk([edge], None, True, False)
    walk.add(edge, 1.0 if isinstance(root, Value) else make(np.ones_like(root._array)))
    walk.run()
    return walk
