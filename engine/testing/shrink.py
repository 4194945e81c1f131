"""Makes a failing case small: neutral where it can be, then fewer entries, then round numbers."""

from collections.abc import Callable, Iterator

from engine.testing.cases import Case, Shape
from engine.testing.trial import Subject

Fails = Callable[[Case], bool]


def neutralised(subject: Subject, case: Case, fails: Fails) -> Case:
    """The case with every field neutral that need not be otherwise for it to fail."""
    base = subject.case(subject.small)
    for change in _neutral_fields(base, case):
        simpler = case.but(**change)
        if simpler != case and fails(simpler):
            case = simpler
    return case


def _neutral_fields(base: Case, case: Case) -> Iterator[dict[str, object]]:
    yield {"values": base.values, "layouts": (), "upstream": "random", "needs": base.needs,
           "repeated": None, "dtype": base.dtype, "plain": ()}
    for name in ("layouts", "repeated", "upstream", "dtype", "values", "plain", "needs"):
        yield {name: getattr(base, name)}
    yield {"shapes": base.shapes}
    for i, shape in enumerate(case.shapes):
        shapes = list(case.shapes)
        shapes[i] = base.shapes[i]
        if shape is None:
            yield {"shapes": tuple(shapes)}


def essential(subject: Subject, case: Case) -> set[str]:
    """The names of the fields in which a case is not neutral."""
    base = subject.case(subject.small)
    own = {"layouts", "repeated", "upstream", "dtype", "values", "plain", "needs", "shapes"}
    found = {name for name in own if getattr(case, name) != getattr(base, name)}
    if case.shapes == subject.pattern.shapes(subject.pattern.sizes):
        found.discard("shapes")
    return found - ({"values"} if case.values == "example" else set())


def smallest(case: Case, fails: Fails, tries: int = 40) -> Case:
    """The case with the smallest sizes, and with short numbers, at which it still fails."""
    shorter = True
    while shorter and tries > 0:
        shorter = False
        for candidate in _shorter(case):
            tries -= 1
            if fails(candidate):
                case, shorter = candidate, True
                break
    rounded = case.but(rounded=True)
    return rounded if fails(rounded) else case


def _shorter(case: Case) -> Iterator[Case]:
    """Cases with every dimension of one size made smaller, or a single dimension."""
    sizes = sorted({n for shape in case.shapes if shape for n in shape if n > 1}, reverse=True)
    for size in sizes:
        for smaller in dict.fromkeys((1, 2, size - 1)):
            if smaller < size:
                yield case.but(shapes=tuple(_resized(s, size, smaller) for s in case.shapes))


def _resized(shape: Shape | None, size: int, smaller: int) -> Shape | None:
    return None if shape is None else tuple(smaller if n == size else n for n in shape)
