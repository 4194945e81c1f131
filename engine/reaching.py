"""What a compiled function is given and reaches, as a plan to compare each call with.

Reached is what its code names: closures, globals, attributes of modules, classes and objects; of
every function of Python that ran in the first call, but for engine's own. Numbers in objects that
C code keeps for itself (a random generator, a deque's iterator) are not seen.
"""

import dis
import gc
import sys
import types
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from engine import tape
from engine.attention import is_ours
from engine.nodes import Value

VALUE, AGAIN, RUN, LIST, DICT, SAME, EQUAL, OBJECT, INDEX, ARRAY = tape.KINDS
Plan = tuple[Any, ...]

PLAIN = (int, float, bool, str, bytes, complex, type(None), set, frozenset, types.MethodType)
FIXED = (types.ModuleType, type, types.BuiltinFunctionType, types.FunctionType, types.CodeType)


class Refused(RuntimeError):
    """What engine.compile cannot do right, and so does not do."""


class Index:
    """A whole number that the function was given, while it is recorded: what uses it as a number
    is noted, and then it is part of the structure; engine.lookup does not."""

    __slots__ = ("k", "number", "recorder")

    def __init__(self, number: int, k: int, recorder: Any):
        self.number, self.k, self.recorder = number, k, recorder

    # So that isinstance(i, int) answers as it does without recording.
    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return int

    def look_up(self, rows: Any) -> Any:
        """rows[self], still open to another index."""
        return self.recorder.look_up(self, rows)

    def chooses(self, v: Any, count: int) -> None:
        """v, a cross entropy of so many scores, is that of this place, still open to another."""
        self.recorder.chosen[id(v)] = self.k
        self.recorder.ranges.append((self.k, count))

    def read(self) -> int:
        """The number; the tape is for this one alone."""
        self.recorder.fixed.add(self.k)
        return self.number

    def __getattr__(self, name: str) -> Any:
        return getattr(self.read(), name)

    def __hash__(self) -> int:
        return hash(self.read())


def reading(name: str) -> Callable[..., Any]:
    """The method of int called `name`, for an Index."""

    def method(self: Index, *others: Any) -> Any:
        plain = [x.read() if type(x) is Index else x for x in others]
        return getattr(int, name)(self.read(), *plain)

    return method


for _name in (
    "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod divmod rdivmod pow "
    "rpow lshift rlshift rshift rrshift and rand xor rxor or ror eq ne lt le gt ge bool int float "
    "index neg pos abs invert round trunc floor ceil repr str format"
).split():
    setattr(Index, f"__{_name}__", reading(f"__{_name}__"))


def given_as_indices(x: Any, recorder: Any, count: list[int]) -> Any:
    """x with each whole number in lists, tuples and dicts as an Index; count[0] is their number."""
    if type(x) is int:
        count[0] += 1
        return Index(x, count[0] - 1, recorder)
    if type(x) in (list, tuple):
        inner = [given_as_indices(y, recorder, count) for y in x]
        changed = any(a is not b for a, b in zip(x, inner, strict=True))
        return type(x)(inner) if changed else x
    if type(x) is dict:
        fields = {key: given_as_indices(y, recorder, count) for key, y in x.items()}
        return fields if any(fields[key] is not x[key] for key in x) else x
    return x


class Planner:
    """Makes plans; the Values that they meet become inputs, in order."""

    def __init__(self, attributes: set[str]):
        self.attributes = attributes
        self.inputs: list[Any] = []
        self.slots: dict[int, int] = {}
        self.seen: dict[int, Any] = {}
        self.roots: list[tuple[Plan, Any, str | None]] = []

    def plan(self, x: Any, where: str) -> Plan:
        """The plan of x, which the function finds at `where`."""
        kind = type(x)
        if isinstance(x, Value):
            return self.plan_value(x)
        if kind is Index:
            return (INDEX, x.k)
        if isinstance(x, (list, tuple, deque)):
            return self.plan_list(x, where)
        if isinstance(x, dict):
            plans = tuple(self.plan(y, f"{where}[{key!r}]") for key, y in x.items())
            return (DICT, kind, tuple(x), plans)
        if kind in PLAIN or isinstance(x, np.generic):
            return self.plan_plain(x, where)
        if isinstance(x, np.ndarray):
            return (ARRAY, kind, tape.contents(x))
        if isinstance(x, FIXED):
            return self.plan_function(x, where)
        if isinstance(x, Iterator):
            raise Refused(f"{where} is a {kind.__name__}, which is used up; give it as a list")
        return self.plan_object(x, where)

    def plan_value(self, v: Any) -> Plan:
        if id(v) in self.slots:
            return (AGAIN, self.slots[id(v)])
        slot = self.slots[id(v)] = len(self.inputs)
        self.inputs.append(v)
        return (VALUE, type(v), slot)

    def plan_list(self, x: Any, where: str) -> Plan:
        """A list, or a run of Values where all are new."""
        first = len(self.inputs)
        plans = tuple(self.plan(y, f"{where}[{i}]") for i, y in enumerate(x))
        run = tuple((VALUE, Value, first + i) for i in range(len(x)))
        return (RUN, type(x), first, len(x)) if x and plans == run else (LIST, type(x), plans)

    def plan_plain(self, x: Any, where: str) -> Plan:
        if isinstance(x, types.MethodType) and self.first_time(x.__self__):
            self.root(x.__self__, x.__self__, None, where)
        return (EQUAL, type(x), type(x)(x) if isinstance(x, set) else x, where)

    def plan_function(self, x: Any, where: str) -> Plan:
        """A function, class or module stays the same; a function's closure and defaults count."""
        if isinstance(x, types.FunctionType) and self.first_time(x) and not is_ours(x.__globals__):
            for name, cell in zip(x.__code__.co_freevars, x.__closure__ or (), strict=True):
                self.root_if_there(cell, "cell_contents", name)
            if x.__defaults__:
                self.root(x.__defaults__, x, "__defaults__", f"a default of {x.__name__}")
        return (SAME, x)

    def plan_object(self, x: Any, where: str) -> Plan:
        """Any other object: itself, and of its attributes those whose names the code uses, also
        where its class has them, which an object can hide."""
        names = tuple(sorted(self.attributes & (own_names(x) | class_names(type(x)))))
        if not names or not self.first_time(x):
            return (SAME, x)
        fields = tape.fields_of(x, names)
        names = tuple(name for name in names if name in fields)
        plans = tuple(self.plan(fields[name], f"{where}.{name}") for name in names)
        return (OBJECT, type(x), names, plans, x)

    def first_time(self, x: Any) -> bool:
        if id(x) in self.seen:
            return False
        self.seen[id(x)] = x
        return True

    def root(self, x: Any, holder: Any, name: str | None, where: str) -> None:
        """Have every call look at x, which it finds in the holder under this name."""
        self.roots.append((self.plan(x, where), holder, name))

    def root_if_there(self, holder: Any, name: str, where: str) -> None:
        try:
            x = holder[name] if type(holder) is dict else getattr(holder, name)
        except (KeyError, AttributeError, ValueError):  # ValueError: an empty cell
            return
        self.root(x, holder, name, where)


def own_names(x: Any) -> set[str]:
    """The names of the attributes that an object can hold itself."""
    slots = (getattr(kind, "__slots__", ()) for kind in type(x).__mro__)
    names = {n for s in slots for n in ((s,) if isinstance(s, str) else s)}
    return names | set(getattr(x, "__dict__", ()))


def class_names(kind: type) -> set[str]:
    """The names of plain attributes and methods that a class of Python gives its objects."""
    found = set()
    for each in kind.__mro__[:-1]:
        for name, x in vars(each).items():
            if isinstance(x, types.FunctionType) or not hasattr(type(x), "__get__"):
                found.add(name)
    return found


Codes = dict[types.CodeType, dict[str, Any]]


def codes_of(run: Callable[[], Any]) -> tuple[Any, Codes]:
    """What run() returns, and the code of each function of Python that it ran, with its globals."""
    codes: Codes = {}

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call" and not is_ours(frame.f_globals):
            codes.setdefault(frame.f_code, frame.f_globals)

    before, collects = sys.getprofile(), gc.isenabled()
    try:
        gc.disable()  # what a collection calls (finalizers, callbacks) is not the function's code
        sys.setprofile(note)
        return run(), codes
    finally:
        try:
            put_back(before)
        finally:  # a Ctrl-C may have come in just before that, or just after
            put_back(before)
            if collects:
                gc.enable()


def put_back(profile: Any) -> None:
    """Have this profile function, or profiler written in C, go on."""
    if profile is None or callable(profile):
        sys.setprofile(profile)
    else:  # cProfile's, until Python 3.11
        sys.setprofile(None)
        profile.enable()


def names_in(code: types.CodeType) -> Iterator[tuple[str, str | None]]:
    """The globals that the code reads, each alone and with the attribute that it takes of it."""
    before = None
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            before = str(step.argval)
            yield before, None
        else:
            if before is not None and step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                yield before, str(step.argval)
            before = None


def roots_of(f: Any, codes: Codes, planner: Planner) -> None:
    """Plan what f reaches by itself."""
    planner.root(f, f, None, "the function")
    done = set()
    for code, namespace in codes.items():
        for name, attribute in names_in(code):
            holder = namespace.get(name)
            if (id(namespace), name, attribute) in done or name not in namespace:
                continue
            done.add((id(namespace), name, attribute))
            if attribute is None:
                planner.root_if_there(namespace, name, name)
            elif isinstance(holder, types.ModuleType):
                planner.root_if_there(vars(holder), attribute, f"{name}.{attribute}")
            elif isinstance(holder, type):
                planner.root_if_there(holder, attribute, f"{name}.{attribute}")


def attributes_in(codes: Codes) -> set[str]:
    """The names that the code may use of an object."""
    return {name for code in codes for name in code.co_names}
