"""What a node keeps for backward, under PyTorch's names: `y.grad_fn._saved_self`, `_saved_result`,
`_saved_dim`, and `_raw_saved_self.register_hooks(pack, unpack)`, which packs it.

It plugs into Node, is asked only for names that a node does not have, and costs nothing else.
"""

import inspect
from functools import cache
from typing import Any

from engine.autograd.saved_hooks import Hook, Packed
from engine.function import FunctionNode
from engine.nodes import FREED, Node, Saved
from engine.tensors import Operation, RuleNode

# PyTorch's names of what the slopes of a rule are made of: its operands, in order.
OPERANDS = {"pow": ("self", "exponent"), "pow_number": ("self", "exponent")}


class SavedTensor:
    """One thing that a node keeps for backward, as an object: unpack() gives it."""

    def __init__(self, node: Any = None, place: int = 0):
        if not isinstance(node, Node):
            raise RuntimeError(
                "Trying to create a SavedTensor object from Python is forbidden: nodes have them, "
                "as y.grad_fn._raw_saved_self"
            )
        self.node, self.place = node, place

    def unpack(self) -> Any:
        """The tensor in its place in the graph, None where None was saved."""
        entry = kept(self.node)[self.place]
        return entry.unpack(self.node) if isinstance(entry, Saved) else entry

    def register_hooks(self, pack_hook: Hook, unpack_hook: Hook) -> None:
        """Keep pack_hook(tensor) in its place; unpack_hook gives the tensor back for backward."""
        entries = list(kept(self.node))
        entry = entries[self.place]
        if not callable(pack_hook) or not callable(unpack_hook):
            raise TypeError("register_hooks: incompatible function arguments: needs two functions")
        if not isinstance(entry, Saved):
            raise RuntimeError("register_hooks: hooks for a saved tensor that is None is forbidden")
        if isinstance(entry, Packed):
            raise RuntimeError("register_hooks: hooks for this saved tensor have already been set")
        entries[self.place] = Packed(entry, pack_hook, unpack_hook)
        self.node._saved = entries


def kept(node: Any) -> Any:
    """What a node keeps for backward, in order; RuntimeError once that is freed."""
    entries = node._saved
    if entries is None:
        raise RuntimeError(FREED.format(node.name()))
    return entries


@cache
def parameters(operation: Any) -> tuple[str, ...]:
    """The names of the arguments of an operation's forward; PyTorch calls the first self."""
    return ("self", *list(inspect.signature(operation.forward).parameters)[2:])


def names(node: Any) -> list[str]:
    """PyTorch's names of what the node keeps, in order."""
    if isinstance(node, RuleNode):
        return [*OPERANDS.get(node.rule.name, ("self", "other"))[: node.rule.arity], "result"]
    inputs = iter(parameters(node._function))
    return ["result" if e.number is not None else next(inputs) for e in kept(node)]


def option(node: Any, name: str) -> Any:
    """An option of an operation, as dim, which stands on its ctx under one name or another."""
    for own in (name, "d" if name == "dim" else name, f"{name}s"):
        if own in vars(node):
            return vars(node)[own]
    raise AttributeError(f"{node.name()} keeps no {name!r} for backward")


def attribute(node: Node, name: str) -> Any:
    """A name that a node does not have itself: _saved_NAME, _raw_saved_NAME, or an error."""
    raw, end = name.startswith("_raw_saved_"), name.partition("saved_")[2]
    if not raw and not name.startswith("_saved_"):
        return object.__getattribute__(node, name)  # raises what it raised before
    if raw and end == "tensors":
        return tuple(SavedTensor(node, i) for i in range(len(kept(node))))
    built_in = isinstance(node, FunctionNode) and issubclass(node._function, Operation)
    found = names(node) if kept(node) and (built_in or isinstance(node, RuleNode)) else []
    if end not in found:
        return option(node, end)
    saved = SavedTensor(node, found.index(end))
    return saved if raw else saved.unpack()


Node.__getattr__ = attribute  # type: ignore[attr-defined]
