"""What random programs do not meet: kinks, large numbers, two backwards, depth, cost."""

import operator
import sys
from collections.abc import Callable, Iterator, Sequence
from math import isfinite
from types import FrameType
from typing import Any

from engine.testing.report import Finding
from engine.testing.value_class_mistakes import Entry, Mistake, entry_of, outcomes, tape_of
from engine.testing.value_class_programs import Form, Operation, Program, Step, shrunk
from engine.testing.value_class_search import Search
from engine.testing.value_class_subject import (
    NOW,
    OTHER,
    WASTE,
    Outcome,
    Subject,
    profiled,
    raised,
)
from engine.testing.value_class_words import fact

# By operation: operands at which a formula that is right elsewhere may fail.
EDGES: dict[str, list[tuple[float, ...]]] = {
    "relu": [(0.0,)],
    "abs": [(0.0,)],
    "pow": [(0.0, 2.0), (0.0, 1.0), (-2.0, 3.0)],
    "mul": [(0.0, 3.0), (0.0, 0.0)],
    "div": [(0.0, 2.0)],
    "tanh": [(400.0,), (-400.0,), (1000.0,)],
    "sigmoid": [(800.0,), (-800.0,)],
    "softplus": [(800.0,), (-800.0,)],
    "silu": [(800.0,), (-800.0,)],
    "exp": [(-800.0,)],
}
CHAINED = ("add", "mul", "neg", "tanh", "relu")
SUBGRADIENTS = {"relu": (0.0, 1.0), "abs": (-1.0, 1.0)}
IN_PLACE: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "__iadd__": ("+=", operator.iadd),
    "__isub__": ("-=", operator.isub),
    "__imul__": ("*=", operator.imul),
    "__itruediv__": ("/=", operator.itruediv),
}

RELU_FACT = (
    "hands on a slope of {!r}; PyTorch and micrograd take 0. Any number from 0 to 1 is a "
    "subgradient there, so that training works, but numbers differ: `(out.data > 0) * out.grad`"
)
IN_PLACE_FACT = (
    "`{0}` changes the Value itself, which others still hold and whose number their slopes were "
    "made of; leave `{0}` out, Python then makes a new Value"
)


def edges(search: Search) -> Iterator[Finding]:
    """A finding for each operation that fails at special numbers."""
    for form in [] if search.mistakes else search.judged(search.forms):
        if form.kinds == "cv" or (form.operation.name, form.kinds) == ("pow", "vv"):
            continue  # the second is exp(b * log(a)) in many classes
        for numbers in EDGES.get(form.operation.name, ()):
            if finding := at_edge(search.subject, form, numbers):
                yield finding
                break


def at_edge(subject: Subject, form: Form, numbers: tuple[float, ...]) -> Finding | None:
    """The finding on one operation at these operands, if there is one."""
    operands = tuple(i if kind == "v" else numbers[i] for i, kind in enumerate(form.kinds))
    inputs = numbers[: form.kinds.count("v")]
    program = Program(inputs, (Step(form.operation, operands),))
    right = entry_of(program.steps[0], inputs)
    if not all(map(isfinite, right.used)):
        return None
    got = subject.outcome(program)
    kink = SUBGRADIENTS.get(form.operation.name)
    kind, place = "edge", f"{form.text} at {', '.join(map(repr, inputs))}"
    if got.error is not None:
        said = f"raises {type(got.error).__name__}: {got.error}; {right.data!r} is right"
    elif not subject.close(got.numbers[-1:], [right.data]):
        said = f"gives {got.numbers[-1]!r}; {right.data!r} is right"
    elif kink and kink[0] <= got.gradients[0] <= kink[1] and got.gradients[0] != 0.0:
        if form.operation.name == "abs":
            return None
        kind, said = "relu at 0", RELU_FACT.format(got.gradients[0])
    elif not subject.close(got.gradients, right.used):
        said = f"gives the gradient {list(got.gradients)!r}; {right.used!r} is right"
    else:
        return None
    source = program.source(subject.name, *edge_lines(subject, program, got, right))
    return Finding(OTHER, kind, place, said, source)


def edge_lines(subject: Subject, program: Program, got: Outcome, right: Entry) -> list[str]:
    """The end of a program of one operation: what it gives, and what is right."""
    backward = f"{program.last}.backward()"
    if got.error is not None:
        return [f"{backward}  {raised(got.error)}"]
    numbers = [*program.inputs, right.data]
    wrong = subject.printing(subject.data, got.numbers, numbers)
    return wrong or [backward, *subject.printing(subject.grad, got.gradients, right.used)]


def in_place(subject: Subject) -> Iterator[Finding]:
    """A finding for each of += -= *= /= that changes the Value which other names still hold."""
    for method, (symbol, operation) in IN_PLACE.items():
        if not hasattr(subject.cls, method):
            continue
        source = f"a = b = {subject.name}(2.0)\nb {symbol} {subject.name}(3.0)"
        before = subject.cls(2.0)
        try:
            operation(before, subject.cls(3.0))
        except Exception as error:
            message = f"`{method}` raises {type(error).__name__}: {error}"
            yield Finding(NOW, "raises", f"a {symbol} b", message, f"{source}  {raised(error)}")
        if after := subject.printing(subject.data, [subject.number(before)], [2.0]):
            message, source = IN_PLACE_FACT.format(method), "\n".join([source, *after])
            yield Finding(NOW, "in place", f"a {symbol} b", message, source)


def again(search: Search) -> Iterator[Finding]:
    """A finding if a second backward on one graph gives other than twice the gradients."""
    if search.disordered:
        return
    programs = (search.random_judged(3) for _ in range(40))
    for program in filter(None, programs):
        if wrong_twice(search, program):
            program = shrunk(program, lambda p: wrong_twice(search, p))
            got = search.subject.outcome(program, times=2).gradients
            kinds = [Mistake("inner"), Mistake("reset")]
            mistakes = [m for m in kinds if foretold(search, program, [*search.mistakes, m], got)]
            mistake = [*mistakes, kinds[0]][0]
            yield Finding(OTHER, mistake.kind, "backward", fact(mistake), search.shown(program, 2))
            return


def wrong_twice(search: Search, program: Program) -> bool:
    """Whether two backwards of a judged program give other gradients than they should, each time
    the same. A graph that is freed by its first backward may refuse the second."""
    tape, got = search.tape(program), search.subject.outcome(program, times=2)
    if tape is None or got.error is not None:
        return False
    known = foretold(search, program, search.mistakes, got.gradients)
    return not known and search.subject.steady(program, got, times=2)


def foretold(search: Search, program: Program, mistakes: Sequence[Mistake],
             got: Sequence[float]) -> bool:
    """Whether a class with these mistakes may give these gradients after two backwards."""
    tape = tape_of(program, search.subject.names) or []
    times = 1 if any(m.kind == "reset" for m in mistakes) else 2
    return any(search.subject.close(got, grads)
               for grads in outcomes(tape, mistakes, len(program.inputs), times))


def deep(search: Search) -> Iterator[Finding]:
    """A finding if a long chain ends in a RecursionError."""
    one = [f for f in search.forms if f.kinds in ("v", "vc") and f.operation.name in CHAINED]
    if not one:
        return
    form = one[0]
    subject, length = search.subject, 3 * sys.getrecursionlimit()
    try:
        chain(subject, form, length).backward()
    except RecursionError:
        message = (
            f"a chain of {length:,} operations raises RecursionError: sort the nodes with a list "
            "as a stack instead of a function that calls itself"
        )
        text = form.text.replace("2", "1.0")
        source = f"a = {subject.name}(1.0)\nfor _ in range({length}):\n    a = {text}\na.backward()"
        source += "  # raises RecursionError"
        yield Finding(OTHER, "recursion", "backward", message, source)
    except Exception as error:
        message = f"a chain of {length:,} operations raises {type(error).__name__}: {error}"
        yield Finding(OTHER, "raises", form.text, message, "")


def chain(subject: Subject, form: Form, length: int) -> Any:
    """The last of a chain of Values, each made of the one before it."""
    v = subject.cls(1.0)
    for _ in range(length):
        v = form.operation.call(v, *[1.0] * (form.operation.arity - 1))
    return v


def cost(search: Search) -> Iterator[Finding]:
    """Findings on a backward whose work grows with the paths, or with earlier programs."""
    subject = search.subject
    double = next((f.operation for f in search.judged(search.forms) if f.kinds == "vv"), None)
    if double is None or search.disordered:
        return
    few, many = calls(subject, double, 6), calls(subject, double, 12)
    if many > 10 * max(few, 1):
        message = (
            f"backward makes {few:,} calls for 6 doublings and {many:,} for 12: it walks every "
            "path, and their number is exponential; visit each Value once, in topological order"
        )
        text = double.text.format("a", "a")
        source = f"a = {subject.name}(1.0)\nfor _ in range(12):\n    a = {text}\na.backward()"
        source += f"  # {many:,} calls; {few:,} for 6 doublings"
        yield Finding(WASTE, "paths", "backward", message, source)
    elif calls(subject, double, 6) > few:
        message = (
            "backward also goes through the Values of earlier programs: it gets slower with each, "
            "and none is ever freed; keep the graph in the Values, not in the class or a module"
        )
        yield Finding(WASTE, "memory", "backward", message, "")


def calls(subject: Subject, double: Operation, times: int) -> int:
    """How many calls of Python functions backward makes after so many doublings."""
    count, v = 0, subject.cls(1.0)
    for _ in range(times):
        v = double.call(v, v)

    def watch(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    with profiled(watch):
        v.backward()
    return count
