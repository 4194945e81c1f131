"""What the ctx of a custom Function keeps, in words."""

from typing import Any

from engine.function import FunctionNode
from engine.nodes import TensorBase, Value
from engine.tensors import Operation
from engine.visualize.words import of_array

# What every ctx has.
EVERY = {"needs_input_grad", "materialize_grads", "metadata", "saved"}


def kept_by(node: Any) -> list[str]:
    """What the ctx of a custom Function holds: saved tensors, and attributes of its own."""
    if not isinstance(node, FunctionNode) or issubclass(node._function, Operation):
        return []
    saved = [f"saved tensor {i + 1}: {told(x.saved)}" for i, x in enumerate(node._saved or ())]
    own = {k: x for k, x in vars(node).items() if not k.startswith("_") and k not in EVERY}
    needs = f"needs_input_grad = {node.needs_input_grad}"
    return [*saved, *(f"ctx.{k} = {told(x)}" for k, x in own.items()), needs]


def told(x: Any) -> str:
    """An object in a few words, the same from run to run: no address stands in it."""
    if isinstance(x, Value):
        return f"Value {x.data!r}"
    if isinstance(x, TensorBase):
        return f"{x._array.dtype} {tuple(x._array.shape)} {of_array(x._array)}"
    if isinstance(x, (tuple, list)):
        return f"({', '.join(map(told, x))})"
    return repr(x) if isinstance(x, (int, float, str, type(None))) else type(x).__name__
