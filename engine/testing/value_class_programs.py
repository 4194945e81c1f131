"""Programs of a few operations on scalars: made at random, run on any class, printed.

A program is a few numbers and steps; each step is one operation on earlier Values, which it names
by their place, or on constants. Its last Value is the one that backward starts from.
"""

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from string import ascii_lowercase
from typing import Any

# Few, so that equal numbers meet often: some classes take equal Values for the same one.
NUMBERS = (2.0, -3.0, 0.5, 1.0, -1.0, 1.5, -0.25)
CONSTANTS = (2.0, 3.0, 1.0, 0.5, -1.0)


@dataclass(frozen=True)
class Operation:
    """One operation: its name, its text with {} for operands, its Python method, what it does."""

    name: str
    text: str
    method: str
    call: Callable[..., Any]

    @property
    def arity(self) -> int:
        return self.text.count("{}")


def named(name: str) -> Operation:
    """The operation of one operand that is called by its name."""
    return Operation(name, "{}." + name + "()", name, operator.methodcaller(name))


BINARY = [
    Operation("add", "{} + {}", "__add__", operator.add),
    Operation("mul", "{} * {}", "__mul__", operator.mul),
    Operation("sub", "{} - {}", "__sub__", operator.sub),
    Operation("div", "{} / {}", "__truediv__", operator.truediv),
    Operation("pow", "{} ** {}", "__pow__", operator.pow),
]
METHODS = (
    "exp expm1 log log1p log2 log10 sqrt rsqrt reciprocal square sin cos tan asin acos atan "
    "sinh cosh tanh asinh acosh atanh sigmoid softplus silu erf relu"
)
UNARY = [
    Operation("neg", "-{}", "__neg__", operator.neg),
    Operation("abs", "abs({})", "__abs__", abs),
    *map(named, METHODS.split()),
]


@dataclass(frozen=True)
class Form:
    """An operation and which of its operands are Values ("v") or constants ("c")."""

    operation: Operation
    kinds: str

    @property
    def method(self) -> str:
        name = self.operation.method
        return f"__r{name[2:]}" if self.kinds == "cv" else name

    @property
    def text(self) -> str:
        """The operation as a message names it: a + b, a + 2, 2 + a."""
        names = iter("ab")
        number = "3" if self.operation.name == "pow" else "2"
        operands = [next(names) if kind == "v" else number for kind in self.kinds]
        return self.operation.text.format(*operands)


@dataclass(frozen=True)
class Step:
    """One operation on operands: the place of an earlier Value (int) or a constant (float)."""

    operation: Operation
    operands: tuple[int | float, ...]

    @property
    def form(self) -> Form:
        kinds = "".join("v" if isinstance(operand, int) else "c" for operand in self.operands)
        return Form(self.operation, kinds)

    @property
    def parents(self) -> list[int]:
        return [operand for operand in self.operands if isinstance(operand, int)]


@dataclass(frozen=True)
class Program:
    """Input numbers, and the steps made from them."""

    inputs: tuple[float, ...]
    steps: tuple[Step, ...]

    def run(self, cls: type[Any]) -> list[Any]:
        """The instances of cls that the program makes: its inputs, then one per step."""
        values = [cls(number) for number in self.inputs]
        for step in self.steps:
            operands = [values[o] if isinstance(o, int) else o for o in step.operands]
            values.append(step.operation.call(*operands))
        return values

    def pruned(self) -> "Program":
        """The same program without what its last Value does not depend on."""
        needed, first = set(), len(self.inputs)
        stack = [first + len(self.steps) - 1]
        while stack:
            place = stack.pop()
            needed.add(place)
            stack += self.steps[place - first].parents if place >= first else []
        order = {old: new for new, old in enumerate(sorted(needed))}
        return Program(
            tuple(x for i, x in enumerate(self.inputs) if i in order),
            tuple(moved(s, order) for i, s in enumerate(self.steps, first) if i in order),
        )

    def source(self, name: str, *after: str) -> str:
        """The program as text for the class called `name`, then the lines `after`."""
        inputs = [f"{letter(i)} = {name}({x!r})" for i, x in enumerate(self.inputs)]
        steps = [
            f"{letter(i)} = {written(step)}" for i, step in enumerate(self.steps, len(inputs))
        ]
        return "\n".join([*inputs, *steps, *after])

    @property
    def shares(self) -> bool:
        """Whether a Value is used twice."""
        uses = [parent for step in self.steps for parent in step.parents]
        return len(uses) > len(set(uses))

    @property
    def last(self) -> str:
        return letter(len(self.inputs) + len(self.steps) - 1)


def moved(step: Step, order: dict[int, int]) -> Step:
    """The step with the places of its operands renumbered."""
    operands = (order[o] if isinstance(o, int) else o for o in step.operands)
    return replace(step, operands=tuple(operands))


def written(step: Step) -> str:
    return step.operation.text.format(
        *(letter(o) if isinstance(o, int) else f"({o})" if o < 0 else o for o in step.operands)
    )


def letter(place: int) -> str:
    return ascii_lowercase[place]


def random_program(rng: Random, forms: Sequence[Form], size: int) -> Program:
    """A program of at most `size` of the given operations, all of which its last Value needs."""
    inputs = tuple(rng.choice(NUMBERS) for _ in range(rng.randint(1, 3)))
    steps: list[Step] = []
    for _ in range(size):
        steps.append(random_step(rng, rng.choice(forms), len(inputs) + len(steps)))
    return Program(inputs, tuple(steps)).pruned()


def random_step(rng: Random, form: Form, count: int) -> Step:
    """A step on some of `count` earlier Values, recent ones first."""
    operands: list[int | float] = []
    for kind in form.kinds:
        place = count - 1 - min(rng.randrange(count), rng.randrange(count))
        operands.append(place if kind == "v" else rng.choice(CONSTANTS))
    return Step(form.operation, tuple(operands))


def single_programs(form: Form) -> Iterator[Program]:
    """Programs of this one operation: other Values, then one Value twice, at several numbers."""
    for shift in range(len(NUMBERS)):
        numbers = NUMBERS[shift:] + NUMBERS[:shift]
        count = form.kinds.count("v")
        places = iter(range(count))
        operands = [next(places) if k == "v" else CONSTANTS[shift % 5] for k in form.kinds]
        yield Program(numbers[:count], (Step(form.operation, tuple(operands)),))
        if form.kinds == "vv":
            yield Program(numbers[:1], (Step(form.operation, (0, 0)),))


def paired_programs(form: Form, joins: Sequence[Form]) -> Iterator[Program]:
    """Programs of this operation and of one that uses its result and its operand once more."""
    count = form.kinds.count("v")
    singles = [single for single in single_programs(form) if len(single.inputs) == count]
    for single in singles[:3]:
        for join in joins:
            for operands in ((0, count), (count, 0), (count, count)):
                yield Program(single.inputs, (*single.steps, Step(join.operation, operands)))


def simpler(program: Program) -> Iterator[Program]:
    """Programs with one step or one input fewer, the shortest first."""
    first = len(program.inputs)
    for i, step in enumerate(program.steps):
        for parent in step.parents:
            order = {p: p for p in range(first + i)} | {first + i: parent}
            order |= {p: p - 1 for p in range(first + i + 1, first + len(program.steps))}
            later = tuple(moved(s, order) for s in program.steps[i + 1 :])
            if steps := program.steps[:i] + later:
                yield Program(program.inputs, steps).pruned()
    for i in range(1, first):
        order = {p: p - (p >= i) for p in range(first + len(program.steps))} | {i: 0}
        inputs = program.inputs[:i] + program.inputs[i + 1 :]
        yield Program(inputs, tuple(moved(s, order) for s in program.steps)).pruned()


def shrunk(program: Program, fails: Callable[[Program], bool]) -> Program:
    """The program made smaller as long as it still fails."""
    for candidate in simpler(program):
        if fails(candidate):
            return shrunk(candidate, fails)
    return program
