"""What a wrong gradient looks like, and so what probably causes it: the last line of gradcheck's
messages. Each function answers with a sentence or with None."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.arguments import argument_name
from engine.autograd.jacobians import Point, size_of
from engine.function import Function
from engine.habits import Value


class Mismatch:
    """Two Jacobians of output i by input j that differ.

    close: the comparison that they failed. worst: the row and column that differ most. forward:
    whether the analytical one was computed in forward mode.
    """

    def __init__(
        self,
        point: Point,
        i: int,
        j: int,
        pair: tuple[Any, Any],
        close: Callable[..., Any],
        forward: bool = False,
    ):
        self.point, self.i, self.j = point, i, j
        self.forward = forward
        self.analytical, self.numerical = pair
        self.close = close
        off = np.abs(self.analytical - self.numerical)
        off[np.isnan(off)] = np.inf
        self.worst = np.unravel_index(int(off.argmax()), off.shape)

    def like(self, a: Any, b: Any) -> bool:
        """Whether two matrices agree within the tolerances of the check."""
        return a.shape == b.shape and bool(self.close(a, b).all())


def name_of(func: Any, inputs: tuple[Any, ...], j: int) -> str:
    """The name of input j in the function's own words, "" where that cannot be told."""
    owner = getattr(func, "__self__", None)
    try:
        if isinstance(owner, type) and issubclass(owner, Function):
            return argument_name(owner, j)
        return list(named(func, inputs))[j]
    except (TypeError, ValueError, IndexError):
        return ""


def named(func: Any, inputs: tuple[Any, ...]) -> dict[str, Any]:
    """The inputs by the function's names for them."""
    return inspect.signature(func).bind(*inputs).arguments


def of_undefined(m: Mismatch) -> str | None:
    """The function itself gives no number."""
    if not np.isfinite(m.numerical).all():
        return "the function itself is nan or infinite at or near this input"
    return None


def of_chance(m: Mismatch) -> str | None:
    """The function draws random numbers."""
    still = np.zeros(size_of(m.point.inputs[m.j]))
    first, again = (m.point.at(m.point.inputs[m.j], still)[m.i] for _ in range(2))
    if not np.array_equal(first, again, equal_nan=True):
        return (
            "the function gives other numbers when called again with the same inputs: fix its "
            "random numbers (a seed, dropout switched off)"
        )
    return None


def of_precision(m: Mismatch) -> str | None:
    """The inputs are too coarse for small steps."""
    x = m.point.inputs[m.j]
    if not isinstance(x, Value) and x._array.itemsize < 8:
        return (
            f"the input is {x.dtype}, too coarse for differences; check with double precision: "
            "x.detach().double().requires_grad_()"
        )
    return None


def of_nothing(m: Mismatch) -> str | None:
    """No gradient arrives."""
    if m.forward and not m.analytical.any():
        return "no tangent comes from this input: jvp returned None or 0, or the way is cut"
    if not m.analytical.any():
        return (
            "no gradient reaches this input: backward returned None or 0 for it, or the way to it "
            "is cut (detach(), .data, NumPy, no_grad)"
        )
    return None


def of_kink(m: Mismatch) -> str | None:
    """The slopes to both sides differ."""
    x = m.point.inputs[m.j]
    step = np.zeros(size_of(x))
    here = m.point.at(x, step)[m.i][m.worst[1]]
    step[m.worst[0]] = 1e-6
    above, below = (m.point.at(x, sign * step)[m.i][m.worst[1]] for sign in (1.0, -1.0))
    right, left = (above - here) / 1e-6, (here - below) / 1e-6
    if abs(right - left) > 1e-2 * max(abs(right), abs(left)):
        return (
            f"the function has a kink or a jump there (its slopes are {left:.4g} below and "
            f"{right:.4g} above, as of relu or abs at 0, or max at a tie): move the input away"
        )
    return None


def of_incoming(m: Mismatch) -> str | None:
    """Backward does not multiply by what it is given."""
    if m.forward:
        return None
    n = size_of(m.point.outputs[m.i])
    k = m.point.wanted.index(m.j)
    once, twice = (m.point.pulled_back(m.i, np.full(n, w))[k] for w in (1.0, 2.0))
    if np.allclose(once, twice):
        return "backward ignores the gradient that it is given: multiply by grad_output"
    return None


def of_factor(m: Mismatch) -> str | None:
    """Every entry is off by one factor."""
    a, n = m.analytical[m.worst], m.numerical[m.worst]
    factor = a / n if n else np.nan
    if not np.isfinite(factor) or not m.like(m.analytical, factor * m.numerical):
        return None
    if abs(factor + 1.0) < 1e-3:
        return "every entry has the wrong sign"
    return f"every entry is {factor:.4g} times what it should be: a factor is wrong"


def of_place(m: Mismatch) -> str | None:
    """The right numbers stand in wrong places."""
    if m.like(m.analytical, m.numerical.T):
        return "the Jacobian is transposed: backward of y = A x is A.T @ g"
    if m.like(np.sort(m.analytical, None), np.sort(m.numerical, None)):
        return "the numbers are right but in wrong places: a transpose, a flip or an index is off"
    return None


def of_exchange(m: Mismatch) -> str | None:
    """It is the gradient of another input."""
    for other in m.point.wanted:
        if other != m.j and m.like(m.analytical, m.point.numerical(other, 1e-6)[m.i]):
            return (
                f"this is the gradient of input {other}: backward returns gradients in the order "
                "of forward's arguments"
            )
    return None


def of_few(m: Mismatch) -> str:
    """Some entries only."""
    wrong = int((~m.close(m.analytical, m.numerical)).sum())
    name = "jvp" if m.forward else "backward"
    return f"{wrong} of {m.analytical.size} entries differ: look at the formula of {name} there"


CAUSES: tuple[Callable[[Mismatch], str | None], ...] = (
    of_undefined,
    of_chance,
    of_precision,
    of_nothing,
    of_kink,
    of_incoming,
    of_factor,
    of_place,
    of_exchange,
    of_few,
)


def likely(m: Mismatch) -> str:
    """The first cause that explains the mismatch."""
    return next(text for text in (cause(m) for cause in CAUSES) if text)


def described(m: Mismatch) -> str:
    """Both Jacobians, the worst entry, the input it belongs to and the likely cause."""
    name = name_of(m.point.func, m.point.inputs, m.j)
    called = f" ({name})" if name else ""
    a, n = m.analytical[m.worst], m.numerical[m.worst]
    how = "Jacobian computed with forward mode" if m.forward else "Jacobian"
    return (
        f"{how} mismatch for output {m.i} with respect to input {m.j}{called},\n"
        f"numerical:{matrix(m.numerical)}\nanalytical:{matrix(m.analytical)}\n"
        f"worst entry: {entry(m)}: numerical {n:.9g}, analytical {a:.9g}\n"
        f"likely cause: {likely(m)}"
    )


def matrix(jacobian: Any) -> str:
    """A Jacobian in brackets, shortened where it is large."""
    return np.array2string(jacobian + 0.0, precision=6, threshold=200, edgeitems=3)


def entry(m: Mismatch) -> str:
    """The worst entry as a derivative of one number by another."""
    row, column = (int(k) for k in m.worst)
    return (
        f"d output {m.i}{index(m.point.outputs[m.i], column)} / "
        f"d input {m.j}{index(m.point.inputs[m.j], row)}"
    )


def index(x: Any, k: int) -> str:
    """Where number k of x stands, as [0, 2]; "" in a single number."""
    shape = getattr(x, "shape", ())
    where = ", ".join(str(int(i)) for i in np.unravel_index(k, shape)) if shape else ""
    return f"[{where}]" if where else ""
