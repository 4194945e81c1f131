"""Anomaly detection: an error or a nan in backward shows the line whose forward made the node.

It watches one thread. Each node made inside keeps where it was made, as (file, line, function);
each backward inside looks at what every node returns. Outside of it nothing is kept or looked at.
"""

import linecache
import sys
from collections.abc import Iterator
from typing import Any

from engine import modes
from engine.attention import is_ours, warn
from engine.graph import Walk
from engine.habits import Value
from engine.hooks import RemovableHandle, of
from engine.nodes import DIFFERENTIABLE, Edge, Node
from engine.tensors import Tensor

Place = tuple[str, int, str]

DEPTH = 20
ENABLED = (
    "Anomaly Detection has been enabled. This mode will increase the runtime and should only be "
    "enabled for debugging."
)
NO_PLACE = (
    "No forward pass information available. Enable detect anomaly during forward pass for more "
    "information."
)


def places() -> tuple[Place, ...]:
    """Where the program is outside of engine, the outermost call first."""
    found: list[Place] = []
    frame = sys._getframe(1)
    while frame is not None and len(found) < DEPTH:
        code = frame.f_code
        if not is_ours(frame.f_globals):
            found.append((code.co_filename, frame.f_lineno, code.co_name))
        frame = frame.f_back  # type: ignore[assignment]
    return tuple(reversed(found))


def written(found: tuple[Place, ...]) -> str:
    """Places as a traceback shows them."""
    lines = []
    for file, number, name in found:
        source = linecache.getline(file, number).strip()
        lines.append(f'  File "{file}", line {number}, in {name}\n    {source}\n')
    return "".join(lines)


def has_nan(x: Any) -> bool:
    """Whether a number, a Value or a Tensor is or holds nan."""
    if isinstance(x, Tensor):
        return x._array.dtype.kind == "f" and bool((x._array != x._array).any())
    number = x.data if isinstance(x, Value) else x
    return bool(number != number)


def noted(node: Any, name: str) -> Any:
    """What anomaly detection has written down of a node or a Value, None if nothing."""
    if isinstance(node, Value):
        return getattr(node, name, None)
    return node.metadata.get(name)


class Anomaly:
    """The observer: notes where nodes are made, and gives backward the walk that looks."""

    inside_forward = True  # it sees what a Function's forward computes, too

    def __init__(self, check_nan: bool, check_forward: bool):
        self.check_nan = check_nan
        self.check_forward = check_forward
        self.differentiated: Any = None

    def walk(self, *args: Any) -> "AnomalyWalk":
        """A walk that looks at what each node returns."""
        return AnomalyWalk(self, *args)

    def __call__(self, out: Any, op: Any, operands: Any) -> None:
        if op == "in_place":
            return
        results = out if isinstance(out, tuple) else (out,)
        found = places()
        for x in results:
            if isinstance(x, DIFFERENTIABLE):
                self.note(x, found)
        if self.check_forward:
            self.look(results, op, operands, found)

    def note(self, x: Any, found: tuple[Place, ...]) -> None:
        """Write down where x was made, and which backward was running."""
        if isinstance(x, Value):
            if not x.is_leaf:
                x.traceback_, x.parent_ = found, self.differentiated
        elif x._node is not None:
            notes = x._node.metadata
            notes["traceback_"], notes["parent_"] = found, self.differentiated

    def look(self, results: Any, op: Any, operands: Any, found: tuple[Place, ...]) -> None:
        """Refuse a nan made of operands without any."""
        name = op if isinstance(op, str) else op.name()
        fresh = not any(has_nan(x) for x in operands if isinstance(x, (*DIFFERENTIABLE, float)))
        for i, x in enumerate(results):
            if fresh and isinstance(x, DIFFERENTIABLE) and has_nan(x):
                raise RuntimeError(
                    f"Function '{name}' made nan values in its {i}th output, of operands without "
                    f"any, in the forward pass:\n{written(found)}"
                )


class AnomalyWalk(Walk):
    """The walk back that looks for nan, and tells where a node that fails was made."""

    def __init__(self, anomaly: Anomaly, *args: Any):
        super().__init__(*args)
        self.anomaly = anomaly
        self.passed: list[Any] = []

    def visit_node(self, node: Node, grads: list[Any]) -> None:
        before, self.anomaly.differentiated = self.anomaly.differentiated, node
        handle = RemovableHandle(of(node).post, self.looking(node))
        try:
            super().visit_node(node, grads)
        except Exception:
            report(node)
            raise
        finally:
            handle.remove()
            self.anomaly.differentiated = before

    def looking(self, node: Node) -> Any:
        """A hook after the node's backward that refuses nan."""

        def look(given: Any, grads: Any) -> None:
            for i, g in enumerate(given):
                if self.anomaly.check_nan and g is not None and has_nan(g):
                    raise RuntimeError(nan_in(node, i))

        return look

    def visit_value(self, v: Any, g: Any) -> None:
        before, self.anomaly.differentiated = self.anomaly.differentiated, v
        self.passed = [v]
        try:
            super().visit_value(v, g)
        except Exception:
            report(v)
            raise
        finally:
            self.passed = []
            self.anomaly.differentiated = before

    def add(self, edge: Edge, g: Any) -> None:
        if self.passed:
            self.passed.append(g)
            if self.anomaly.check_nan and has_nan(g):
                raise RuntimeError(nan_in(self.passed[0], len(self.passed) - 2))
        super().add(edge, g)


def name_of(node: Any) -> str:
    """The name of a node, or of a Value's."""
    return str((node.grad_fn if isinstance(node, Value) else node).name())


def nan_in(node: Any, i: int) -> str:
    """The error for a nan gradient."""
    found = noted(node, "traceback_")
    where = f" It was made in the forward pass at\n{written(found)}" if found else ""
    return f"Function '{name_of(node)}' returned nan values in its {i}th output.{where}"


def report(node: Any) -> None:
    """Warn of the node whose backward failed, and of those whose backward made it."""
    text = f"Error detected in {name_of(node)}. Traceback of forward call that caused the error:\n"
    say(node, text, f"Error detected in {name_of(node)}. {NO_PLACE}")
    for parent in parents_of(node):
        text = (
            f"Previous calculation was induced by {name_of(parent)}. Traceback of forward call "
            "that induced the previous calculation:\n"
        )
        say(parent, text, f"Previous calculation was induced by {name_of(parent)}. {NO_PLACE}")


def parents_of(node: Any) -> Iterator[Any]:
    """The nodes in whose backward this one was made, the nearest first."""
    parent = noted(node, "parent_")
    while parent is not None:
        yield parent
        parent = noted(parent, "parent_")


def say(node: Any, with_place: str, without: str) -> None:
    """Warn, or print where warnings are errors, since an error is on its way already."""
    found = noted(node, "traceback_")
    text = with_place + written(found) if found else without
    try:
        warn(text)
    except UserWarning:
        print(text, file=sys.stderr)


def anomaly_of_thread() -> Anomaly | None:
    """What watches this thread, if anything does."""
    return next((o for o in modes.observers() if isinstance(o, Anomaly)), None)


def is_anomaly_enabled() -> bool:
    """Whether anomaly detection watches this thread."""
    return anomaly_of_thread() is not None


def is_anomaly_check_nan_enabled() -> bool:
    """Whether it would refuse nan in backward."""
    anomaly = anomaly_of_thread()
    return anomaly is not None and anomaly.check_nan


class set_detect_anomaly:
    """Switch anomaly detection on or off in this thread: for good, or for a `with` block.

    check_nan: refuse nan in gradients. check_forward: refuse nan made in the forward pass too.
    """

    def __init__(self, mode: bool, check_nan: bool = True, check_forward: bool = False):
        self.before = modes.observers()
        others = tuple(o for o in self.before if not isinstance(o, Anomaly))
        modes.set_observers((*others, Anomaly(check_nan, check_forward)) if mode else others)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        modes.set_observers(self.before)


class detect_anomaly(set_detect_anomaly):
    """Anomaly detection for a `with` block: a nan or an error in backward names the forward line.

    check_nan: refuse nan in gradients; False only names the lines of errors. check_forward: refuse
    nan made in the forward pass too, where it is made of numbers without any.
    """

    def __init__(self, check_nan: bool = True, check_forward: bool = False):
        warn(ENABLED)
        self.check_nan, self.check_forward = check_nan, check_forward

    def __enter__(self) -> None:
        super().__init__(True, self.check_nan, self.check_forward)
