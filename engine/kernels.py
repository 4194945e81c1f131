"""The batched kernels, in NumPy: the specification of engine_fast/kernels.pyx.

Same names, same signatures, same numbers; the compiled ones only take less time. Arguments are
arrays of float32 or float64 of any strides, read-only and zero-stride ones too; results are
fresh. Whatever a compiled kernel was not built for it hands to these.
"""

from typing import Any

import numpy as np


def relu_forward(x: Any) -> Any:
    """max(x, 0), elementwise; nan stays nan."""
    return np.maximum(x, 0)


def relu_backward(g: Any, y: Any) -> Any:
    """g where the result y is above 0 or nan, 0 elsewhere."""
    return np.where(y <= 0, np.zeros((), g.dtype), g)


def matmul_forward(a: Any, b: Any) -> Any:
    """The matrix product a @ b, as np.matmul."""
    return np.matmul(a, b)


def matmul_backward(g: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """The gradients of a (..., n, m) and b (..., m, k), given that of a @ b, (..., n, k):
    g b^T and a^T g. b is None where a needs none, a where b does; so is its result."""
    return (
        None if b is None else np.matmul(g, b.swapaxes(-2, -1)),
        None if a is None else np.matmul(a.swapaxes(-2, -1), g),
    )
