"""Hooks: functions of the user's that a walk calls on its way. A node without any costs nothing.

For one node the order is: hooks of its output tensors, as registered; retained gradients; the
node's pre-hooks; backward; its post-hooks. For a leaf: its hooks, the pre-hooks of its
AccumulateGrad, the addition to `.grad`, post-accumulate hooks, post-hooks.
"""

import weakref
from collections.abc import Callable
from typing import Any

from engine import nodes, value

Value = value.Value

Table = dict[int, Callable[..., Any]]


class RemovableHandle:
    """Takes a hook back: `handle.remove()`, or at the end of a `with` block."""

    next_id = 0

    def __init__(self, table: Table, hook: Callable[..., Any]):
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        self.table = table
        table[self.id] = hook

    def remove(self) -> None:
        """Take the hook back; again does nothing."""
        self.table.pop(self.id, None)

    def __enter__(self) -> "RemovableHandle":
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


class Hooks:
    """The hooks of one node, or of a leaf tensor: tables for its outputs, before and after."""

    def __init__(self) -> None:
        self.outputs: dict[int, Table] = {}
        self.retained: dict[int, Any] = {}
        self.pre: Table = {}
        self.post: Table = {}
        self.accumulated: Table = {}

    def on_outputs(self, walk: Any, grads: list[Any]) -> None:
        """Run the hooks of the output tensors, also of those without a gradient, which get None;
        then keep what retain_grad asked for."""
        for i, before in enumerate(grads):
            g = grads[i] = run(self.outputs.get(i, {}), before)
            tensor = self.retained[i]() if i in self.retained else None
            if g is not None and tensor is not None:
                walk.arrived.append((tensor, g))

    def before(self, grads: list[Any]) -> list[Any]:
        """The gradients of the outputs after the pre-hooks of the node."""
        for hook in list(self.pre.values()):
            new = hook(tuple(grads))
            grads = grads if new is None else as_many(new, grads, hook)
        return grads

    def after(self, given: tuple[Any, ...], grads: list[Any]) -> tuple[Any, ...]:
        """The gradients of the inputs after the post-hooks of the node."""
        for hook in list(self.post.values()):
            new = hook(given, tuple(grads))
            given = given if new is None else tuple(as_many(new, given, hook))
        return given

    def on_leaf(self, g: Any, writes: bool) -> Any:
        """The gradient of a leaf after its hooks and, where it is to be written, the pre-hooks of
        its AccumulateGrad."""
        g = run(self.outputs.get(0, {}), g)
        return self.before([g])[0] if writes else g

    def on_accumulated(self, leaf: Any, g: Any) -> None:
        """Run what waits for g to be added to the leaf's `.grad`; the first g is the `.grad`."""
        for hook in list(self.accumulated.values()):
            if hook(leaf) is not None:
                raise RuntimeError("register_post_accumulate_grad_hook: hooks should return None.")
        self.after((), [g])

    def retain(self, tensor: Any, i: int) -> None:
        """Keep the gradient of output i in tensor.grad."""
        self.retained[i] = weakref.ref(tensor)


def as_many(new: Any, old: Any, hook: Any) -> list[Any]:
    """The gradients that a hook of a node returned, as many as it was given."""
    found = list(new) if isinstance(new, (tuple, list)) else [new]
    if len(found) != len(old):
        raise RuntimeError(
            f"hook {name_of(hook)} has returned an incorrect number of values (got {len(found)}, "
            f"but expected {len(old)}): one gradient for each that it was given"
        )
    for g, before in zip(found, old, strict=True):
        number = value.is_number(g) and not isinstance(before, nodes.TensorBase)
        if not (g is None or number or nodes.is_differentiable(g)):
            raise TypeError(
                f"expected Tensor, but hook {name_of(hook)} returned {type(g).__name__}: return a "
                "Tensor for each gradient that it was given, or None for the whole to keep them"
            )
    return found


def name_of(hook: Any) -> str:
    return getattr(hook, "__name__", type(hook).__name__)


def of(owner: Any) -> Hooks:
    """The hooks of a node or a leaf tensor, made if it has none yet."""
    if owner._hooks is None:
        owner._hooks = Hooks()
    return owner._hooks


def run(table: Table, g: Any) -> Any:
    """g after each hook of the table; a hook that returns None changes nothing."""
    for hook in list(table.values()):
        new = hook(g)
        if new is not None:
            g = checked(new, g, hook)
    return g


def checked(new: Any, g: Any, hook: Any) -> Any:
    """The gradient that a hook returned; it must be like the one it was given."""
    if g is None:
        return new
    name = name_of(hook)
    if isinstance(g, Value):
        return new if isinstance(new, Value) else Value(new, requires_grad=False)
    if type(new) is not type(g) and not isinstance(new, type(g)):
        raise TypeError(f"hook {name}: needs to return a Tensor or None; got {type(new).__name__}")
    if new.shape != g.shape:
        raise RuntimeError(
            f"hook {name}: the gradient it returns needs the shape {tuple(g.shape)}; "
            f"got {tuple(new.shape)}"
        )
    return new


def run_on_value(v: Any, g: Any) -> Any:
    """The gradient of a Value after its hooks, which get Values and may return numbers."""
    extra = v._extra
    table = extra.hooks if isinstance(extra, value.Extra) else None
    if not table:
        return g
    if isinstance(g, Value):
        return run(table, g)
    return run(table, Value(g, requires_grad=False)).data
