"""The class under examination: what it offers, and what a program gives on it."""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isclose
from numbers import Real
from types import CodeType, FrameType
from typing import Any

from engine.testing.report import Finding, Level
from engine.testing.value_class_programs import (
    BINARY,
    UNARY,
    Form,
    Operation,
    Program,
    letter,
)

REFUSALS = {"vc": "constant", "cv": "reflected"}
NUMBER = ("data", "value", "val")
GRADIENT = ("grad", "gradient", "derivative")
TRIES = 20  # an order that changes from run to run passes for steady once in a million
NOW, OTHER, WASTE = Level.NOW, Level.SHAPES, Level.WASTEFUL  # OTHER: other numbers, other graphs


@dataclass(frozen=True)
class Outcome:
    """What a program gave: the number of each Value, the gradients of the inputs, or an error."""

    numbers: tuple[float, ...] = ()
    gradients: tuple[float, ...] = ()
    error: Exception | None = None


class Subject:
    """A scalar class, with the names under which it keeps its number and its gradient."""

    def __init__(self, cls: type[Any]) -> None:
        self.cls, self.name = cls, cls.__name__
        sample = cls(0.1)
        self.data = first_of(NUMBER, sample, "number")
        self.grad = first_of(GRADIENT, sample, "gradient")
        single = abs(self.number(sample) - 0.1) > 1e-12
        self.tolerance = 1e-3 if single else 1e-6

    def number(self, v: Any) -> float:
        """The number of an instance."""
        return float(getattr(v, self.data))

    def gradient(self, v: Any) -> float:
        """The gradient of an instance; 0.0 for None. It may be an instance itself, made for
        second derivatives."""
        g = getattr(v, self.grad)
        while not isinstance(g, Real) and hasattr(g, self.data):
            g = getattr(g, self.data)
        return 0.0 if g is None else float(g)

    def close(self, got: Sequence[float], right: Sequence[float]) -> bool:
        """Whether all numbers agree within the tolerance."""
        pairs = zip(got, right, strict=True)
        t = self.tolerance
        return all(isclose(x, y, rel_tol=t, abs_tol=t) or (x != x and y != y) for x, y in pairs)

    def outcome(self, program: Program, times: int = 1) -> Outcome:
        """Run a program and `times` backwards from its last Value."""
        try:
            values = program.run(self.cls)
            for _ in range(times):
                values[-1].backward()
            inputs = values[: len(program.inputs)]
            return Outcome(tuple(map(self.number, values)), tuple(map(self.gradient, inputs)))
        except Exception as error:  # anything that somebody's class may raise is a finding
            return Outcome(error=error)

    def printing(self, attribute: str, got: Sequence[float], right: Sequence[float]) -> list[str]:
        """Lines that print those numbers or gradients, by the Values' places, that are wrong:
        what comes out and what is right."""
        return [f"print({letter(i)}.{attribute})  # {x!r}; right: {y!r}"
                for i, (x, y) in enumerate(zip(got, right, strict=True))
                if not self.close([x], [y])]

    def steady(self, program: Program, got: Outcome, times: int = 1) -> bool:
        """Whether a program gives these gradients each time.

        A class that keeps parents in a set visits them in the order of their addresses: a wrong
        backward may then come out right, or wrong in another way. Some more instances are kept
        before each run, so that addresses change.
        """
        kept: list[Any] = []
        for i in range(TRIES):
            kept += [self.cls(0.5) for _ in range(i)]
            again = self.outcome(program, times)
            if again.error is not None or not self.close(again.gradients, got.gradients):
                return False
        return True

    @cached_property
    def codes(self) -> dict[CodeType, str]:
        """The operations that the class defines in Python, by their code."""
        methods = {op.method for op in BINARY + UNARY} | {f"__r{op.method[2:]}" for op in BINARY}
        codes = {}
        for name in sorted(methods, reverse=True):  # __add__ after __radd__, for an alias
            code = getattr(getattr(self.cls, name, None), "__code__", None)
            if code is not None:
                codes[code] = name
        return codes

    def uses(self, form: Form) -> set[str]:
        """The names of the methods that an operation runs: its own, and those it is made of."""
        seen: set[str] = {self.names.get(form.method, form.method)}

        def watch(frame: FrameType, event: str, argument: object) -> None:
            if event == "call" and frame.f_code in self.codes:
                seen.add(self.codes[frame.f_code])

        with profiled(watch):
            self.sample(form)
        return seen

    @cached_property
    def names(self) -> dict[str, str]:
        """The name that a method goes by where the class gives it two: __radd__ = __add__."""
        both = [(op.method, f"__r{op.method[2:]}") for op in BINARY]
        known = self.cls.__dict__
        return {r: name for name, r in both if r in known and known[r] is known.get(name)}

    def sample(self, form: Form) -> Any:
        """The operation on ordinary operands."""
        numbers = (1.5, 3.0) if form.operation.name in ("acosh", "pow") else (0.5, 0.25)
        constant = 3 if form.operation.name == "pow" else 2
        pairs = zip(form.kinds, numbers, strict=False)
        return form.operation.call(*(self.cls(x) if k == "v" else constant for k, x in pairs))


class profiled:
    """Within it, Python tells `watch` of every call; the profiler that ran before waits."""

    def __init__(self, watch: Callable[[FrameType, str, Any], None]) -> None:
        self.watch = watch

    def __enter__(self) -> None:
        self.before = sys.getprofile()
        sys.setprofile(self.watch)

    def __exit__(self, *exception: object) -> None:
        # cProfile's cannot be put back by this call: it ends here
        sys.setprofile(self.before if callable(self.before) else None)


def first_of(names: Sequence[str], sample: Any, what: str) -> str:
    """The first of these attributes that the instance has."""
    for name in names:
        if hasattr(sample, name):
            return name
    raise AttributeError(
        f"{type(sample).__name__} needs an attribute for its {what}, called {names[0]!r} as in "
        f"micrograd (or {', '.join(map(repr, names[1:]))}); got an instance with none of them"
    )


def discover(subject: Subject) -> tuple[list[Form], list[Finding]]:
    """The operations that work, and a finding for each kind of those that ought to and do not."""
    forms: list[Form] = []
    refused: dict[str, list[tuple[Form, Exception]]] = {}
    for form in offered(subject):
        try:
            subject.number(subject.sample(form))
        except Exception as error:
            if not optional(form, error):
                kind = REFUSALS.get(form.kinds, f"{form.text} raises")
                refused.setdefault(kind, []).append((form, error))
        else:
            forms.append(form)
    return forms, [refusal(subject, *pairs) for pairs in refused.values()]


def offered(subject: Subject) -> Iterator[Form]:
    """The forms of every operation that the class has a method for."""
    for operation in BINARY:
        if has(subject, operation):
            yield from (Form(operation, kinds) for kinds in ("vv", "vc"))
            if operation.name != "pow" or hasattr(subject.cls, "__rpow__"):
                yield Form(operation, "cv")
    yield from (Form(operation, "v") for operation in UNARY if has(subject, operation))


def has(subject: Subject, operation: Operation) -> bool:
    return callable(getattr(subject.cls, operation.method, None))


def optional(form: Form, error: Exception) -> bool:
    """Whether a class may leave this out: what it says it has not, a Value for an exponent, a
    method of the same name that means something else."""
    if isinstance(error, NotImplementedError) or (form.operation.name, form.kinds) == ("pow", "vv"):
        return True
    return form.kinds == "v" and "positional argument" in str(error)


def refusal(subject: Subject, *refused: tuple[Form, Exception]) -> Finding:
    """The finding on operations that raise an exception, for one reason."""
    form, error = refused[0]
    texts = ", ".join(form.text for form, _ in refused)
    methods = " ".join(f"`{form.method}`" for form, _ in refused)
    if form.kinds == "cv":
        cure = f"define {methods}; {reflected(subject, form)}"
    elif form.kinds == "vc":
        cure = (
            f"let {methods} take plain numbers: "
            f"`other = other if isinstance(other, {subject.name}) else {subject.name}(other)`"
        )
    else:
        cure = f"{methods} must work at ordinary numbers, and return a {subject.name}"
    kind = REFUSALS.get(form.kinds, "raises")
    operands = (f"{subject.name}(0.5)" if k == "v" else "2" for k in form.kinds)
    text = form.operation.text.format(*operands)
    program = f"print(({text}).{subject.data})  {raised(error)}"
    message = f"{form.text} raises {type(error).__name__}: {error}; {cure}"
    return Finding(NOW, kind, texts, message, program)


def raised(error: BaseException | None) -> str:
    """A comment on a program that ends with this exception."""
    first = str(error).partition("\n")[0]
    return f"# raises {type(error).__name__}: {first}".rstrip(" :")


def reflected(subject: Subject, form: Form) -> str:
    """What a reflected method is made of."""
    name = form.operation.name
    if name == "add":
        return "`sum` starts at 0, so it needs 0 + a: `__radd__ = __add__`"
    if name == "mul":
        return "`__rmul__ = __mul__`"
    symbol = form.operation.text.split()[1]
    return f"it returns `{subject.name}(other) {symbol} self`, in this order"
