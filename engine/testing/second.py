"""Second derivatives: backward differentiated, against differences of what backward gives.

<u, backward(x, v)> is a function of the inputs x and of the upstream gradient v. In v it is
linear, so that its slope there is backward itself; in x its slope is taken from differences.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.attention import is_ours
from engine.testing import program
from engine.testing.adapter import Array, Library
from engine.testing.cases import Case, symmetrized
from engine.testing.derivatives import Slope, better, slope
from engine.testing.first import Comparison, asked, scales
from engine.testing.report import Finding, Level
from engine.testing.shrink import smallest
from engine.testing.spy import Log, backward_name
from engine.testing.trial import Call, Subject, call, drawn, run, scale_of

UPSTREAM = -1  # stands for the upstream gradient where an argument is meant


@dataclass
class Second:
    """What differentiating backward gave.

    state: "right", "wrong", "cut" (nothing depends on anything), "raises" or "unknown".
    wrong: the arguments whose second derivative is wrong, UPSTREAM among them.
    """

    state: str
    error: Exception | None = None
    wrong: list[int] = field(default_factory=list)
    weights: list[Array] = field(default_factory=list)


@dataclass
class Graph:
    """A call whose gradients were taken with create_graph, and what they are multiplied with."""

    made: Call
    inputs: list[int]
    upstream: list[Any]
    grads: list[Any]
    weights: list[Array]


def second_order(subject: Subject, case: Case, target: Any = None) -> Second:
    """Differentiates backward once more along random directions and compares."""
    arrays = subject.pattern.arrays(case)
    try:
        graph = _graph(subject, case, arrays, target)
    except Exception as error:
        return Second("raises", error)
    if graph is None:
        return Second("unknown")
    total = _total(subject.library, graph)
    truth = [_truth(subject, case, arrays, graph, j) for j in [*graph.inputs, UPSTREAM]]
    if total is None:
        return _cut(truth, graph)
    try:
        given = _second_grads(subject.library, graph, total)
    except Exception as error:
        wrong = [j for j in graph.inputs if _refuses(subject, case, arrays, target, j)]
        return Second("raises", error, wrong, graph.weights)
    return _judged(subject, case, arrays, graph, given, truth)


def _graph(subject: Subject, case: Case, arrays: Sequence[Any], target: Any) -> Graph | None:
    library = subject.library
    made = call(subject, case, arrays, target)
    outputs = [made.outputs[k] for k in made.active(library)]
    inputs = asked(subject, case)
    if not outputs or not inputs:
        return None
    numbers = drawn(case, [library.array(out) for out in outputs])
    upstream = [like(library, g, out) for g, out in zip(numbers, outputs, strict=True)]
    leaves = [made.leaves[i] for i in inputs]
    grads = list(library.grad(outputs, leaves, upstream, create_graph=True))
    rng = np.random.default_rng([case.seed, 3])
    weights = [np.round(rng.normal(size=np.shape(arrays[i])), 2) + 0.001 for i in inputs]
    return Graph(made, inputs, upstream, grads, weights)


def like(library: Library, numbers: Array, thing: Any, requires_grad: bool = True) -> Any:
    """Numbers as a tensor of a thing's dtype, or as a Value where it is one."""
    if library.is_value(thing):
        return library.value(float(numbers), requires_grad)
    made = library.tensor(np.asarray(numbers).astype(library.array(thing).dtype))
    return made.requires_grad_(requires_grad)


def _total(library: Library, graph: Graph) -> Any:
    """The sum of the gradients times their weights; None where none has a graph."""
    parts = []
    for g, u in zip(graph.grads, graph.weights, strict=True):
        if g is not None and g.requires_grad:
            weighted = g * like(library, u, g, False)
            parts.append(weighted if library.is_value(g) else weighted.sum())
    return sum(parts[1:], start=parts[0]) if parts else None


def _second_grads(library: Library, graph: Graph, total: Any) -> list[Array | None]:
    leaves = [graph.made.leaves[i] for i in graph.inputs]
    found = library.grad([total], [*leaves, *graph.upstream])
    return [None if g is None else library.array(g) for g in found]


def _refuses(
    subject: Subject, case: Case, arrays: Sequence[Any], target: Any, j: int
) -> bool:
    """True when the second derivative by one argument raises."""
    graph = _graph(subject, case, arrays, target)
    total = None if graph is None else _total(subject.library, graph)
    if graph is None or total is None:
        return False
    try:
        subject.library.grad([total], [graph.made.leaves[j]])
    except Exception:
        return True
    return False


def _direction(
    subject: Subject, case: Case, arrays: Sequence[Any], graph: Graph, j: int
) -> list[Array]:
    rng = np.random.default_rng([case.seed, 11, j + 1])
    if j == UPSTREAM:
        return [rng.normal(size=np.shape(_numbers(v))) for v in graph.upstream]
    direction = rng.normal(size=np.shape(arrays[j])) * scale_of(np.asarray(arrays[j]))
    return [symmetrized(subject.pattern.slots[j], direction)]


def _numbers(thing: Any) -> Array:
    return np.asarray(thing.detach().numpy() if hasattr(thing, "numpy") else thing.data)


def _truth(
    subject: Subject, case: Case, arrays: Sequence[Any], graph: Graph, j: int
) -> Comparison:
    """The slope of <u, backward> along the direction for argument j, or for the upstream."""
    direction = _direction(subject, case, arrays, graph, j)
    if j == UPSTREAM:
        exact = np.array([_paired(subject, case, arrays, graph, direction)])
        error = 1e3 * case.eps * np.abs(exact)
        known = Slope(exact, error, exact, exact, error)
        return Comparison(known, np.ones(1), np.zeros(1), case.eps)

    def line(step: float) -> Array:
        moved = list(arrays)
        moved[j] = np.asarray(arrays[j] + step * direction[0])
        upstream = [_numbers(v) for v in graph.upstream]
        return np.array([_paired(subject, case, moved, graph, upstream)])

    careful = better(line, scales(arrays[j]), subject.rounding(case))
    return Comparison(careful, np.ones(1), line(0.0), case.eps)


def _paired(
    subject: Subject,
    case: Case,
    arrays: Sequence[Any],
    graph: Graph,
    upstream: Sequence[Array],
) -> float:
    """<u, backward(x, v)>; nan where backward raises."""
    trial = run(subject, case, arrays, upstream)
    if trial.stage:
        return float("nan")
    pairs = zip(graph.inputs, graph.weights, strict=True)
    return float(sum(np.sum(trial.grads[i] * u) for i, u in pairs if trial.grads[i] is not None))


def _cut(truth: Sequence[Comparison], graph: Graph) -> Second:
    missing = [
        j
        for j, right in zip([*graph.inputs, UPSTREAM], truth, strict=True)
        if right.settled and not right.agrees(0.0)
    ]
    return Second("cut" if missing else "unknown", wrong=missing, weights=graph.weights)


def _judged(
    subject: Subject,
    case: Case,
    arrays: Sequence[Any],
    graph: Graph,
    given: Sequence[Array | None],
    truth: Sequence[Comparison],
) -> Second:
    wrong, known = [], False
    for j, right in zip([*graph.inputs, UPSTREAM], truth, strict=True):
        direction = _direction(subject, case, arrays, graph, j)
        start = len(graph.inputs) if j == UPSTREAM else graph.inputs.index(j)
        found = given[start : start + len(direction)]
        pairs = zip(found, direction, strict=True)
        number = float(sum(np.sum(g * w) for g, w in pairs if g is not None))
        if right.settled and not right.agrees(number):
            wrong.append(j)
        known = known or (right.settled and not right.agrees(0.0))
    state = "wrong" if wrong else "right" if known else "unknown"
    return Second(state, wrong=wrong, weights=graph.weights)


def undecorated(function: Any, library: Library) -> Any:
    """The backward inside once_differentiable; None where a Function is not marked so."""
    backward = getattr(function, backward_name(function, library))
    names = getattr(backward, "__globals__", {})
    own = is_ours(names) or str(names.get("__name__", "")).split(".")[0] == "torch"
    return getattr(backward, "__wrapped__", None) if own else None


def second_derivatives(subject: Subject, log: Log) -> list[Finding]:
    """The findings at second order. log: what a first application kept."""
    if subject.is_function and undecorated(subject.target, subject.library):
        return _needless(subject)
    for seed in (0, 1):
        case = subject.case(subject.small, seed=seed)
        found = second_order(subject, case)
        if found.state in ("wrong", "cut", "raises"):
            return [_finding(subject, case, found, log)]
    return []


def _needless(subject: Subject) -> list[Finding]:
    """A finding when backward is right at second order without its once_differentiable."""
    library, name = subject.library, backward_name(subject.target, subject.library)
    inner = undecorated(subject.target, library)
    members = {name: staticmethod(inner), "__module__": subject.target.__module__}
    bare = type(subject.target)(subject.target.__name__, (subject.target,), members)
    cases = [subject.case(subject.small, seed=seed) for seed in (0, 1)]
    if any(second_order(subject, case, bare.apply).state != "right" for case in cases):
        return []
    message = (
        "once_differentiable is needless: without it the second derivatives are right, with it "
        "they are refused. Leave the decorator out."
    )
    return [Finding(Level.WASTEFUL, "needless-once-differentiable", "", message)]


def _finding(subject: Subject, case: Case, found: Second, log: Log) -> Finding:
    first = found.wrong[0] if found.wrong else UPSTREAM
    name = subject.pattern.slots[first].name if first != UPSTREAM else ""
    kind, message = _words(subject, found, log)
    little = smallest(case, lambda c: _alike(found, second_order(subject, c)))
    text = second_program(subject, little, first)
    return Finding(Level.SECOND_ORDER, kind, name, message, text)


def _alike(one: Second, other: Second) -> bool:
    return one.state == other.state and one.wrong[:1] == other.wrong[:1]


def _words(subject: Subject, found: Second, log: Log) -> tuple[str, str]:
    kept = intermediates(log, subject.library)
    silent = "refused with an error" if found.state == "raises" else "silently wrong"
    if kept and found.state != "cut" and UPSTREAM not in found.wrong:
        return "saved-intermediate", SAVED.format(silent, kept)
    if found.state == "raises" and "once_differentiable" not in str(found.error):
        return "second-raises", (
            f"differentiating backward raises {type(found.error).__name__}: {found.error}. Mark "
            "backward with @once_differentiable, or write it in operations that have a gradient."
        )
    other = _called_in_backward(subject)
    if found.state == "wrong" and other:
        return "wrong-second-derivative", (
            f"second derivatives are silently wrong: backward calls `{other}`, a Function whose "
            f"own backward is wrong. Check it by itself: check({other}, ...)."
        )
    how = "silently zero" if found.state == "cut" else silent
    return "missing-once-differentiable", (
        f"backward cannot be differentiated (it leaves the graph: NumPy, .data, detach(), "
        f".item(), no_grad or a black box), but does not say so; second derivatives are {how}. "
        "Put @once_differentiable under @staticmethod, or write backward in operations of tensors."
    )


SAVED = (
    "second derivatives are {0}: {1} was computed in forward from the inputs, and what is kept "
    "there has no graph. Save inputs and outputs and compute it again in backward, or return it "
    "as a further output, or mark backward with @once_differentiable. (What does not depend on "
    "the inputs, as a mask, belongs on ctx as a plain attribute.)"
)


def _called_in_backward(subject: Subject) -> str:
    """The name of another custom Function in the graph of the gradients; "" when none is."""
    case = subject.case(subject.small)
    graph = _graph(subject, case, subject.pattern.arrays(case), None)
    nodes = [g.grad_fn for g in graph.grads if g is not None] if graph else []
    for node in nodes:  # the list grows while it is read
        made_by = getattr(node, "_forward_cls", None) or getattr(node, "_function", None)
        module = str(getattr(made_by, "__module__", "engine")).split(".")[0]
        if module not in ("engine", "torch") and made_by is not subject.target:
            return str(getattr(made_by, "__name__", ""))
        known = {id(n) for n in nodes}
        nodes += [n for n, _ in getattr(node, "next_functions", ()) if n and id(n) not in known]
    return ""


def intermediates(log: Log, library: Library) -> str:
    """Words on what forward kept that is neither input nor output; "" when nothing is."""
    words = []
    for tensors in log.saved[-1:]:
        for place, t in enumerate(tensors):
            if _computed(t, log, library):
                words.append(f"saved tensor {place}")
    for name, thing in log.kept.items():
        several = thing if isinstance(thing, (list, tuple)) else (thing,)
        if any(_computed(t, log, library) or _number(t, log) for t in several):
            words.append(f"ctx.{name}")
    return " and ".join(words)


def _number(thing: Any, log: Log) -> bool:
    """True for a float or an array that is none of the arguments."""
    given = [x for x in log.inputs if isinstance(x, float)]
    return isinstance(thing, np.ndarray) or (isinstance(thing, float) and thing not in given)


def _computed(thing: Any, log: Log, library: Library) -> bool:
    known = log.is_input(thing) or log.is_output(thing)
    return library.is_node(thing) and library.is_floating(thing) and not known


def second_program(subject: Subject, case: Case, j: int) -> str:
    """A program that takes one second derivative and raises while it is wrong."""
    arrays = subject.pattern.arrays(case)
    trial = run(subject, case, arrays)
    inputs = asked(subject, case)
    names = [program.variable(subject, i) for i in inputs]
    lines = program.call_lines(subject, case, arrays, trial)
    lines += program.upstream_lines(subject, case, trial, requires_grad=True)
    lines.append(f"grads = torch.autograd.grad(y, [{', '.join(names)}], g, create_graph=True)")
    try:
        graph = _graph(subject, case, arrays, None)
    except Exception:
        graph = None
    if graph is None:
        return "\n".join(lines) + "\n"
    lines += _weighted(subject, case, graph)
    wanted = "*g" if j == UPSTREAM else program.variable(subject, j)
    lines.append(f"second = torch.autograd.grad(total, [{wanted}])")
    lines += _checked(subject, case, _right(subject, case, arrays, graph, j))
    return "\n".join(lines) + "\n"


def _checked(subject: Subject, case: Case, right: Sequence[Array]) -> list[str]:
    """The lines that compare `second` with the right numbers."""
    if program.on_values(subject):
        shown = [repr(float(a)) for a in right]
        test = "abs(given.item() - wanted) <= 1e-6 + 1e-4 * abs(wanted)"
    else:
        shown = [f"torch.tensor({program.numbers(a)}, dtype=torch.{case.dtype})" for a in right]
        test = "torch.allclose(given, wanted, rtol=1e-4, atol=1e-6)"
    return [
        f"right = [{', '.join(shown)}]",
        "for given, wanted in zip(second, right):",
        f"    assert {test}, (given, wanted)",
    ]


def _weighted(subject: Subject, case: Case, graph: Graph) -> list[str]:
    if program.on_values(subject):
        numbers = ", ".join(repr(float(u)) for u in graph.weights)
        return [f"total = sum(a * b for a, b in zip(grads, [{numbers}]))"]
    shown = [
        f"torch.tensor({program.numbers(u)}, dtype=torch.{case.dtype})" for u in graph.weights
    ]
    return [
        f"weights = [{', '.join(shown)}]",
        "total = sum((a * b).sum() for a, b in zip(grads, weights))",
    ]


def _right(
    subject: Subject, case: Case, arrays: Sequence[Any], graph: Graph, j: int
) -> list[Array]:
    """The right second derivative, entry by entry."""
    if j == UPSTREAM:
        shapes = [np.shape(_numbers(v)) for v in graph.upstream]
        zeros = [np.zeros(shape) for shape in shapes]
        return [_by_entry(subject, case, arrays, graph, zeros, k) for k in range(len(shapes))]
    right = np.zeros(np.shape(arrays[j]))
    for entry in range(right.size):
        unit = np.zeros(right.shape)
        unit.flat[entry] = 1.0

        def line(step: float, unit: Array = unit) -> Array:
            moved = list(arrays)
            moved[j] = np.asarray(arrays[j] + step * unit)
            upstream = [_numbers(v) for v in graph.upstream]
            return np.array([_paired(subject, case, moved, graph, upstream)])

        right.flat[entry] = slope(line, rounding=subject.rounding(case)).value[0]
    return [program.short(right)]


def _by_entry(
    subject: Subject,
    case: Case,
    arrays: Sequence[Any],
    graph: Graph,
    zeros: list[Array],
    k: int,
) -> Array:
    right = np.zeros(zeros[k].shape)
    for entry in range(right.size):
        unit = [z.copy() for z in zeros]
        unit[k].flat[entry] = 1.0
        right.flat[entry] = _paired(subject, case, arrays, graph, unit)
    return program.short(right)
