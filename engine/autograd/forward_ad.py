"""Forward mode: derivatives along one direction, carried along with the numbers.

Inside `dual_level` a tensor or Value may have a tangent; what is computed of it has one too. The
tangent of a rule is the sum of its slopes times the tangents of its operands. That of any other
operation is one more derivative of its backward, which is linear in the gradient that it is given.
All tangents lie in the level and end with it. Nothing is kept or computed outside of one.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from engine import habits, printing
from engine.creation import zeros_like
from engine.differentiation import grad
from engine.function import Function, FunctionNode
from engine.grad_mode import enable_grad
from engine.graph import Walk
from engine.habits import Value
from engine.nodes import DIFFERENTIABLE, is_floating, modes, needs_grad, position, state, value
from engine.registry import RULES
from engine.tensors import Operation, Tensor, ViewOperation, times

NO_LEVEL = (
    "{0}: Trying to create a dual Tensor for forward AD but no level exists, make sure to "
    "enter_dual_level() first."
)
NO_JVP = (
    "You must implement the jvp function for custom autograd.Function to use it with forward mode "
    "AD: a static {0}.jvp(ctx, *tangents) that returns the tangents of the outputs"
)
NOT_IN_PLACE = (
    "{0}: forward changes an input in place, so jvp must change its tangent in place as well and "
    "return it; it returned another"
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
        self.tangents: dict[int, tuple[Any, Any]] = {}
        self.places: dict[tuple[int, int], tuple[Any, Any]] = {}

    def tangent(self, x: Any) -> Any:
        """The tangent of x, or None."""
        if not isinstance(x, DIFFERENTIABLE):
            return None
        found = self.tangents.get(id(x)) or self.places.get(place_of(x))
        if found is not None:
            return found[1]
        base = getattr(x, "_base", None)
        below = None if base is None else self.tangent(base)
        return None if below is None else x._view.replay(below)

    def put(self, x: Any, t: Any) -> None:
        """Make t the tangent of x, and of what stands for x in its node."""
        self.tangents[id(x)] = (x, t)
        if isinstance(x, Tensor) and x._grad_fn is not None:
            self.places[place_of(x)] = (x._grad_fn, t)

    @contextmanager
    def outside(self) -> Iterator[None]:
        """Computing that the levels outside of this one see, and this one does not."""
        before = state.observers
        modes.set_observers(before[: before.index(self)])
        try:
            yield
        finally:
            modes.set_observers(before)

    def walk(self, *args: Any) -> "DualWalk":
        """A walk back whose gradients have tangents."""
        return DualWalk(self, *args)

    def __call__(self, out: Any, op: Any, operands: Any) -> None:
        tangents = [self.tangent(x) for x in operands]
        results = out if isinstance(out, tuple) else (out,)
        if op == "in_place":
            self.write(out, tangents[0])
        elif any(t is not None for t in tangents):
            with self.outside():
                found = tangents_of(self, op, results, operands, tangents)
            for x, t in zip(results, found, strict=True):
                if position(x, tuple(operands)) is not None:
                    self.write(x, t)
                elif t is not None:
                    self.put(x, t)

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


def place_of(x: Any) -> tuple[int, int]:
    """What names an output of a node, whichever object stands for it."""
    return (id(x._grad_fn), x._output_nr) if isinstance(x, Tensor) and x._grad_fn else (0, 0)


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
        slopes = rule.slopes(*operands, out)
        pairs = [(t, s) for t, s in zip(tangents, slopes, strict=False) if t is not None]
        parts = [product(t, s, rule.selection) for t, s in pairs]
    else:
        by_hand = dict(habits.links(out))
        parts = [t * by_hand[p] for p, t in zip(operands, tangents, strict=True) if t is not None]
    total = sum(parts[1:], parts[0])
    return total if isinstance(out, Value) else like(total, out)


def product(t: Any, slope: Any, selection: bool) -> Any:
    """t * slope; a selection passes nothing where its slope is 0."""
    if isinstance(t, Value):
        number = slope.data if isinstance(slope, Value) else slope
        return Value(0.0, requires_grad=False) if selection and number == 0.0 else t * slope
    return times(t, slope, selection)


def like(t: Any, out: Any) -> Any:
    """A tangent in the shape and dtype of what it is the tangent of."""
    t = t.to(out.dtype)
    return t if t.shape == out.shape else t.expand(out.shape)


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
        self.recorded = any(map(needs_grad, (*operands, *tangents)))

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
        keep = before and self.recorded
        found = iter(derivatives(total, asked, keep))
        return [None if w is None else self.finished(next(found), w, keep) for w in weights]

    def input(self, x: Any, t: Any) -> Any:
        """An operand to apply the operation to again: it requires grad if it has a tangent."""
        if t is None and not needs_grad(x):
            return x
        if position(x, tuple(self.results)) is not None:
            return x.detach().clone().requires_grad_() * 1.0  # it will be changed in place again
        if needs_grad(x):
            return x
        fresh = x.detach().requires_grad_()
        for outer in state.observers:
            if isinstance(outer, Level) and outer.tangent(x) is not None:
                outer.put(fresh, outer.tangent(x))
        return fresh

    def total(self, node: Any, weights: list[Any]) -> Any:
        """The product of the gradients of the inputs, for these of the outputs, with the given
        tangents."""
        given = node.differentiate(weights)
        parts = [
            inner(g, t) for g, t in zip(given, self.given, strict=True) if None not in (g, t)
        ] if False else [
            inner(g, t)
            for g, t in zip(given, self.given, strict=True)
            if g is not None and t is not None
        ]
        return sum(parts[1:], parts[0]) if parts else None

    def finished(self, t: Any, weight: Any, keep: bool) -> Any:
        """A tangent found, zeros where there is none, outside the graph unless it is wanted."""
        if t is None:
            return Value(0.0, requires_grad=False) if isinstance(weight, Value) else zeros_like(weight)
        return t if keep or not needs_grad(t) else t.detach()
