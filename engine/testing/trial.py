"""One call of what is checked, forward and backward, with everything that came of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.testing.adapter import Array, Library
from engine.testing.cases import Case, Pattern
from engine.testing.derivatives import Rounding
from engine.testing.spy import Log, differ, spied


@dataclass
class Subject:
    """What is checked: a Function class or any callable, and the arguments that it takes.

    target: the class or the callable.
    in_place: whether the inputs must not be leaves, because forward changes one.
    dtype: "float64", or "float32" for what refuses float64.
    small: few and different sizes that forward takes, one per label of the pattern.
    typical: the size of forward's values on the example.
    seed: other numbers are drawn for another one.
    draws: whether forward draws random numbers, so that generators must be set before it.
    """

    name: str
    target: Any
    library: Library
    pattern: Pattern
    in_place: bool = False
    dtype: str = "float64"
    small: tuple[int, ...] = ()
    typical: float = 0.0
    seed: int = 0
    draws: bool = True

    @property
    def is_function(self) -> bool:
        return isinstance(self.target, type)

    @property
    def call(self) -> Callable[..., Any]:
        chosen: Callable[..., Any] = self.target.apply if self.is_function else self.target
        return chosen

    def rounding(self, case: Case) -> Rounding:
        """How forward's values are rounded in a case."""
        return Rounding(case.eps, self.typical)

    def least_slope(self, i: int) -> float:
        """The size of a slope by argument i that values and inputs like the example's lead to."""
        return self.typical / scale_of(np.asarray(self.pattern.slots[i].example))

    def case(self, sizes: Sequence[int] | None = None, **fields: Any) -> Case:
        """A case in the dtype of this subject, with other numbers for another seed."""
        seed = fields.pop("seed", 0) + 1000 * self.seed
        return self.pattern.case(sizes, seed=seed, **{"dtype": self.dtype} | fields)


def scale_of(x: Array) -> float:
    """The typical size of an array's numbers; 1 for zeros."""
    finite = x[np.isfinite(x)] if x.ndim else x
    size = float(np.sqrt(np.mean(np.square(finite)))) if np.size(finite) else 0.0
    return size if np.isfinite(size) and size > 0 else 1.0


@dataclass
class Trial:
    """What came of one call.

    stage: "" when all went well, else "forward" or "backward", with the error.
    outputs: all results, tensors as arrays; active: those that carry a gradient.
    upstream: the gradients given to the active outputs.
    grads: per argument its gradient, None where there is none.
    changed: the arguments whose numbers forward changed in place; changed_later: backward.
    """

    stage: str = ""
    error: Exception | None = None
    outputs: list[Any] = field(default_factory=list)
    active: list[int] = field(default_factory=list)
    upstream: list[Array] = field(default_factory=list)
    grads: list[Array | None] = field(default_factory=list)
    changed: list[int] = field(default_factory=list)
    changed_later: list[int] = field(default_factory=list)
    upstream_changed: bool = False
    log: Log = field(default_factory=Log)

    @property
    def finite(self) -> bool:
        return all(np.all(np.isfinite(self.outputs[k])) for k in self.active)


@dataclass
class Call:
    """The tensors of one call: its leaves, its arguments and its outputs."""

    leaves: list[Any]
    arguments: list[Any]
    outputs: list[Any]

    def active(self, library: Library) -> list[int]:
        """The outputs through which a gradient can be asked for."""
        return [
            k
            for k, out in enumerate(self.outputs)
            if library.is_node(out) and library.is_floating(out) and out.requires_grad
        ]


def call(
    subject: Subject, case: Case, arrays: Sequence[Any], target: Any = None, seed: int = 0
) -> Call:
    """Calls once, with the generators seeded. target: called instead of the subject's own."""
    leaves, arguments = tensors(subject, case, arrays)
    if subject.draws:
        subject.library.seed(seed)
    result = (target or subject.call)(*arguments)
    outputs = list(result) if isinstance(result, (tuple, list)) else [result]
    return Call(leaves, arguments, outputs)


def tensors(subject: Subject, case: Case, arrays: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The leaves for a case and the arguments made of them, None for what is no tensor."""
    leaves: list[Any] = []
    arguments: list[Any] = []
    for i, slot in enumerate(subject.pattern.slots):
        array = arrays[i]
        if not slot.is_tensor or array is None:
            leaves.append(None)
            arguments.append(array)
        elif case.repeated and i == case.repeated[1]:
            leaves.append(None)
            arguments.append(arguments[case.repeated[0]])
        else:
            leaf, argument = _tensor(subject, case, i, np.asarray(array))
            leaves.append(leaf)
            arguments.append(argument)
    return leaves, arguments


def _tensor(subject: Subject, case: Case, i: int, array: Array) -> tuple[Any, Any]:
    library, slot = subject.library, subject.pattern.slots[i]
    if slot.kind == "value":
        leaf = library.value(float(array), case.needs[i])
        return leaf, leaf
    number = array.astype(case.dtype) if slot.is_floating else array
    leaf = laid_out(library, number, case.layout(i))
    if case.needs[i] and slot.is_floating:
        leaf.requires_grad_(True)
    if case.layout(i) == "view":
        return leaf, library.module.stack([leaf, leaf])[0]
    return leaf, leaf * 1 if subject.in_place and slot.is_floating else leaf


def laid_out(library: Library, array: Array, layout: str) -> Any:
    """A tensor with an array's numbers whose memory is laid out in one of several ways."""
    if layout == "transposed" and array.ndim > 1:
        return library.tensor(array.T).permute(*reversed(range(array.ndim)))
    if layout == "strided" and array.ndim:
        return library.tensor(np.repeat(array, 2, axis=-1))[..., ::2]
    if layout == "expanded" and array.ndim and array.shape[0] > 1:
        return library.tensor(array[:1]).expand(*array.shape)
    if layout == "reversed" and array.ndim:
        return library.module.from_numpy(array[..., ::-1].copy()[..., ::-1])
    return library.tensor(array)


def run(
    subject: Subject,
    case: Case,
    arrays: Sequence[Any],
    upstream: Sequence[Array] | None = None,
    watch: bool = False,
) -> Trial:
    """Calls forward and backward once.

    upstream: one array per active output; drawn as the case says when None.
    watch: whether a Function is run through its spy, which fills `log`.
    """
    trial = Trial()
    watched: Any = spied(subject.target, subject.library, trial.log) if watch else None
    try:
        made = call(subject, case, arrays, watched.apply if watch else None)
    except Exception as error:
        trial.stage, trial.error = "forward", error
        return trial
    _read_outputs(subject, trial, made, arrays)
    try:
        _backward(subject, case, trial, made, upstream)
    except Exception as error:
        trial.stage, trial.error = "backward", error
    now = _changed(subject, made, arrays)
    trial.changed_later = [i for i in now if i not in trial.changed]
    return trial


def _read_outputs(subject: Subject, trial: Trial, made: Call, arrays: Sequence[Any]) -> None:
    library = subject.library
    trial.outputs = [library.array(x) if library.is_node(x) else x for x in made.outputs]
    trial.active = made.active(library)
    trial.changed = _changed(subject, made, arrays)


def _changed(subject: Subject, made: Call, arrays: Sequence[Any]) -> list[int]:
    """The arguments that hold other numbers than were given."""
    changed = []
    for i, argument in enumerate(made.arguments):
        if subject.library.is_tensor(argument):
            now = subject.library.array(argument)
            if differ(np.asarray(arrays[i]).astype(now.dtype), now):
                changed.append(i)
    return changed


def _backward(
    subject: Subject, case: Case, trial: Trial, made: Call, upstream: Sequence[Array] | None
) -> None:
    inputs = [i for i, leaf in enumerate(made.leaves) if leaf is not None and case.needs[i]]
    trial.grads = [None] * len(made.leaves)
    if not trial.active or not inputs:
        return
    given = _upstream(subject, case, trial, made, upstream)
    copies = [subject.library.array(g) for g in given]
    trial.upstream = copies
    outputs = [made.outputs[k] for k in trial.active]
    try:
        grads = subject.library.grad(outputs, [made.leaves[i] for i in inputs], given)
    finally:
        now = [subject.library.array(g) for g in given]
        trial.upstream_changed = any(map(differ, copies, now)) or bool(trial.log.upstream_changed)
    for i, g in zip(inputs, grads, strict=True):
        trial.grads[i] = None if g is None else subject.library.array(g)


def _upstream(
    subject: Subject, case: Case, trial: Trial, made: Call, upstream: Sequence[Array] | None
) -> list[Any]:
    """The gradients to start from, as tensors; narrows trial.active to the outputs that get one."""
    if case.upstream.startswith("only"):
        trial.active = [k for k in trial.active if k == int(case.upstream[5:])]
    if upstream is None:
        upstream = drawn(case, [np.asarray(trial.outputs[k]) for k in trial.active])
    outputs = [made.outputs[k] for k in trial.active]
    pairs = zip(outputs, upstream, strict=True)
    return [_gradient(subject.library, case, g, output) for output, g in pairs]


def drawn(case: Case, outputs: Sequence[Array]) -> list[Array]:
    """Random gradients for outputs; all entries are one number when they will be expanded."""
    rng = np.random.default_rng([case.seed, 77])
    if case.upstream == "expanded":
        return [np.full(out.shape, round(rng.normal() + 1.5, 2)) for out in outputs]
    return [np.round(rng.normal(size=out.shape), 2) + 0.001 for out in outputs]


def _gradient(library: Library, case: Case, g: Array, output: Any) -> Any:
    if library.is_value(output):
        return library.value(float(g), False)
    number = np.asarray(g).astype(library.array(output).dtype)
    if case.upstream == "expanded" and number.ndim and number.size:
        return library.tensor(number.ravel()[0]).expand(*number.shape)
    return laid_out(library, number, "transposed" if case.upstream == "transposed" else "plain")
