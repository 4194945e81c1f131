"""Probes for state that outlives a call: other numbers at a second try, threads, memory."""

import gc
import sys
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Thread
from typing import Any

import numpy as np

from engine.testing import program
from engine.testing.adapter import Array
from engine.testing.first import asked, forward_values
from engine.testing.probes import Probe, Scene, text
from engine.testing.report import Finding, Level
from engine.testing.second import like
from engine.testing.trial import call, drawn, run

Grads = list[Array | None]
LEFT = 0.9  # memory blocks that a call must leave behind to be called a leak


def repeatable(s: Scene) -> Iterator[Finding]:
    """forward gives other numbers when it is called again with the same generators."""
    plain = s.case.but(needs=(False,) * len(s.case.needs))
    one, two = (forward_values(s.subject, plain, s.arrays, s.trial.active) for _ in range(2))
    if not equal([one], [two]):
        yield Finding(Level.NOW, "non-deterministic", "", (
            "forward gives other numbers when it is called again with the same arguments and the "
            "same seeds: something is kept from call to call (a counter, a buffer, a class "
            "attribute). Pass it as an argument."
        ))  # fmt: skip


def draws(s: Scene) -> bool:
    """True when forward draws random numbers: other seeds give other results."""
    plain = s.case.but(needs=(False,) * len(s.case.needs))
    one = forward_values(s.subject, plain, s.arrays, s.trial.active)
    with s.subject.library.no_grad():
        made = call(s.subject, plain, s.arrays, seed=1)
    outputs = [s.subject.library.array(made.outputs[k]).ravel() for k in s.trial.active]
    return not equal([one], [np.concatenate(outputs)])


class Graph:
    """A graph that stays, for several backwards through it."""

    def __init__(self, s: Scene, arrays: Sequence[Any]) -> None:
        self.library = s.subject.library
        self.made = call(s.subject, s.case, arrays)
        self.outputs = [self.made.outputs[k] for k in self.made.active(self.library)]
        numbers = drawn(s.case, [self.library.array(out) for out in self.outputs])
        pairs = zip(numbers, self.outputs, strict=True)
        self.upstream = [like(self.library, g, out, False) for g, out in pairs]
        self.leaves = [self.made.leaves[i] for i in asked(s.subject, s.case)]

    def backward(self, seed: int = 0) -> Grads:
        self.library.seed(seed)
        grads = self.library.grad(self.outputs, self.leaves, self.upstream, retain_graph=True)
        return [None if g is None else self.library.array(g) for g in grads]


def equal(one: Sequence[Any], two: Sequence[Any]) -> bool:
    """True when two lists of arrays agree but for the last digits."""
    for a, b in zip(one, two, strict=True):
        if (a is None) != (b is None):
            return False
        if a is not None and not np.allclose(a, b, rtol=1e-9, atol=1e-12, equal_nan=True):
            return False
    return True


def second_backward(s: Scene) -> Iterator[Finding]:
    """A second backward through one graph raises or gives other numbers."""
    graph = Graph(s, s.arrays)
    first = graph.backward(0)
    try:
        again, seeded = graph.backward(1), graph.backward(0)
    except Exception as error:
        yield _second(s, f"raises {type(error).__name__}: {error}", "do not delete what ctx keeps")
        return
    if equal(first, seeded) and not equal(first, again):
        yield Finding(Level.NOW, "non-deterministic", "", (
            "backward draws random numbers: they are others than forward's, and others each time. "
            "Draw in forward and keep what was drawn on ctx."
        ))  # fmt: skip
    elif not equal(first, again):
        yield _second(
            s,
            "gives other numbers than the first",
            "do not change in backward what forward saved or kept on ctx",
        )


def _second(s: Scene, what: str, cure: str) -> Finding:
    message = f"a second backward through one graph (retain_graph=True) {what}: {cure}."
    grads = f"torch.autograd.grad(y, [{s.variables()}], g, retain_graph=True)"
    lines = [*s.lines(), f"one = [grad.clone() for grad in {grads}]", f"two = {grads}"]
    check = 'assert all(map(torch.allclose, one, two)), "the second backward differs"'
    return Finding(Level.NOW, "second-backward", "", message, text(*lines, check))


def interleaved(s: Scene) -> Iterator[Finding]:
    """A second call before the first one's backward changes the first one's gradient."""
    others = s.subject.pattern.arrays(s.case.but(seed=s.case.seed + 9))
    alone = Graph(s, s.arrays).backward()
    graph, _ = Graph(s, s.arrays), Graph(s, others)
    try:
        late = graph.backward()
    except Exception as error:
        late, said = [], f"raises {type(error).__name__}: {error}"
    else:
        said = "gives other numbers"
    if not late or not equal(alone, late):
        yield Finding(Level.NOW, "hidden-state", "", (
            f"when it is called again before backward, the first call's backward {said}: "
            "something is kept on the class, in a global or in an object that calls share, "
            "where the second call replaces it. Keep it on ctx, which is one per call."
        ), _interleaved_program(s))  # fmt: skip


def _interleaved_program(s: Scene) -> str:
    again = program.call_text(s.subject, s.case)
    others = s.subject.pattern.arrays(s.case.but(seed=s.case.seed + 9))
    lines = program.argument_lines(s.subject, s.case, others)
    grads = f"torch.autograd.grad(y, [{s.variables()}], g, retain_graph=True)"
    keep = [f"old = [{s.variables()}]", f"one = [grad.clone() for grad in {grads}]"]
    late = "two = torch.autograd.grad(y, old, g)"
    check = 'assert all(map(torch.allclose, one, two)), "another call changed this gradient"'
    return text(*s.lines(), *keep, *lines, again, late, check)


def threads(s: Scene) -> Iterator[Finding]:
    """Calls in several threads at once disturb each other."""
    if s.subject.draws:  # from generators that the threads share, so in an order of chance
        return
    sets = [s.subject.pattern.arrays(s.case.but(seed=50 + k)) for k in range(4)]
    alone = [_grads(s, arrays) for arrays in sets]
    found: list[list[Grads]] = [[] for _ in sets]

    def work(k: int) -> None:
        for _ in range(5):
            found[k].append(_grads(s, sets[k]))

    workers = [Thread(target=work, args=(k,)) for k in range(len(sets))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    together = zip(found, alone, strict=True)
    if not all(equal(grads, right) for several, right in together for grads in several):
        yield Finding(Level.SHAPES, "threads", "", (
            "called in several threads at once it gives other gradients than alone: state is "
            "shared between calls. Keep it on ctx."
        ))  # fmt: skip


def _grads(s: Scene, arrays: Sequence[Any]) -> Grads:
    trial = run(s.subject, s.case, arrays)
    return trial.grads or [None] * len(arrays)


def memory(s: Scene) -> Iterator[Finding]:
    """Memory that is not given back: objects left by every call, or cycles."""
    with only_new_objects():
        growth, cycle = grown(s, calls=20, rounds=4), cyclic(s)
        if growth > LEFT:
            growth = grown(s)
    if growth > LEFT:
        yield Finding(Level.WASTEFUL, "memory", "", (
            f"every call leaves about {growth:.0f} object{'s' * (growth >= 1.5)} behind, forever: "
            "something outside ctx (a list, a dict, a class attribute) collects what calls leave."
        ))  # fmt: skip
    elif cycle:
        yield Finding(Level.WASTEFUL, "memory", "", (
            "a reference cycle keeps the output alive after its last use, until the garbage "
            "collector runs: ctx (or something on it) holds the output. Use save_for_backward."
        ))  # fmt: skip


@contextmanager
def only_new_objects() -> Iterator[None]:
    """Lets the garbage collector look at nothing older: a collection then takes no time."""
    gc.collect()
    if gc.get_freeze_count():
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def grown(s: Scene, calls: int = 60, rounds: int = 7) -> float:
    """Memory blocks that a call leaves behind for good: the median of several rounds."""
    levels = []
    for _ in range(rounds):
        for _ in range(calls):
            _grads(s, s.arrays)
        gc.collect()
        levels.append(sys.getallocatedblocks())
    return float(np.median(np.diff(levels))) / calls


def cyclic(s: Scene) -> bool:
    """True when an output outlives its last reference."""
    gc.collect()
    gc.disable()
    try:
        made = call(s.subject, s.case, s.arrays)
        output = made.outputs[s.trial.active[0]]
        if s.subject.library.is_value(output):
            return False
        alive = weakref.ref(output)
        del made, output
        return alive() is not None
    finally:
        gc.enable()


STATE: tuple[Probe, ...] = (repeatable, second_backward, interleaved)
LATE: tuple[Probe, ...] = (threads, memory)
