"""Derivatives to compare with, taken from a function's values alone, each with its error.

A function here takes one real step t and returns an array: forward along a line through its
inputs. Central differences are extrapolated to step 0 (Richardson, in the tableau of Neville;
the choice of the entry whose neighbours agree best is that of Ridders, 1982). One-sided
differences are extrapolated too: where the two disagree, the function has a kink.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Line = Callable[[float], Array]
EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Rounding:
    """How a function's values are rounded.

    eps: the relative rounding of its dtype. typical: the size of the numbers that it computes
    with on its way, which may be larger than its values are (as in exp(x) - 1 near 0).
    """

    eps: float = EPS
    typical: float = 0.0


DOUBLE = Rounding()


@dataclass(frozen=True)
class Slope:
    """A derivative along a line, entry by entry of the output.

    value, left, right: the two-sided and the one-sided derivatives; they differ at a kink.
    error: an estimate of the error of `value`; inf where no two steps agreed.
    side_error: the same for `left` and `right`.
    """

    value: Array
    error: Array
    left: Array
    right: Array
    side_error: Array

    @property
    def kink(self) -> Array:
        """True where left and right derivative are known and differ beyond their errors."""
        gap = np.abs(self.right - self.left)
        size = np.abs(self.right) + np.abs(self.left)
        return np.asarray(gap > 30 * self.side_error + 1e-3 * size)

    @property
    def low(self) -> Array:
        """The smallest number that is right: of the one-sided slopes at a kink."""
        return np.where(self.kink, np.minimum(self.left, self.right), self.value)

    @property
    def high(self) -> Array:
        return np.where(self.kink, np.maximum(self.left, self.right), self.value)

    @property
    def doubt(self) -> Array:
        """The error to allow for: of the sides at a kink, of the two-sided slope elsewhere."""
        return np.where(self.kink, self.side_error, self.error)


def slope(
    line: Line,
    first: float = 0.0625,
    ratio: float = 2.0,
    levels: int = 8,
    rounding: Rounding = DOUBLE,
) -> Slope:
    """The derivative of a line at 0 from steps first, first/ratio, first/ratio**2 ...

    Steps at which the function is not finite are left out.
    """
    steps = first / ratio ** np.arange(levels)
    start = np.asarray(line(0.0), float)
    with np.errstate(all="ignore"):
        ahead = np.array([line(float(step)) for step in steps], float)
        behind = np.array([line(-float(step)) for step in steps], float)
        noise = _noise(start, ahead, behind, steps, rounding)
        shaped = steps.reshape(-1, *[1] * start.ndim)
        two_sided = extrapolated((ahead - behind) / (2 * shaped), noise, ratio, 2)
        right, right_error = extrapolated((ahead - start) / shaped, noise, ratio, 1)
        left, left_error = extrapolated((start - behind) / shaped, noise, ratio, 1)
    return Slope(*two_sided, left, right, left_error + right_error)


def better(
    line: Line, scales: Sequence[float] = (1.0,), rounding: Rounding = DOUBLE
) -> Slope:
    """The derivative at 0 by several sets of steps, each a witness of the others.

    scales: factors of the steps. What one set takes for a flat or a straight line may be rounding
    or a far-off slope to another; where two that are sure differ, the error covers both.
    """
    found = [slope(line, 0.0625 * scale, rounding=rounding) for scale in scales]
    found += [slope(line, 0.0137 * scale, 1.6, 9, rounding) for scale in scales]
    best = found[0]
    for other in found[1:]:
        best = _merged(best, other)
    return best


def _merged(one: Slope, two: Slope) -> Slope:
    """The surer of two slopes, entry by entry, with an error that covers the surer difference."""
    value, error = _surer(one.value, one.error, two.value, two.error)
    left, left_error = _surer(one.left, one.side_error, two.left, two.side_error)
    right, right_error = _surer(one.right, one.side_error, two.right, two.side_error)
    return Slope(value, error, left, right, left_error + right_error)


def _surer(a: Array, a_error: Array, b: Array, b_error: Array) -> tuple[Array, Array]:
    value = np.where(a_error <= b_error, a, b)
    error = np.minimum(a_error, b_error)
    both = np.maximum(a_error, b_error) < 0.05 * (np.abs(a) + np.abs(b)) + 1e-300
    return value, np.where(both, error + _known(np.abs(a - b)), error)


def extrapolated(column: Array, noise: Array, ratio: float, power: int) -> tuple[Array, Array]:
    """Neville's tableau over differences of shrinking step: the best entry and its error.

    power: 2 where only even powers of the step stand in the error, else 1.
    """
    best, error = column[-1], np.full(column.shape[1:], np.inf)
    for order in range(1, len(column)):
        factor = ratio ** (power * order)
        finer = column[1:] + (column[1:] - column[:-1]) / (factor - 1)
        change = np.maximum(np.abs(finer - column[1:]), np.abs(finer - column[:-1]))
        for entry, apart in zip(finer, _known(change + noise[order:]), strict=True):
            best = np.where(apart < error, entry, best)
            error = np.minimum(apart, error)
        column = finer
    return best, error


def complex_step(line: Callable[[complex], Array], size: float = 1e-30) -> Array:
    """Im f(i h) / h: right to the last digit for an analytic f that takes complex numbers."""
    return np.asarray(np.imag(line(1j * size)) / size)


def _noise(
    start: Array, ahead: Array, behind: Array, steps: Array, rounding: Rounding
) -> Array:
    """What rounding of the values makes of a difference, for each step."""
    size = np.abs(start) + np.nan_to_num(np.maximum(np.abs(ahead), np.abs(behind)))
    shaped = steps.reshape(-1, *[1] * start.ndim)
    return np.asarray(rounding.eps * (2 * size + rounding.typical) / shaped)


def _known(error: Array) -> Array:
    return np.where(np.isfinite(error), error, np.inf)
