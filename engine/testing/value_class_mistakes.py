"""Engines with the mistakes that people make, run on the record of a right one.

A tape is what `engine.Value` computes for a program: each Value's number, its parents and the
slopes between. A walk over the tape gives gradients; a mistake changes the walk. The mistake that
gives the same wrong numbers as a class, on every program tried, is its likely cause.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import isfinite

from engine import Value
from engine.testing.value_class_programs import (
    BINARY,
    UNARY,
    Operation,
    Program,
    Step,
)

OPERATIONS = {operation.name: operation for operation in BINARY + UNARY}
LARGEST = 1e4  # a program with larger numbers says more about rounding than about mistakes
AT_ZERO = ("abs", "relu", "pow")  # have a kink or a convention there; looked at apart
NO_NAMES: Mapping[str, str] = {}


@dataclass(frozen=True)
class Entry:
    """One Value of a program: its number and, for each operand, number, place and slope.

    The place of a constant is None. Where a reflected method has a second name (__radd__ =
    __add__) operands stand as the method sees them, the Value first.
    """

    data: float
    operation: str = ""
    method: str = ""
    operands: tuple[float, ...] = ()
    places: tuple[int | None, ...] = ()
    slopes: tuple[float, ...] = ()

    @property
    def parents(self) -> list[int]:
        return [place for place in self.places if place is not None]

    @property
    def used(self) -> list[float]:
        """The slopes by the operands that are Values."""
        pairs = zip(self.slopes, self.places, strict=True)
        return [slope for slope, place in pairs if place is not None]


Tape = list[Entry]


def tape_of(program: Program, names: Mapping[str, str] = NO_NAMES) -> Tape | None:
    """The right numbers of a program; None where one is undefined, huge or a convention.

    names: the name that a method goes by where a class has two for it, __radd__ for __add__.
    """
    tape = [Entry(number) for number in program.inputs]
    for step in program.steps:
        entry = entry_of(step, [e.data for e in tape], names)
        if not all(isfinite(x) and abs(x) <= LARGEST for x in (entry.data, *entry.used)):
            return None
        if step.operation.name in AT_ZERO and entry.operands[0] == 0.0:
            return None
        tape.append(entry)
    return tape


def entry_of(step: Step, data: Sequence[float], names: Mapping[str, str] = NO_NAMES) -> Entry:
    """What one step gives on earlier numbers."""
    numbers = tuple(data[o] if isinstance(o, int) else o for o in step.operands)
    places = tuple(o if isinstance(o, int) else None for o in step.operands)
    result, slopes = local(step.operation, numbers)
    method = step.form.method
    way = -1 if method in names else 1
    return Entry(result, step.operation.name, names.get(method, method), numbers[::way],
                 places[::way], slopes[::way])


@lru_cache(maxsize=20_000)
def local(operation: Operation, numbers: tuple[float, ...]) -> tuple[float, tuple[float, ...]]:
    """The result of one operation and its slopes: each operand is a Value of its own."""
    leaves = [Value(x) for x in numbers]
    y = operation.call(*leaves)
    y.backward()
    return y.data, tuple(leaf.grad for leaf in leaves)


# What a wrong backward hands to operand k of an entry, given the gradient g that came in.
Part = Callable[[Entry, int, float], float]


def at_result(e: Entry, k: int, g: float) -> float:
    """The slope taken at the result instead of at the operand."""
    return g * slope_at(e, e.data)


def from_operand(e: Entry, k: int, g: float) -> float:
    """The slope's formula of the result, with the operand put in its place."""
    x, wrong = e.operands[0], FORMULAS.get(e.operation)
    return g * wrong(x) if wrong else g * e.slopes[k]


# Slopes that are usually written with the result y; here y stands for whatever is put in.
FORMULAS: dict[str, Callable[[float], float]] = {
    "exp": lambda y: y,
    "tanh": lambda y: 1.0 - y * y,
    "sigmoid": lambda y: y * (1.0 - y),
    "sqrt": lambda y: 0.5 / y,
    "tan": lambda y: 1.0 + y * y,
}


def slope_at(e: Entry, x: float) -> float:
    """The slope of an operation of one operand at x; as it stands if it has two, or none there."""
    if len(e.operands) != 1:
        return e.slopes[0]
    return local(OPERATIONS[e.operation], (x,))[1][0]


def power_without_factor(e: Entry, k: int, g: float) -> float:
    if e.operation != "pow" or k or not e.operands[0]:
        return g * e.slopes[k]
    a, b = e.operands
    return g * float(a ** (b - 1.0))


def power_not_lowered(e: Entry, k: int, g: float) -> float:
    if e.operation != "pow" or k:
        return g * e.slopes[k]
    return g * e.operands[1] * e.data


PARTS: dict[str, Part] = {
    "cut": lambda e, k, g: 0.0,
    "sign": lambda e, k, g: -e.slopes[k] * g,
    "incoming": lambda e, k, g: e.slopes[k],
    "swapped": lambda e, k, g: e.slopes[::-1][k] * g,
    "twice": lambda e, k, g: 2.0 * e.slopes[k] * g,
    "half": lambda e, k, g: 0.5 * e.slopes[k] * g,
    "slope left out": lambda e, k, g: g,
    "from operand": from_operand,
    "at result": at_result,
    "factor of power": power_without_factor,
    "exponent of power": power_not_lowered,
}


@dataclass(frozen=True)
class Walk:
    """A search through the graph that hands gradients over as it goes.

    take: which of the waiting nodes is next, the oldest (0) or the newest (-1).
    mark: when a node counts as seen: "push", "pop" or, where it never does, "never"; "list": it
    never does, but the nodes are listed after their parents first, and the list is reversed.
    reset: each visit starts by setting the node's own gradient to 1.
    """

    take: int
    mark: str
    reset: bool = False


@dataclass(frozen=True)
class Mistake:
    """A kind of mistake, the method that makes it ("" for every one), and the operand (or all)."""

    kind: str
    method: str = ""
    operand: int | None = None
    walk: Walk | None = field(default=None)

    def concerns(self, method: str, operand: int) -> bool:
        return self.method in ("", method) and self.operand in (None, operand)


WALKS = [
    *(Walk(take, mark) for mark in ("pop", "push") for take in (-1, 0)),
    Walk(-1, "never"),
    Walk(-1, "never", reset=True),
    Walk(0, "never"),
    Walk(-1, "list"),
]
EVERYWHERE = [
    Mistake("root"),
    Mistake("stops"),
    Mistake("equality"),
    *(Mistake("order", walk=walk) for walk in WALKS),
]


def candidates(methods: Sequence[str]) -> Iterator[Mistake]:
    """The mistakes that may explain a wrong program of these methods, the most usual first."""
    for kind in ("assigned", "incoming"):
        yield Mistake(kind)
    yield from EVERYWHERE
    yield Mistake("repeated")
    for method in methods:
        for kind in ("assigned", "incoming", "repeated", "parents", *PARTS):
            yield from (Mistake(kind, method, operand) for operand in (None, 0, 1))


def gradients(tape: Tape, mistakes: Sequence[Mistake], order: list[int],
              start: list[float]) -> list[float]:
    """The gradients after one backward from the last entry, given those before it."""
    grads, reset = list(start), any(m.walk and m.walk.reset for m in mistakes)
    grads[-1] = 0.0 if any(m.kind == "root" for m in mistakes) else 1.0
    for place in order:
        grads[place] = 1.0 if reset else grads[place]
        hand_over(tape[place], grads[place], grads, mistakes)
    return grads


def hand_over(entry: Entry, g: float, grads: list[float], mistakes: Sequence[Mistake]) -> None:
    """Give each parent of an entry its part of g, as the mistakes have it."""
    before = list(grads)
    for k, parent in enumerate(entry.places):
        if parent is None:
            continue
        kinds = {m.kind for m in mistakes if m.concerns(entry.method, k)}
        changed = [PARTS[kind] for kind in PARTS if kind in kinds]
        part = changed[0](entry, k, g) if changed else entry.slopes[k] * g
        if "assigned" in kinds:
            grads[parent] = part
        else:
            grads[parent] = (before if "repeated" in kinds else grads)[parent] + part


def orders(tape: Tape, mistakes: Sequence[Mistake]) -> Iterator[list[int]]:
    """The orders of visits that a class with these mistakes may have: parents first or last."""
    walks = [m.walk for m in mistakes if m.walk]
    kinds = {m.kind for m in mistakes}
    for way in (1, -1):
        every = [kept_parents(e, mistakes)[::way] for e in tape]
        parents = [list(dict.fromkeys(places)) for places in every]
        if walks:
            yield search(walks[0], parents)
            yield search(walks[0], every)
            continue
        numbers = [e.data for e in tape] if "equality" in kinds else list(range(len(tape)))
        order = sorted_back(parents, numbers)
        yield order[:1] if "stops" in kinds else order


def kept_parents(entry: Entry, mistakes: Sequence[Mistake]) -> list[int]:
    """The parents that a class with these mistakes lets backward go on to."""
    lost = [m for m in mistakes if m.kind == "parents"]
    return [place for k, place in enumerate(entry.places)
            if place is not None and not any(m.concerns(entry.method, k) for m in lost)]


def sorted_back(parents: Sequence[Sequence[int]], names: Sequence[float]) -> list[int]:
    """From the last entry, each before its parents; entries of one name count as one."""
    seen: set[float] = set()
    order: list[int] = []

    def visit(place: int) -> None:
        if names[place] not in seen:
            seen.add(names[place])
            for parent in parents[place]:
                visit(parent)
            order.append(place)

    visit(len(parents) - 1)
    return order[::-1]


def search(walk: Walk, parents: Sequence[Sequence[int]]) -> list[int]:
    """The visits of a walk that does not sort."""
    if walk.mark == "list":
        return every_path(len(parents) - 1, parents)[::-1]
    waiting, order = [len(parents) - 1], []
    seen = set(waiting) if walk.mark == "push" else set()
    while waiting:
        place = waiting.pop(walk.take)
        if walk.mark == "pop" and place in seen:
            continue
        order.append(place)
        new = [p for p in parents[place] if p not in seen or walk.mark == "never"]
        new = list(dict.fromkeys(new)) if walk.mark == "push" else new
        waiting += new[:: walk.take or 1]
        seen |= {place, *new} if walk.mark == "push" else {place}
    return order


def every_path(place: int, parents: Sequence[Sequence[int]]) -> list[int]:
    """The entries below one, each after its parents and as often as there are paths to it."""
    return [*(p for parent in parents[place] for p in every_path(parent, parents)), place]


def outcomes(tape: Tape, mistakes: Sequence[Mistake], inputs: int,
             times: int = 1) -> Iterator[list[float]]:
    """The gradients of the inputs that a class with these mistakes may give after `times`
    backwards; "inner" among the mistakes keeps the others' gradients from one to the next."""
    keep = any(m.kind == "inner" for m in mistakes)
    for order in orders(tape, mistakes):
        grads = [0.0] * len(tape)
        for _ in range(times):
            start = grads if keep else [*grads[:inputs], *[0.0] * (len(tape) - inputs)]
            grads = gradients(tape, mistakes, order, start)
        yield grads[:inputs]
