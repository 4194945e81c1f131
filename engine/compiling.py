"""engine.compile: a function of Values is recorded once and then replayed from its tape.

The first call runs the function twice: as it is, to see which code of Python it runs, and under a
Recorder, which sees every operation, every number that is read from a Value and every comparison.
What the function is given and what it reaches (its closure, the globals and attributes that its
code names) is written down as a plan; a call that fits no tape's plan is recorded anew. The tape
itself is in tape.py.
"""

import functools
import operator
import threading
from collections.abc import Callable
from typing import Any

from engine import lists, locks, modes, tape, value
from engine.batches import Batch, lanes, takes
from engine.nodes import Value
from engine.reaching import (
    DICT,
    EQUAL,
    INDEX,
    LIST,
    OBJECT,
    Index,
    Planner,
    Refused,
    attributes_in,
    codes_of,
    given_as_indices,
    roots_of,
)
from engine.recording import Recorder, Writer, shown

DONE, OTHER_STRUCTURE, OTHER_NUMBER, OTHER_READ, OTHER_ANSWER, OUT_OF_RANGE = tape.OUTCOMES
MUTATES = (
    "it changes what it is given or reaches (a list, an attribute, a global), which a replay does "
    "not; return it instead"
)

UNSEEN = "it depends on something that is not seen: a random number, the time, a file"

TAPES = 32  # of one function; the one that was used longest ago goes first
IN_A_ROW = 3  # recordings for a read number, before that is refused
COMPARED = 3  # the first calls, always compared with eager

_plain = threading.local()


def is_plain() -> bool:
    """Whether compiled functions of this thread run as they are: inside of another one."""
    return getattr(_plain, "depth", 0) > 0 or bool(modes.observers())


def plainly(f: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """f as it is, and compiled functions inside of it too."""
    _plain.depth = getattr(_plain, "depth", 0) + 1
    try:
        return f(*args, **kwargs)
    finally:
        _plain.depth -= 1


class Compiled:
    """A function that is replayed from tapes; see `engine.compile`.

    recordings, replays: how often it was recorded, and a tape used.
    """

    def __init__(self, f: Callable[..., Any], check: int):
        functools.update_wrapper(self, f, updated=())
        self.f = f
        self.name = getattr(f, "__qualname__", repr(f))
        self.check = check
        self.calls = self.batches = self.recordings = self.replays = 0
        self.tapes: list[Recording] = []
        self.in_a_row = 0
        self.refusal = ""

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        if owner is None:
            return self
        bound: Any = functools.partial(self, owner)
        bound.sum = lambda calls: self.sum([(owner, *args) for args in list_of(calls)])
        return bound

    def __repr__(self) -> str:
        return f"<compiled {self.f!r}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.refusal:
            raise Refused(self.refusal)
        if is_plain():
            return self.f(*args, **kwargs)
        try:
            found = locks.alone(value._free, self.replay, (args, kwargs), wait=False)
        except BaseException:  # Ctrl-C may stop a tape half-way, with numbers left in it
            self.tapes.clear()
            raise
        if found is None:  # a walk goes on, in another thread or under this signal handler
            return self.f(*args, **kwargs)
        self.calls += 1
        if not found:
            return self.record(args, kwargs)
        result, inputs = found
        if self.calls <= COMPARED or (self.check and self.calls % self.check == 0):
            eager = plainly(self.f, args, kwargs)
            self.compare(result, eager, inputs)
            return eager
        return result

    def sum(self, calls: Any) -> Any:
        """engine.sum([f(*args) for args in calls]), f compiled, of a list of tuples of arguments.

        In the compiled build calls of one structure are replayed eight at a time, side by side in
        SIMD; in the pure build one after the other. Each has the numbers of its own replay to the
        last bit, and so has their sum. The gradient of a Value that several calls have is theirs
        added up, from the last call to the first; where other calls come in between (those that
        are recorded anew, or have a tape of their own) its last bits may differ. Returns one
        Value; raises TypeError unless f does, and for what is no list of tuples.
        """
        calls = list_of(calls)
        if self.refusal:
            raise Refused(self.refusal)
        found: list[Batch] = []
        if lanes and not is_plain():
            try:
                found = locks.alone(value._free, self.in_lanes, calls, wait=False) or []
            except BaseException:  # as in a call
                self.tapes.clear()
                raise
        self.compare_batches(calls, found)
        return self.total(calls, found)

    def in_lanes(self, calls: list[Any]) -> list[Batch]:
        """As many of the calls as fit tapes, by tape: one after the other, as what the calls of
        a batch share is marked until it is finished."""
        found, left = [], list(reversed(range(len(calls))))
        for recording in self.tapes:
            if left and recording.grad_enabled == modes.is_grad_enabled() and takes(recording):
                batch = Batch(recording, calls)
                batch.take_all(left)
                left = [i for i in left if i not in batch.numbers]
                found += [batch] if batch.numbers else []
        return found

    def total(self, calls: list[Any], found: list[Batch]) -> Any:
        """The sum of batches, and of the other calls, each made alone."""
        numbers = {i: x for batch in found for i, x in batch.numbers.items()}
        others = {i: self(*args) for i, args in enumerate(calls) if i not in numbers}
        for v in others.values():
            if not isinstance(v, Value):
                raise TypeError(f"sum: {self.name} must return a Value; got {type(v).__name__}")
        if not found:
            return lists.sum_list(others.values())
        if not others and len(found) == 1:
            return found[0].node
        numbers.update((i, v.data) for i, v in others.items())
        # Others first: a walk back then adds theirs last, as it does for the first calls of a sum.
        parents = [v for v in others.values() if v.requires_grad] + [b.node for b in found]
        y = functools.reduce(operator.add, (numbers[i] for i in range(len(calls))), 0.0)
        return lanes.node(y, parents, [1.0] * len(parents))

    def compare_batches(self, calls: list[Any], found: list[Batch]) -> None:
        """Compare the first three sums with eager, and with check=n every n-th."""
        self.batches += bool(found)
        if self.batches <= COMPARED or (self.check and self.batches % self.check == 0):
            for batch in found:
                self.compare_batch(calls, batch)

    def compare_batch(self, calls: list[Any], batch: Batch) -> None:
        """Each number, and the derivatives of the sum, must be the same to the last bit."""
        expected: dict[int, float] = {}
        comparable = batch.comparable()
        for i in sorted(batch.numbers, reverse=True):
            eager = plainly(self.f, calls[i], {})
            self.must_be_same(batch.numbers[i], eager._data)
            found = derivatives_of(eager) if comparable else {}
            for leaf, d in found.items():
                expected[leaf] = expected.get(leaf, 0.0) + d
        for leaf, d in (derivatives_of(batch.node) if comparable else {}).items():
            self.must_be_same(d, expected.get(leaf, 0.0))

    def must_be_same(self, ours: float, theirs: float) -> None:
        if bits(ours) != bits(theirs):
            self.refuse(
                f"a sum has {bits(ours)} where the function itself gives {bits(theirs)}; {UNSEEN}"
            )

    def replay(self, given: Any) -> Any:
        """The result of the tape that fits this call, and its inputs; () where none fits."""
        outcome, failed = DONE, None
        for i, recording in enumerate(self.tapes):
            if recording.grad_enabled != modes.is_grad_enabled():
                continue
            now = recording.tape.replay(given, next(value._walks))
            if now == DONE:
                self.tapes.insert(0, self.tapes.pop(i))
                self.in_a_row, self.replays = 0, self.replays + 1
                return recording.result()
            recording.tape.bound = []
            if now > outcome:
                outcome, failed = now, recording
        self.count_reads(outcome, failed)
        return ()

    def count_reads(self, outcome: int, failed: Any) -> None:
        """Refuse a function whose tapes never last, for a number that it reads."""
        self.in_a_row += outcome in (OTHER_NUMBER, OTHER_READ)
        if outcome not in (OTHER_NUMBER, OTHER_READ):
            self.in_a_row = 0
        if self.in_a_row >= IN_A_ROW:
            self.refuse(failed.why(outcome))

    def refuse(self, why: str) -> None:
        self.refusal = f"engine.compile: {self.name} cannot be compiled: {why}"
        raise Refused(self.refusal)

    def record(self, args: Any, kwargs: Any) -> Any:
        """Run the function as it is, then recorded; the tape must give the same numbers."""
        eager, codes = codes_of(lambda: plainly(self.f, args, kwargs))
        try:
            recording = Recording(self.f, args, kwargs, codes)
        except Refused as error:
            self.refuse(str(error))
        self.recordings += 1
        found = locks.alone(value._free, recording.replay, (args, kwargs), wait=False)
        if found is None:
            return eager
        if not found:
            self.refuse(MUTATES)
        result, inputs = found
        self.compare(result, eager, inputs)
        self.tapes = [recording, *self.tapes[: TAPES - 1]]
        return eager

    def compare(self, result: Any, eager: Any, inputs: list[Any]) -> None:
        """Numbers, and derivatives by leaves, must be the same to the last bit."""
        ours = locks.alone(value._free, facts_of, result, inputs)
        theirs = locks.alone(value._free, facts_of, eager, inputs)
        for a, b in zip(ours, theirs, strict=False):
            if a != b:
                self.refuse(
                    f"call {self.calls} gave {a} where the function itself gives {b}; {UNSEEN}"
                )


class Recording:
    """One tape, with what it was made from."""

    def __init__(self, f: Any, args: Any, kwargs: Any, codes: Any):
        self.grad_enabled = modes.is_grad_enabled()
        self.codes = codes
        self.lanes: Any = None
        recorder = Recorder()
        count = [0]
        given = given_as_indices((args, kwargs), recorder, count)
        planner, plan = self.planned(f, given)
        recorder.planner = planner
        out = self.observed(recorder, f, *given)
        again, plan_after = self.planned(f, given)
        if (plan, planner.roots) != (plan_after, again.roots):
            raise Refused(MUTATES)
        self.write(recorder, out, plan, numbers_in((args, kwargs)))

    def planned(self, f: Any, given: Any) -> tuple[Planner, Any]:
        planner = Planner(attributes_in(self.codes))
        plan = planner.plan(given, "an argument")
        roots_of(f, self.codes, planner)
        return planner, plan

    def observed(self, recorder: Any, f: Any, args: Any, kwargs: Any) -> Any:
        before = modes.observers()
        try:
            modes.set_observers((recorder,))
            out = f(*args, **kwargs)
            modes.set_observers(before)
        except BaseException:  # a Ctrl-C may have come in while these were set
            modes.set_observers(before)
            raise
        if recorder.refusal:
            raise Refused(recorder.refusal)
        return out

    def write(self, recorder: Any, out: Any, plan: Any, numbers: list[int]) -> None:
        """Make the tape, and what rebuilds the result."""
        self.outputs: list[Any] = []
        self.recorder = recorder
        template = self.template(out)
        writer = Writer(recorder, len(numbers))
        facts = writer.write(self.outputs, numbers)
        facts["plan"] = settled(plan, recorder.fixed, numbers)
        facts["roots"] = recorder.planner.roots
        self.tape = tape.Tape(facts)
        self.places = [at for _, at in recorder.reads]
        self.out, self.count = template, len(self.outputs)
        del self.recorder, self.outputs

    def template(self, out: Any) -> Any:
        """What the function returns, its Values as places where a replay finds them."""
        r = self.recorder
        if isinstance(out, Value):
            return self.template_of_value(out)
        if type(out) in (list, tuple):
            return type(out), [self.template(x) for x in out]
        if type(out) is dict:
            return dict, (list(out), [self.template(x) for x in out.values()])
        if type(out) is Index:
            out = out.read()
        if out is None or type(out) in (bool, int, float, str):
            return "constant", out
        return r.refuse(f"it returns a {type(out).__name__}; return Values, in lists or dicts")

    def template_of_value(self, v: Any) -> Any:
        r = self.recorder
        if id(v) in r.place_of:
            if not any(v is x for x in self.outputs):
                self.outputs.append(v)
            return "node", next(i for i, x in enumerate(self.outputs) if x is v)
        if id(v) in r.stand_ins:
            return "lookup", r.stand_ins[id(v)]
        if id(v) in r.planner.slots:
            return "input", r.planner.slots[id(v)]
        if id(v) in r.made:
            return "made", (v._data, bool(v._requires_grad))
        return r.refuse("it returns a Value that it reaches in a way that is not seen")

    def replay(self, given: Any) -> Any:
        """The result of a first replay, and its inputs; () where it does not fit."""
        fits = self.tape.replay(given, next(value._walks)) == DONE
        return self.result() if fits else ()

    def result(self) -> tuple[Any, list[Any]]:
        """The result of the replay that was just done, and its inputs."""
        values = [self.tape.result(i) for i in range(self.count)]
        found, inputs = self.rebuilt(self.out, values), self.tape.bound
        self.tape.bound = []
        return found, inputs

    def rebuilt(self, template: Any, values: list[Any]) -> Any:
        kind, what = template
        if kind in ("node", "constant"):
            return values[what] if kind == "node" else what
        if kind in (list, tuple):
            return kind(self.rebuilt(x, values) for x in what)
        if kind is dict:
            found = (self.rebuilt(x, values) for x in what[1])
            return dict(zip(what[0], found, strict=True))
        if kind == "made":
            return Value(what[0], requires_grad=what[1])
        return self.tape.bound[what] if kind == "input" else self.tape.chosen(what)

    def why(self, outcome: int) -> str:
        """What made the last replay fail, and the cure."""
        if outcome == OTHER_NUMBER:
            return (
                f"{self.tape.name}, a number, was another in {IN_A_ROW} calls running; give it as "
                "a Value: engine.Value(x, requires_grad=False)"
            )
        return (
            f"it reads a number from a Value, another in each of {IN_A_ROW} calls running, at "
            f"{shown(self.places[self.tape.where])}\nUse the Value itself, v.detach() for one "
            "without gradient, and engine.softmax, logsumexp, cross_entropy or maximum for lists"
        )


def list_of(calls: Any) -> list[Any]:
    """The calls, as a list of tuples of arguments."""
    calls = list(calls)
    for args in calls:
        if type(args) is not tuple:
            raise TypeError(
                "sum: needs a list of tuples, the arguments of each call; "
                f"got a {type(args).__name__} in it"
            )
    return calls


def numbers_in(x: Any) -> list[int]:
    """The whole numbers that become indices, in order."""
    if type(x) is int:
        return [x]
    inner = x if type(x) in (list, tuple) else x.values() if type(x) is dict else ()
    return [number for y in inner for number in numbers_in(y)]


def settled(plan: Any, fixed: set[int], numbers: list[int]) -> Any:
    """The plan, with the indices that were used as numbers as numbers."""
    kind, rest = plan[0], plan[1:]
    if kind == INDEX and plan[1] in fixed:
        return (EQUAL, int, numbers[plan[1]], "a number")
    if kind in (LIST, DICT, OBJECT):
        inner = 1 if kind == LIST else 2
        changed = tuple(settled(p, fixed, numbers) for p in rest[inner])
        return (kind, *rest[:inner], changed, *rest[inner + 1 :])
    return plan


def facts_of(result: Any, inputs: list[Any]) -> list[str]:
    """What a result holds, in order, as texts: numbers, and derivatives by the inputs."""
    if isinstance(result, Value):
        return [bits(result._data), *derivatives(result, inputs)]
    if isinstance(result, (list, tuple, dict)):
        inner = list(result.values()) if isinstance(result, dict) else result
        found = [f for x in inner for f in facts_of(x, inputs)]
        return [f"{type(result).__name__} of {len(result)}", *found]
    return [bits(result) if type(result) is float else repr(result)]


def derivatives(v: Any, inputs: list[Any]) -> list[str]:
    """The derivatives of v by the inputs, where all of them are leaves, to the last bit."""
    if v.is_leaf or not all(x.is_leaf for x in inputs):
        return [f"requires_grad {v.requires_grad}"] + ["a leaf"] * v.is_leaf
    found = tape.derivatives(v, next(value._walks))
    if found is None:
        return ["hooks"]
    return [f"requires_grad {v.requires_grad}", *(bits(found.get(id(x), 0.0)) for x in inputs)]


def derivatives_of(v: Any) -> dict[int, float]:
    """The derivatives of v by the leaves below it, by their id; none where hooks run."""
    return locks.alone(value._free, tape.derivatives, v, next(value._walks)) or {}


def bits(x: float) -> str:
    """A float as text, to the last bit; all nans are one."""
    return "nan" if x != x else f"{x!r} ({x.hex()})"


def compile(f: Any = None, *, check: int = 0) -> Any:
    """f as a function that is recorded once, and then replayed without making a graph.

    f: a function of Values, in lists, tuples and dicts of any depth, that returns Values so. The
    result has f's numbers to the last bit, and so have the derivatives when `backward` is called
    on it, or grad; a sum of several results may differ in the last bits. Its parents are the
    Values that f was given or reaches, so derivatives come to them at once; of second order there
    are none. Compiled for speed; in the pure build the same tape is interpreted. Its method
    `sum(calls)` is the sum of several calls, in the compiled build eight at a time.

    Recorded anew is a call where anything is different that f depends on: the length of a list, a
    number among the arguments or in a global, a number that f reads from a Value (v.data), the
    answer of a comparison of Values. Up to 32 tapes are kept. Three recordings running for a
    number are refused with its line and the cure. Whole numbers among the arguments that only go
    into engine.lookup(rows, i), where rows are no results, and engine.cross_entropy(xs, i) may
    differ.

    Refused, with Refused, a RuntimeError: Functions and Tensors inside f, rules of one's own,
    hooks, backward, assignments of .data or .grad, changes of lists and attributes that it
    reaches, results that are not Values, and numbers other than f's. Side effects such as printing
    happen only where f runs. The first three calls, every one that records and, with check=n,
    every n-th, run f too and compare. Not seen, and left to check: what C code keeps for itself
    (random generators, files, the clock). Under an observer (anomaly detection, forward mode), in
    a second thread while a walk runs, and inside another compiled function f itself runs.
    """
    if f is None:
        return lambda function: compile(function, check=check)
    if not callable(f):
        raise TypeError(f"compile: needs a function; got {type(f).__name__}")
    if type(check) is not int or check < 0:
        raise ValueError(f"compile: check must be a whole number from 0 up; got {check!r}")
    return Compiled(f, check)
