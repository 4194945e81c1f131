"""When no gradient can come back: tensors that autograd does not see, other results."""

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np

from engine.testing.nests import tensors_in
from engine.testing.report import Finding, Level
from engine.testing.source import functions_of
from engine.testing.trial import Subject, Trial


def hidden_tensors(subject: Subject, example: Any) -> Iterator[Finding]:
    """Tensors inside lists, dicts and objects, or taken from outside, that want a gradient."""
    for slot, thing in zip(subject.pattern.slots, example, strict=True):
        if slot.kind == "plain":
            found = list(tensors_in(thing, subject.library))
            if any(t.requires_grad for t in found) or (found and not subject.pattern.floating):
                yield _hidden(slot.name, f"inside the {type(thing).__name__} `{slot.name}`")
    for name, _ in taken_from_outside(subject):
        yield _hidden(name, f"taken from outside as `{name}`")


def _hidden(name: str, where: str) -> Finding:
    return Finding(Level.NOW, "hidden-tensor", name, (
        f"a tensor that should get a gradient is {where}: autograd sees only the tensors among the "
        "arguments of apply, so this one silently gets none. Pass each tensor as an argument of "
        "its own (`apply(*tensors)`), and return one gradient for each."
    ))  # fmt: skip


def taken_from_outside(subject: Subject) -> Iterator[tuple[str, Any]]:
    """Tensors with requires_grad that a Function's forward reads as globals or from a closure."""
    forward = getattr(subject.target, "forward", None)
    if not subject.is_function or forward is None:
        return
    for function in functions_of(inspect.unwrap(forward)):
        names = inspect.getclosurevars(function)
        for name, thing in {**names.globals, **names.nonlocals}.items():
            found = [] if inspect.ismodule(thing) or isinstance(thing, type) else [
                t for t in tensors_in(thing, subject.library, 2) if t.requires_grad]
            if found:
                yield name, found[0]


def no_graph(subject: Subject, trial: Trial) -> Iterator[Finding]:
    """Nothing among the results of forward carries a gradient."""
    kinds = [_kind(out, subject) for out in trial.outputs]
    wrong = [kind for kind in kinds if kind]
    if wrong:
        yield Finding(Level.NOW, "output-type", "", (
            f"forward returns a {wrong[0]}, through which no gradient goes: return a tensor "
            "(of a floating dtype) made in forward."
        ))  # fmt: skip
    elif trial.log.marked:
        yield Finding(Level.NOW, "marked-non-differentiable", "", (
            "every output is marked non-differentiable, so that no input gets a gradient."
        ))  # fmt: skip
    else:
        yield Finding(Level.NOW, "no-graph", "", (
            "the result does not depend on any input as far as autograd knows: forward was cut "
            "off by detach(), .data, no_grad or NumPy."
        ))  # fmt: skip


def _kind(out: Any, subject: Subject) -> str:
    """The type of a result that is no floating tensor; "" for one that is."""
    if isinstance(out, np.ndarray) and out.dtype.kind != "f":
        return f"{out.dtype.name} tensor"
    return "" if isinstance(out, np.ndarray) else type(out).__name__
