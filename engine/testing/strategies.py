"""Hypothesis strategies for tests of one's own: shapes, arrays, tensors, views, whole programs.

Needs hypothesis: `pip install hypothesis`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

try:
    from hypothesis import strategies as st
except ImportError as error:
    cure = "engine.testing.strategies needs hypothesis: pip install hypothesis"
    raise ImportError(cure) from error

Array = npt.NDArray[Any]
Shape = tuple[int, ...]

SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-8, -1e-8, 1e8, -1e8)


def numbers(low: float = -3.0, high: float = 3.0) -> st.SearchStrategy[float]:
    """Finite floats from low to high; they shrink towards short ones."""
    tenths = st.integers(int(10 * low), int(10 * high)).map(lambda n: n / 10)
    return st.one_of(tenths, st.floats(low, high, allow_nan=False, width=64))


def special_numbers() -> st.SearchStrategy[float]:
    """Numbers at which functions have kinks, and huge, tiny, infinite and undefined ones."""
    return st.sampled_from((*SPECIAL, float("inf"), float("-inf"), float("nan")))


def values(low: float = -3.0, high: float = 3.0) -> st.SearchStrategy[Any]:
    """engine.Values that require a gradient."""
    from engine import Value

    return numbers(low, high).map(Value)


def shapes(dims: int = 3, size: int = 4, least: int = 0) -> st.SearchStrategy[Shape]:
    """Shapes of up to `dims` dimensions of `least` to `size`; () and empty ones among them."""
    return st.lists(st.integers(least, size), max_size=dims).map(tuple)


@st.composite
def broadcastable_shapes(
    draw: st.DrawFn, /, count: int = 2, dims: int = 3, size: int = 4
) -> tuple[Shape, ...]:
    """Shapes that broadcast against each other: with 1s, and dimensions missing in front."""
    full = draw(shapes(dims, size, least=1))
    made = []
    for _ in range(count):
        ones = draw(st.lists(st.booleans(), min_size=len(full), max_size=len(full)))
        start = draw(st.integers(0, len(full)))
        pairs = zip(full, ones, strict=True)
        made.append(tuple(1 if one else n for n, one in pairs)[start:])
    return tuple(made)


@st.composite
def arrays(
    draw: st.DrawFn, /, shape: Shape | st.SearchStrategy[Shape] | None = None, **limits: float
) -> Array:
    """float64 arrays. shape: one, or a strategy for one. limits: low and high of numbers()."""
    chosen = draw(shape if isinstance(shape, st.SearchStrategy) else st.just(shape or ()))
    count = int(np.prod(chosen, dtype=int))
    flat = draw(st.lists(numbers(**limits), min_size=count, max_size=count))
    return np.array(flat, dtype=np.float64).reshape(chosen)


@st.composite
def tensors(
    draw: st.DrawFn,
    /,
    shape: Shape | st.SearchStrategy[Shape] | None = None,
    requires_grad: bool = True,
    module: Any = None,
    **limits: float,
) -> Any:
    """float64 tensors of engine, or of another module with PyTorch's names."""
    import engine

    array = draw(arrays(shape, **limits))
    made = (module or engine).tensor(array, dtype=(module or engine).float64)
    return made.requires_grad_() if requires_grad else made


@st.composite
def strided_views(draw: st.DrawFn, /, array: Array) -> Array:
    """An array with the same numbers whose memory is packed, turned, gapped or reversed."""
    layout = draw(st.sampled_from(("packed", "turned", "gapped", "reversed")))
    if layout == "turned":
        return np.ascontiguousarray(array.T).T if array.ndim else array
    if layout == "gapped" and array.ndim:
        return np.repeat(array, 2, axis=-1)[..., ::2]
    if layout == "reversed" and array.ndim:
        return np.ascontiguousarray(array[..., ::-1])[..., ::-1]
    return array.copy()


@dataclass(frozen=True)
class Step:
    """One operation of a program: its name, and the places of its operands among all results."""

    name: str
    operands: tuple[int, ...]


UNARY: dict[str, Callable[[Any], Any]] = {
    "sin": np.sin, "cos": np.cos, "exp": np.exp, "tanh": np.tanh, "neg": np.negative,
}  # fmt: skip
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply,
}  # fmt: skip


@dataclass(frozen=True)
class Program:
    """A straight-line program of smooth operations on numbers or arrays of one shape.

    inputs: the arrays (float64) that it starts from. The result is the last step's.
    """

    inputs: tuple[Array, ...]
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        lines = [f"x{k} = {a.tolist()}" for k, a in enumerate(self.inputs)]
        for k, step in enumerate(self.steps, len(self.inputs)):
            lines.append(f"x{k} = {step.name}({', '.join(f'x{o}' for o in step.operands)})")
        return "\n".join(lines)

    def run(self, inputs: Sequence[Any]) -> Any:
        """The result for inputs that have the methods sin, add and so on: tensors or Values."""
        made = list(inputs)
        for step in self.steps:
            operands = [made[o] for o in step.operands]
            made.append(OPERATORS[step.name](*operands))
        return made[-1]

    def result(self) -> Array:
        """The right result, by NumPy."""
        return np.asarray(self._by_numpy(self.inputs))

    def gradient(self, k: int) -> Array:
        """The right gradient of the sum of the result by input k, by complex steps."""
        gradient = np.zeros(self.inputs[k].shape)
        for entry in range(gradient.size):
            moved = [np.asarray(a, complex) for a in self.inputs]
            moved[k] = moved[k].copy()
            moved[k].flat[entry] += 1e-30j
            gradient.flat[entry] = np.sum(self._by_numpy(moved)).imag / 1e-30
        return gradient

    def _by_numpy(self, inputs: Sequence[Array]) -> Array:
        made = list(inputs)
        for step in self.steps:
            operation: Any = UNARY.get(step.name) or BINARY[step.name]
            made.append(operation(*[made[o] for o in step.operands]))
        return made[-1]


OPERATORS: dict[str, Callable[..., Any]] = {
    "sin": lambda a: a.sin(),
    "cos": lambda a: a.cos(),
    "exp": lambda a: a.exp(),
    "tanh": lambda a: a.tanh(),
    "neg": lambda a: -a,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
}


@st.composite
def programs(
    draw: st.DrawFn, /, shape: Shape = (), inputs: int = 2, steps: int = 6
) -> Program:
    """Programs with their reference result and derivatives; every step's result stays moderate.

    shape: of every input and result. Steps that would make a number larger than 100 are left out.
    """
    count = draw(st.integers(1, inputs))
    first = tuple(draw(arrays(shape, low=-1.5, high=1.5)) for _ in range(count))
    made, kept = list(first), []
    for _ in range(draw(st.integers(1, steps))):
        name = draw(st.sampled_from((*UNARY, *BINARY)))
        places = st.integers(0, len(made) - 1)
        operands = tuple(draw(places) for _ in range(1 if name in UNARY else 2))
        operation: Any = UNARY.get(name) or BINARY[name]
        result = np.asarray(operation(*[made[o] for o in operands]))
        if np.all(np.abs(result) <= 100):
            made.append(result)
            kept.append(Step(name, operands))
    return Program(first, tuple(kept) or (Step("neg", (0,)),))
