"""The elementary functions of arrays, by name: NumPy's, and two that it has not."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np


def erf(a: Any) -> Any:
    """NumPy has no erf: the C library's, element by element, in the array's own dtype."""
    return np.asarray(np.frompyfunc(math.erf, 1, 1)(a), dtype=np.result_type(a))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "step": lambda a: 1.0 - np.less_equal(a, 0.0).astype(np.result_type(a)),
    "erf": erf,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "atan2": np.arctan2,
    "where": np.where,
}
for _name in (
    "exp expm1 log log1p log2 log10 sqrt sin cos tan sinh cosh tanh fabs divide power "
    "maximum minimum less equal sign"
).split():
    FUNCTIONS[_name] = getattr(np, _name)
