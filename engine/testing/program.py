"""The smallest program that shows a finding: it fails until the mistake is gone."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.testing import source
from engine.testing.adapter import Array
from engine.testing.cases import Case
from engine.testing.trial import Subject, Trial


def head(subject: Subject) -> str:
    """The imports, and the class itself where it cannot be imported."""
    library = subject.library.name
    first = "import torch" if library == "torch" else "import engine as torch"
    return f"{first}\n{source.importing(subject.target)}"


def called(subject: Subject) -> str:
    """How the subject is called: F.apply, or a function's name."""
    name = getattr(subject.target, "__qualname__", subject.name).split("<locals>.")[-1]
    if subject.is_function:
        return f"{name}.apply"
    module = getattr(subject.target, "__module__", "") or ""
    own = module.startswith(("engine", "torch"))
    return f"torch.{name}" if own and hasattr(subject.library.module, name) else name


def argument_lines(subject: Subject, case: Case, arrays: Sequence[Any]) -> list[str]:
    """One line that makes each argument, under its name in forward."""
    lines = []
    for i, slot in enumerate(subject.pattern.slots):
        made = _argument(case, arrays, i, slot.is_floating, slot.kind == "value")
        if case.repeated and i == case.repeated[1]:
            made = variable(subject, case.repeated[0])
        lines.append(f"{variable(subject, i)} = {made}")
    return lines


def variable(subject: Subject, i: int) -> str:
    """A Python name for argument i."""
    name = subject.pattern.slots[i].name
    return name if name.isidentifier() else f"x{i}"


def _argument(case: Case, arrays: Sequence[Any], i: int, floating: bool, value: bool) -> str:
    array = arrays[i]
    if not isinstance(array, np.ndarray):
        return spelled(array)
    if value:
        return f"torch.Value({float(array)!r}, requires_grad={case.needs[i]})"
    dtype = f", dtype=torch.{case.dtype}" if floating else ""
    if not floating and array.size == 0:
        dtype = f", dtype=torch.{array.dtype}"
    return _laid_out(array, dtype, case.layout(i)) + _asking(case, i, floating)


def spelled(thing: Any) -> str:
    """A plain argument as Python text, tensors in lists and dicts among them."""
    if isinstance(thing, dict):
        return f"{{{', '.join(f'{k!r}: {spelled(v)}' for k, v in thing.items())}}}"
    if isinstance(thing, list):
        return f"[{', '.join(map(spelled, thing))}]"
    if isinstance(thing, tuple):
        return f"({', '.join(map(spelled, thing))}{',' * (len(thing) == 1)})"
    if hasattr(thing, "requires_grad_"):
        asking = ".requires_grad_()" if thing.requires_grad else ""
        dtype = str(thing.dtype).split(".")[-1]
        return f"torch.tensor({numbers(thing.detach().numpy())}, dtype=torch.{dtype}){asking}"
    return repr(thing)


def _asking(case: Case, i: int, floating: bool) -> str:
    return ".requires_grad_()" if floating and case.needs[i] else ""


def _laid_out(array: Array, dtype: str, layout: str) -> str:
    def tensor(a: Array) -> str:
        if a.size == 0:
            return f"torch.zeros({a.shape}{dtype})"
        return f"torch.tensor({numbers(a)}{dtype})"

    if layout == "transposed" and array.ndim > 1:
        axes = ", ".join(str(k) for k in reversed(range(array.ndim)))
        return f"{tensor(array.T)}.permute({axes})"
    if layout == "strided" and array.ndim:
        return f"{tensor(np.repeat(array, 2, axis=-1))}[..., ::2]"
    if layout == "expanded" and array.ndim and array.shape[0] > 1:
        return f"{tensor(array[:1])}.expand{array.shape}"
    return tensor(array)


def numbers(a: Array) -> str:
    """An array as Python text: nested lists, with the names of inf and nan."""
    text = repr(a.tolist())
    return text.replace("nan", "float('nan')").replace("inf", "float('inf')")


def gradient_program(
    subject: Subject,
    case: Case,
    arrays: Sequence[Any],
    trial: Trial,
    i: int,
    low: Array,
    high: Array,
) -> str:
    """A program that compares one gradient with the right one and raises while they differ.

    low, high: the smallest and the largest number that is right; they differ at kinks.
    """
    lines = call_lines(subject, case, arrays, trial) + upstream_lines(subject, case, trial)
    lines += [_grad_line(subject, [i]), *_comparison(subject, case, i, low, high)]
    return "\n".join(lines) + "\n"


def ties_program(
    subject: Subject,
    case: Case,
    arrays: Sequence[Any],
    trial: Trial,
    asked: Sequence[int],
    right: float,
) -> str:
    """A program that adds up the gradients of tied numbers."""
    lines = call_lines(subject, case, arrays, trial) + upstream_lines(subject, case, trial)
    inputs = ", ".join(variable(subject, i) for i in asked)
    lines.append(f"grads = torch.autograd.grad(y, [{inputs}], g)")
    lines.append("total = sum(grad.sum().item() for grad in grads)")
    check = f"assert abs(total - {float(short(np.array(right)))!r}) < 1e-4, total"
    return "\n".join([*lines, check]) + "\n"


def failing_program(
    subject: Subject, case: Case, arrays: Sequence[Any], trial: Trial, asked: Sequence[int]
) -> str:
    """A program that ends with the exception that backward raises."""
    lines = call_lines(subject, case, arrays, trial) + upstream_lines(subject, case, trial)
    return "\n".join([*lines, _grad_line(subject, asked)]) + "\n"


def on_values(subject: Subject) -> bool:
    """True when the numbers are engine's Values."""
    slots = subject.pattern.slots
    return all(slot.kind == "value" for slot in slots if slot.is_floating)


def _comparison(subject: Subject, case: Case, i: int, low: Array, high: Array) -> list[str]:
    if on_values(subject):
        least, most = (repr(float(short(a))) for a in (low, high))
        return [f"assert {least} - 1e-6 <= grad.item() <= {most} + 1e-6, grad"]
    name, dtype = variable(subject, i), f"dtype=torch.{case.dtype}"
    if np.allclose(low, high, rtol=1e-9, atol=0):
        message = f'f"the gradient of {name} is {{grad}}, right is {{right}}"'
        right = f"right = torch.tensor({numbers(short(low))}, {dtype})"
        close = f"torch.allclose(grad, right, {tolerance(low, case)})"
        return [right, f"assert {close}, {message}"]
    message = f'f"the gradient of {name} is {{grad}}, right is {{low}} to {{high}}"'
    return [
        f"low = torch.tensor({numbers(short(low))}, {dtype})",
        f"high = torch.tensor({numbers(short(high))}, {dtype})",
        f"assert ((low - 1e-6 <= grad) & (grad <= high + 1e-6)).all(), {message}",
    ]


def tolerance(right: Array, case: Case) -> str:
    """The arguments of allclose for a gradient from differences."""
    relative = 1e-5 if case.eps < 1e-10 else 1e-3
    size = float(np.max(np.abs(right), initial=0.0, where=np.isfinite(right)))
    return f"rtol={relative:g}, atol={relative * (size or 1e-3):.1g}"


def short(a: Array) -> Array:
    """The numbers with the ten digits that differences are good for."""
    return np.array([float(f"{x:.10g}") for x in np.ravel(a)]).reshape(np.shape(a))


def call_lines(
    subject: Subject, case: Case, arrays: Sequence[Any], trial: Trial
) -> list[str]:
    """Everything up to `y`, the output, or the list of those that carry a gradient."""
    lines = [head(subject), *argument_lines(subject, case, arrays)]
    lines.append(f"y = {call_text(subject, case)}")
    if len(trial.outputs) > 1:
        lines.append(f"y = [{', '.join(f'y[{k}]' for k in trial.active)}]")
    return lines


def call_text(subject: Subject, case: Case) -> str:
    """The call, with every argument by its name."""
    names = [_passed(subject, case, i) for i in range(len(subject.pattern.slots))]
    return f"{called(subject)}({', '.join(names)})"


def _passed(subject: Subject, case: Case, i: int) -> str:
    name = variable(subject, i)
    if not subject.pattern.slots[i].is_floating or case.shapes[i] is None:
        return name
    if case.layout(i) == "view":
        return f"torch.stack([{name}, {name}])[0]"
    return f"{name} * 1" if subject.in_place else name


def upstream_lines(
    subject: Subject, case: Case, trial: Trial, requires_grad: bool = False
) -> list[str]:
    """The line that makes `g`, the list of upstream gradients."""
    if on_values(subject):
        made = [f"torch.Value({float(g)!r}, requires_grad={requires_grad})" for g in trial.upstream]
        return [f"g = [{', '.join(made)}]"]
    end = ".requires_grad_()" if requires_grad else ""
    return [f"g = [{', '.join(_upstream(case, g) + end for g in trial.upstream)}]"]


def _grad_line(subject: Subject, asked: Sequence[int]) -> str:
    inputs = ", ".join(variable(subject, i) for i in asked)
    left = "(grad,)" if len(asked) == 1 else "grads"
    return f"{left} = torch.autograd.grad(y, [{inputs}], g)"


def _upstream(case: Case, g: Array) -> str:
    dtype = f", dtype=torch.{case.dtype}"
    if case.upstream == "expanded" and g.ndim and g.size:
        return f"torch.tensor({float(g.ravel()[0])!r}{dtype}).expand{g.shape}"
    return _laid_out(g, dtype, "transposed" if case.upstream == "transposed" else "plain")
