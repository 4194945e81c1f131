"""How tensors print: as PyTorch's do, tensor([1., 2.], dtype=..., grad_fn=<MulBackward0>).

Four digits after the point; whole floats without any; one format for all numbers, with powers of
ten where they differ by more than 1000 or lie beyond 1e-4 and 1e8; more than 1000 elements are
shown by the first and last three of each dimension. `set_printoptions` changes the figures.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from engine import dtypes
from engine.tensors import Tensor


class Options:
    """The figures of printing; see set_printoptions."""

    precision = 4
    threshold: float = 1000
    edgeitems = 3
    linewidth = 80
    sci_mode: bool | None = None


options = Options()

PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}

# What else is said of a tensor inside tensor(...): functions that give a text or None.
remarks: list[Callable[[Any], str | None]] = []


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors print from now on.

    precision: digits after the point (4). threshold: the number of elements from which parts are
    left out (1000). edgeitems: how many stay at either end (3). linewidth: in characters (80).
    profile: "default", "short" or "full". sci_mode: True or False to force or forbid powers of
    ten, None to choose by the numbers.
    """
    named = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    chosen = {name: x for name, x in named.items() if x is not None}
    for name, x in (PROFILES.get(profile or "", {}) | chosen).items():
        setattr(options, name, x)
    options.sci_mode = sci_mode


def number_format(array: Any) -> Callable[[Any], str]:
    """The function that writes each number of the array, as wide as the widest; of floats only
    those count that are finite and not 0."""
    floats = array.dtype.kind == "f"
    counted = array[np.isfinite(array) & (array != 0)] if floats else array.reshape(-1)
    write = writer(np.abs(counted.astype(np.float64))) if floats else str
    width = max((len(write(x)) for x in counted.tolist()), default=0)
    return lambda x: write(x).rjust(width)


def writer(sizes: Any) -> Callable[[Any], str]:
    """The function that writes a float in the notation that suits numbers of these sizes."""
    whole = bool((sizes == np.ceil(sizes)).all())
    powers = options.sci_mode
    if powers is None:
        powers = sizes.size > 0 and wide(sizes.min(), sizes.max(), whole)
    if powers:
        return lambda x: f"{x:.{options.precision}e}"
    if whole:
        return lambda x: f"{x:.0f}." if math.isfinite(x) else f"{x:.0f}"
    return lambda x: f"{x:.{options.precision}f}"


def wide(least: float, most: float, whole: bool) -> bool:
    """Whether numbers of these sizes need powers of ten."""
    return most / least > 1000 or most > 1e8 or (least < 1e-4 and not whole)


def kept(n: int, shortened: bool) -> list[int | None]:
    """The places of a dimension of n that are printed; None stands for those left out."""
    edge = options.edgeitems
    if not shortened or n <= 2 * edge:
        return list(range(n))
    return [*range(edge), None, *range(n - edge, n)]


def shown(array: Any) -> Any:
    """The numbers of the array that are printed."""
    for axis, n in enumerate(array.shape):
        array = array.take([i for i in kept(n, True) if i is not None], axis)
    return array


def body(array: Any, indent: int, shortened: bool, write: Callable[[Any], str]) -> str:
    """The numbers in brackets."""
    if array.ndim == 0:
        return write(array.item())
    if array.ndim == 1:
        return line_of(array, indent, shortened, write)
    rows = [
        "..." if i is None else body(array[i], indent + 1, shortened, write)
        for i in kept(len(array), shortened)
    ]
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(rows) + "]"


def line_of(array: Any, indent: int, shortened: bool, write: Callable[[Any], str]) -> str:
    """The numbers of one dimension, broken where the line is full."""
    items = [" ..." if i is None else write(array[i].item()) for i in kept(len(array), shortened)]
    per_line = max(1, (options.linewidth - indent) // (len(write(array[0].item())) + 2))
    lines = [", ".join(items[i : i + per_line]) for i in range(0, len(items), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def numbers(array: Any, indent: int) -> str:
    """The numbers of an array as they stand inside tensor(...)."""
    if not array.size:
        return "[]"
    shortened = array.size > options.threshold
    return body(array, indent, shortened, number_format(shown(array) if shortened else array))


def said(t: Any) -> list[str]:
    """What follows the numbers: the shape of nothing, an unusual dtype, the place in the graph."""
    out = []
    if not t._array.size and t._array.ndim != 1:
        out.append(f"size={tuple(t.shape)}")
    usual = (dtypes.get_default_dtype(), dtypes.int64, dtypes.bool)
    if t.dtype not in usual or (not t._array.size and t.dtype is not usual[0]):
        out.append(f"dtype={t.dtype}")
    out.extend(text for text in (remark(t) for remark in remarks) if text)
    return out + in_graph(t)


def in_graph(t: Any) -> list[str]:
    """The node that made the tensor, or that it requires grad."""
    try:
        node = t.grad_fn
    except RuntimeError:  # a view whose history cannot be told
        return ["grad_fn=<Invalid>"]
    if node is not None:
        return [f"grad_fn=<{type(node).__name__}>"]
    return ["requires_grad=True"] if t.requires_grad else []


def text_of(t: Any) -> str:
    """The whole text of a tensor."""
    plain = type(t) is Tensor or type(t).__name__ == "Parameter"
    text = "tensor(" if plain else f"{type(t).__name__}("
    indent = len(text)
    text += numbers(t._array, indent)
    room = options.linewidth - (len(text) - text.rfind("\n") + 1)
    for part in said(t):
        fits = len(part) + 2 <= room
        text += f", {part}" if fits else ",\n" + " " * indent + part
        room = room - len(part) - 2 if fits else options.linewidth - indent - len(part)
    return text + ")"


def formatted(t: Any, spec: str) -> str:
    """An f-string's text: of one number its own, so that f"{loss:.3f}" works."""
    if t._array.ndim or not spec:
        return object.__format__(t, spec)
    return format(t._array.item(), spec)


Tensor.__repr__ = text_of  # type: ignore
Tensor.__format__ = formatted  # type: ignore
