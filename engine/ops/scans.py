"""Running totals and products along a dimension."""

from typing import Any

import numpy as np

from engine.ops.dims import axis
from engine.ops.join import cat
from engine.quiet import quiet
from engine.tensors import Operation, Tensor, make, method


def running(function: Any, x: Any, dim: int) -> Any:
    """NumPy's running sum or product; integers and booleans as int64. Row by row
    whatever x lies like."""
    wide = x.dtype if x.dtype.kind == "f" else np.int64
    with quiet():
        return function(np.ascontiguousarray(x), dim, wide).reshape(x.shape)


class Cumsum(Operation):
    """The running sum from the front, or from the back."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, dim: int, back: bool) -> Tensor:
        ctx.dim, ctx.back = dim, back
        if not back or not x.ndim:
            return make(running(np.cumsum, x._array, dim))
        return make(np.flip(running(np.cumsum, np.flip(x._array, dim), dim), dim))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return Cumsum.apply(g, ctx.dim, not ctx.back), None, None


@method
def cumsum(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The sums of the elements up to each one along the dimension dim, that one included.

    Any shape in, the same out; integers and booleans are summed as int64.
    """
    if dtype is not None:
        input = input.to(dtype)
    out: Tensor = Cumsum.apply(input, axis(dim, input.ndim), False)
    return out if dtype is None else out.to(dtype)


class Cumprod(Operation):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dim: int) -> Tensor:
        ctx.save_for_backward(x)
        ctx.dim = dim
        return make(running(np.cumprod, x._array, dim))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        if not x.ndim:
            return g, None
        before = shifted(x, ctx.dim, -1, 1.0).cumprod(ctx.dim)
        return before * products_after(shifted(x, ctx.dim, 1, 0.0), g, ctx.dim), None


def shifted(x: Tensor, dim: int, steps: int, fill: float) -> Tensor:
    """What stands `steps` further along dim than each element; `fill` where there is nothing."""
    shape = list(x._array.shape)
    steps, whole = min(abs(steps), shape[dim]) * (1 if steps > 0 else -1), shape[dim]
    shape[dim] = abs(steps)
    filling = make(np.full(shape, fill, x._array.dtype))
    kept = x.narrow(dim, max(steps, 0), whole - abs(steps))
    return cat((kept, filling) if steps > 0 else (filling, kept), dim)


def products_after(a: Tensor, g: Tensor, dim: int) -> Tensor:
    """The r with r[k] = g[k] + a[k] * r[k + 1] along dim: what a running product hands back.

    Steps are joined in pairs, then in fours and so on. Nothing is divided, so zeros give right
    derivatives of any order.
    """
    steps = 1
    while steps < g._array.shape[dim]:
        g = g + a * shifted(g, dim, steps, 0.0)
        a = a * shifted(a, dim, steps, 0.0)
        steps *= 2
    return g


@method
def cumprod(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The products of the elements up to each one along the dimension dim, that one included.

    Any shape in, the same out; integers and booleans are multiplied as int64.
    """
    if dtype is not None:
        input = input.to(dtype)
    out: Tensor = Cumprod.apply(input, axis(dim, input.ndim))
    return out if dtype is None else out.to(dtype)
