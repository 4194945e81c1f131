"""dtypes with PyTorch's names and promotion: what kind of number a Tensor holds.

Promotion is PyTorch's: of two kinds (bool, integer, floating) the higher wins; within a kind the
wider; but a number, or a 0-dim tensor beside one with dimensions, never widens within its kind.
"""

import math
from typing import Any, ClassVar

import numpy as np

builtins_bool, builtins_int, builtins_float = bool, int, float


class dtype:
    """A kind of number, such as engine.float32; `numpy` is NumPy's name for it."""

    by_numpy: ClassVar[dict[Any, "dtype"]] = {}

    def __init__(self, name: str, numpy: Any, short: str = ""):
        self.name = name
        self.numpy = np.dtype(numpy)
        self.is_floating_point = self.numpy.kind == "f"
        self.is_signed = self.numpy.kind in "fi"
        self.is_complex = False
        self.itemsize = self.numpy.itemsize
        self.letter = short
        dtype.by_numpy[self.numpy] = self

    def __repr__(self) -> str:
        return f"engine.{self.name}"

    def __reduce__(self) -> Any:
        return of, (self.numpy.str,)


float64 = double = dtype("float64", np.float64, "Double")
float32 = float = dtype("float32", np.float32, "Float")
float16 = half = dtype("float16", np.float16, "Half")
int64 = long = dtype("int64", np.int64, "Long")
int32 = int = dtype("int32", np.int32, "Int")
int16 = short = dtype("int16", np.int16, "Short")
int8 = dtype("int8", np.int8, "Char")
uint8 = dtype("uint8", np.uint8, "Byte")
bool = dtype("bool", np.bool_, "Bool")

KIND = {"b": 0, "u": 1, "i": 1, "f": 2}

_default = float32


def get_default_dtype() -> dtype:
    """What floats become: float32 unless set_default_dtype was called."""
    return _default


def set_default_dtype(d: dtype) -> None:
    """Make a floating dtype what floats become in tensors made from now on."""
    global _default
    if not isinstance(d, dtype) or not d.is_floating_point:
        raise TypeError(
            f"only floating-point types are supported as the default type: float32, float64 or "
            f"float16; got {d!r}"
        )
    _default = d


def of(x: Any) -> dtype:
    """The engine dtype of NumPy's, whatever its byte order."""
    try:
        return dtype.by_numpy[np.dtype(x).newbyteorder("=")]
    except (KeyError, TypeError):
        raise TypeError(
            f"a Tensor holds floats, integers or booleans; got {x!r}: convert it first, for "
            "instance with array.astype(float)"
        ) from None


def to_numpy(d: Any) -> Any:
    """NumPy's dtype of an engine dtype (or of what names one); None stays None."""
    if d is None or isinstance(d, np.dtype):
        return d
    return d.numpy if isinstance(d, dtype) else of(d).numpy


def promoted(arrays: Any, numbers: Any) -> Any:
    """The NumPy dtype of a result made of arrays and Python numbers."""
    kinds = [a.dtype for a in arrays]
    if not numbers and kinds.count(kinds[0]) == len(kinds) and kinds[0].isnative:
        return kinds[0]
    wide = [a.dtype for a in arrays if a.ndim] or kinds
    result = highest(wide)
    lesser = [a.dtype for a in arrays if not a.ndim]
    lesser += [of_number(within_64_bits(x)) for x in numbers]
    higher = [d for d in lesser if KIND[d.kind] > KIND[result.kind]]
    if higher and any(isinstance(x, builtins_int) and x >= 2**63 for x in numbers):
        raise RuntimeError(f"beside bools an integer must be below 2**63; got one of {numbers}")
    return highest(higher) if higher else result


def highest(found: list[Any]) -> Any:
    """The widest NumPy dtype of the highest kind: an integer beside a float does not widen it."""
    top = max(KIND[d.kind] for d in found)
    return np.result_type(*(d for d in found if KIND[d.kind] == top))


def of_number(x: Any) -> Any:
    """The NumPy dtype of a Python number: bool, int64 or the default dtype."""
    if isinstance(x, (builtins_bool, np.bool_)):
        return bool.numpy
    return int64.numpy if isinstance(x, (builtins_int, np.integer)) else _default.numpy


def result_type(a: Any, b: Any) -> dtype:
    """The dtype of an operation on a and b, tensors or numbers."""
    both = (a, b)
    arrays = [x._array for x in both if hasattr(x, "_array")]
    numbers = [x for x in both if not hasattr(x, "_array")]
    if not arrays:
        return of(highest([of_number(x) for x in numbers]))
    return of(promoted(arrays, numbers))


def within_64_bits(x: Any) -> Any:
    """x itself; OverflowError for an integer that 64 bits cannot hold."""
    if isinstance(x, builtins_int) and not -(2**63) <= x < 2**64:
        raise OverflowError(f"int too big to convert: needs -2**63 to 2**64 - 1; got {x}")
    return x


def wrapped(x: Any, d: Any) -> Any:
    """A Python number as NumPy's of an integer dtype, its last bits; or of bool. In PyTorch an
    operand wraps around like this: beside uint8 -3 is 253."""
    if d.kind == "b":
        return np.bool_(x)
    return np.uint64(within_64_bits(builtins_int(x)) & (2**64 - 1)).astype(d)


def checked(x: Any, d: Any) -> Any:
    """A Python number as NumPy's of this dtype; RuntimeError where it does not fit. As in PyTorch
    a fraction is cut off, and -1 becomes the largest of an unsigned dtype."""
    number = x.item() if isinstance(x, (np.number, np.bool_)) else x
    if d.kind == "f" and -65504 <= number <= 65504:  # as far as float16 goes
        return np.asarray(number, d)
    within_64_bits(number)
    if d.kind in "iu":
        low, high = np.iinfo(d).min or -np.iinfo(d).max, np.iinfo(d).max
        fits = math.isfinite(number) and low <= builtins_int(number) <= high
        number = builtins_int(number) if fits else number
    else:
        fits = d.kind == "b" or not builtins_float(np.finfo(d).max) < abs(number) < math.inf
    if not fits:
        raise RuntimeError(f"value cannot be converted to type {d} without overflow: {x}")
    return np.asarray(number, d) if d.kind != "u" else np.asarray(number).astype(d)
