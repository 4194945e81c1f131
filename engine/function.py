"""Function: an operation of one's own, forward and backward; and its ctx, which is the node.

The contract is PyTorch's. `apply` runs `forward` outside the graph, then makes its outputs
results of the node `ctx`; the walk calls `backward` with one gradient per output and takes back
one per input. Inputs and outputs may be Values or Tensors.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from engine import arguments, checks, modes, nodes
from engine.nodes import DIFFERENTIABLE, FREED, Node, Value, is_floating, zero
from engine.quiet import quiet


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


class FunctionNode(Node):
    """The ctx of one call of a Function, and its node. Attributes of any name may be set on it."""

    _function: Any = None
    needs_input_grad: tuple[bool, ...] = ()
    materialize_grads = True
    _dirty: tuple[Any, ...] = ()
    _constant: tuple[Any, ...] = ()
    _materialize_non_diff_grads, _is_pure_view = True, False
    _to_save: Any = None
    _saved: Any = ()

    @property
    def _function_name(self) -> str:
        """The name of the Function."""
        return str(self._function.__name__)

    @property
    def once_differentiable(self) -> bool:  # type: ignore[override]
        """Whether backward refuses second derivatives."""
        return bool(getattr(self._function.gradient(), "once_differentiable", False))

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep Values or Tensors (or None) for backward; once, with all of them."""
        checks.saveable(self, tensors, again=self._to_save is not None)
        self._to_save = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What save_for_backward kept, in order."""
        if self._saved is None or (self._saved and checks.abandoned(self)):
            raise RuntimeError(FREED.format(self.name()))
        return tuple(s and s.unpack(self) for s in self._saved)

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

    def _differentiate(self, grads: list[Any]) -> tuple[Any, ...]:
        if self._saved is None:
            raise RuntimeError(FREED.format(self.name()))
        if self.materialize_grads:
            grads = [zero(s) if g is None else g for g, s in zip(grads, self._shapes, strict=True)]
        grads = [Value(g, requires_grad=False) if type(g) is float else g for g in grads]
        given = checks.counted(self, self._function.gradient()(self, *grads))
        return checks.guarded(self, given, grads) if modes.is_grad_enabled() else given

    _differentiate_nothing = _differentiate

    apply = Node.__call__

    def _finish(self, args: tuple[Any, ...], output: Any, recorded: bool) -> Any:
        """Make what forward returned results of this node, where it is recorded."""
        outputs = output if isinstance(output, tuple) else (output,)
        if not checks.any_in_graphs(outputs) and checks.any_in_graphs(args):
            outputs = tuple(checks.joined(self, x, args) for x in outputs)
        if self._is_pure_view:
            checks.pure_view(args, outputs)
        if recorded:
            nodes.link(self, args)
        for x in self._dirty:
            checks.dirty(self, x, args, outputs)
            x._change_in_place(self._function_name, recorded)
        if recorded:
            self._keep(args, outputs)
        self._shapes = [nodes.shape_of(x) for x in outputs]
        if not self._materialize_non_diff_grads:
            constant = [nodes.position(x, self._constant) is not None for x in outputs]
            self._shapes = [not c and s for c, s in zip(constant, self._shapes, strict=True)]
        results = tuple([self._result(i, x, args, recorded) for i, x in enumerate(outputs)])
        for observer in modes.observers():
            observer(results, self, args)
        self._dirty = self._constant = ()
        return results if isinstance(output, tuple) else results[0]

    def _result(self, i: int, x: Any, args: tuple[Any, ...], recorded: bool) -> Any:
        """Output i, with its place in the graph."""
        if not isinstance(x, DIFFERENTIABLE):
            return x
        recorded = recorded and nodes.position(x, self._constant) is None and is_floating(x)
        if nodes.position(x, self._dirty) is not None:
            return x._rebase(self, i) if recorded else x
        if nodes.position(x, args) is not None:
            x = x.detach() if isinstance(x, Value) or not recorded else x._as_is()
        elif not recorded and x.requires_grad and not checks.is_view(x):
            return x.detach()
        if modes.is_grad_enabled() and isinstance(x, nodes.TensorBase):
            x._returned(self)  # type: ignore[attr-defined]
        return nodes.attach(x, self, i) if recorded else x

    def _keep(self, inputs: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
        """Turn what save_for_backward was given into what backward may read."""
        self._saved = tuple([keep(x, inputs, outputs) for x in self._to_save or ()])
        self._to_save = ()

    def _release(self) -> None:
        self._saved = None if self._saved else ()

    def _argument(self, i: int) -> str:
        return arguments.argument_name(self._function, i)


def keep(x: Any, inputs: tuple[Any, ...], outputs: tuple[Any, ...]) -> Any:
    """What is kept of x, which save_for_backward was given; None of None."""
    if x is None:
        return None
    return nodes.Saved(x, nodes.position(x, outputs), nodes.position(x, inputs) is None)


class Function:
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

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        arguments.refuse_call(cls, args or kwargs)
        return super().__new__(cls)

    def __getattr__(self, name: str) -> Any:
        arguments.refuse_attribute(self, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(arguments.LEGACY.format(type(self).__name__))

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
    def gradient(cls) -> Any:
        """backward, or vjp, which is another name for it."""
        named = cls.vjp is not Function.vjp
        if named and cls.backward is not Function.backward:
            raise RuntimeError(arguments.BOTH.format(cls.__name__))
        return cls.vjp if named else cls.backward

    @classmethod
    def two_step(cls) -> bool:
        """Whether forward has no ctx, and setup_context saves."""
        return cls.setup_context is not Function.setup_context

    @classmethod
    def node(cls) -> FunctionNode:
        """A new ctx, of the class <Function>Backward."""
        if "_backward_cls" not in cls.__dict__:
            cls._backward_cls = type(f"{cls.__name__}Backward", (FunctionNode,), {"_function": cls})
        return cls._backward_cls()

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward on the arguments and record it; returns what forward does."""
        args = arguments.bound(cls, args, kwargs)
        ctx = cls.node()
        ctx.needs_input_grad = nodes.all_needs_grad(args)
        recorded = modes.is_grad_enabled() and True in ctx.needs_input_grad
        before, seen = modes.set_grad(False), modes.observers()
        if seen:
            modes.set_observers(tuple(o for o in seen if getattr(o, "inside_forward", False)))
        try:
            with quiet():
                output = cls.run(ctx, args)
        finally:
            if seen:
                modes.set_observers(seen)
            modes.set_grad(before)
        return ctx._finish(args, output, recorded)

    @classmethod
    def run(cls, ctx: FunctionNode, args: tuple[Any, ...]) -> Any:
        """forward, in either style."""
        if not cls.two_step():
            return cls.forward(ctx, *args)
        output = cls.forward(*args)
        cls.setup_context(ctx, args, output)
        return output
