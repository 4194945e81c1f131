"""Function: an operation of one's own, forward and backward; and its ctx, which is the node.

The contract is PyTorch's. `apply` runs `forward` outside the graph, then makes its outputs
results of the node `ctx`; the walk calls `backward` with one gradient per output and takes back
one per input. Inputs and outputs may be Values or Tensors.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from engine import arguments, checks, interpreter, modes, nodes, quiet
from engine.arguments import bound
from engine.nodes import FREED, Node, Value


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a backward made of operations that have no derivative: it runs with gradients off,
    and a derivative of its result is refused whenever one is taken through it."""

    @wraps(fn)
    def with_gradients_off(ctx: Any, *grads: Any) -> Any:
        before = modes.set_grad(False)
        try:
            return fn(ctx, *grads)
        finally:
            modes.set_grad(before)

    with_gradients_off.once_differentiable = True  # type: ignore[attr-defined]
    return with_gradients_off


class FunctionBase(nodes.NodeBase):
    """What the ctx of one call of a Function does."""

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep Values or Tensors (or None) for backward; once, with all of them."""
        checks.saveable(self, tensors, self._to_save is not None)
        self._to_save = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What save_for_backward kept, in order."""
        return checks.saved_tensors(self)

    def mark_dirty(self, *tensors: Any) -> None:
        """Say which input Tensors forward changed in place; they must be returned too."""
        checks.changeable(self, tensors)
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Say which outputs have no gradient."""
        self._constant = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """False: an output that got no gradient hands None to backward, not zeros."""
        self.materialize_grads = value

    def differentiate(self, grads: list[Any]) -> tuple[Any, ...]:
        if self._saved is None:
            raise RuntimeError(FREED.format(self.name()))
        asked = checks.arguments(self, grads)
        given = checks.counted(self, gradient_of(type(self)._function)(*asked))
        return checks.guarded(self, given, asked[1:]) if modes.is_grad_enabled() else given

    def release(self) -> None:
        self._saved = None if self._saved else ()

    def _argument(self, i: int) -> str:
        return arguments.argument_name(self._function, i)


class FunctionNode(FunctionBase, Node):
    """The ctx of one call of a Function, and its node. Attributes of any name may be set on it."""

    runs_without = True
    apply = Node.__call__

    @property
    def _function_name(self) -> str:
        """The name of the Function."""
        return str(self._function.__name__)

    @property
    def once_differentiable(self) -> bool:  # type: ignore[override]
        """Whether backward refuses second derivatives."""
        return bool(getattr(gradient_of(self._function), "once_differentiable", False))


def finish(node: Any, args: tuple[Any, ...], output: Any, recorded: bool) -> Any:
    """Make what forward returned results of its node, where it is recorded."""
    outputs = output if isinstance(output, tuple) else (output,)
    if not checks.any_in_graphs(outputs) and checks.any_in_graphs(args):
        outputs = tuple([checks.joined(node, x, args) for x in outputs])
    if node._is_pure_view:
        checks.pure_view(args, outputs)
    if recorded:
        nodes.connect(node, args)
    for x in node._dirty:
        checks.dirty(node, x, args, outputs)
        x._change_in_place(node._function_name, recorded)
    if recorded:
        nodes.keep(node, args, outputs)
    node._shapes = [nodes.shape_of(x) for x in outputs]
    if not node._materialize_non_diff_grads:
        constant = [nodes.position(x, node._constant) is not None for x in outputs]
        node._shapes = [not c and s for c, s in zip(constant, node._shapes, strict=True)]
    places = interpreter.places(len(outputs))
    for i, x in enumerate(outputs):
        interpreter.put(places, i, result(node, i, x, args, recorded))
    results = interpreter.filled(places)
    for observer in modes.observers():
        observer(results, node, args)
    node._dirty = node._constant = ()
    return results if isinstance(output, tuple) else results[0]


def result(node: Any, i: int, x: Any, args: tuple[Any, ...], recorded: bool) -> Any:
    """Output i of the node, with its place in the graph."""
    if not nodes.is_differentiable(x):
        return x
    recorded = recorded and nodes.position(x, node._constant) is None and nodes.is_floating(x)
    if nodes.position(x, node._dirty) is not None:
        return x._rebase(node, i) if recorded else x
    if nodes.position(x, args) is not None:
        x = x.detach() if isinstance(x, Value) or not recorded else x._as_is()
    elif not recorded and nodes.needs_grad(x) and not checks.is_view(x):
        return x.detach()
    if checks.is_view(x) and modes.is_grad_enabled():
        x._returned(node)
    return nodes.attach(x, node, i) if recorded else x


class Function(arguments.Uncalled):
    """An operation with its own backward: subclass it, write both methods, call `apply`.

        class Exp(Function):
            @staticmethod
            def forward(ctx, x):
                y = x.exp()
                ctx.save_for_backward(y)
                return y

            @staticmethod
            def backward(ctx, g):
                (y,) = ctx.saved_tensors
                return g * y

    forward gets the arguments of `apply`, with gradients off; backward one gradient per output,
    and returns one per argument, None for what needs none. In the two-step style forward has no
    ctx, and `setup_context(ctx, inputs, output)` saves.
    """

    _backward_cls: Any = None

    @staticmethod
    def forward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        """Compute the outputs."""
        raise NotImplementedError(arguments.NO_FORWARD)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Save what backward needs, in the two-step style."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """The gradients of the inputs, given those of the outputs."""
        raise NotImplementedError(arguments.NO_BACKWARD)

    vjp = backward

    @classmethod
    def two_step(cls) -> bool:
        """Whether forward has no ctx, and setup_context saves."""
        return cls.setup_context is not NO_SETUP

    @classmethod
    def node_class(cls) -> Any:
        """The class of its nodes, <Function>Backward."""
        return type(f"{cls.__name__}Backward", (FunctionNode,), {"_function": cls})

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward on the arguments and record it; returns what forward does."""
        return applied(cls, bound(cls, args, kwargs))


def new_node(function: Any) -> Any:
    """A new ctx of a Function, of the class of its nodes, which is made if there is none yet."""
    kind = function._backward_cls
    if kind is None or kind._function is not function:
        kind = function._backward_cls = function.node_class()
    return interpreter.create(kind)


def applied(function: Any, args: tuple[Any, ...]) -> Any:
    """The outputs of a Function, in the graph where a gradient is wanted."""
    ctx = new_node(function)
    ctx.needs_input_grad = nodes.all_needs_grad(args)
    recorded = modes.is_grad_enabled() and nodes.any_needs_grad(args)
    warning, before, seen = quiet.begin(), modes.set_grad(False), modes.observers()
    if seen:
        modes.set_observers(tuple([o for o in seen if getattr(o, "inside_forward", False)]))
    try:
        output = run(function, ctx, args)
    finally:
        if seen:
            modes.set_observers(seen)
        modes.set_grad(before)
        quiet.end(warning)
    return finish(ctx, args, output, recorded)


def run(function: Any, ctx: Any, args: tuple[Any, ...]) -> Any:
    """forward, in either style."""
    if function.setup_context is NO_SETUP:
        return function.forward(ctx, *args)
    output = function.forward(*args)
    function.setup_context(ctx, args, output)
    return output


NO_SETUP, NO_VJP, NO_BACKWARD = Function.setup_context, Function.vjp, Function.backward


def gradient_of(cls: Any) -> Any:
    """A Function's backward, or vjp, which is another name for it."""
    vjp = cls.vjp
    if vjp is not NO_VJP and cls.backward is not NO_BACKWARD:
        raise RuntimeError(arguments.BOTH.format(cls.__name__))
    return cls.backward if vjp is NO_VJP else vjp
