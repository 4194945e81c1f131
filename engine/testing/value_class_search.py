"""Programs of one operation, then of more, on a class and on engine; what explains a difference."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from random import Random

from engine.testing.report import Finding
from engine.testing.value_class_mistakes import (
    Mistake,
    Tape,
    candidates,
    entry_of,
    outcomes,
    tape_of,
)
from engine.testing.value_class_programs import (
    Form,
    Program,
    Step,
    paired_programs,
    random_program,
    shrunk,
    single_programs,
)
from engine.testing.value_class_subject import NOW, Outcome, Subject, raised
from engine.testing.value_class_words import UNEXPLAINED, fact, kind_of

PROBES = 60
DISORDER = ("order", "stops", "equality", "root")


class Search:
    """What is known of a class so far: the mistakes of backward or of every operation, which are
    reckoned with, and the methods of which something was found, whose results are not judged any
    more: a second finding would be about the first one's consequences."""

    def __init__(self, subject: Subject, forms: Sequence[Form], seed: int) -> None:
        self.subject, self.seed, self.random = subject, seed, Random(seed)
        self.uses = {form: subject.uses(form) for form in forms}
        self.forms = sorted(forms, key=lambda form: len(self.uses[form]))
        self.mistakes: list[Mistake] = []
        self.unjudged: set[str] = set()
        self.apart: set[Form] = set()  # wrong with a number for operand, right with two Values

    def run(self, count: int, size: int) -> Iterator[Finding]:
        """The findings, as they come up: `count` random programs of each size up to `size`."""
        singles = [program for form in self.forms for program in single_programs(form)]
        for program in singles:
            yield from self.judge(program, gradients=False)
        for forms in (self.plain(self.forms), self.forms):
            yield from self.some(forms, count // 2, size)

    def some(self, forms: Sequence[Form], count: int, size: int) -> Iterator[Finding]:
        """The findings of all programs of one operation, of two, then of random ones."""
        joins = [form for form in self.plain(self.forms) if form.kinds == "vv"]
        pairs = (paired_programs(form, joins) for form in forms)
        for program in chain(*map(single_programs, forms), *pairs):
            yield from self.judge(program)
        for length in range(2, size + 1):
            for _ in range(count):
                if known := self.judged(forms):
                    yield from self.judge(random_program(self.random, known, length))

    @property
    def disordered(self) -> bool:
        """Whether the walk as a whole is wrong: of larger programs no more can be said."""
        return any(m.kind in DISORDER for m in self.mistakes)

    @property
    def longest(self) -> int:
        """The longest programs of which a wrong walk can be foretold; constants may be equal."""
        return 1 if any(m.kind == "equality" for m in self.mistakes) else 2

    def judged(self, forms: Iterable[Form]) -> list[Form]:
        """The forms whose result can be foretold."""
        return [form for form in forms if self.foretold(form)]

    def plain(self, forms: Iterable[Form]) -> list[Form]:
        """The forms that are not made of other operations."""
        return [form for form in forms if len(self.uses[form]) == 1]

    def foretold(self, form: Form) -> bool:
        """Not those unjudged, nor those made of them or of ones apart; nor, once every operation
        is mistaken, any made of others: the Values in between are not on the tape."""
        uses = self.uses.get(form)
        if uses is None or uses & self.unjudged or form in self.apart:
            return False
        apart = {method for other in self.apart for method in self.uses[other]}
        return len(uses) == 1 or not (self.mistakes or uses & apart)

    def judge(self, program: Program, gradients: bool = True) -> Iterator[Finding]:
        """A finding if the program differs in a way that the known mistakes do not explain."""
        tape = self.tape(program)
        if tape is None or (self.disordered and len(program.steps) > self.longest):
            return
        got = self.subject.outcome(program, times=int(gradients))
        if got.error is not None:
            yield self.on_error(program)
        elif not self.subject.close(got.numbers, [entry.data for entry in tape]):
            yield self.on_number(program, int(gradients))
        elif gradients and self.unexplained(program, tape, got):
            yield self.on_gradient(program)

    def random_judged(self, size: int) -> Program | None:
        """A random program of plain operations whose result can be foretold."""
        forms = self.plain(self.judged(self.forms))
        program = random_program(self.random, forms, size) if forms else None
        return program if program and self.tape(program) else None

    def tape(self, program: Program) -> Tape | None:
        """The right numbers of a program that is judged: as all of its operations are, and where
        gradients are assigned no Value in it is used twice, since the last part remains."""
        assigned = any(m.kind == "assigned" for m in self.mistakes)
        foretold = all(self.foretold(step.form) for step in program.steps)
        unclear = assigned and program.shares
        return tape_of(program, self.subject.names) if foretold and not unclear else None

    def right(self, tape: Tape, got: Outcome, mistakes: Sequence[Mistake] = ()) -> bool:
        """Whether a class with these mistakes, or none, may give these gradients."""
        foretold = outcomes(tape, mistakes, len(got.gradients))
        return any(self.subject.close(got.gradients, gradients) for gradients in foretold)

    def unexplained(self, program: Program, tape: Tape, got: Outcome) -> bool:
        """Whether no known mistake explains the gradients, and they come out so each time."""
        known = self.right(tape, got) or self.right(tape, got, self.mistakes)
        return not known and self.subject.steady(program, got)

    def methods(self, program: Program) -> list[str]:
        """The methods of a program, each under its one name."""
        names = self.subject.names
        return list(dict.fromkeys(names.get(m, m) for m in (s.form.method for s in program.steps)))

    # --- the three ways to differ ---

    def on_error(self, program: Program) -> Finding:
        """A program that raises an exception."""
        def fails(p: Program) -> bool:
            return self.tape(p) is not None and self.subject.outcome(p).error is not None

        program = shrunk(program, fails)
        error = self.subject.outcome(program).error
        self.unjudged.update(self.methods(program))
        message = f"raises {type(error).__name__}: {error}" + unhashable(error)
        source = program.source(self.subject.name, f"{program.last}.backward()  {raised(error)}")
        return Finding(NOW, "raises", self.text(program), message, source)

    def on_number(self, program: Program, times: int) -> Finding:
        """A program with a wrong number: that of an operation, or one that was changed."""
        def fails(p: Program) -> bool:
            tape, got = self.tape(p), self.subject.outcome(p, times)
            right = [entry.data for entry in tape or ()]
            return bool(right) and not got.error and not self.subject.close(got.numbers, right)

        program = shrunk(program, fails)
        got, tape = self.subject.outcome(program, times), self.tape(program) or []
        self.unjudged.update(self.methods(program))
        kind, message = "operand", "changes the number of its operand; it must make a new Value"
        if times:
            message = "backward changes numbers; it must change gradients only"
        elif self.subject.close(got.numbers[: len(program.inputs)], program.inputs):
            kind, message = "number", self.wrong_number(program, tape, got.numbers)
        right = [entry.data for entry in tape]
        lines = [f"{program.last}.backward()"] * times
        lines += self.subject.printing(self.subject.data, got.numbers, right)
        source = program.source(self.subject.name, *lines)
        return Finding(NOW, kind, self.text(program), message, source)

    def wrong_number(self, program: Program, tape: Tape, numbers: Sequence[float]) -> str:
        """What is wrong with the first wrong number of a program."""
        data, first = [entry.data for entry in tape], len(program.inputs)
        place = next(i for i, x in enumerate(data) if not self.subject.close([numbers[i]], [x]))
        step, got = program.steps[place - first], numbers[place]
        exchanged = entry_of(Step(step.operation, step.operands[::-1]), data).data
        said = f"gives {got!r}, and {data[place]!r} is right"
        if step.operation.arity == 2 and self.subject.close([got], [exchanged]):
            return f"{said}: the operands are exchanged"
        return f"{said}: a sign" if self.subject.close([got], [-data[place]]) else said

    def on_gradient(self, program: Program) -> Finding:
        """A program with a wrong gradient: the mistake that explains it best."""
        program = shrunk(program, self.fails)
        best = self.best(program)
        if best is None:
            kind = unexplained_kind(program)
            said = UNEXPLAINED[kind] + self.side(program)
            self.unjudged.update(self.methods(program))
            return Finding(NOW, kind, self.text(program), said, self.shown(program))
        form = program.steps[0].form
        if len(program.steps) == 1 and self.right_with_values(form):
            self.apart.update(self.alike(form))
            said = f"{fact(best)}; with two Values it is right: look at how a number is taken"
            return Finding(NOW, kind_of(best), form.text, said, self.shown(program))
        if best.method:
            self.unjudged.add(best.method)
        else:
            self.mistakes.append(best)
        return Finding(NOW, kind_of(best), self.place(best), fact(best), self.shown(program))

    def alike(self, form: Form) -> list[Form]:
        """The forms with a number for operand that lead to one method, as a * 2 and 2 * a may."""
        names = self.subject.names
        method = names.get(form.method, form.method)
        numbered = [f for f in self.forms if f.kinds in ("vc", "cv")]
        return [f for f in numbered if names.get(f.method, f.method) == method]

    def right_with_values(self, form: Form) -> bool:
        """Whether an operation that fails with a number is right with two Values."""
        twins = [f for f in self.forms if (f.operation, f.kinds) == (form.operation, "vv")]
        if form.kinds not in ("vc", "cv") or not twins:
            return False
        return not any(self.fails(program) for program in single_programs(twins[0]))

    def fails(self, program: Program) -> bool:
        """Whether the gradients of a program that runs are wrong."""
        tape, got = self.tape(program), self.subject.outcome(program)
        return tape is not None and got.error is None and self.unexplained(program, tape, got)

    def side(self, program: Program) -> str:
        """Words on a slope that is right for operands of one sign only."""
        if len(program.steps) > 1 or program.steps[0].form.kinds not in ("v", "vc"):
            return ""
        wrong = {}
        for x in (-3.0, -1.5, -0.5, 0.5, 1.5, 3.0):
            moved = Program((x,), program.steps)
            tape, got = self.tape(moved), self.subject.outcome(moved)
            if tape is not None and got.error is None:
                wrong[x] = self.unexplained(moved, tape, got)
        for sign, side in ((-1.0, "negative"), (1.0, "positive")):
            if wrong and all(wrong[x] == (sign * x > 0) for x in wrong):
                return f"; wrong for {side} operands only: a branch, a sign or an abs() too many"
        return ""

    def best(self, program: Program) -> Mistake | None:
        """Of the mistakes that explain the program, the one that explains the most others."""
        cases = list(self.cases(program))
        tape, got = tape_of(program, self.subject.names) or [], self.subject.outcome(program)

        def score(*mistakes: Mistake) -> int:
            return sum(self.right(t, o, [*self.mistakes, *mistakes]) for t, o in cases)

        explaining = [mistake for mistake in candidates(self.methods(program))
                      if self.right(tape, got, [*self.mistakes, mistake])]
        best = max(explaining, key=score, default=None)
        return best if best and 2 * score(best) >= len(cases) + score() else None

    def cases(self, program: Program) -> Iterator[tuple[Tape, Outcome]]:
        """Programs with some of the same operations, as they ought to be and as they are."""
        for probe in self.probes(program):
            tape, got = self.tape(probe), self.subject.outcome(probe)
            if tape is not None and got.error is None and self.subject.steady(probe, got):
                yield tape, got

    def probes(self, program: Program) -> Iterator[Program]:
        """Other programs that show which mistake it is: of these operations, alone and mixed."""
        own, random = list(dict.fromkeys(step.form for step in program.steps)), Random(self.seed)
        forms = self.plain(self.judged(self.forms))
        yield from chain.from_iterable(map(single_programs, own))
        for i in range(PROBES):
            pool = [*own, *own, *forms] if i % 2 else own
            yield random_program(random, pool, 1 + i % 5)

    # --- texts ---

    def place(self, mistake: Mistake) -> str:
        """What a mistake is about: an operation, every operation, or backward."""
        if mistake.kind in ("assigned", "incoming", "repeated") and not mistake.method:
            return "every operation"
        texts = {self.subject.names.get(f.method, f.method): f.text for f in reversed(self.forms)}
        return texts.get(mistake.method, "backward")

    def text(self, program: Program) -> str:
        return ", ".join(dict.fromkeys(step.form.text for step in program.steps))

    def shown(self, program: Program, times: int = 1) -> str:
        """The program, and the gradients that it gave and should have given."""
        got = self.subject.outcome(program, times).gradients
        right = next(outcomes(tape_of(program) or [], (), len(got), times))
        lines = [f"{program.last}.backward()"] * times
        lines += self.subject.printing(self.subject.grad, got, right)
        return program.source(self.subject.name, *lines)


def unexplained_kind(program: Program) -> str:
    """What is wrong with a program that no mistake explains, as far as its shape tells."""
    if len(program.steps) == 1:
        return "slope"
    return "order" if program.shares else "incoming"


def unhashable(error: Exception | None) -> str:
    """The cure where a class with an __eq__ lost its __hash__."""
    if isinstance(error, TypeError) and "unhashable" in str(error):
        return "; a class that defines `__eq__` needs `__hash__` too: leave both out"
    return ""
