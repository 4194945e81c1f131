"""What arithmetic makes of bools, integers and float16, as PyTorch does; float32 and float64 need
none of it.

An integer operand wraps around, a limit or an exponent must fit; bools are refused where PyTorch
refuses them; float16 is computed in float32 and rounded once. `dtypes` says which dtype wins.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine import dtypes, nodes
from engine.quiet import quiet

ndarray = np.ndarray

# Rules whose result on integers is an integer; on others integers become floats first.
KEEPS_INTEGERS = frozenset(
    "add sub mul neg abs square maximum minimum clamp_min clamp_max pow pow_number relu".split()
)
# Of these, the rules whose result on bools is one.
KEEPS_BOOLS = frozenset("add mul maximum minimum pow_number".split())
# Rules whose option must be a number of the tensor's dtype.
LIMITED = frozenset("pow_number clamp_min clamp_max".split())
# Rules that do not round a number to float16 first.
SCALING = frozenset("mul div leaky_relu elu".split())
FLOAT16, FLOAT32, FLOAT64 = (d.numpy for d in (dtypes.float16, dtypes.float32, dtypes.float64))


def promoted(name: str, keeps_integers: bool, operands: Sequence[Any]) -> Any:
    """The dtype of the value of the rule `name` on operands of several dtypes or none that is
    common."""
    arrays = [x._array for x in operands if isinstance(x, nodes.TensorBase)]
    numbers = [x for x in operands if not isinstance(x, nodes.TensorBase)]
    wanted = np.dtype(dtypes.promoted(arrays, numbers).type)
    if name == "sub":
        refuse_bools([a.dtype for a in arrays] + [dtypes.of_number(x) for x in numbers])
    if wanted.kind == "f" or (keeps_integers and wanted.kind != "b"):
        return wanted
    return of_bools(name) if keeps_integers else dtypes.get_default_dtype().numpy


def of_bools(name: str) -> Any:
    """The dtype of the value of a rule that keeps integers, on bools."""
    if name == "neg":
        raise RuntimeError(
            "neg: Negation, the `-` operator, on a bool tensor is not supported; for a mask use "
            "`~x` or x.logical_not(), for numbers -x.int()"
        )
    if name == "square":
        return dtypes.int64.numpy
    if name not in KEEPS_BOOLS:
        raise NotImplementedError(
            f"{name}: not implemented for bool: needs integers or floats; use x.int() or x.float()"
        )
    return dtypes.bool.numpy


def refuse_bools(kinds: list[Any]) -> None:
    """Refuse a difference with bools in it."""
    bools = [d.kind for d in kinds].count("b")
    if bools == 2:
        raise RuntimeError(
            "sub: Subtraction, the `-` operator, with two bool tensors is not supported; use "
            "`a ^ b` or a.logical_xor(b), for numbers a.int() - b.int()"
        )
    if bools:
        raise RuntimeError(
            "sub: Subtraction, the `-` operator, with a bool tensor is not supported; to turn a "
            "mask over use `~x` or x.logical_not(), for numbers x.int() or x.float()"
        )


def cast(array: Any, wanted: Any, rule: Any) -> Any:
    """The array in this dtype; a factor of shape () beside float16 in float32."""
    factor = wanted is FLOAT16 and not array.ndim and rule.name in SCALING
    with quiet():
        return array.astype(FLOAT32 if factor else wanted, copy=False)


def as_integer(x: Any, wanted: Any, name: str) -> Any:
    """A number beside tensors of an integer dtype or of bool: its last bits. A limit and an
    exponent must be of the dtype, an exponent not negative."""
    if name not in LIMITED:
        return dtypes.wrapped(x, wanted)
    if name == "pow_number" and x < 0:
        raise RuntimeError(
            f"pow: Integers to negative integer powers are not allowed; got the exponent {x}; use "
            f"x.float() ** {x}"
        )
    return dtypes.checked(x, wanted)


def beside_float16(name: str, arrays: list[Any]) -> list[Any]:
    """Arrays of float16 and numbers as float32 for the rule `name`."""
    if name in LIMITED:
        dtypes.checked(arrays[-1], FLOAT16)
    rounded = arrays if name in SCALING else [half(x) for x in arrays]
    return [in_single(x) for x in rounded]


def half(x: Any) -> Any:
    """A number rounded to float16; an array as it is."""
    return x if isinstance(x, ndarray) else float(np.float16(x))


def in_single(x: Any) -> Any:
    """An array of float16 in float32; anything else as it is."""
    return x.astype(FLOAT32) if isinstance(x, ndarray) and x.dtype == FLOAT16 else x


def whole_powers(a: Any, b: Any) -> Any:
    """a ** b of integers; by a negative b 0, but for the bases 1 and -1."""
    negative = b < 0
    if not np.any(negative):
        return np.asarray(np.power(a, b), a.dtype)
    inverse = np.where(a == 1, 1, np.where(a == -1, 1 - 2 * (b & 1), 0))
    return np.asarray(np.where(negative, inverse, np.power(a, np.where(negative, 0, b))), a.dtype)
