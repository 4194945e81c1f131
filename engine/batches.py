"""Several calls of a compiled function at once: `engine.compile(f).sum(calls)`.

Calls that fit one tape run in its lanes, side by side; what all of them are given alike, and what
the function reaches by itself, is looked at once. A call that fits no tape, or meets another
number or answer than was recorded, is left to be made alone. In the pure build all are.
"""

from typing import Any

from engine import builds, tape, value
from engine.reaching import DICT, LIST, OBJECT, RUN, VALUE

lanes: Any = builds.module("lanes") if builds.backend() == "cython" else None
DONE = tape.OUTCOMES[0]


class Batch:
    """The calls of one recording: `take_all`, from the last to the first.

    numbers: the results of the calls that went well, by their places; node: their sum, where
    there are any.
    """

    def __init__(self, recording: Any, calls: list[Any]):
        self.plans, self.lanes, self.calls = plans_of(recording), lanes_of(recording), calls
        self.alone = [k for k in range(len(self.plans)) if not alike(k, calls)]
        own = [self.plans[k] for k in self.alone]
        self.own, self.slots = own, [slot for plan in own for slot in slots_in(plan)]
        shared = [k for k in range(len(self.plans)) if k not in self.alone]
        given, now = [calls[0][k] for k in shared], next(value._walks)
        outcome = self.lanes.share([self.plans[k] for k in shared], given, now)
        self.fits = outcome == DONE
        self.waiting: list[tuple[int, dict[int, Any]]] = []
        self.numbers: dict[int, float] = {}
        self.parents: list[Any] = []
        self.slopes: list[float] = []
        self.node: Any = None

    def take_all(self, places: list[int]) -> None:
        """Take the calls of these places, in this order, where they fit; then `finish`."""
        for i in places:
            if self.fits and len(self.calls[i]) == len(self.plans):
                self.take(i, self.calls[i])
        self.finish()

    def take(self, i: int, args: Any) -> None:
        """Take call i into a lane, if it fits this recording."""
        given, lane = [args[k] for k in self.alone], len(self.waiting)
        if self.lanes.take(lane, self.own, given, self.slots, next(value._walks)) != DONE:
            return
        bound = self.lanes.tape.bound
        self.waiting.append((i, {slot: bound[slot] for slot in self.slots}))
        if len(self.waiting) == lanes.WIDTH:
            self.run()

    def run(self) -> None:
        """Run what waits, forward and backward."""
        unused = range(len(self.waiting), lanes.WIDTH)
        for lane in unused:
            self.lanes.repeat(lane, self.slots)
        self.lanes.forward()
        good = [self.lanes.holds(lane) for lane in range(len(self.waiting))]
        for lane, (i, _) in enumerate(self.waiting):
            if good[lane]:
                self.numbers[i] = self.lanes.number(lane)
        if any(good):
            self.lanes.backward()
            own = [values for _, values in self.waiting] + [{} for _ in unused]
            self.lanes.collect(good + [False] * len(unused), own, self.parents, self.slopes)
        self.waiting.clear()

    def finish(self) -> None:
        """Run what waits, unless it is so little that it takes longer than each call alone; and
        make the node of the sum."""
        if 2 * len(self.waiting) >= lanes.WIDTH:
            self.run()
        if self.numbers:
            total = 0.0
            for i in sorted(self.numbers):
                total += self.numbers[i]
            self.node = self.lanes.result(total, self.parents, self.slopes)
        self.lanes.forget()

    def comparable(self) -> bool:
        """Whether all parents of the node are leaves, each one once: then the derivatives by them
        are added up in one order only."""
        ids = {id(v) for v in self.parents}
        return len(ids) == len(self.parents) and all(v.is_leaf for v in self.parents)


def alike(k: int, calls: list[Any]) -> bool:
    """Whether all calls are given one and the same object as argument k."""
    return all(len(args) > k and args[k] is calls[0][k] for args in calls)


def plans_of(recording: Any) -> list[Any]:
    """The plan of each argument."""
    _, _, (given, _) = recording.tape.plan
    if given[0] == RUN:
        _, _, first, count = given
        return [(VALUE, value.Value, first + i) for i in range(count)]
    return list(given[2])


def lanes_of(recording: Any) -> Any:
    """The lanes of a recording's tape, made when they are first needed."""
    if recording.lanes is None:
        recording.lanes = lanes.Lanes(recording.tape)
    return recording.lanes


def slots_in(plan: Any) -> list[int]:
    """The slots of the inputs in a plan."""
    if plan[0] == VALUE:
        return [plan[2]]
    if plan[0] == RUN:
        return list(range(plan[2], plan[2] + plan[3]))
    inner = plan[2] if plan[0] == LIST else plan[3] if plan[0] in (DICT, OBJECT) else ()
    return [slot for each in inner for slot in slots_in(each)]


def takes(recording: Any) -> bool:
    """Whether a recording is one of positional arguments and of one Value that depends on them."""
    _, _, (_, keywords) = recording.tape.plan
    one = recording.out == ("node", 0) and recording.count == 1
    return one and not keywords[2] and recording.tape.outputs[0][4] > 0
