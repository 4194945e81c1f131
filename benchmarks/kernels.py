"""Kernel rows: each kernel of engine_fast beside its NumPy version, at the sizes of the nets.

A compiled kernel stays only where its row says 1.5 or more.
"""

from __future__ import annotations

from typing import Any

from benchmarks.registry import ENGINE, Work, row
from benchmarks.tensor import numbers

CALLS = 400


def kernel(name: str, *arguments: Any) -> Work:
    """A call of the kernel of the build in use: engine_fast's, or NumPy's in the Python build."""
    from engine import builds

    f = getattr(builds.module("kernels"), name)
    return Work(lambda: f(*arguments), CALLS)


def shape(tiny: bool) -> tuple[int, int]:
    """That of the first layer's weights in the two-layer net."""
    return (4, 3) if tiny else (1000, 100)


@row("kernel: ReLU forward, 64x100, float32", *ENGINE, unit="call")
def kernel_relu(contender: str, tiny: bool) -> Work:
    return kernel("relu_forward", numbers(64, 100))


@row("kernel: ReLU backward, 64x100, float32", *ENGINE, unit="call")
def kernel_relu_backward(contender: str, tiny: bool) -> Work:
    return kernel("relu_backward", numbers(64, 100), numbers(64, 100))


def loop(ufunc: str, *arguments: Any) -> Work:
    """A call of the loop of a function of NumPy."""
    import numpy as np

    from engine import builds

    f = builds.module("kernels").elementwise(getattr(np, ufunc))
    return Work(lambda: f(*arguments), CALLS)


@row("kernel: sum of two arrays, 64x10, float32", *ENGINE, unit="call")
def kernel_add(contender: str, tiny: bool) -> Work:
    return loop("add", numbers(64, 10), numbers(64, 10))


@row("kernel: an array times a number, 64x10, float32", *ENGINE, unit="call")
def kernel_multiply(contender: str, tiny: bool) -> Work:
    return loop("multiply", numbers(64, 10), 1e-9)


@row("kernel: gradient of a square, 64x10, float32", *ENGINE, unit="call")
def kernel_power_backward(contender: str, tiny: bool) -> Work:
    return kernel("power_backward", numbers(64, 10), numbers(64, 10), 2.0)


@row("kernel: 0 where a mask of 64x100 says so, float32", *ENGINE, unit="call")
def kernel_put(contender: str, tiny: bool) -> Work:
    x = numbers(64, 100).copy()
    return kernel("put_number", x, x < 0, 0.0)


@row("kernel: copy of 64x10, float32", *ENGINE, unit="call")
def kernel_copy(contender: str, tiny: bool) -> Work:
    return kernel("copied", numbers(64, 10))


@row("kernel: sum into an array, 64x10, float32", *ENGINE, unit="call")
def kernel_add_to(contender: str, tiny: bool) -> Work:
    return kernel("add_to", numbers(64, 10).copy(), numbers(64, 10))


@row("kernel: sum of all numbers, 64x10, float32", *ENGINE, unit="call")
def kernel_sum(contender: str, tiny: bool) -> Work:
    return kernel("sum_forward", numbers(64, 10), (0, 1), False)


@row("kernel: its gradient", *ENGINE, unit="call")
def kernel_spread(contender: str, tiny: bool) -> Work:
    return kernel("spread", numbers(1).reshape(()), (64, 10), (0, 1))


@row("kernel: a row of 10 as 64x10", *ENGINE, unit="call")
def kernel_expanded(contender: str, tiny: bool) -> Work:
    return kernel("expanded", numbers(10), (64, 10))


@row("kernel: sums of rows, 64x10, float32", *ENGINE, unit="call")
def kernel_sum_of_rows(contender: str, tiny: bool) -> Work:
    return kernel("sum_forward", numbers(64, 10), (1,), False)


@row("kernel: rows less their means, 64x10, float32", *ENGINE, unit="call")
def kernel_centred(contender: str, tiny: bool) -> Work:
    return kernel("centred", numbers(64, 10), (1,))


@row("kernel: largest of each row, 64x10, float32", *ENGINE, unit="call")
def kernel_extreme(contender: str, tiny: bool) -> Work:
    return kernel("extreme_forward", numbers(64, 10), (1,), False, True)


@row("kernel: softmax of rows, 64x10, float32", *ENGINE, unit="call")
def kernel_softmax(contender: str, tiny: bool) -> Work:
    return kernel("softmax_forward", numbers(64, 10), (1,), False)


@row("kernel: gradient of a softmax, 64x10, float32", *ENGINE, unit="call")
def kernel_softmax_backward(contender: str, tiny: bool) -> Work:
    return kernel("softmax_backward", numbers(64, 10), numbers(64, 10), (1,), False)


@row("kernel: one number of each row, 64x10, float32", *ENGINE, unit="call")
def kernel_taken(contender: str, tiny: bool) -> Work:
    return kernel("taken", *scores(), 1)


@row("kernel: gradient of one number of each row, 64x10", *ENGINE, unit="call")
def kernel_put_back(contender: str, tiny: bool) -> Work:
    _, places = scores()
    return kernel("put_back", numbers(64, 1), places, 1, (64, 10))


@row("kernel: two arrays of 64x10 side by side, float32", *ENGINE, unit="call")
def kernel_joined(contender: str, tiny: bool) -> Work:
    return kernel("joined", [numbers(64, 10), numbers(64, 10)], 1, False)


@row("kernel: matrix product of 1x2 and 2x16, float32", *ENGINE, unit="call")
def kernel_matmul(contender: str, tiny: bool) -> Work:
    return kernel("matmul_forward", numbers(1, 2), numbers(2, 16))


@row("kernel: its two gradients", *ENGINE, unit="call")
def kernel_matmul_backward(contender: str, tiny: bool) -> Work:
    return kernel("matmul_backward", numbers(1, 16), numbers(1, 2), numbers(2, 16))


def scores() -> tuple[Any, Any]:
    """Of 64 rows of 10 classes, and the place of the right one in each."""
    return numbers(64, 10), (numbers(64, 1) * 1000).astype("int64") % 10


@row("kernel: cross-entropy forward, 64x10, float32", *ENGINE, unit="call")
def kernel_cross_entropy(contender: str, tiny: bool) -> Work:
    return kernel("cross_entropy_forward", *scores(), 1)


@row("kernel: cross-entropy backward, 64x10, float32", *ENGINE, unit="call")
def kernel_cross_entropy_backward(contender: str, tiny: bool) -> Work:
    y, places = scores()
    return kernel("cross_entropy_backward", numbers(64, 1), y, places, 1)


@row("kernel: a step of SGD, 1000x100, float32", *ENGINE, unit="call")
def kernel_sgd(contender: str, tiny: bool) -> Work:
    x, g = (numbers(*shape(tiny)).copy() for _ in "xg")
    return kernel("sgd_step", x, g, None, False, 1e-9, 0.0, 1.0, 0.0, False)


@row("kernel: the same with momentum", *ENGINE, unit="call")
def kernel_momentum(contender: str, tiny: bool) -> Work:
    x, g, buffer = (numbers(*shape(tiny)).copy() for _ in "xgb")
    return kernel("sgd_step", x, g, buffer, False, 1e-9, 0.9, 1.0, 0.0, False)


@row("kernel: a step of Adam, 1000x100, float32", *ENGINE, unit="call")
def kernel_adam(contender: str, tiny: bool) -> Work:
    x, g, mean = (numbers(*shape(tiny)).copy() for _ in "xgm")
    moments = mean, mean * mean, None
    return kernel("adam_step", x, g, *moments, 1e-9, 0.5, 0.9, 0.999, 1e-8, 0.0, 1.0)
