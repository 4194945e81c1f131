"""What is varied: one example tells which sizes are equal; a case is one way to call with them."""

import inspect
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from engine.testing.adapter import Library

Array = npt.NDArray[Any]
Shape = tuple[int, ...]
FLOATING = ("float", "value")
KINKS = (0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 3.0, 6.0, -3.0)
SIZES = (3, 2, 4, 5, 6, 7)  # given to the different sizes of an example, in this order
BIG = 60  # an example with more numbers than this is replaced by a smaller one


@dataclass(frozen=True)
class Slot:
    """One argument of the example.

    kind: "float", "int" or "bool" for tensors, "value" for a Value, "plain" for all else.
    example: its numbers as an array, or the object itself.
    asked: whether the example's tensor requires a gradient.
    dims: one label per dimension; dimensions of equal size have the same label.
    optional: whether forward has None as its default.
    dtype: that of the example's tensor, by NumPy's name.
    """

    name: str
    kind: str
    example: Any
    asked: bool = False
    dims: tuple[int, ...] = ()
    optional: bool = False
    dtype: str = ""

    @property
    def is_tensor(self) -> bool:
        return self.kind != "plain"

    @property
    def is_floating(self) -> bool:
        return self.kind in FLOATING

    @cached_property
    def symmetric(self) -> bool:
        """True for a matrix that is symmetric and positive definite, which then stays so."""
        a = self.example
        if self.kind != "float" or a.ndim != 2 or len(a) < 2 or a.shape[0] != a.shape[1]:
            return False
        off = a - np.diag(np.diag(a))
        return bool(np.array_equal(a, a.T) and off.any() and np.linalg.eigvalsh(a)[0] > 0)


def symmetrized(slot: Slot, a: Array) -> Array:
    """A direction that keeps a symmetric matrix symmetric; others come back as they are."""
    square = slot.symmetric and a.ndim == 2 and a.shape[0] == a.shape[1]
    return np.asarray((a + a.T) / 2 if square else a)


@dataclass(frozen=True)
class Case:
    """One way to call: every field but `shapes` has a neutral value, the one that stands here.

    shapes: per argument; None for an argument that is no tensor or is left out.
    values: how the numbers are drawn, see `numbers`.
    layouts: "plain", "transposed", "strided", "expanded", "reversed" or "view", per argument.
    needs: which arguments require a gradient.
    upstream: "random", "expanded", "transposed", or "only 1" for one output of several.
    repeated: two arguments that are one tensor.
    plain: other objects for arguments that are no tensors, as pairs (argument, object).
    """

    shapes: tuple[Shape | None, ...]
    needs: tuple[bool, ...]
    seed: int = 0
    values: str = "ordinary"
    layouts: tuple[str, ...] = ()
    upstream: str = "random"
    dtype: str = "float64"
    repeated: tuple[int, int] | None = None
    plain: tuple[tuple[int, Any], ...] = ()
    rounded: bool = False

    def but(self, **changes: Any) -> "Case":
        return replace(self, **changes)

    @property
    def eps(self) -> float:
        """The relative rounding of the case's dtype."""
        return float(np.finfo(self.dtype).eps)

    def layout(self, index: int) -> str:
        return self.layouts[index] if self.layouts else "plain"


@dataclass(frozen=True)
class Pattern:
    """What an example says about legal arguments.

    sizes: the example's size for each label of `Slot.dims`.
    """

    slots: tuple[Slot, ...]
    sizes: tuple[int, ...]

    @property
    def floating(self) -> list[int]:
        return [i for i, slot in enumerate(self.slots) if slot.is_floating]

    @property
    def needs(self) -> tuple[bool, ...]:
        """The arguments to differentiate: those that the example asks for, or all."""
        if any(slot.asked for slot in self.slots):
            return tuple(slot.asked for slot in self.slots)
        return tuple(slot.is_floating for slot in self.slots)

    def shapes(self, sizes: Sequence[int]) -> tuple[Shape | None, ...]:
        """The shape of every argument when the labels have other sizes."""
        return tuple(
            tuple(sizes[label] for label in slot.dims) if slot.is_tensor else None
            for slot in self.slots
        )

    def case(self, sizes: Sequence[int] | None = None, **fields: Any) -> Case:
        return Case(self.shapes(self.sizes if sizes is None else sizes), self.needs, **fields)

    def small(self) -> tuple[int, ...]:
        """Small sizes, different where the example's are, 1 where they are 1."""
        if sum(np.size(self.slots[i].example) for i in self.floating) <= BIG:
            return self.sizes
        rest = iter(SIZES + tuple(range(8, 99)))
        return tuple(1 if size == 1 else min(size, next(rest)) for size in self.sizes)

    def arrays(self, case: Case) -> list[Any]:
        """The arguments of a case as float64 (or integer) arrays and plain objects."""
        chosen = dict(case.plain)
        made = [self._argument(i, slot, case, chosen) for i, slot in enumerate(self.slots)]
        if case.repeated:
            made[case.repeated[1]] = made[case.repeated[0]]
        return made

    def _argument(self, i: int, slot: Slot, case: Case, chosen: dict[int, Any]) -> Any:
        if i in chosen:
            return chosen[i]
        shape = case.shapes[i]
        if shape is None:
            return None if slot.is_tensor else slot.example
        rng = np.random.default_rng([case.seed, i, zlib.crc32(repr(shape).encode())])
        array = numbers(slot, shape, case.values, rng)
        if case.layout(i) == "expanded" and shape:
            array = np.broadcast_to(array[:1], shape).copy() if shape[0] else array
        if case.dtype == "float32" and slot.is_floating:
            array = array.astype(np.float32).astype(np.float64)
        return rounded(array) if case.rounded and slot.is_floating else array


def rounded(array: Array) -> Array:
    """The numbers with two digits each."""
    return np.array([float(f"{x:.2g}") for x in array.ravel()]).reshape(array.shape)


def numbers(slot: Slot, shape: Shape, style: str, rng: np.random.Generator) -> Array:
    """Numbers of one shape, like those of the example: positive where they all are, and so on.

    style: "example" (the example's own, for its own shape), "ordinary", "negated", "kinks",
    "ties" (all equal), "zeros", "times 30", "nan" and others of STYLES.
    """
    if style == "example" and np.shape(slot.example) == shape:
        return np.array(slot.example)
    if not slot.is_floating:
        return _integers(slot, shape, style, rng)
    square = slot.symmetric and len(shape) == 2 and shape[0] == shape[1]
    ordinary = _symmetric(shape, rng) if square else _like(slot.example, shape, rng)
    change = STYLES.get(style)
    if change is None:
        return ordinary
    changed = np.asarray(change(ordinary, rng), float)
    return _within(slot, changed, ordinary) if style in ("kinks", "zeros") else changed


def _like(example: Array, shape: Shape, rng: np.random.Generator) -> Array:
    flat = example[np.isfinite(example)].ravel()
    low, high = (flat.min(), flat.max()) if flat.size else (-1.0, 1.0)
    size = float(np.abs(flat).mean()) if flat.any() else 1.0
    if low > 0 and high < 1:
        return rng.uniform(0.1, 0.9, shape)
    if low > 0 or high < 0 or (low == 0 < high):
        return np.asarray(np.copysign(size * np.exp(rng.normal(0, 0.4, shape)), low + high))
    if max(-low, high) < 1 and flat.size >= 8:
        return rng.uniform(-0.9, 0.9, shape)
    return np.asarray(rng.normal(0, max(size, 1e-3), shape))


def _symmetric(shape: Shape, rng: np.random.Generator) -> Array:
    root = rng.normal(size=shape)
    return np.asarray(root @ root.T / max(shape[0], 1) + np.eye(shape[0]))


def _integers(slot: Slot, shape: Shape, style: str, rng: np.random.Generator) -> Array:
    pool = np.unique(slot.example) if np.size(slot.example) else np.array([0])
    pool = pool.astype(np.asarray(slot.example).dtype)
    if slot.kind == "bool":
        pool = np.array([False, True])
    if style.endswith("low integers"):
        pool = pool[:1] * 0
    return np.asarray(rng.choice(pool, shape))


def _kinks(a: Array, rng: np.random.Generator) -> Array:
    start = int(rng.integers(len(KINKS)))
    chosen = np.resize(np.roll(KINKS, start), a.shape)
    return np.where(rng.random(a.shape) < 0.7, chosen, a)


def _within(slot: Slot, changed: Array, ordinary: Array) -> Array:
    """Special numbers only where the example is not all above or all below 0."""
    a = slot.example
    if not np.size(a) or (np.min(a) <= 0 <= np.max(a)):
        return changed
    return np.where(changed * np.sign(a.ravel()[0]) > 0, changed, ordinary)


def _holed(hole: float) -> Callable[[Array, np.random.Generator], Array]:
    def holed(a: Array, rng: np.random.Generator) -> Array:
        return np.where(np.arange(a.size).reshape(a.shape) == 0, hole, a)

    return holed


STYLES: dict[str, Callable[[Array, np.random.Generator], Array]] = {
    "negated": lambda a, rng: -a,
    "kinks": _kinks,
    "ties": lambda a, rng: np.full(a.shape, 0.75),
    "zeros": lambda a, rng: np.zeros(a.shape),
    "times 3": lambda a, rng: 3 * a,
    "times 30": lambda a, rng: 30 * a,
    "times 800": lambda a, rng: 800 * a,
    "times 1e-8": lambda a, rng: 1e-8 * a,
    "times 1e-20": lambda a, rng: 1e-20 * a,
    "plus 1000": lambda a, rng: a + 1000,
    "nan": _holed(np.nan),
    "inf": _holed(np.inf),
}


def pattern_of(
    example: Sequence[Any], parameters: Sequence[tuple[str, bool]], library: Library
) -> Pattern:
    """The pattern of one example's arguments; parameters as `parameters_of` gives them."""
    sizes: list[int] = []
    slots = []
    for thing, (name, optional) in zip(example, parameters, strict=True):
        slots.append(replace(_slot(thing, name, library, sizes), optional=optional))
    return Pattern(tuple(slots), tuple(sizes))


def _slot(thing: Any, name: str, library: Library, sizes: list[int]) -> Slot:
    if library.is_value(thing):
        return Slot(name, "value", library.array(thing))
    if not library.is_tensor(thing):
        return Slot(name, "plain", thing)
    array = library.array(thing)
    kind = {"f": "float", "b": "bool"}.get(array.dtype.kind, "int")
    dims = tuple(_label(size, sizes) for size in array.shape)
    number = array.astype(np.float64) if kind == "float" else array
    return Slot(name, kind, number, bool(thing.requires_grad), dims, dtype=array.dtype.name)


def _label(size: int, sizes: list[int]) -> int:
    """The label of a size: that of an equal one, but sizes of 1 are never tied."""
    if size == 1 or size not in sizes:
        sizes.append(size)
        return len(sizes) - 1
    return sizes.index(size)


def parameters_of(function: Callable[..., Any], count: int, skip: int) -> list[tuple[str, bool]]:
    """The names of a function's parameters after `skip`, and whether None is their default.

    Those of *args get a number.
    """
    try:
        found = list(inspect.signature(function).parameters.values())[skip:]
    except (TypeError, ValueError):
        found = []
    plain = [p for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in found if p.kind == p.VAR_POSITIONAL), "argument")
    named = [(p.name, p.default is None) for p in plain]
    return (named + [(f"{rest}[{i}]", False) for i in range(count)])[:count]
