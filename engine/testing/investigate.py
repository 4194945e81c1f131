"""From a failing case to a finding: the cause, the cure, and the smallest program."""

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.testing import program
from engine.testing.adapter import Array
from engine.testing.cases import Case
from engine.testing.explain import Evidence, explain, first_wrong, upstream
from engine.testing.first import Symptom, Verdict, examine, packed
from engine.testing.jacobian import Jacobian, jacobian, sharpened
from engine.testing.kinks import examine_kinks, kink_words, widened
from engine.testing.report import Finding, Level
from engine.testing.shrink import essential, neutralised, smallest
from engine.testing.trial import Subject, Trial, run

NUMBERS = ("wrong", "none", "nan")
KINK_STYLES = ("kinks", "ties", "zeros")
LARGEST = 80  # entries of outputs or of the argument in a Jacobian that is looked at whole


def verdict_of(subject: Subject, case: Case) -> Verdict:
    """The outcome of a case, by the examination that its numbers ask for."""
    if case.values in KINK_STYLES:
        return examine_kinks(subject, case, [])
    return examine(subject, case)


def same(one: Symptom, other: Symptom) -> bool:
    """True when two symptoms may have one cause."""
    numbers = one.what in NUMBERS and other.what in NUMBERS
    return one.argument == other.argument and (one.what == other.what or numbers)


def fails_like(subject: Subject, symptom: Symptom) -> Callable[[Case], bool]:
    """Whether a case shows the same symptom; a case that cannot be run does not."""

    def fails(case: Case) -> bool:
        try:
            return any(same(symptom, s) for s in verdict_of(subject, case).symptoms)
        except Exception:
            return False

    return fails


def investigate(subject: Subject, case: Case, symptom: Symptom) -> Finding | None:
    """The finding for a symptom; None when a closer look cannot confirm it."""
    fails = fails_like(subject, symptom)
    case = neutralised(subject, case, fails)
    changed = essential(subject, case)
    little = smallest(case, fails)
    answer = _answer(subject, case, little, symptom, changed)
    if answer is None:
        return None
    kind, message = answer
    name = subject.pattern.slots[symptom.argument].name if symptom.argument >= 0 else ""
    level = Level.SHAPES if changed else Level.NOW
    if symptom.what in RETURNED and not verdict_of(subject, little).trial.stage:
        return Finding(Level.WASTEFUL, kind, name, message)  # the library does not mind
    return Finding(level, kind, name, message, write_program(subject, little, symptom))


def _answer(
    subject: Subject, case: Case, little: Case, symptom: Symptom, changed: set[str]
) -> tuple[str, str] | None:
    if symptom.what in RETURNED:
        return RETURNED[symptom.what](subject, case, symptom, changed)
    if symptom.what == "raises":
        return _raised(subject, little, changed)
    if symptom.what == "ties":
        return _tied(subject, little)
    if symptom.what == "forward":
        return _forward_differs(subject, little)
    if packed(subject, case) != case:
        return _differs(subject, little, symptom, changed)
    found = _looked_at(subject, case, little, symptom.argument)
    if found is not None and case.values in KINK_STYLES:
        found = widened(found)
    if found is None:
        return None
    if not found.wrong.any():
        return upstream(Evidence(found))  # right for single outputs, wrong for a mixture
    return _numbers(subject, found, changed)


def _differs(
    subject: Subject, little: Case, symptom: Symptom, changed: set[str]
) -> tuple[str, str] | None:
    """Words on gradients that differ from those of packed tensors that all need one."""
    found = [s for s in verdict_of(subject, little).symptoms if same(s, symptom)]
    if not found:
        return None
    given, right = found[0].detail
    name = subject.pattern.slots[symptom.argument].name
    kind = next(kind for field, kind in DIFFERS.items() if field in {*changed, "upstream"})
    said = f"the gradient of `{name}` is {_short(given)} instead of {_short(right)}"
    return kind, f"{said} {_circumstance(subject, little, symptom, kind)}"


DIFFERS = {"needs": "needs-input-grad", "layouts": "layout", "upstream": "upstream-layout"}


def _circumstance(subject: Subject, little: Case, symptom: Symptom, kind: str) -> str:
    """When it happens, and what to do about it."""
    slots = subject.pattern.slots
    if kind == "needs-input-grad":
        asked = ", ".join(f"`{slots[i].name}`" for i, need in enumerate(little.needs) if need)
        return (
            f"when only {asked} requires a gradient. Its place in ctx.needs_input_grad is "
            f"{symptom.argument}, one per argument of forward; do not hang it on another's."
        )
    if kind == "layout":
        layout = _context(subject, little)["layout"]
        return (
            f"when the memory of the inputs is {layout}, with the same numbers: use operations on "
            "tensors, not on their memory."
        )
    return (
        f"when the upstream gradient is {little.upstream}, as sum() hands it back (one number in "
        "memory for all entries): do not write into it, and do not rely on its memory."
    )


def _short(a: Any) -> str:
    if a is None:
        return "None"
    flat = [f"{x:.4g}" for x in np.ravel(a)[:6]]
    return f"[{', '.join(flat)}{', ...' if np.size(a) > 6 else ''}]"


def _forward_differs(subject: Subject, little: Case) -> tuple[str, str]:
    layout = _context(subject, little)["layout"] or little.upstream
    return "layout", (
        f"forward gives other values for the same numbers when their memory is {layout}: use "
        "operations on tensors, not on their memory."
    )


def _looked_at(subject: Subject, case: Case, little: Case, i: int) -> Jacobian | None:
    """The Jacobian of the case when it is not too large, else that of its smallest relative."""
    trial = run(subject, case, subject.pattern.arrays(case))
    entries = sum(np.size(trial.outputs[k]) for k in trial.active)
    size = np.size(subject.pattern.arrays(case)[i])
    return jacobian(subject, case if max(entries, size) <= LARGEST else little, i)


def _numbers(subject: Subject, found: Jacobian, changed: set[str]) -> tuple[str, str]:
    case = found.case
    if case.values in KINK_STYLES and "values" in changed:
        return _at_kink(found)
    kind, words = explain(found)
    if not np.isfinite(found.given[found.wrong]).all():
        kind, words = "nan-gradient", f"{first_wrong(found)}, although forward is finite."
    for name, (other, text) in CONTEXT.items():
        if name in changed:
            return other or kind, f"{text.format(**_context(subject, case))}: {words}"
    return kind, _with_shapes(case, words) if "shapes" in changed else words


def _context(subject: Subject, case: Case) -> dict[str, Any]:
    slots = subject.pattern.slots
    layout = next((text for text in case.layouts if text != "plain"), "")
    repeated = [f"`{slots[i].name}`" for i in case.repeated or ()]
    plain = ", ".join(f"{slots[i].name}={value!r}" for i, value in case.plain)
    return {"layout": layout, "upstream": case.upstream, "dtype": case.dtype, "plain": plain,
            "values": case.values, "repeated": " and ".join(repeated)}


CONTEXT = {
    "repeated": ("repeated-input", "wrong when {repeated} are one tensor"),
    "dtype": ("precision", "wrong in {dtype}, right in double"),
    "plain": ("constant-argument", "wrong for {plain}, right for the example's"),
    "values": ("", "wrong for other numbers ({values}), right for those like the example's"),
}  # fmt: skip


def _with_shapes(case: Case, words: str) -> str:
    shapes = ", ".join(str(s) for s in case.shapes if s is not None)
    return f"wrong for shapes {shapes}, right for those of the example: {words}"


def _at_kink(found: Jacobian) -> tuple[str, str]:
    row, column = (int(k) for k in np.argwhere(found.wrong)[0])
    if not np.isfinite(found.given[row, column]):
        return "nan-gradient", (
            f"{first_wrong(found)}: forward is finite at `{found.name}` = "
            f"{np.ravel(found.arrays[found.argument])[column]:.4g}, and so is its slope. Guard "
            "the division (or the power) in backward, for example with torch.where."
        )
    if found.low[row, column] < found.high[row, column]:
        words = kink_words(found, row, column)
        return "kink", words.replace("any number between is right, and", "but")
    return "special-value", f"wrong at special numbers: {first_wrong(found)}."


def _tied(subject: Subject, little: Case) -> tuple[str, str]:
    given, right = _tied_slopes(subject, little)
    return "ties", (
        f"at ties the gradients do not add up: moving all equal numbers together has the slope "
        f"{right:.6g}, backward's gradients add up to {given:.6g}. Give the gradient to one of the "
        "equal entries, or share it among them."
    )


def _tied_slopes(subject: Subject, case: Case) -> tuple[float, float]:
    """What the gradients of tied numbers add up to, and what they should."""
    symptoms = verdict_of(subject, case).symptoms
    return next((s.detail for s in symptoms if s.what == "ties"), (0.0, 0.0))


def _raised(subject: Subject, little: Case, changed: set[str]) -> tuple[str, str]:
    trial = verdict_of(subject, little).trial
    error, count = trial.error, len(trial.outputs)
    first = (str(error).splitlines() or [""])[0].rstrip(".")
    said = f"backward raises {type(error).__name__}: {first}"
    if isinstance(error, TypeError) and "positional argument" in str(error):
        return "backward-arguments", (
            f"{said}. forward returns {count} outputs, so backward takes ctx and {count} "
            "gradients, also for outputs that are not differentiable."
        )
    return _raised_when(subject, little, changed, said)


def _raised_when(
    subject: Subject, little: Case, changed: set[str], said: str
) -> tuple[str, str]:
    """Under which circumstance backward raises."""
    absent, context = _absent(subject, little), _context(subject, little)
    if absent:
        return "optional-argument", (
            f"{said}, when `{absent}` is None, which forward takes: test for None in backward too."
        )
    if little.upstream.startswith("only"):
        return "none-upstream", (
            f"{said}, when only output {little.upstream[5:]} is used: after "
            "ctx.set_materialize_grads(False) an output that is not used hands in None. Test for "
            "None, or leave that call out."
        )
    for name, (kind, text) in RAISES.items():
        if name in changed:
            return kind, f"{said}, {text.format(**context)}"
    return "backward-raises", f"{said}."


def _absent(subject: Subject, case: Case) -> str:
    """The tensor argument that is left out in a case; "" when none is."""
    pairs = zip(subject.pattern.slots, case.shapes, strict=True)
    return next((slot.name for slot, shape in pairs if slot.is_tensor and shape is None), "")


RAISES = {
    "needs": ("needs-input-grad", "when only some arguments require a gradient: what is computed "
              "under one `if ctx.needs_input_grad[i]` must not be used outside it."),
    "layouts": ("layout", "for an input whose memory is {layout}: use reshape instead of view."),
    "upstream": ("upstream-layout", "for an upstream gradient that is {upstream} (as sum() hands "
                 "back): use reshape instead of view, and do not write into it."),
    "repeated": ("repeated-input", "when {repeated} are one tensor."),
    "dtype": ("dtype", "in {dtype}: make new tensors with dtype=x.dtype, or by x.new_zeros."),
    "plain": ("constant-argument", "for {plain}."),
    "shapes": ("shape-raises", "for shapes that forward accepts: see the program."),
    "values": ("value-raises", "for numbers that forward accepts ({values})."),
}  # fmt: skip


def _count(
    subject: Subject, case: Case, symptom: Symptom, changed: set[str]
) -> tuple[str, str]:
    got, want = symptom.detail
    return "grad-count", (
        f"backward returns {got} gradient{'s' * (got != 1)}, forward takes {want} arguments: "
        "return one per argument, in their order, None for those that need none."
    )


def _shape(
    subject: Subject, case: Case, symptom: Symptom, changed: set[str]
) -> tuple[str, str]:
    found = [s for s in verdict_of(subject, case).symptoms if same(s, symptom)]
    got, want = (found[0] if found else symptom).detail
    name = subject.pattern.slots[symptom.argument].name
    said = f"backward returns a gradient of shape {got} for `{name}` of shape {want}"
    other = _exchanged(subject, case, symptom.argument)
    if other and got != want[::-1]:
        return "swapped", (
            f"{said}, and one of that shape for `{other}`: return one gradient per argument, in "
            "the order of forward's arguments."
        )
    if got == want[::-1] and got != want:
        return "transposed", f"{said}: it is transposed. Transpose it, or exchange the factors."
    if len(got) < len(want):
        cure = (
            "a dimension was lost. Leave the squeeze out, or keep the dimension in the sum "
            f"(keepdim=True); `.reshape({name}.shape)` puts it right."
        )
        return "grad-shape", f"{said}: {cure}"
    if np.prod(got) > np.prod(want):
        cure = "the sum over the broadcast dimension is missing"
    else:
        cure = f"return one of `{name}`'s own shape"
    return "missing-sum" if "sum over" in cure else "grad-shape", f"{said}: {cure}."


def _exchanged(subject: Subject, case: Case, i: int) -> str:
    """The argument whose gradient stands in the place of argument i's, as both shapes tell."""
    log = verdict_of(subject, case).trial.log
    shapes = [tuple(getattr(x, "shape", ())) for x in log.inputs]
    got = [tuple(getattr(g, "shape", ())) for g in log.gradients[: len(shapes)]]
    for j in subject.pattern.floating:
        if j != i and max(i, j) < len(got) and (got[i], got[j]) == (shapes[j], shapes[i]):
            return subject.pattern.slots[j].name
    return ""


def _type(
    subject: Subject, case: Case, symptom: Symptom, changed: set[str]
) -> tuple[str, str]:
    name = subject.pattern.slots[symptom.argument].name
    return "grad-type", (
        f"backward returns a {symptom.detail} for `{name}`, which needs a tensor of its shape."
    )


def _number(
    subject: Subject, case: Case, symptom: Symptom, changed: set[str]
) -> tuple[str, str]:
    slot = subject.pattern.slots[symptom.argument]
    name = slot.name
    if slot.is_tensor:
        return "optional-argument", (
            f"backward returns a {symptom.detail} for `{name}` also when `{name}` is None, which "
            "forward takes: return None then."
        )
    return "grad-for-number", (
        f"backward returns a {symptom.detail} for `{name}`, which is no tensor: return None in "
        f"its place (place {symptom.argument})."
    )


RETURNED: dict[str, Callable[[Subject, Case, Symptom, set[str]], tuple[str, str]]] = {
    "count": _count,
    "shape": _shape,
    "type": _type,
    "number": _number,
}


def write_program(subject: Subject, case: Case, symptom: Symptom) -> str:
    """The smallest program for a symptom."""
    arrays = subject.pattern.arrays(case)
    trial = run(subject, case, arrays)
    wanted = [i for i, need in enumerate(case.needs) if need and case.shapes[i] is not None]
    if symptom.what == "ties":
        right = _tied_slopes(subject, case)[1]
        return program.ties_program(subject, case, arrays, trial, wanted, right)
    bounds = _right(subject, case, trial, symptom) if symptom.what in NUMBERS else None
    if bounds is None:
        return program.failing_program(subject, case, arrays, trial, wanted)
    return program.gradient_program(subject, case, arrays, trial, symptom.argument, *bounds)


def _right(
    subject: Subject, case: Case, trial: Trial, symptom: Symptom
) -> tuple[Array, Array] | None:
    """The smallest and the largest gradient that is right, entry by entry."""
    i, arrays = symptom.argument, subject.pattern.arrays(case)
    if packed(subject, case) != case:
        g = run(subject, packed(subject, case), arrays, trial.upstream).grads[i]
        same_numbers = np.zeros(np.shape(arrays[i])) if g is None else g
        return same_numbers, same_numbers
    found = jacobian(subject, case, i)
    if found is None:
        return None
    found = sharpened(found)
    v = np.concatenate([np.ravel(g) for g in trial.upstream])[:, None]
    low = np.minimum(v * found.low, v * found.high).sum(axis=0)
    high = np.maximum(v * found.low, v * found.high).sum(axis=0)
    return low.reshape(found.shape_in), high.reshape(found.shape_in)
