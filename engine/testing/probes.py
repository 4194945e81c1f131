"""One small function per kind of mistake that shows outside the numbers of a gradient.

A probe gets what an application on the example left behind and yields findings.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.testing import program
from engine.testing.cases import Case
from engine.testing.first import contract
from engine.testing.nests import tensors_in
from engine.testing.report import Finding, Level
from engine.testing.spy import NOTHING, Log
from engine.testing.trial import Subject, Trial, run

Probe = Callable[["Scene"], Iterator[Finding]]


@dataclass
class Scene:
    """What a probe looks at: a case of small size, its arguments, and one watched run of it."""

    subject: Subject
    case: Case
    arrays: list[Any]
    trial: Trial

    @property
    def log(self) -> Log:
        return self.trial.log

    @property
    def asked(self) -> list[int]:
        return [i for i, need in enumerate(self.case.needs) if need]

    def name(self, i: int) -> str:
        return self.subject.pattern.slots[i].name

    def lines(self) -> list[str]:
        """The first lines of a program: the arguments, `y` and its upstream gradient `g`."""
        made = program.call_lines(self.subject, self.case, self.arrays, self.trial)
        return made + program.upstream_lines(self.subject, self.case, self.trial)

    def variables(self) -> str:
        return ", ".join(program.variable(self.subject, i) for i in self.asked)


def scene(subject: Subject, case: Case) -> Scene:
    """A watched run of a case."""
    arrays = subject.pattern.arrays(case)
    return Scene(subject, case, arrays, run(subject, case, arrays, watch=subject.is_function))


def text(*lines: str) -> str:
    return "\n".join(lines) + "\n"


def input_changed(s: Scene) -> Iterator[Finding]:
    """forward changes an input in place and does not say so."""
    for i in s.trial.changed:
        if any(t is s.log.inputs[i] for t in s.log.dirty) if s.log.inputs else False:
            continue
        name = s.name(i)
        message = (
            f"forward changes `{name}` in place without ctx.mark_dirty({name}): whoever uses "
            f"`{name}` afterwards, in forward or backward, silently gets other numbers. Work on "
            f"a copy ({name}.clone()), or call ctx.mark_dirty({name}) and return it."
        )
        x = program.variable(s.subject, i)
        lines = program.argument_lines(s.subject, s.case, s.arrays)
        yield Finding(Level.NOW, "input-changed", name, message, text(
            program.head(s.subject), *lines, f"before = {x}.detach().clone()",
            f"{program.call_text(s.subject, s.case)}",
            f'assert torch.equal({x}, before), "{x} was changed in place"',
        ))  # fmt: skip


def saved_changed(s: Scene) -> Iterator[Finding]:
    """backward changes an input, which it got from saved_tensors, in place."""
    for i in s.trial.changed_later:
        name, x = s.name(i), program.variable(s.subject, i)
        message = (
            f"backward changes the saved `{name}` in place: it is the very tensor that forward "
            f"was given. Work on a copy ({name}.clone())."
        )
        yield Finding(Level.NOW, "saved-changed", name, message, text(
            *s.lines(), f"before = {x}.detach().clone()",
            f"torch.autograd.grad(y, [{s.variables()}], g)",
            f'assert torch.equal({x}, before), "{x} was changed in place"',
        ))  # fmt: skip


def upstream_changed(s: Scene) -> Iterator[Finding]:
    """backward writes into the gradient that it is given."""
    if not s.trial.upstream_changed:
        return
    message = (
        "backward changes the upstream gradient in place. The same tensor goes to other "
        "functions (after an addition, for one), which then get wrong numbers. Work on a copy: "
        "grad_input = grad_output.clone()."
    )
    yield Finding(Level.NOW, "upstream-changed", "", message, text(
        *s.lines(), "before = [v.clone() for v in g]",
        f"torch.autograd.grad(y, [{s.variables()}], g)",
        'assert all(map(torch.equal, g, before)), "the upstream gradient was changed in place"',
    ))  # fmt: skip


def tensor_on_ctx(s: Scene) -> Iterator[Finding]:
    """An input or output is kept as an attribute of ctx, or in a list or an object there."""
    for name, thing in s.log.kept.items():
        for t in tensors_in(thing, s.subject.library):
            role = _role(s, t)
            if role:
                words = CTX[role].format(name, "is" if t is thing else "holds")
                yield Finding(Level.WASTEFUL, "tensor-on-ctx", _argument(s, t), words)
                break


CTX = {
    "output": (
        "ctx.{0} {1} an output of forward: output and ctx hold each other, so that neither is "
        "freed until the garbage collector runs (a leak). Use ctx.save_for_backward."
    ),
    "input": (
        "ctx.{0} {1} an input of forward (or shares its memory): when it is changed in place "
        "between forward and backward, backward silently uses the new numbers (a stale value), "
        "and its memory is held longer. Use ctx.save_for_backward, which notices."
    ),
}


def _role(s: Scene, thing: Any) -> str:
    """ "output" or "input" when a thing is one of these, or shares memory with one."""
    library = s.subject.library
    if not library.is_tensor(thing) or not library.is_floating(thing):
        return ""
    for role, known in (("output", s.log.outputs), ("input", s.log.inputs)):
        if any(_one_memory(library, thing, other) for other in known):
            return role
    return ""


def _one_memory(library: Any, one: Any, other: Any) -> bool:
    if one is other:
        return True
    if not library.is_tensor(other):
        return False
    return bool(np.shares_memory(one.detach().numpy(), other.detach().numpy()))


def _argument(s: Scene, thing: Any) -> str:
    for i, known in enumerate(s.log.inputs):
        if _one_memory(s.subject.library, thing, known) and s.subject.library.is_tensor(known):
            return s.name(i)
    return ""


def saved_twice(s: Scene) -> Iterator[Finding]:
    """save_for_backward is called more than once."""
    if len(s.log.saved) > 1:
        message = (
            f"save_for_backward is called {len(s.log.saved)} times: each call replaces what the "
            "one before had saved. Save everything in one call."
        )
        yield Finding(Level.NOW, "saved-twice", "", message)


def saved_for_nothing(s: Scene) -> Iterator[Finding]:
    """Tensors are saved and never read."""
    tensors = [t for t in (s.log.saved or [()])[-1] if t is not None]
    ran = s.log.returned is not NOTHING
    if tensors and ran and not s.log.read & {"saved_tensors", "saved_variables"}:
        message = (
            f"forward saves {len(tensors)} tensor{'s' * (len(tensors) != 1)} which backward never "
            "reads: memory is held for nothing. Leave save_for_backward out."
        )
        yield Finding(Level.WASTEFUL, "saved-unused", "", message)


def marked_output(s: Scene) -> Iterator[Finding]:
    """backward uses the gradient of an output that forward marks as non-differentiable."""
    if s.log.marked_counts:
        yield Finding(Level.WASTEFUL, "marked-output", "", (
            "backward uses the gradient of an output that forward marks non-differentiable: "
            "autograd always hands in zeros for it. Leave it out, or do not mark the output."
        ))  # fmt: skip


def gradient_form(s: Scene) -> Iterator[Finding]:
    """Gradients that the library has to sum or to convert before they fit."""
    for symptom in contract(s.subject, s.case, s.trial)[1]:
        got, want = symptom.detail
        name = s.name(symptom.argument)
        if symptom.what == "shape":
            yield Finding(Level.WASTEFUL, "missing-sum", name, (
                f"backward returns a gradient of shape {got} for `{name}` of shape {want}: the sum "
                "over the broadcast dimension is missing. It is made up for in silence, and a "
                f"wrong formula would be hidden by it; sum in backward, to `{name}`'s shape."
            ))  # fmt: skip
        else:
            yield _dtype(s, name, got, want)


def _dtype(s: Scene, name: str, got: str, want: str) -> Finding:
    loses = "64" in want and "64" not in got
    return Finding(Level.SHAPES if loses else Level.WASTEFUL, "grad-dtype", name, (
        f"backward returns {got.split('.')[-1]} for `{name}` of {want.split('.')[-1]}: "
        f"{'digits are lost' if loses else 'it is computed in the wider type and converted'}. "
        "Make new tensors in the input's dtype (x.new_zeros, dtype=x.dtype)."
    ))  # fmt: skip


def forward_layout(s: Scene) -> Iterator[Finding]:
    """forward takes packed tensors and raises for the same numbers in other memory."""
    for layout in ("transposed", "strided") if not s.trial.stage else ():
        case = s.case.but(layouts=(layout,) * len(s.arrays))
        trial = run(s.subject, case, s.arrays)
        # A refusal on purpose is of another type.
        if trial.stage == "forward" and isinstance(trial.error, RuntimeError):
            first = str(trial.error).splitlines()[0].rstrip(".")
            cure = "" if "reshape" in first else " Use reshape instead of view."
            message = f"forward raises for an input whose memory is {layout}: {first}.{cure}"
            lines = program.call_lines(s.subject, case, s.arrays, s.trial)
            yield Finding(Level.SHAPES, "layout", "", message, text(*lines))
            return


ON_EXAMPLE: tuple[Probe, ...] = (
    input_changed,
    saved_changed,
    upstream_changed,
    tensor_on_ctx,
    saved_twice,
    saved_for_nothing,
    marked_output,
    gradient_form,
    forward_layout,
)
