"""Function: an operation of one's own, forward and backward; and its ctx, which is the node.

The contract is PyTorch's. `apply` runs `forward` outside the graph, then makes its outputs
results of the node `ctx`; the walk calls `backward` with one gradient per output and takes back
one per input. Inputs and outputs may be Values or Tensors.
"""

import inspect
import warnings
from collections.abc import Callable
from functools import cache, wraps
from typing import Any

import numpy as np

from engine import builds

value = builds.module("value")
modes = builds.module("modes")
state = modes.of_threads()
Value = value.Value


class TensorBase:
    """The fields of a Tensor that a graph needs: see `engine.tensors`."""

    __slots__ = (
        "__dict__",
        "__weakref__",
        "_array",
        "_base",
        "_counter",
        "_grad",
        "_grad_fn",
        "_hooks",
        "_output_nr",
        "_requires_grad",
        "_view",
    )


DIFFERENTIABLE = (Value, TensorBase)


def needs_grad(x: Any) -> bool:
    """Whether x is a Value or Tensor that a gradient is wanted for."""
    return isinstance(x, DIFFERENTIABLE) and x.requires_grad


class Node:
    """A node of the graph: one call of an operation, with an edge to each of its inputs.

    An edge is a pair (node, output number), None for a constant; a Value, and a leaf Tensor,
    stands for its own node. `shapes` has one entry per output: (shape, dtype), None for a Value.
    """

    _edges: tuple[Any, ...] = ()
    _shapes: list[Any] = []
    _hooks: Any = None
    once_differentiable = False

    def name(self) -> str:
        """The node's name, as PyTorch's: MulBackward0, CubeBackward."""
        return type(self).__name__

    def differentiate(self, grads: list[Any]) -> tuple[Any, ...]:
        """The gradients of the inputs, given one per output."""
        raise NotImplementedError

    def release(self) -> None:
        """Free what was saved for backward."""

    def argument(self, i: int) -> str:
        """The name of input i, for errors."""
        return f"input {i}"


class Error(Node):
    """Stands behind a gradient that cannot be differentiated again; raises when that is tried.

    Its visible edges are those of the Function; the hidden ones lead to what the incoming
    gradients were made of, so that a walk knows what lies behind it.
    """

    def __init__(self, message: str, edges: tuple[Any, ...], hidden: tuple[Any, ...] = ()):
        self.message = message
        self._edges = edges
        self.hidden = hidden

    def differentiate(self, grads: list[Any]) -> tuple[Any, ...]:
        raise RuntimeError(self.message)


def edge_of(x: Any) -> Any:
    """Where the gradient of x goes: (node, output number), or None for a constant."""
    if not needs_grad(x):
        return None
    if isinstance(x, Value):
        return x, 0
    node = x.grad_fn
    return (x, 0) if node is None else (node, x._output_nr)


class Saved:
    """One thing kept for backward: an input, an output by its number, or something between."""

    __slots__ = ("between", "number", "saved", "version")

    def __init__(self, x: Any, number: int | None, between: bool):
        self.number = number
        self.between = between
        self.version = None if x is None or isinstance(x, Value) else x._version
        self.saved = x if number is None else x.detach()

    def unpack(self, node: "FunctionNode") -> Any:
        """What was saved, joined to the graph again; an in-place change since is an error."""
        x = self.saved
        if self.version is not None and x._version != self.version:
            raise RuntimeError(stale(node, x, self.version))
        if self.number is not None:
            return attach(x.detach(), node, self.number)
        if self.between and is_floating(x) and state.grad_enabled:
            cut = Error(CUT.format(node.function_name), node._edges)
            cut._shapes = [shape_of(x)]
            return attach(x.detach(), cut, 0)
        return x


CUT = (
    "{0}: a second derivative through a tensor that forward saved and that is neither an input nor "
    "an output would be wrong, as its link to the input is lost; save the input and compute it in "
    "backward, return it as an output too, or, if it is a constant (a mask, noise), keep it as a "
    "plain attribute of ctx"
)
ONCE = (
    "{0}: backward is marked once_differentiable, so its result cannot be differentiated again; "
    "write it in differentiable operations and drop the mark for second derivatives"
)
RAW = (
    "{0}: backward returned numbers made outside the graph, so its result cannot be differentiated "
    "again; write it in Values or Tensors, or mark it once_differentiable"
)


FREED = (
    "{0}: Trying to backward through the graph a second time (or directly access saved tensors "
    "after they have already been freed). Specify retain_graph=True in the first backward if it is "
    "meant; the usual cause is a tensor made once outside the loop: make it inside"
)


def stale(node: Node, x: Any, version: int) -> str:
    """The error for a saved tensor that was changed in place."""
    return (
        f"one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: a {type(x).__name__} of shape {tuple(x.shape)} that {node.name()} saved is at "
        f"version {x._version}; expected version {version}. Use the out-of-place form, or clone() "
        "before the change"
    )


def attach(x: Any, node: Node, number: int) -> Any:
    """Make x, fresh from forward, output `number` of the node."""
    if isinstance(x, Value):
        return value.output(x.data, node.name(), node, number)
    x._grad_fn, x._output_nr, x._requires_grad = node, number, True
    return x


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a backward made of operations that have no derivative: it runs with gradients off,
    and a derivative of its result is refused whenever one is taken through it."""

    @wraps(backward)
    def with_gradients_off(ctx: Any, *grads: Any) -> Any:
        before = modes.set_grad(False)
        try:
            return backward(ctx, *grads)
        finally:
            modes.set_grad(before)

    with_gradients_off.once_differentiable = True  # type: ignore[attr-defined]
    return with_gradients_off


class FunctionNode(Node):
    """The ctx of one call of a Function, and its node. Attributes of any name may be set on it."""

    _function: Any = None
    needs_input_grad: tuple[bool, ...] = ()
    materialize_grads = True

    def __init__(self) -> None:
        self.metadata: dict[Any, Any] = {}
        self._dirty: tuple[Any, ...] = ()
        self._constant: tuple[Any, ...] = ()
        self._to_save: Any = None
        self._saved: Any = ()

    @property
    def function_name(self) -> str:
        """The name of the Function."""
        return str(self._function.__name__)

    @property
    def once_differentiable(self) -> bool:  # type: ignore[override]
        """Whether backward refuses second derivatives."""
        return bool(getattr(self._function.gradient(), "once_differentiable", False))

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep Values or Tensors (or None) for backward; once, with all of them."""
        if self._to_save is not None:
            raise RuntimeError(
                f"{self.function_name}: save_for_backward may be called once, with all tensors; "
                "called again it would replace what was saved"
            )
        for x in tensors:
            if x is not None and not isinstance(x, DIFFERENTIABLE):
                raise TypeError(
                    f"{self.function_name}: save_for_backward takes Values, Tensors or None; got "
                    f"{type(x).__name__}; keep anything else as an attribute: ctx.name = ..."
                )
        self._to_save = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What save_for_backward kept, in order."""
        if self._saved is None:
            raise RuntimeError(FREED.format(self.name()))
        return tuple(s and s.unpack(self) for s in self._saved)

    def mark_dirty(self, *tensors: Any) -> None:
        """Say which input Tensors forward changed in place; they must be returned too."""
        if any(isinstance(x, Value) for x in tensors):
            raise TypeError(
                f"{self.function_name}: mark_dirty takes Tensors; a Value is a node of the graph "
                "and cannot be changed in it: return a new Value"
            )
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
        if self.materialize_grads:
            grads = [zero(s) if g is None else g for g, s in zip(grads, self._shapes, strict=True)]
        grads = [Value(g, requires_grad=False) if type(g) is float else g for g in grads]
        given = self._function.gradient()(self, *grads)
        given = tuple(given) if isinstance(given, (tuple, list)) else (given,)
        return self.guarded(self.counted(given), grads)

    def apply(self, *grads: Any) -> Any:
        """Call backward by hand: one gradient per output; returns what backward does."""
        given = self.differentiate(list(grads))
        return given[0] if len(given) == 1 else given

    __call__ = apply

    def counted(self, given: tuple[Any, ...]) -> tuple[Any, ...]:
        """One gradient per input; more may follow when they are None."""
        n = len(self._edges)
        if len(given) < n or any(g is not None for g in given[n:]):
            names = ", ".join(self.argument(i) for i in range(n))
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected {n}, "
                f"got {len(given)}): backward returns one for each input ({names}), None for what "
                "needs none"
            )
        return given[:n]

    def guarded(self, given: tuple[Any, ...], grads: list[Any]) -> tuple[Any, ...]:
        """Under create_graph, put an Error behind what cannot be differentiated again."""
        if not state.grad_enabled:
            return given
        hidden = tuple(edge for edge in map(edge_of, grads) if edge is not None)
        return tuple(
            g if g is None or edge is None else self.guard(g, edge, hidden)
            for g, edge in zip(given, self._edges, strict=True)
        )

    def guard(self, g: Any, edge: Any, hidden: tuple[Any, ...]) -> Any:
        """g itself, or its numbers with an Error behind them."""
        raw = not isinstance(g, DIFFERENTIABLE)
        if not raw and not self.once_differentiable:
            return g
        text = ONCE if self.once_differentiable else RAW
        node = Error(text.format(self.function_name), self._edges, hidden)
        g = as_node(g, isinstance(edge[0], Value)) if raw else g.detach()
        node._shapes = [shape_of(g)]
        return attach(g, node, 0)

    def finish(self, args: tuple[Any, ...], output: Any, recorded: bool) -> Any:
        """Make what forward returned results of this node, where it is recorded."""
        outputs = output if isinstance(output, tuple) else (output,)
        if not any(isinstance(x, DIFFERENTIABLE) for x in outputs):
            outputs = tuple(self.joined(x, args) for x in outputs)
        if recorded:
            self._edges = tuple(map(edge_of, args))
        for x in self._dirty:
            x._change_in_place(self.function_name, recorded)
        if recorded:
            self.keep(args, outputs)
        self._shapes = [shape_of(x) for x in outputs]
        results = tuple(self.result(i, x, args, recorded) for i, x in enumerate(outputs))
        self._dirty = self._constant = ()
        return results if isinstance(output, tuple) else results[0]

    def joined(self, x: Any, args: tuple[Any, ...]) -> Any:
        """A number or an array that forward returned, as a Value or a Tensor."""
        if not value.is_number(x) and not isinstance(x, np.ndarray):
            raise TypeError(
                f"{self.function_name}: forward needs to return a Value, a Tensor, an array or a "
                f"number; got {type(x).__name__}"
            )
        kinds = [isinstance(a, Value) for a in args if isinstance(a, DIFFERENTIABLE)]
        return as_node(x, all(kinds) and bool(kinds) and not isinstance(x, np.ndarray))

    def result(self, i: int, x: Any, args: tuple[Any, ...], recorded: bool) -> Any:
        """Output i, with its place in the graph."""
        if not isinstance(x, DIFFERENTIABLE):
            return x
        recorded = recorded and position(x, self._constant) is None and is_floating(x)
        if position(x, self._dirty) is not None:
            return x._rebase(self, i) if recorded else x
        if position(x, args) is not None:
            x = x.detach() if isinstance(x, Value) or not recorded else x._as_is()
        elif not recorded and x.requires_grad:
            return x.detach()
        if recorded and isinstance(x, TensorBase):
            x._returned(len(self._shapes) > 1)
        return attach(x, self, i) if recorded else x

    def keep(self, inputs: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
        """Turn what save_for_backward was given into what backward may read."""
        self._saved = tuple(
            None if x is None else Saved(x, position(x, outputs), position(x, inputs) is None)
            for x in self._to_save or ()
        )
        self._to_save = ()

    def release(self) -> None:
        self._saved = None if self._saved else ()

    def argument(self, i: int) -> str:
        return argument_name(self._function, i)


def position(x: Any, where: tuple[Any, ...]) -> int | None:
    """The place of the object x among others."""
    return next((i for i, y in enumerate(where) if y is x), None)


def as_node(x: Any, scalar: bool) -> Any:
    """A number as a constant Value, or a number or an array as a constant Tensor."""
    return Value(x, requires_grad=False) if scalar else TensorBase.constant(x)


def is_floating(x: Any) -> bool:
    """Whether x can have a gradient."""
    return isinstance(x, Value) or bool(x.is_floating_point())


def shape_of(x: Any) -> Any:
    """What the gradient of an output must look like: (shape, dtype), or None for a number."""
    return (x._array.shape, x._array.dtype) if isinstance(x, TensorBase) else None


def zero(shape: Any) -> Any:
    """The gradient of an output that got none."""
    return Value(0.0, requires_grad=False) if shape is None else TensorBase.zeros(*shape)


@cache
def signature(function: Any) -> inspect.Signature:
    """The parameters of forward that `apply` fills: without ctx, in the style that has it."""
    parameters = list(inspect.signature(function.forward).parameters.values())
    return inspect.Signature(parameters if function.two_step() else parameters[1:])


def argument_name(function: Any, i: int) -> str:
    """The name of argument i of forward."""
    names = list(signature(function).parameters.values())
    if i < len(names) and names[i].kind is not inspect.Parameter.VAR_POSITIONAL:
        return names[i].name
    return f"{names[-1].name}[{i - len(names) + 1}]" if names else f"input {i}"


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

    _node_class: Any = None

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        if args or kwargs:
            raise TypeError(
                f"{cls.__name__}(...): a Function is not called itself; write "
                f"{cls.__name__}.apply(...), and hand {cls.__name__}.apply to what takes a function"
            )
        warnings.warn(
            f"{cls} should not be instantiated. Methods on autograd functions are all static, so "
            "you should invoke them on the class itself. Instantiating an autograd function will "
            "raise an error in a future version of PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )
        return super().__new__(cls)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use "
            "new-style autograd function with static forward method: "
            f"make forward and backward static and call {type(self).__name__}.apply(...)"
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs."""
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Save what backward needs, in the two-step style."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """The gradients of the inputs, given those of the outputs."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD."
        )

    vjp = backward

    @classmethod
    def gradient(cls) -> Any:
        """backward, or vjp, which is another name for it."""
        named = cls.vjp is not Function.vjp
        if named and cls.backward is not Function.backward:
            raise RuntimeError(
                f"Implementing both 'backward' and 'vjp' for a custom Function is not allowed; "
                f"{cls.__name__} needs one of them"
            )
        return cls.vjp if named else cls.backward

    @classmethod
    def two_step(cls) -> bool:
        """Whether forward has no ctx, and setup_context saves."""
        return cls.setup_context is not Function.setup_context

    @classmethod
    def node(cls) -> FunctionNode:
        """A new ctx, of the class <Function>Backward."""
        if "_node_class" not in cls.__dict__:
            cls._node_class = type(f"{cls.__name__}Backward", (FunctionNode,), {"_function": cls})
        return cls._node_class()  # type: ignore[no-any-return]

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward on the arguments and record it; returns what forward does."""
        args = cls.bound(args, kwargs)
        ctx = cls.node()
        ctx.needs_input_grad = tuple(map(needs_grad, args))
        recorded = state.grad_enabled and True in ctx.needs_input_grad
        before = modes.set_grad(False)
        try:
            with np.errstate(all="ignore"):
                output = cls.run(ctx, args)
        finally:
            modes.set_grad(before)
        return ctx.finish(args, output, recorded)

    @classmethod
    def run(cls, ctx: FunctionNode, args: tuple[Any, ...]) -> Any:
        """forward, in either style."""
        if not cls.two_step():
            return cls.forward(ctx, *args)
        output = cls.forward(*args)
        cls.setup_context(ctx, args, output)
        return output

    @classmethod
    def bound(cls, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments in the order of forward's parameters."""
        least, most = arity(cls)
        if kwargs or cls.two_step() or not least <= len(args) <= most:
            args = bind(cls, args, kwargs)
        for i, x in enumerate(args):
            if isinstance(x, (list, tuple, dict)) and hides(x):
                warnings.warn(
                    f"{cls.__name__}.apply: the Values or Tensors inside {argument_name(cls, i)} "
                    "are not seen and get no gradient; pass them as separate arguments",
                    UserWarning,
                    stacklevel=3,
                )
        return args


def bind(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """The arguments in the order of forward's parameters, defaults filled in."""
    try:
        call = signature(function).bind(*args, **kwargs)
    except TypeError as error:
        hint = "; to pass the items of a tuple write apply(*args)" if len(args) == 1 else ""
        raise TypeError(f"{function.__name__}.apply: {error}{hint}") from None
    call.apply_defaults()
    return call.args


@cache
def arity(function: Any) -> tuple[float, float]:
    """The least and the largest number of arguments that apply takes without names."""
    least, most = 0, 0.0
    for p in signature(function).parameters.values():
        if p.kind is p.VAR_POSITIONAL:
            most = float("inf")
        elif p.kind is not p.VAR_KEYWORD:
            least, most = least + (p.default is p.empty), most + 1
    return least, most


def hides(x: Any) -> bool:
    """Whether the list, tuple or dict has something in it that needs a gradient."""
    return any(map(needs_grad, x.values() if isinstance(x, dict) else x))
