"""Between Values and Tensors: the same graph goes on in the other kind of node."""

from typing import Any

import numpy as np

from engine import habits, modes, value
from engine.tensors import Operation, Tensor, make, method

Value = habits.Value


class StackValues(Operation):
    """Values as a row of float64; each gets its element of the gradient."""

    @staticmethod
    def forward(ctx: Any, *values: Any) -> Tensor:
        return make(np.array([value.as_number(v, "stack") for v in values]))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        row = unstack(g) if modes.is_grad_enabled() else g._array.tolist()
        return tuple(h if n else None for h, n in zip(row, ctx.needs_input_grad, strict=True))


def stack_values(values: Any) -> Tensor:
    """A float64 Tensor of Values and numbers, which may be nested in lists of equal length."""
    array = np.array(values, dtype=object)
    for x in array.flat:
        if not isinstance(x, Value) and not value.is_number(x):
            raise TypeError(
                "stack: beside Values only Values and numbers are possible, in lists of equal "
                f"length; got {type(x).__name__}"
            )
    row: Tensor = StackValues.apply(*array.flat)
    return row if array.ndim == 1 else row.reshape(array.shape)


class Unstack(Operation):
    """A row of numbers as Values."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> tuple[Any, ...]:
        return tuple(Value(n, requires_grad=False) for n in x._array.tolist())

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return StackValues.apply(*grads)


def unstack(input: Tensor) -> Any:
    """The numbers of a Tensor as Values of the same graph: a list, nested for more dimensions,
    one Value for shape (). The slope is 1; gradients come back in the dtype of input."""
    if not input.is_floating_point():
        raise TypeError(f"unstack: needs floats; got a tensor of {input.dtype}; use .double()")
    values = Unstack.apply(input.reshape(-1)) if input.numel() else ()
    return nested(iter(values), input._array.shape)


def nested(values: Any, shape: tuple[int, ...]) -> Any:
    """The values in lists as deep as the shape."""
    return [nested(values, shape[1:]) for _ in range(shape[0])] if shape else next(values)


@method
def as_value(input: Tensor) -> Any:
    """The only number held as a Value of the same graph."""
    if input.numel() != 1:
        raise RuntimeError(
            f"as_value: needs one element; got {input.numel()}; use engine.unstack for a list"
        )
    return unstack(input.reshape(()))


class AsTensor(Operation):
    """A Value as a 0-d tensor."""

    @staticmethod
    def forward(ctx: Any, v: Any, dtype: Any) -> Tensor:
        return make(np.asarray(v.data, dtype))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return g, None


@habits.method
def as_tensor(v: Any, numpy_dtype: Any = None) -> Tensor:
    """The Value as a 0-d tensor of the same graph: float64, or this NumPy dtype."""
    return AsTensor.apply(v, numpy_dtype)
