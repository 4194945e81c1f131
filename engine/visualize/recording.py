"""What `explore` writes down while a program runs: the line of each node, each step of backward."""

import sys
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import CodeType, FrameType
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

# So long a log may be, of five entries a Value.
MOST = 500_000

# By these names objects are called.
LAYER = ("__call__", "forward")
MODULES = (nn.Module, scalar.Module)
# What is called there (a test runner, a progress bar) is no layer.
INSTALLED = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "purelib", "platlib"))

Call = tuple[str, int, str]


class Made(NamedTuple):
    """Where a node was made.

    stack: file, line and function, innermost first. layers: the objects that were called on the
    way, outermost first, as "Linear 2". serial: how many nodes were made before it. operands: by
    place, a Constant for each that has no gradient, None for the others. array: a copy of what it
    holds, for a Tensor that is not large.
    """

    stack: tuple[Call, ...]
    layers: tuple[str, ...]
    serial: int
    operands: tuple[Any, ...] = ()
    array: Any = None


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
    given: list[Given]
    kept: tuple[Any, ...] | None = None
    hooked: dict[int, Any] | None = None


class RecordingWalk(Walk):
    """The walk back, each step written down. It computes what any walk computes.

    A program takes many walks and one of them is shown: they write down little, in lists without
    tuples, which the garbage collector would look at. turns: by threes a node, what had arrived,
    after its hooks, and how many contributions there were before. added: by fours a node, an
    output, a contribution, what has arrived with it. ends: of each leaf its gradient before its
    hooks, and its `.grad` before the walk and after it.
    """

    def __init__(self, roots: list[Edge], inputs: Any, retain: bool, create: bool):
        super().__init__(roots, inputs, retain, create)
        self.roots = roots
        self.turns: list[Any] = []
        self.added: list[Any] = []
        self.ends: dict[int, tuple[Any, Any, Any]] = {}
        self.data = {id(node): numbers_of(node) for node in self.order}
        nodes = [node for node in self.order if isinstance(node, Node)]
        self.notes = {id(node): notes_of(node) for node in nodes}  # backward frees what they saved
        self.kept = {id(node): kept_by(node) for node in nodes}

    def add(self, edge: Edge, g: Any) -> None:
        super().add(edge, g)
        node, i = edge
        self.added += (node, i, g, self.at(node)[i])

    def visit(self, node: Any, grads: list[Any]) -> None:
        self.turns += (node, grads, len(self.added) // 4)
        super().visit(node, grads)

    def at_leaf(self, x: Any, g: Any) -> Any:
        end = super().at_leaf(x, g)
        if x.is_leaf:
            before = grad_of(x)
            self.ends[id(x)] = g, before, end if before is None else before + end
        return end

    @cached_property
    def given(self) -> list[Given]:
        """The contributions in order; first those that the walk began with."""
        arrived: dict[tuple[int, int], Any] = {}
        found = []
        for node, i, g, after in by(4, self.added):
            found.append(Given(node, i, g, arrived.get((id(node), i)), after))
            arrived[id(node), i] = after
        return found

    @property
    def starts(self) -> list[Given]:
        """What the walk began with."""
        return self.given[: self.turns[2]]

    @cached_property
    def visits(self) -> list[Visit]:
        """The steps in order."""
        arrived: dict[int, dict[int, Any]] = {}
        for part in self.given:
            at_node = arrived.setdefault(id(part.node), {})
            at_node |= {} if part.after is None else {part.output: part.after}
        last = {id(x): g for x, g in self.arrived}
        stops = [*self.turns[5::3], len(self.given)]
        return [
            self.told(node, grads, arrived[id(node)], self.given[first:stop], last)
            for (node, grads, first), stop in zip(by(3, self.turns), stops, strict=True)
        ]

    def told(self, node: Any, grads: Any, arrived: Any, given: list[Given], last: Any) -> Visit:
        """One step. last: the gradients of leaves and Values after their hooks, by id."""
        there = [part for part in given if part.contribution is not None]
        visit = Visit(node, arrived, there)
        if any(g is not grads[i] for i, g in arrived.items()):
            visit.hooked = present(grads)
        if id(node) in last:
            g, *kept = self.ends.get(id(node), (grads[0],))
            visit.kept = tuple(kept) or None
            visit.hooked = None if last[id(node)] is g else {0: last[id(node)]}
        return visit


def by(n: int, flat: list[Any]) -> Iterator[tuple[Any, ...]]:
    """The n-tuples that stand in a list one after the other."""
    return zip(*[iter(flat)] * n, strict=True)


def present(grads: Sequence[Any]) -> dict[int, Any]:
    """The gradients that there are, by their numbers."""
    return {i: g for i, g in enumerate(grads) if g is not None}


def grad_of(leaf: Any) -> Any:
    """A copy of the `.grad` of a leaf, which a program may change in place; None for none yet."""
    if isinstance(leaf, TensorBase):
        return None if leaf._grad is None else make(leaf._grad._array.copy())
    return leaf._grad if value.has_grad(leaf) else None


def numbers_of(node: Any) -> Any:
    """What a Value or a leaf holds now: a program changes its leaves after backward."""
    if isinstance(node, Value):
        return node.data
    if isinstance(node, TensorBase):
        return make(node._array.copy())
    made = made_of(node)
    return make(made.array) if made is not None and made.array is not None else None


class Spot(NamedTuple):
    """What there is to know of an instruction that calls something.

    call: None in engine's own code. layers: the classes of which an object is a layer whose
    `__call__` or `forward` this is; () for other code. code: stays, or its id is another's.
    """

    call: Call | None
    layers: tuple[type, ...]
    code: CodeType


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
        self.log: list[Any] = []  # by fives, a Value and where it was made, since the last walk
        self.older: list[Any] = []  # the same, from before it
        self.spots: dict[tuple[int, int], Spot] = {}  # by id of a code object, and instruction
        self.layers: dict[int, tuple[Any, str]] = {}  # the object stays, or its id is another's
        self.counts: dict[str, int] = {}

    def __enter__(self) -> "Recorder":
        self.before = modes.set_observers((*modes.observers(), self))
        return self

    def __exit__(self, *error: object) -> None:
        modes.set_observers(self.before)
        settle(self.older)
        settle(self.log)

    def walk(self, *args: Any) -> Walk:
        """The walk that `backward` is to take. Not shown: a walk to some inputs, as autograd.grad's
        is, and one inside another."""
        roots, inputs, retain, create = args
        if inputs is not None or current_walk() is not None:
            return Walk(*args)
        self.walks += 1
        self.last = RecordingWalk(roots, inputs, retain, create)
        settle(self.older)
        self.older, self.log = self.log, []
        return self.last

    def __call__(self, out: Any, op: Any, operands: Any) -> None:
        stack, called = self.place()
        graded = modes.is_grad_enabled()
        if stack and not graded and current_walk() is None:
            self.ungraded[stack[0][:2]] = None
        layers = self.layers_of(called) if called else ()
        made = stack, layers, self.count, constants(operands) if graded else ()
        for x in out if isinstance(out, tuple) else (out,):
            if isinstance(x, Value) or (isinstance(x, TensorBase) and x._node is not None):
                self.note(x, made)

    def place(self) -> tuple[tuple[Call, ...], list[Any]]:
        """The calls of the program that led here, outside of engine, innermost first; and the
        objects whose `__call__` or `forward` were among them, as those of layers are."""
        found: list[Call] = []
        called: list[Any] = []
        f: Any = sys._getframe(2)
        while f is not None and len(found) < CALLS and f.f_code.co_filename not in ENDS:
            key = id(f.f_code), f.f_lasti
            call, layers, _ = self.spots.get(key) or self.spots.setdefault(key, spot(f))
            if layers and isinstance(f.f_locals["self"], layers):
                called.append(f.f_locals["self"])
            if call:
                if found and found[-1][1] == call[1] and found[-1][0] == call[0]:
                    found.pop()  # a comprehension stands on the line of its function
                found.append(call)
            f = f.f_back
        return tuple(found), called

    def layers_of(self, called: list[Any]) -> tuple[str, ...]:
        """The names of objects that were called, outermost first: class and number."""
        for x in called:
            if id(x) not in self.layers:
                kind = type(x).__name__
                self.counts[kind] = self.counts.get(kind, 0) + 1
                self.layers[id(x)] = x, f"{kind} {self.counts[kind]}"
        return tuple(dict.fromkeys(self.layers[id(x)][1] for x in reversed(called)))

    def note(self, x: Any, made: Any) -> None:
        """Keep where a node was made, and of a Tensor what it holds."""
        if edge_of(x) is not None:
            self.count += 1
            self.made = x
        if not isinstance(x, Value):
            array = x._array.copy() if x._array.size <= CELLS else None
            x._node.metadata["made_"] = Made(*made)._replace(array=array)
        elif x.requires_grad:
            self.log += (x, *made)
            if len(self.log) > MOST:
                settle(self.log)
        else:
            x.made_ = Made(*made)


def spot(f: FrameType) -> Spot:
    """What there is to know of where a frame is now."""
    code, ours = f.f_code, is_ours(f.f_globals)
    name = code.co_qualname.rpartition("<locals>.")[2]
    layers: tuple[type, ...] = ()
    if code.co_name in LAYER and code.co_varnames[:1] == ("self",):
        installed = ours or code.co_filename.startswith(INSTALLED)
        layers = MODULES if installed else (object,)
    return Spot(None if ours else (code.co_filename, f.f_lineno, name), layers, code)


def settle(log: list[Any]) -> None:
    """Have the Values of a log that are still in use keep where they were made, and empty it.

    One walk later most are not, and a dict for each of them is what recording would cost most.
    From the last back: what was made of a Value uses it.
    """
    while log:
        if sys.getrefcount(log[-5]) > 2:  # by more than the log and this question
            log[-5].made_ = Made(*log[-4:])
        del log[-5:]


def constants(operands: Any) -> tuple[Any, ...]:
    """By place, a Constant for each operand that is a number or has no gradient; () for none."""
    found = [constant_of(x) for x in operands]
    return tuple(found) if found.count(None) < len(found) else ()


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
