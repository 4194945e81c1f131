"""Forward mode: derivatives along one direction, carried along with the numbers.

Inside `dual_level` a tensor or Value may have a tangent; what is computed of it has one too. The
tangent of a rule is the sum of its slopes times the tangents of its operands. That of any other
operation is one more derivative of its backward, which is linear in the gradient that it is given.
All tangents lie in the level and end with it. Nothing is kept or computed outside of one.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple
from weakref import ref

from engine import by_hand, modes, printing
from engine.creation import zeros_like
from engine.differentiation import grad
from engine.function import Function, FunctionNode
from engine.grad_mode import enable_grad, is_inference_mode_enabled
from engine.graph import Walk
from engine.habits import Value
from engine.nodes import (
    DIFFERENTIABLE,
    Saved,
    any_needs_grad,
    differentiate,
    is_floating,
    needs_grad,
    position,
)
from engine.registry import RULES
from engine.tensors import Operation, Tensor, ViewOperation, copy_of, times

NO_LEVEL = (
    "{0}: Trying to create a dual Tensor for forward AD but no level exists, make sure to "
    "enter_dual_level() first."
)
NO_JVP = (
    "You must implement the jvp function for custom autograd.Function to use it with forward mode "
    "AD: a static {0}.jvp(ctx, *tangents) that returns the tangents of the outputs"
)
NOT_IN_PLACE = (
    "{0}: An inplace custom Function is not modifying the forward mode gradients inplace: forward "
    "changes an input in place, so the jvp function must modify the corresponding gradient inplace "
    "and return it"
)
NO_OUT = (
    "Trying to use forward AD with an operation that does not support it because it is an out= "
    "function: use its result"
)
NO_VIEW = (
    "{0}: A custom Function's forward is returning a view (or an input as-is) but the jvp is not "
    "returning a view{1}: return a view of the tangent in the same way, t.view_as(t) of a whole one"
)
NO_TANGENT = (
    "{0}.jvp: output {1} has no derivative (it was marked non-differentiable, or holds whole "
    "numbers), so it has no tangent. You should return None at that position instead"
)


class UnpackedDualTensor(NamedTuple):
    """A tensor without its tangent, and the tangent, None where there is none."""

    primal: Any
    tangent: Any


class Level:
    """Where tangents lie: an observer that sees each operation and gives its result a tangent.

    Levels may be nested: the operations on tangents of one are seen by those outside of it.
    """

    def __init__(self) -> None:
        # By id, and by node and output number: (what keeps or watches the owner, tangent).
        self.tangents: dict[Any, tuple[Any, Any]] = {}

    def tangent(self, x: Any) -> Any:
        """The tangent of x, or None."""
        if not isinstance(x, DIFFERENTIABLE):
            return None
        found = self.tangents.get(id(x)) or self.tangents.get(place_of(x))
        if found is not None:
            return found[1]
        base = getattr(x, "_base", None)
        below = None if base is None else self.tangent(base)
        return None if below is None else x._view.replay(below)

    def put(self, x: Any, t: Any) -> None:
        """Make t the tangent of x, and of what stands for x in its node; None: it has none."""
        self.keep(id(x), x, t)
        if isinstance(x, Tensor) and x._node is not None:
            self.keep(place_of(x), x._node, t)

    def keep(self, key: Any, owner: Any, t: Any) -> None:
        """Keep a tangent as long as its owner lives; a Value, which cannot be watched, is kept."""
        table = self.tangents
        watched = owner if isinstance(owner, Value) else ref(owner, lambda _: table.pop(key, None))
        table[key] = (watched, t)

    @contextmanager
    def outside(self) -> Iterator[None]:
        """Computing that the levels outside of this one see, and this one does not."""
        before = modes.observers()
        modes.set_observers(before[: before.index(self)])
        try:
            yield
        finally:
            modes.set_observers(before)

    def walk(self, *args: Any) -> "DualWalk":
        """A walk back whose gradients have tangents."""
        return DualWalk(self, *args)

    def __call__(self, out: Any, op: Any, operands: Any) -> None:
        if not _is_fwd_grad_enabled():
            return
        tangents = [self.tangent(x) for x in operands]
        results = out if isinstance(out, tuple) else (out,)
        if op == "detach_":
            self.put(out, None)
        elif op == "out=" and any(t is not None for t in tangents):
            raise NotImplementedError(NO_OUT)
        elif op == "in_place":
            self.keep_old(out, operands[0]._node)
            self.write(out, tangents[0])
        elif any(t is not None for t in tangents):
            with self.outside():
                found = tangents_of(self, op, results, operands, tangents)
            for x, t in zip(results, found, strict=True):
                if position(x, tuple(operands)) is not None:
                    self.write(x, t)
                elif t is not None:
                    self.put(x, t)

    def keep_old(self, x: Any, node: Any) -> None:
        """Give what the node saved of x before the change the tangent that x had then."""
        old, t = node and node._saved[0], self.tangent(x)
        if isinstance(old, Saved) and t is not None:
            with self.outside():
                self.keep(id(old.saved), old.saved, t.clone())

    def write(self, x: Any, t: Any) -> None:
        """Give x, changed in place, the tangent t; where it has one, or is a view, in place."""
        old = self.tangent(x)
        if old is None and t is None:
            return
        with self.outside():
            if old is None and x._base is not None:
                self.put(x._base, zeros_like(x._base))
                old = x._view.replay(self.tangent(x._base))
            new = zeros_like(x) if t is None else t
            self.put(x, new if old is None else old if new is old else old.copy_(new))


def place_of(x: Any) -> tuple[int, int] | None:
    """What names an output of a node, whichever object stands for it."""
    recorded = isinstance(x, Tensor) and x._node is not None
    return (id(x._node), x._output_nr) if recorded else None


def tangents_of(
    level: Level, op: Any, results: Sequence[Any], operands: Sequence[Any], tangents: list[Any]
) -> Sequence[Any]:
    """The tangents of what an operation or a Function returned."""
    if isinstance(op, str):
        return (of_rule(op, results[0], operands, tangents),)
    function = op._function
    if issubclass(function, ViewOperation):
        viewed = function.apply(tangents[0], *operands[1:])
        return viewed if isinstance(viewed, tuple) else (viewed,)
    if issubclass(function, Operation):
        return Linear(level, function, results, operands, tangents).tangents()
    return of_jvp(op, results, operands, tangents)


def of_rule(name: str, out: Any, operands: Sequence[Any], tangents: list[Any]) -> Any:
    """The sum of slopes times tangents."""
    if name in RULES:
        rule = RULES[name]
        recorded = modes.is_grad_enabled() and any_needs_grad((*operands, *tangents))
        keep = kept if recorded else (lambda x: x)
        exact = [keep(x) if isinstance(x, DIFFERENTIABLE) else float(x) for x in operands]
        slopes = rule.slopes(*exact, out)
        pairs = [(keep(t), s) for t, s in zip(tangents, slopes, strict=False) if t is not None]
        parts = [product(t, s, rule.selection) for t, s in pairs]
    else:
        slope_of = dict(by_hand.links(out))
        parts = [t * slope_of[p] for p, t in zip(operands, tangents, strict=True) if t is not None]
    total = sum(parts[1:], parts[0])
    return total if isinstance(out, Value) else like(total, out, tangents)


def kept(x: Any) -> Any:
    """x as it is now, whatever is done to it in place later, in its own place in the graph."""
    if not isinstance(x, Tensor) or (x.requires_grad and x.is_leaf):
        return x
    return with_tangents(copy_of(x), x)


def with_tangents(out: Any, x: Any) -> Any:
    """out, made of the numbers of x, with the tangents that x has."""
    for level in levels():
        t = level.tangent(x)
        if t is not None:
            level.put(out, t)
    return out


def product(t: Any, slope: Any, selection: bool) -> Any:
    """t * slope; a selection passes nothing where its slope is 0."""
    if isinstance(t, Value):
        number = slope.data if isinstance(slope, Value) else slope
        return Value(0.0, requires_grad=False) if selection and number == 0.0 else t * slope
    return times(t, slope, selection)


def like(t: Any, out: Any, others: list[Any]) -> Any:
    """A tangent in the shape and dtype of what it is the tangent of, with memory of its own."""
    t = t.to(out.dtype)
    if t.shape == out.shape:
        return t if position(t, tuple(others)) is None else t.clone()
    return t.expand(out.shape).clone()


class Linear:
    """The tangents of an operation of the engine's own, by its backward.

    It is applied again to inputs that require grad. Its backward gives, for gradients g of the
    outputs, gradients of the inputs; their product with the tangents is linear in g, and its
    derivatives by g are the tangents wanted.
    """

    def __init__(
        self,
        level: Level,
        function: Any,
        results: Sequence[Any],
        operands: Sequence[Any],
        tangents: list[Any],
    ):
        self.level, self.function = level, function
        self.results, self.operands, self.given = results, operands, tangents
        self.recorded = any_needs_grad((*operands, *tangents))

    def tangents(self) -> list[Any]:
        """One tangent per result, None for what has no derivative."""
        before = modes.is_grad_enabled()
        with enable_grad():
            inputs = [self.input(x, t) for x, t in zip(self.operands, self.given, strict=True)]
            out = self.function.apply(*inputs)
            outs = out if isinstance(out, tuple) else (out,)
            weights = [zero_weight(x) for x in outs]
            total = self.total(node_of(outs), weights)
        asked = [w for w in weights if w is not None]
        found = iter(derivatives(total, asked, before and self.recorded))
        return [None if w is None else next(found) for w in weights]

    def input(self, x: Any, t: Any) -> Any:
        """An operand to apply the operation to again: it requires grad if it has a tangent."""
        active = t is not None or needs_grad(x)
        if position(x, tuple(self.results)) is not None:  # it will be changed in place again
            return x.detach().clone().requires_grad_(active) * 1.0
        if not active:
            return x
        if needs_grad(x):
            return kept(x)
        return with_tangents(x.detach().requires_grad_(), x)

    def total(self, node: Any, weights: list[Any]) -> Any:
        """The product of the tangents with the gradients of the inputs, for these of the outputs;
        None where there is none."""
        given = [] if node is None else differentiate(node, weights)
        pairs = zip(given, self.given, strict=False)
        parts = [inner(g, t) for g, t in pairs if g is not None and t is not None]
        return sum(parts[1:], parts[0]) if parts else None


def zero_weight(x: Any) -> Any:
    """A gradient of 0 for an output, to differentiate by; None where it has no derivative."""
    if not needs_grad(x):
        return None
    return Value(0.0) if isinstance(x, Value) else zeros_like(x, requires_grad=True)


def node_of(outs: Sequence[Any]) -> Any:
    """The node that made these, None if nothing did."""
    for x in outs:
        if needs_grad(x):
            return x._extra.ctx if isinstance(x, Value) else x._node
    return None


def inner(g: Any, t: Any) -> Any:
    """The sum of the products of two Tensors, or the product of two numbers."""
    return (g * t).sum() if isinstance(t, Tensor) else g * t


def derivatives(total: Any, asked: list[Any], keep: bool) -> Sequence[Any]:
    """The derivatives of the total by what is asked for, zeros where it does not depend."""
    if needs_grad(total):
        return grad(total, asked, create_graph=keep, materialize_grads=True)
    return [zeros_for(w) for w in asked]


def of_jvp(
    node: Any, results: Sequence[Any], args: Sequence[Any], tangents: list[Any]
) -> Sequence[Any]:
    """The tangents that a Function's own jvp gives."""
    if node.materialize_grads:
        tangents = [zeros_for(x) if t is None else t for x, t in zip(args, tangents, strict=True)]
    versions = [t._version if isinstance(t, Tensor) else None for t in tangents]
    before, node._saved = node._saved, tuple(getattr(node, "_for_forward", ()))
    try:
        found = node._function.jvp(node, *tangents)
    finally:
        node._saved = before
    found = found if isinstance(found, tuple) else (found,)
    if len(found) != len(results):
        raise RuntimeError(
            f"{node._function_name}.jvp returned {len(found)} tangents for {len(results)} outputs; "
            "it needs to return one for each, None for what has none"
        )
    for k, (x, t) in enumerate(zip(results, found, strict=True)):
        if t is not None and has_none(node, x):
            raise RuntimeError(NO_TANGENT.format(node._function_name, k))
        i = position(x, tuple(args))
        if i is None:
            check_view(node, x, t, args, tangents)
        elif t is not tangents[i] or (t is not None and getattr(t, "_version", 0) == versions[i]):
            raise RuntimeError(NOT_IN_PLACE.format(node._function_name))
    return found


def has_none(node: Any, x: Any) -> bool:
    """Whether an output has no tangent: what is marked, whole numbers, what is no tensor."""
    marked = position(x, node._constant) is not None
    return marked or not isinstance(x, DIFFERENTIABLE) or not is_floating(x)


def check_view(node: Any, x: Any, t: Any, args: Sequence[Any], tangents: list[Any]) -> None:
    """Refuse a tangent that is no view, of an output that is one of an argument."""
    i = next((i for i, a in enumerate(args) if shares(x, a)), None)
    if i is None or not isinstance(t, Tensor):
        return
    base = root(tangents[i])
    if t._base is None or t._base is not base:
        of = " of the given tangent" if base is tangents[i] else " of the same base"
        raise RuntimeError(NO_VIEW.format(node._function_name, of if t._base is not None else ""))


def shares(x: Any, a: Any) -> bool:
    """Whether an output is a view of an argument, or the argument itself."""
    if not isinstance(x, Tensor) or not isinstance(a, Tensor):
        return False
    return x._array is a._array or (x._base is not None and x._base is root(a))


def root(x: Any) -> Any:
    """What x is a view of, in the end; x itself if of nothing."""
    return x if getattr(x, "_base", None) is None else x._base


def zeros_for(x: Any) -> Any:
    """The tangent of an argument that has none: zeros for floats, None for anything else."""
    if not isinstance(x, DIFFERENTIABLE) or not is_floating(x):
        return None
    return Value(0.0, requires_grad=False) if isinstance(x, Value) else zeros_like(x)


class DualWalk(Walk):
    """A walk back through numbers with tangents: its gradients are computed so that the level
    sees it, and leave the graph unless create_graph was asked for."""

    def __init__(self, level: Level, roots: Any, inputs: Any, retain: bool, create: bool):
        super().__init__(roots, inputs, retain, True)
        self.keep = create

    def run(self) -> None:
        super().run()
        if not self.keep:
            self.captured = {key: detached(g) for key, g in self.captured.items()}
            self.arrived = [(x, detached(g)) for x, g in self.arrived]


def detached(x: Any) -> Any:
    """x outside the graph, with the tangents that it has."""
    if not isinstance(x, DIFFERENTIABLE):
        return x
    return with_tangents(x.detach(), x)


_switch = threading.local()


def _is_fwd_grad_enabled() -> bool:
    """Whether what is computed of tensors with tangents in this thread gets tangents."""
    return getattr(_switch, "on", True)


class _set_fwd_grad_enabled:
    """Tangents on or off, at once, and until the end of a `with` block if it is one."""

    def __init__(self, mode: bool):
        self.before, _switch.on = _is_fwd_grad_enabled(), mode

    def __enter__(self) -> None:
        """It is switched already."""

    def __exit__(self, *error: object) -> None:
        _switch.on = self.before


def levels() -> list[Level]:
    """The levels of this thread, the outermost first."""
    return [o for o in modes.observers() if isinstance(o, Level)]


@contextmanager
def nested_level() -> Iterator[Level]:
    """A level inside of those that there are."""
    level, before = Level(), modes.observers()
    modes.set_observers((*before, level))
    try:
        yield level
    finally:
        modes.set_observers(before)


def enter_dual_level() -> int:
    """Begin a level: from here on tensors can have tangents; returns its number, 0."""
    if levels():
        raise RuntimeError(
            "Nested forward mode AD is not supported at the moment; engine.func.jacfwd nests"
        )
    modes.set_observers((*modes.observers(), Level()))
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """End the level; all tangents are gone."""
    if not levels():
        raise RuntimeError("exit_dual_level: there is no level to exit; enter_dual_level() first")
    modes.set_observers(tuple(o for o in modes.observers() if not isinstance(o, Level)))


class dual_level:
    """A `with` block in which tensors and Values can have tangents: see make_dual."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *error: object) -> None:
        exit_dual_level()


def make_dual(tensor: Any, tangent: Any, *, level: int | None = None) -> UnpackedDualTensor | Any:
    """The tensor (or Value) with a tangent: what is computed of it has one too.

    tangent: of the same shape and dtype; it is kept, not copied. The result shares the tensor's
    memory. Raises RuntimeError outside of a level, or when the tangent has a tangent itself.
    """
    if not levels():
        raise RuntimeError(NO_LEVEL.format("make_dual"))
    current = levels()[-1]
    check_dual(tensor, tangent, current)
    with current.outside():
        dual = same(tensor)
    current.put(dual, tangent)
    return dual


def check_dual(tensor: Any, tangent: Any, level: Level) -> None:
    """Refuse a tangent that does not fit."""
    for argument, name, x in (("tensor", "primal", tensor), ("tangent", "tangent", tangent)):
        if not isinstance(x, DIFFERENTIABLE):
            raise TypeError(f"make_dual: {argument} needs to be a Tensor; got {type(x).__name__}")
        if not is_floating(x):
            raise ValueError(
                f"Expected {name} to be floating point or complex, but got: {x.dtype}; make it "
                "floating, x.to(engine.float64)"
            )
    if level.tangent(tangent) is not None:
        raise RuntimeError(
            "make_dual: the tangent itself has a forward gradient at the same level, which would "
            "be lost; unpack_dual it first"
        )
    kinds = [None if isinstance(x, Value) else (x.shape, x.dtype) for x in (tensor, tangent)]
    if kinds[0] != kinds[1]:
        raise RuntimeError(
            "make_dual: Trying to set a forward gradient that has a different size than that of "
            f"the original Tensor, or another dtype: it needs {kinds[0]}; got {kinds[1]}"
        )


def same(x: Any) -> Any:
    """Another object of the same numbers in the same graph."""
    if isinstance(x, Value):
        return x * 1.0
    return x.detach() if is_inference_mode_enabled() else x.view_as(x)


def unpack_dual(tensor: Any, *, level: int | None = None) -> UnpackedDualTensor:
    """The tensor without its tangent, and the tangent: None if it has none, or outside a level."""
    if not levels():
        return UnpackedDualTensor(tensor, None)
    current = levels()[-1]
    tangent = current.tangent(tensor)
    with current.outside():
        primal = same(tensor)
    current.put(primal, None)
    return UnpackedDualTensor(primal, tangent)


def __getattr__(name: str) -> Any:
    """_current_level: 0 in a level, -1 outside, as PyTorch's own tests ask for it."""
    if name == "_current_level":
        return 0 if levels() else -1
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def remark(t: Any) -> str | None:
    """What printing says of a tensor that has a tangent."""
    found = [level.tangent(t) for level in levels()]
    return next((f"tangent={x!r}" for x in reversed(found) if x is not None), None)


def jvp(ctx: Any, *tangents: Any) -> Any:
    """The tangents of the outputs, given those of the inputs: to be written by a Function."""
    raise NotImplementedError(NO_JVP.format(ctx._function_name))


def save_for_forward(ctx: Any, *tensors: Any) -> None:
    """Keep Values or Tensors for jvp, which reads them from ctx.saved_tensors."""
    ctx._for_forward = tensors


printing.remarks.append(remark)
Function.jvp = staticmethod(jvp)  # type: ignore[attr-defined]
FunctionNode.save_for_forward = save_for_forward  # type: ignore[attr-defined]
