"""Elementary functions of a float, of an array, or of anything that answers for itself.

The rules of `rules.py` are written with these. A float goes to `math`, never to NumPy, whose
tanh differs from the C library's in a quarter of all doubles; an array goes to NumPy; a Value, a
Tensor or a stand-in has a method `_elementary_(name, operands)`. Results are IEEE 754's: an
overflow gives inf and an undefined result nan, never an exception. In the compiled build the
same names are the C library's own functions (`engine_fast/elementary.pxd`).
"""

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from engine import arrays

inf, nan = math.inf, math.nan
PLAIN = {float, int, np.ndarray}  # kinds that do not answer for themselves


def elsewhere(name: str, *operands: Any) -> Any:
    """The function called `name` of operands that are not all floats."""
    for operand in operands:
        if type(operand) not in PLAIN and hasattr(operand, "_elementary_"):
            return operand._elementary_(name, operands)
    return arrays.FUNCTIONS[name](*operands)


def function(name: str, otherwise: Callable[[float], float] = lambda a: nan) -> Any:
    """The function of one operand called `name` in `math`; `otherwise` is its value where
    `math` raises an exception."""
    of_float = getattr(math, name)

    def f(a):  # type: ignore[no-untyped-def]
        if type(a) is float:
            try:
                return of_float(a)
            except (ValueError, OverflowError):
                return otherwise(a)
        return elsewhere(name, a)

    return f


def at_pole(a: float) -> float:
    """What a logarithm is where `math` refuses it, given its distance from the pole."""
    return -inf if a == 0.0 else nan


exp = function("exp", lambda a: inf)
expm1 = function("expm1", lambda a: inf)
log = function("log", at_pole)
log1p = function("log1p", lambda a: at_pole(a + 1.0))
log2 = function("log2", at_pole)
log10 = function("log10", at_pole)
sqrt = function("sqrt")
sin, cos, tan = function("sin"), function("cos"), function("tan")
asin, acos, atan = function("asin"), function("acos"), function("atan")
sinh = function("sinh", lambda a: math.copysign(inf, a))
cosh = function("cosh", lambda a: inf)
tanh = function("tanh")
asinh, acosh = function("asinh"), function("acosh")
atanh = function("atanh", lambda a: math.copysign(inf, a) if abs(a) == 1.0 else nan)
erf = function("erf")
fabs = function("fabs")


def function_of_two(name: str, of_floats: Callable[[float, float], Any]) -> Any:
    """The function of two operands called `name`."""

    def f(a, b):  # type: ignore[no-untyped-def]
        if type(a) is float and type(b) is float:
            return of_floats(a, b)
        return elsewhere(name, a, b)

    return f


def quotient(a: float, b: float) -> float:
    try:
        return a / b
    except ZeroDivisionError:
        return nan if a == 0.0 or a != a else a * math.copysign(inf, b)


def raised(a: float, b: float) -> float:
    """a ** b; nan for a negative base with a fractional exponent."""
    try:
        return math.pow(a, b)
    except OverflowError:
        return -inf if a < 0.0 and b % 2.0 == 1.0 else inf
    except ValueError:
        return nan if a else math.copysign(inf, a) if b % 2.0 == 1.0 else inf


divide = function_of_two("divide", quotient)
power = function_of_two("power", raised)
atan2 = function_of_two("atan2", math.atan2)
# nan if either is.
maximum = function_of_two("maximum", lambda a, b: a if a > b or a != a else b)
minimum = function_of_two("minimum", lambda a, b: a if a < b or a != a else b)
# Conditions for `where`; false for nan.
less = function_of_two("less", operator.lt)
equal = function_of_two("equal", operator.eq)


def where(condition: Any, a: Any, b: Any) -> Any:
    """a where the condition holds, b elsewhere."""
    if type(condition) is bool:
        return a if condition else b
    return elsewhere("where", condition, a, b)


def step(a: Any) -> Any:
    """0 where a <= 0, 1 elsewhere; a nan gives 1, so that it is passed on and seen."""
    if type(a) is float:
        return 0.0 if a <= 0.0 else 1.0
    return elsewhere("step", a)


def sign(a: Any) -> Any:
    """-1, 0 or 1; nan for nan."""
    if type(a) is float:
        return a if a != a else float((a > 0.0) - (a < 0.0))
    return elsewhere("sign", a)
