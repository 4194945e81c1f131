"""Activations that are made of others: any shape in, the same shape out, elementwise unless said.

`functional` has them all, beside those that are rules. They need a floating input unless said,
raise NotImplementedError for another, and of float16 are computed in float32 and rounded once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import engine
from engine import dtypes
from engine.ops import elementwise, piecewise
from engine.tensors import Tensor


def made(
    name: str, f: Callable[..., Tensor], input: Tensor, *options: Any, inplace: bool = False
) -> Tensor:
    """What f makes of a floating input; written into the input where that is asked for."""
    check_floating(name, input)
    source = input.clone() if inplace else input
    if source.dtype is dtypes.float16:
        output = f(source.float(), *options).half()
    else:
        output = f(source, *options)
    return input.copy_(output) if inplace else output


def check_floating(name: str, input: Tensor) -> None:
    """Refuse integers and bools."""
    if not input.is_floating_point():
        raise NotImplementedError(
            f"{name}: not implemented for {input.dtype!r}: input must be floating; write .float()"
        )


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where x > 0, else alpha (e**x - 1)."""
    return made("elu", elementwise.elu, input, alpha, inplace=inplace)


def scaled_elu(x: Tensor) -> Tensor:
    return 1.0507009873554805 * elementwise.elu(x, 1.6732632423543772)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """elu with alpha 1.6733 times 1.0507, which keeps mean 0 and variance 1: arXiv:1706.02515."""
    return made("selu", scaled_elu, input, inplace=inplace)


def smooth_elu(x: Tensor, alpha: float) -> Tensor:
    low = engine.where(x > 0, engine.zeros_like(x), x)
    return engine.where(x > 0, x, alpha * (low / alpha).expm1())


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where x > 0, else alpha (e**(x / alpha) - 1); smooth at 0 for every alpha."""
    return made("celu", smooth_elu, input, alpha, inplace=inplace)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x times sigmoid(x); also called swish."""
    return made("silu", lambda x: x.silu(), input, inplace=inplace)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """x tanh(log(1 + e**x)): arXiv:1908.08681."""
    return made("mish", lambda x: x * x.softplus().tanh(), input, inplace=inplace)


def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """x held between min_val and max_val; the slope is 0 at both. Of integers an integer."""
    if min_val > max_val:
        raise ValueError(f"hardtanh: min_val must be at most max_val; got {min_val} and {max_val}")
    if input.dtype is dtypes.bool:
        raise RuntimeError("hardtanh: Bool inputs not supported: needs numbers; write .float()")
    limits = [dtypes.checked(x, input._array.dtype) for x in (min_val, max_val)]
    output: Tensor = piecewise.Hardtanh.apply(input.clone() if inplace else input, *limits)
    return input.copy_(output) if inplace else output


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """x held between 0 and 6; the slope is 0 at both. Of integers an integer."""
    return hardtanh(input, 0.0, 6.0, inplace)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """relu6(x + 3) / 6: sigmoid in three straight lines."""
    return made("hardsigmoid", lambda x: relu6(x + 3.0) / 6.0, input, inplace=inplace)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """x relu6(x + 3) / 6."""
    return made("hardswish", lambda x: x * hardsigmoid(x), input, inplace=inplace)


def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|), within -1 .. 1. Integers become floats."""
    return input / (1.0 + input.abs())


def logsigmoid(input: Tensor) -> Tensor:
    """log(sigmoid(x)), without overflow."""
    return made("logsigmoid", lambda x: -(-x).softplus(), input)


def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x). Integers become floats."""
    return input - input.tanh()


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x moved towards 0 by lambd, 0 within it; lambd from 0 up."""
    if lambd < 0:
        raise RuntimeError(f"softshrink: lambd must be greater or equal to 0; got {lambd}")
    return made("softshrink", piecewise.Softshrink.apply, input, lambd)


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x, but 0 from -lambd to lambd."""
    return made("hardshrink", piecewise.Hardshrink.apply, input, lambd)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """x where x > threshold, else value. Of integers an integer."""
    if input.dtype is dtypes.bool:
        check_floating("threshold", input)
    options = [dtypes.checked(x, input._array.dtype) for x in (threshold, value)]
    output: Tensor = piecewise.Threshold.apply(input.clone() if inplace else input, *options)
    return input.copy_(output) if inplace else output


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x where x > 0, else weight * x. weight: shape (1,), or one number for each place along
    dimension 1 of the input; of the input's dtype."""
    if input.dtype is not weight.dtype:
        raise RuntimeError(
            f"prelu: input and weight must be of one dtype; got {input.dtype} and {weight.dtype}: "
            "Type promoting not supported; convert one with .to(dtype)"
        )
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
    return made("glu", halves, input, dim)


def halves(x: Tensor, dim: int) -> Tensor:
    a, b = x.chunk(2, dim)
    return a * b.sigmoid()


def softmin(input: Tensor, dim: int | None = None, dtype: Any = None) -> Tensor:
    """The softmax of -x along `dim`."""
    return engine.nn.functional.softmax(-input, dim, dtype=dtype)
