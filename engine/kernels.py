"""The batched kernels, in NumPy: the specification of engine_fast/kernels.pyx.

Same names, same signatures, same numbers; the compiled ones only take less time. Arguments are
arrays of float32 or float64 of any strides, read-only and zero-stride ones too; results are
fresh, those of reductions, of softmax and of joining row by row whatever x lies like, but the
steps of optimizers change what they are given. Whatever a compiled kernel was not
built for it hands to these.
"""

import math
from typing import Any

import numpy as np

from engine.quiet import quiet


class Elementwise:
    """A ufunc as a function of one or two arrays, or of an array and a number, that gives an
    array, or writes into `out`: without a word about inf and nan."""

    def __init__(self, ufunc: Any):
        self.ufunc = ufunc

    def run(self, a: Any, b: Any = None, out: Any = None) -> Any:
        """The function itself."""
        with quiet():
            return np.asarray(self.ufunc(a, out=out) if b is None else self.ufunc(a, b, out=out))

    __call__ = run


def elementwise(ufunc: Any) -> Elementwise:
    """The function that a ufunc makes."""
    return Elementwise(ufunc)


def relu_forward(x: Any) -> Any:
    """max(x, 0), elementwise; nan stays nan."""
    return np.asarray(np.maximum(x, 0))


def relu_backward(g: Any, y: Any) -> Any:
    """g where the result y is above 0 or nan, 0 elsewhere."""
    return np.where(y <= 0, np.zeros((), g.dtype), g)


def copied(x: Any) -> Any:
    """A copy that lies in memory as x does, or row by row where x has gaps or zero strides."""
    repeated = any(s == 0 and n > 1 for s, n in zip(x.strides, x.shape, strict=True))
    return x.copy("C" if repeated else "K")


def filled(x: Any, number: float) -> Any:
    """An array of the shape and dtype of x, row by row, with the number everywhere."""
    return np.full(x.shape, number, x.dtype)


def fill(x: Any, number: float) -> None:
    """Set every element of x in place to the number."""
    x.fill(number)


def add_to(x: Any, g: Any) -> None:
    """x += g in place, for arrays of one shape."""
    with quiet():
        np.add(x, g, out=x)


def put_number(x: Any, mask: Any, number: Any) -> None:
    """Set x in place to the number, a float or a 0-d array of its dtype, where the mask of its
    shape holds."""
    np.putmask(x, mask, number)


def power_backward(g: Any, a: Any, k: float) -> Any:
    """The gradient of a, given that of a ** k: g times k a**(k-1); that of a ** 0 is 0 times g."""
    with quiet():
        return np.asarray(g * (k * np.power(a, k - 1.0) if k else 0.0))


def sum_forward(x: Any, dims: tuple[int, ...], keepdim: bool) -> Any:
    """The sum over these dimensions, which stay with size 1 where keepdim is set; of integers and
    booleans as int64. float16 is summed in float32."""
    with quiet():
        kind = x.dtype.char
        if kind == "e":
            return np.asarray(x.sum(dims, np.float32, keepdims=keepdim), x.dtype, order="C")
        wide = None if kind in "fd" else np.int64
        return np.asarray(x.sum(dims, wide, keepdims=keepdim), order="C")


def centred(x: Any, dims: tuple[int, ...]) -> Any:
    """x less its mean over these dimensions; of float16 in float32."""
    n = math.prod([x.shape[d] for d in dims])
    x = x.astype(np.float32) if x.dtype.char == "e" else x
    with quiet():
        mean = sum_forward(x, dims, True) / np.asarray(n, x.dtype)
        return np.asarray(np.subtract(x, mean, order="C"))


def extreme_forward(x: Any, dims: tuple[int, ...], keepdim: bool, largest: bool) -> Any:
    """The largest or the smallest number over these dimensions, nan if any is; not of none."""
    y = x.max(dims, keepdims=keepdim) if largest else x.min(dims, keepdims=keepdim)
    return np.asarray(y, order="C")


def softmax_forward(x: Any, dims: tuple[int, ...], log: bool) -> Any:
    """e ** x over its sum along these dimensions, or the logarithm of that; float16 is computed in
    float32."""
    a = x.astype(np.float32) if x.dtype.char == "e" else x
    with quiet():
        y = np.subtract(a, a.max(dims, keepdims=True, initial=-np.inf), order="C")
        powers = np.exp(y)
        total = powers.sum(dims, keepdims=True)
        y = y - np.log(total) if log else powers / total
        return np.asarray(y, x.dtype)


def softmax_backward(g: Any, y: Any, dims: tuple[int, ...], log: bool) -> Any:
    """The gradient of x, given that of what softmax_forward made of it, y: g - e**y sum(g) for the
    logarithm, else g y - y sum(g y)."""
    kind = y.dtype
    if kind.char == "e":
        g, y = g.astype(np.float32), y.astype(np.float32)
    with quiet():
        g, y = (g, np.exp(y)) if log else (g * y, y)
        return np.asarray(g - y * g.sum(dims, keepdims=True), kind)


def taken(x: Any, places: Any, dim: int) -> Any:
    """What stands in x at these places along dim, int64; else places has the shape of x."""
    elements = np.take_along_axis(np.atleast_1d(x), np.atleast_1d(places), dim)
    return elements.reshape(places.shape)


def put_back(x: Any, places: Any, dim: int, shape: tuple[int, ...]) -> Any:
    """Zeros of this shape, but for the elements of x at these places along dim, none twice."""
    out = np.zeros(shape or 1, x.dtype)
    np.put_along_axis(out, np.atleast_1d(places), x.reshape(places.shape or 1), dim)
    return out.reshape(shape)


def joined(arrays: list[Any], dim: int, new: bool) -> Any:
    """The arrays, of one dtype, one after the other along dim, which is a new one if `new`."""
    y = np.stack(arrays, dim) if new else np.concatenate(arrays, dim)
    return np.asarray(y, order="C")


def spread(g: Any, shape: tuple[int, ...], dims: tuple[int, ...]) -> Any:
    """The result g of a reduction of `shape` over dims, which it may lack, at each element that
    went into it; nothing is copied, nothing may be written."""
    kept = tuple([1 if d in dims else n for d, n in enumerate(shape)])
    return np.broadcast_to(g.reshape(kept), shape)


def expanded(x: Any, shape: tuple[int, ...]) -> Any:
    """x in a shape that it broadcasts to; nothing is copied, nothing may be written."""
    return np.broadcast_to(x, shape)


def matmul_forward(a: Any, b: Any) -> Any:
    """The matrix product a @ b, as np.matmul."""
    with quiet():
        return np.asarray(np.matmul(a, b))


def matmul_backward(g: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """The gradients of a (..., n, m) and b (..., m, k), given that of a @ b, (..., n, k):
    g b^T and a^T g. b is None where a needs none, a where b does; so is its result."""
    return (
        None if b is None else np.matmul(g, b.swapaxes(-2, -1)),
        None if a is None else np.matmul(a.swapaxes(-2, -1), g),
    )


def cross_entropy_forward(x: Any, places: Any, dim: int) -> tuple[Any, Any]:
    """Minus the log-probability of one place in each row along dim of scores x; `places`, int64,
    and the result have 1 there where x has k. And the softmax of the rows."""
    x = x - x.max(dim, keepdims=True, initial=-np.inf)
    y = np.exp(x)
    total = y.sum(dim, keepdims=True)
    y /= total
    return np.log(total) - np.take_along_axis(x, places, dim), y


def cross_entropy_backward(g: Any, y: Any, places: Any, dim: int) -> Any:
    """The gradient of the scores, given that of the result and the softmax y: g times y, less 1 at
    the place."""
    right = np.zeros(y.shape, y.dtype)
    np.put_along_axis(right, places, 1.0, dim)
    return g * (y - right)


def sgd_step(
    x: Any,
    g: Any,
    buffer: Any,
    first: bool,
    rate: float,
    momentum: float,
    keep: float,
    decay: float,
    nesterov: bool,
) -> None:
    """x -= rate * g in place, g with decay * x added first. With a buffer (None without), g is
    that: momentum * buffer + keep * g, or g itself in the first step; with nesterov it is g +
    momentum * buffer."""
    if decay != 0:
        g = g + decay * x
    if buffer is not None:
        buffer[...] = g if first else momentum * buffer + keep * g
        g = g + momentum * buffer if nesterov else buffer
    x -= rate * g


def adam_step(
    x: Any,
    g: Any,
    mean: Any,
    square: Any,
    largest: Any,
    rate: Any,
    root: Any,
    beta1: float,
    beta2: float,
    eps: float,
    decay: float,
    shrink: float,
) -> None:
    """x -= rate * mean / (sqrt(square) / root + eps) in place, after x is taken times `shrink`,
    decay * x added to g, and the running means of g and g**2 moved on. With amsgrad `largest`,
    else None, is the largest square so far and takes its place. rate, root: numbers, or an array
    of one for each x."""
    x *= shrink
    if decay != 0:
        g = g + decay * x
    mean += (1 - beta1) * (g - mean)
    square *= beta2
    square += (1 - beta2) * g * g
    if largest is not None:
        square = np.maximum(largest, square, out=largest)
    x -= rate * mean / (np.sqrt(square) / root + eps)
