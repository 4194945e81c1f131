"""What `explore` writes down while a program runs: the line of each node, each step of backward."""

import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from engine import modes, nn, scalar, value
from engine.attention import is_ours
from engine.graph import Walk, current_walk
from engine.nodes import DIFFERENTIABLE, Edge, Node, TensorBase, Value, edge_of, needs_grad
from engine.tensors import make
from engine.visualize.boxes import Constant, notes_of
from engine.visualize.kept import kept_by

# Here the program ends and engine, which ran it, begins.
ENDS = (str(Path(__file__).with_name("exploring.py")), str(Path(__file__).parents[1] / "run.py"))
# Of an array that is larger, only least, mean and greatest are kept.
CELLS = 1024
# So many calls are kept of those that led to a line.
CALLS = 8

# By these names objects are called.
LAYER = ("__call__", "forward")
MODULES = (nn.Module, scalar.Module)
# What is called there (a test runner, a progress bar) is no layer.
INSTALLED = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "purelib", "platlib"))

Call = tuple[str, int, str]


class Made(NamedTuple):
    """Where a node was made.

    stack: file, line and function, innermost first. layers: the objects that were called on the
    way, outermost first, as "Linear 2". serial: how many nodes were made before it.
    array: a copy of what it holds, for a Tensor that is not large. operands: by place, a Constant
    for each that has no gradient, None for the others.
    """

    stack: tuple[Call, ...]
    layers: tuple[str, ...]
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
    """One step of a walk: the node, what had arrived at its outputs, what its hooks made of that
    (None: the same), what it gave; for a leaf, `.grad` before and after."""

    node: Any
    arrived: dict[int, Any]
    given: list[Given] = field(default_factory=list)
    kept: tuple[Any, Any] | None = None
    hooked: dict[int, Any] | None = None


class RecordingWalk(Walk):
    """The walk back, each step written down. It computes what any walk computes."""

    def __init__(self, roots: list[Edge], inputs: Any, retain: bool, create: bool):
        super().__init__(roots, inputs, retain, create)
        self.roots = roots
        self.starts: list[tuple[Any, int, Any]] = []
        self.visits: list[Visit] = []
        self.of_node: dict[int, Visit] = {}
        self.data = {id(node): numbers_of(node) for node in self.order}
        nodes = [node for node in self.order if isinstance(node, Node)]
        self.notes = {id(node): notes_of(node) for node in nodes}  # backward frees what they saved
        self.kept = {id(node): kept_by(node) for node in nodes}

    def add(self, edge: Edge, g: Any) -> None:
        node, i = edge
        before = present(self.at(node)).get(i)
        super().add(edge, g)
        after = present(self.at(node)).get(i)
        if not self.visits:
            self.starts.append((node, i, after))
        elif g is not None and after is not None:
            self.visits[-1].given.append(Given(node, i, g, before, after))

    def visit(self, node: Any, grads: list[Any]) -> None:
        visit = Visit(node, present(grads))
        self.visits.append(visit)
        self.of_node[id(node)] = visit
        super().visit(node, grads)
        if any(g is not grads[i] for i, g in visit.arrived.items()):
            visit.hooked = present(grads)

    def visit_value(self, v: Any, g: Any) -> None:
        visit = self.visits[-1]
        if g is not visit.arrived[0]:
            visit.hooked = {0: g}
        super().visit_value(v, g)

    def at_leaf(self, x: Any, g: Any) -> Any:
        arrived, g = g, super().at_leaf(x, g)
        if isinstance(x, TensorBase) or x.is_leaf:
            before = x._grad if isinstance(x, TensorBase) or value.has_grad(x) else None
            self.of_node[id(x)].kept = before, g if before is None else before + g
            self.of_node[id(x)].hooked = None if g is arrived else {0: g}
        return g


def present(grads: Sequence[Any]) -> dict[int, Any]:
    """The gradients that there are, by their numbers."""
    return {i: g for i, g in enumerate(grads) if g is not None}


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
    walk back. Values take the general walk meanwhile, whose numbers are the same.

    ungraded: the files and lines that computed while gradients were off.
    """

    def __init__(self) -> None:
        self.count = 0
        self.walks = 0
        self.last: RecordingWalk | None = None
        self.made: Any = None
        self.ungraded: dict[tuple[str, int], None] = {}
        self.layers: dict[int, tuple[Any, str]] = {}  # the object stays, or its id is another's
        self.counts: dict[str, int] = {}

    def __enter__(self) -> "Recorder":
        self.before = modes.set_observers((*modes.observers(), self))
        return self

    def __exit__(self, *error: object) -> None:
        modes.set_observers(self.before)

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
        stack, called = place()
        if stack and not modes.is_grad_enabled() and current_walk() is None:
            self.ungraded[stack[0][:2]] = None
        made = Made(stack, self.layers_of(called), self.count, None, constants(operands))
        for x in out if isinstance(out, tuple) else (out,):
            if isinstance(x, Value) or (isinstance(x, TensorBase) and x._node is not None):
                self.note(x, made)

    def layers_of(self, called: list[Any]) -> tuple[str, ...]:
        """The names of objects that were called, outermost first: class and number."""
        for x in called:
            if id(x) not in self.layers:
                kind = type(x).__name__
                self.counts[kind] = self.counts.get(kind, 0) + 1
                self.layers[id(x)] = x, f"{kind} {self.counts[kind]}"
        return tuple(dict.fromkeys(self.layers[id(x)][1] for x in reversed(called)))

    def note(self, x: Any, made: Made) -> None:
        """Keep with a node where it was made, and of a Tensor what it holds."""
        if edge_of(x) is not None:
            self.count += 1
            self.made = x
        if isinstance(x, Value):
            x.made_ = made
        else:
            array = x._array.copy() if x._array.size <= CELLS else None
            x._node.metadata["made_"] = made._replace(array=array)


def constants(operands: Any) -> tuple[Any, ...]:
    """By place, a Constant for each operand that is a number or has no gradient; () for none."""
    found = tuple(constant_of(x) for x in operands)
    return found if any(x is not None for x in found) else ()


def constant_of(x: Any) -> Constant | None:
    """A copy of an operand that has no gradient; None for another, and for a large one."""
    if isinstance(x, Value):
        return None if x.requires_grad else Constant(x.data, str(x.label), untracked(x))
    if isinstance(x, TensorBase):
        if needs_grad(x) or x._array.size > CELLS:
            return None
        return Constant(make(x._array.copy()), str(getattr(x, "label", "")), "requires no grad")
    return Constant(x) if isinstance(x, (int, float)) and not isinstance(x, bool) else None


def untracked(v: Any) -> str:
    """Why a Value has no gradient."""
    made = made_of(v)
    if made is None or not made.stack:
        return "requires no grad"
    return f"made under no_grad, line {made.stack[0][1]}"


def place() -> tuple[tuple[Call, ...], list[Any]]:
    """The calls of the program that led here, outside of engine, innermost first; and the objects
    whose `__call__` or `forward` were among them, as those of layers are."""
    found: list[Call] = []
    called: list[Any] = []
    frame: Any = sys._getframe(1)
    while frame is not None and len(found) < CALLS:
        code = frame.f_code
        if code.co_filename in ENDS:
            break
        ours = is_ours(frame.f_globals)
        if code.co_name in LAYER and code.co_varnames[:1] == ("self",):
            layer = frame.f_locals["self"]
            installed = ours or code.co_filename.startswith(INSTALLED)
            called += [layer] if not installed or isinstance(layer, MODULES) else []
        if not ours:
            if found and found[-1][:2] == (code.co_filename, frame.f_lineno):
                found.pop()  # a comprehension stands on the line of its function
            name = code.co_qualname.rpartition("<locals>.")[2]
            found.append((code.co_filename, frame.f_lineno, name))
        frame = frame.f_back
    return tuple(found), called


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
