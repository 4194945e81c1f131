"""The cases that every check tries: the example first, then one thing changed at a time."""

import math
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations
from typing import Any

from engine.testing.cases import Case, Shape
from engine.testing.trial import Subject

LAYOUTS = ("transposed", "strided", "expanded", "reversed", "view")
NUMBERS = ("negated", "times 3", "times 30", "times 800", "times 1e-8", "times 1e-20", "plus 1000")


def now(subject: Subject) -> Iterator[Case]:
    """The example as it stands, then other numbers at small sizes like its own."""
    yield subject.case(values="example")
    for seed in (0, 1):
        yield subject.case(subject.small, seed=seed)


def sizes(subject: Subject) -> Iterator[Case]:
    """Each size of the example, and all of them, as 1, 0, 2, 3 and more."""
    small = list(subject.small)
    labels = range(len(small))
    for label in labels:
        for size in (1, 0, 2):
            yield subject.case([size if k == label else small[k] for k in labels])
    for size in (1, 2, 3, 0):
        yield subject.case([size] * len(small))
    yield subject.case([n + 1 if n > 1 else n for n in small])
    yield subject.case([n + 3 if n > 1 else n for n in small])
    if any(n == 1 for n in small):
        yield subject.case([n if n > 1 else 4 for n in small])


def untied(subject: Subject) -> Iterator[Case]:
    """Sizes of one tensor that are equal in the example by accident: one of them made longer."""
    for places in _tied(subject):
        if len({i for i, _ in places}) == 1:
            yield from (_longer(subject, [place]) for place in places)


def independent(subject: Subject) -> Iterator[Case]:
    """Equal sizes of several tensors made unequal: one or two dimensions made longer."""
    for places in _tied(subject):
        if len({i for i, _ in places}) > 1:
            groups = [*combinations(places, 1), *combinations(places, 2)]
            yield from (_longer(subject, group) for group in groups[:12])


def _tied(subject: Subject) -> Iterator[list[tuple[int, int]]]:
    """For each label of sizes above 1, the argument and dimension of all its places."""
    for label, size in enumerate(subject.small):
        slots = enumerate(subject.pattern.slots)
        places = [(i, k) for i, s in slots for k, own in enumerate(s.dims) if own == label]
        if size > 1 and len(places) > 1:
            yield places


def _longer(subject: Subject, places: Sequence[tuple[int, int]]) -> Case:
    small = subject.case(subject.small)
    shapes = [None if s is None else list(s) for s in small.shapes]
    for i, axis in places:
        shape = shapes[i]
        if shape is not None:
            shape[axis] += 1
    return small.but(shapes=tuple(None if s is None else tuple(s) for s in shapes))


def scalars(subject: Subject) -> Iterator[Case]:
    """All tensors of shape ()."""
    small = subject.case(subject.small)
    yield small.but(shapes=tuple(None if s is None else () for s in small.shapes))


def broadcast(subject: Subject) -> Iterator[Case]:
    """Equal sizes made unequal, so that forward broadcasts where it takes them; a dimension more.

    One example does not tell whether its author meant these.
    """
    small = subject.case(subject.small)
    if len(subject.pattern.floating) > 1:
        for i in subject.pattern.floating:
            for shape in _stretched(small.shapes[i] or ()):
                yield small.but(shapes=_with(small.shapes, i, shape))
    yield small.but(shapes=tuple(None if s is None else (2, *s) for s in small.shapes))
    for i, j in combinations(subject.pattern.floating, 2):
        if small.shapes[i] != small.shapes[j]:
            yield from _repeated(small, i, j)


def _stretched(shape: Shape) -> Iterator[Shape]:
    for axis in range(len(shape)):
        yield (*shape[:axis], 1, *shape[axis + 1 :])
    yield shape[1:]
    yield (2, *shape)


def _with(
    shapes: tuple[Shape | None, ...], i: int, shape: Shape | None
) -> tuple[Shape | None, ...]:
    return (*shapes[:i], shape, *shapes[i + 1 :])


def usage(subject: Subject, outputs: int) -> Iterator[Case]:
    """Other memory layouts, upstream gradients, dtypes, and one tensor given twice.

    outputs: how many outputs of forward carry a gradient.
    """
    small = subject.case(subject.small)
    count = len(small.shapes)
    for layout in LAYOUTS:
        yield small.but(layouts=(layout,) * count)
    for upstream in ("expanded", "transposed"):
        yield small.but(upstream=upstream)
    if outputs > 1:
        yield from (small.but(upstream=f"only {k}") for k in range(outputs))
    yield small.but(dtype="float32")
    for i, j in combinations(subject.pattern.floating, 2):
        if small.shapes[i] == small.shapes[j]:
            yield from _repeated(small, i, j)


def _repeated(small: Case, i: int, j: int) -> Iterator[Case]:
    shape = small.shapes[i]
    if shape is not None and small.needs[i] and small.needs[j]:
        yield small.but(shapes=_with(small.shapes, j, shape), repeated=(i, j))


def subsets(subject: Subject) -> Iterator[Case]:
    """Every subset of the arguments requiring a gradient; beyond four, one and all but one."""
    small = subject.case(subject.small)
    asked = [i for i, need in enumerate(small.needs) if need]
    counts = range(1, len(asked)) if len(asked) <= 4 else (1, len(asked) - 1)
    for count in counts:
        for chosen in combinations(asked, count):
            yield small.but(needs=tuple(i in chosen for i in range(len(small.needs))))


def numbers(subject: Subject) -> Iterator[Case]:
    """Large, tiny, negative and offset numbers."""
    small = subject.case(subject.small)
    yield from (small.but(values=style) for style in NUMBERS)


def arguments(subject: Subject) -> Iterator[Case]:
    """Other numbers and flags for arguments that are no tensors, None for optional tensors."""
    small = subject.case(subject.small)
    for i, slot in enumerate(subject.pattern.slots):
        if slot.kind == "plain":
            yield from (small.but(plain=((i, other),)) for other in others(slot.example))
        elif slot.optional:
            yield small.but(shapes=_with(small.shapes, i, None))


def others(thing: Any) -> list[Any]:
    """Other objects of the same kind as one argument."""
    if isinstance(thing, bool):
        return [not thing]
    if isinstance(thing, int):
        return [thing + 1] + [thing - 1] * (thing > 0)
    if isinstance(thing, float):
        return [thing * 1.5 + 0.25 * (thing >= 0)]
    return []


def _at_most(subject: Subject, largest: int) -> list[int] | None:
    """Sizes of at most so much; None where that is still too many numbers to look at each."""
    sizes = [min(n, largest) for n in subject.small]
    shapes = subject.pattern.shapes(sizes)
    count = sum(math.prod(shapes[i] or ()) for i in subject.pattern.floating)
    return sizes if count <= 24 or largest == 2 else None


def kinks(subject: Subject) -> Iterator[Case]:
    """Numbers at which functions tend to have kinks, ties, and zeros."""
    sizes = next((s for s in map(partial(_at_most, subject), (3, 2)) if s), subject.small)
    for values in ("kinks", "ties", "zeros"):
        for seed in range(3 if values == "kinks" else 1):
            yield subject.case(sizes, values=values, seed=seed)
