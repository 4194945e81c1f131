"""Jacobians in forward mode, one number of the inputs at a time."""

from collections.abc import Callable
from typing import Any

from engine.autograd.forward_ad import make_dual, nested_level
from engine.creation import eye, zeros_like
from engine.habits import Value
from engine.nodes import DIFFERENTIABLE
from engine.ops.join import stack


def units(x: Any) -> list[Any]:
    """The tangents of x that are 1 in one place."""
    if isinstance(x, Value):
        return [Value(1.0, requires_grad=False)]
    n = x.numel()
    return list(eye(n, dtype=x.dtype).reshape(n, *x.shape).unbind(0)) if n else []


def pushed(func: Callable[..., Any], inputs: tuple[Any, ...], j: int, unit: Any) -> list[Any]:
    """The tangents of func's outputs for this tangent of input j, zeros where there is none."""
    with nested_level() as level:
        dual = make_dual(inputs[j], unit)
        returned = func(*inputs[:j], dual, *inputs[j + 1 :])
        outputs = returned if isinstance(returned, tuple) else (returned,)
        tangents = [level.tangent(o) for o in outputs]
    return [zero_like(o) if t is None else t for o, t in zip(outputs, tangents, strict=True)]


def zero_like(x: Any) -> Any:
    if not isinstance(x, DIFFERENTIABLE):
        raise TypeError(f"jacobian: outputs must be Tensors or Values; got {type(x).__name__}")
    return Value(0.0, requires_grad=False) if isinstance(x, Value) else zeros_like(x)


def jacobians_by(
    func: Callable[..., Any], inputs: tuple[Any, ...], j: int, outputs: tuple[Any, ...]
) -> list[Any]:
    """The Jacobian of each output by input j; outputs are those of func(*inputs)."""
    columns = [pushed(func, inputs, j, unit) for unit in units(inputs[j])]
    return [joined([c[i] for c in columns], o, inputs[j]) for i, o in enumerate(outputs)]


def joined(columns: list[Any], output: Any, x: Any) -> Any:
    """The columns of a Jacobian as one Tensor of shape output.shape + x.shape."""
    if isinstance(x, Value):
        return columns[0]
    shape = (*getattr(output, "shape", ()), *x.shape)
    if not columns:
        return x.new_zeros(shape)
    last = -1 if hasattr(columns[0], "shape") else 0
    return stack(columns, last).reshape(shape)
