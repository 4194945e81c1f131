"""Activations that are made of others: any shape in, the same shape out, elementwise unless said.

`functional` has them all, beside those that are rules.
"""

from __future__ import annotations

from typing import Any

import engine
from engine.ops import elementwise
from engine.tensors import Tensor


def put(input: Tensor, output: Tensor, inplace: bool) -> Tensor:
    """The output, written into the input where that is asked for."""
    return input.copy_(output) if inplace else output


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where x > 0, else alpha (e**x - 1)."""
    return put(input, elementwise.elu(input, alpha), inplace)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """elu with alpha 1.6733 times 1.0507, which keeps mean 0 and variance 1: arXiv:1706.02515."""
    return put(input, 1.0507009873554805 * elementwise.elu(input, 1.6732632423543772), inplace)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where x > 0, else alpha (e**(x / alpha) - 1); smooth at 0 for every alpha."""
    low = engine.where(input > 0, engine.zeros_like(input), input)
    return put(input, engine.where(input > 0, input, alpha * (low / alpha).expm1()), inplace)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x times sigmoid(x); also called swish."""
    return put(input, input.silu(), inplace)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """x tanh(log(1 + e**x)): arXiv:1908.08681."""
    return put(input, input * input.softplus().tanh(), inplace)


def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """x held between min_val and max_val; the slope is 0 at both."""
    if min_val > max_val:
        raise ValueError(f"hardtanh: min_val must be at most max_val; got {min_val} and {max_val}")
    outside = (input <= min_val) | (input >= max_val)
    held = input.detach().clamp(min_val, max_val)
    return put(input, engine.where(outside, held, input), inplace)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """x held between 0 and 6; the slope is 0 at both."""
    return hardtanh(input, 0.0, 6.0, inplace)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """relu6(x + 3) / 6: sigmoid in three straight lines."""
    return put(input, relu6(input + 3.0) / 6.0, inplace)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """x relu6(x + 3) / 6."""
    return put(input, input * hardsigmoid(input), inplace)


def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|), within -1 .. 1."""
    return input / (1.0 + input.abs())


def logsigmoid(input: Tensor) -> Tensor:
    """log(sigmoid(x)), without overflow."""
    return -(-input).softplus()


def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x)."""
    return input - input.tanh()


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x moved towards 0 by lambd, 0 within it; lambd from 0 up."""
    if lambd < 0:
        raise RuntimeError(f"softshrink: lambd must be greater or equal to 0; got {lambd}")
    inside = (input >= -lambd) & (input <= lambd)
    moved = input - lambd * input.detach().sign()
    return engine.where(inside, engine.zeros_like(input), moved)


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x, but 0 from -lambd to lambd."""
    inside = (input >= -lambd) & (input <= lambd)
    return engine.where(inside, engine.zeros_like(input), input)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """x where x > threshold, else value."""
    below = input <= threshold
    return put(input, engine.where(below, engine.full_like(input, value), input), inplace)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x where x > 0, else weight * x. weight: shape (1,), or one number for each place along
    dimension 1 of the input."""
    if weight.numel() == 1:
        weight = weight.reshape(())
    else:
        if input.ndim < 2 or input.shape[1] != weight.numel():
            raise RuntimeError(
                "prelu: weight must hold one number, or one for each place along dimension 1 of "
                f"input; got weight {tuple(weight.shape)} and input {tuple(input.shape)}"
            )
        weight = weight.reshape((1, -1) + (1,) * (input.ndim - 2))
    return engine.where(input > 0, input, weight * input)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half along `dim`, whose size is even, times the sigmoid of the second."""
    if not input.ndim:
        raise RuntimeError("glu: input needs a dimension of even size; got one number, shape ()")
    if input.shape[dim] % 2:
        raise RuntimeError(f"glu: halving dimension must be even; got size {input.shape[dim]}")
    a, b = input.chunk(2, dim)
    return a * b.sigmoid()


def softmin(input: Tensor, dim: int | None = None, dtype: Any = None) -> Tensor:
    """The softmax of -x along `dim`."""
    return engine.nn.functional.softmax(-input, dim, dtype=dtype)
