"""Starting numbers for parameters: each function fills a tensor in place and returns it.

fan_in is the number of inputs that one output sees, shape[1] times all later sizes; fan_out is
shape[0] times them. All run without gradients; `generator` is an `engine.Generator`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import engine
from engine.attention import warn
from engine.tensors import Tensor

GAINS = {
    "linear": 1.0,
    "sigmoid": 1.0,
    "tanh": 5.0 / 3.0,
    "relu": math.sqrt(2.0),
    "selu": 0.75,
    **{f"conv{sizes}d": 1.0 for sizes in (1, 2, 3)},
    **{f"conv_transpose{sizes}d": 1.0 for sizes in (1, 2, 3)},
}


def calculate_gain(nonlinearity: str, param: Any = None) -> float:
    """The factor that keeps the variance through that nonlinearity.

    param: the slope of a leaky_relu, 0.01 unless given.
    Source: PyTorch's table; sqrt(2 / (1 + slope^2)) for leaky_relu.
    Raises ValueError for another name or a slope that is no number.
    """
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, int | float):
            raise ValueError(f"calculate_gain: negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1.0 + slope * slope))
    if nonlinearity not in GAINS:
        known = ", ".join(["leaky_relu", *GAINS])
        raise ValueError(
            f"calculate_gain: Unsupported nonlinearity {nonlinearity}; known are {known}"
        )
    return GAINS[nonlinearity]


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Uniform in [a, b)."""
    with engine.no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Normal with that mean and standard deviation."""
    with engine.no_grad():
        return tensor.normal_(mean, std, generator=generator)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """`val` everywhere."""
    with engine.no_grad():
        return tensor.fill_(val)


def zeros_(tensor: Tensor) -> Tensor:
    """0 everywhere."""
    return constant_(tensor, 0.0)


def ones_(tensor: Tensor) -> Tensor:
    """1 everywhere."""
    return constant_(tensor, 1.0)


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Uniform within gain * sqrt(6 / (fan_in + fan_out)) of 0 (Glorot & Bengio 2010)."""
    bound = math.sqrt(3.0) * _xavier_std("xavier_uniform_", tensor, gain)
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Normal with deviation gain * sqrt(2 / (fan_in + fan_out)) (Glorot & Bengio 2010)."""
    return normal_(tensor, 0.0, _xavier_std("xavier_normal_", tensor, gain), generator)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    """Uniform within gain * sqrt(3 / fan) of 0 (He et al. 2015).

    a: the slope of the leaky_relu that follows; mode: "fan_in" or "fan_out".
    Raises ValueError for a tensor of fewer than 2 dimensions, a bias for one.
    """
    if 0 in tensor.shape:
        return _nothing_to_fill("kaiming_uniform_", tensor)
    bound = math.sqrt(3.0) * _kaiming_std("kaiming_uniform_", tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    """Normal with deviation gain / sqrt(fan) (He et al. 2015); as kaiming_uniform_ otherwise."""
    if 0 in tensor.shape:
        return _nothing_to_fill("kaiming_normal_", tensor)
    std = _kaiming_std("kaiming_normal_", tensor, a, mode, nonlinearity)
    return normal_(tensor, 0.0, std, generator)


def _xavier_std(name: str, tensor: Tensor, gain: float) -> float:
    fan_in, fan_out = _fans(name, tensor)
    return gain * math.sqrt(2.0 / (fan_in + fan_out))


def _kaiming_std(name: str, tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    fans = dict(zip(("fan_in", "fan_out"), _fans(name, tensor), strict=True))
    if mode not in fans:
        raise ValueError(f"{name}: mode must be 'fan_in' or 'fan_out'; got {mode!r}")
    return calculate_gain(nonlinearity, a) / math.sqrt(fans[mode])


def _fans(name: str, tensor: Tensor) -> tuple[int, int]:
    if tensor.ndim < 2:
        raise ValueError(
            f"{name}: tensor needs at least 2 dimensions to have a fan in and a fan out; got "
            f"shape {tuple(tensor.shape)}: for a bias use uniform_(tensor, -bound, bound)"
        )
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def _nothing_to_fill(name: str, tensor: Tensor) -> Tensor:
    warn(f"{name}: initializing zero-element tensors is a no-op")
    return tensor


def _deprecated(new: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """PyTorch's old spelling, without the underscore: warns, then does the same."""
    old = new.__name__.removesuffix("_")

    @functools.wraps(new)
    def function(*args: Any, **kwargs: Any) -> Tensor:
        warn(f"nn.init.{old} is now deprecated in favor of nn.init.{new.__name__}", FutureWarning)
        return new(*args, **kwargs)

    function.__name__ = function.__qualname__ = old
    return function


uniform = _deprecated(uniform_)
normal = _deprecated(normal_)
constant = _deprecated(constant_)
xavier_uniform = _deprecated(xavier_uniform_)
xavier_normal = _deprecated(xavier_normal_)
kaiming_uniform = _deprecated(kaiming_uniform_)
kaiming_normal = _deprecated(kaiming_normal_)
