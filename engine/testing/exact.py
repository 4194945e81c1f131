"""Derivatives with far more digits than differences in double: complex step, and 50 digits.

Both run forward itself on numbers of another kind. Where forward takes them, they settle what
differences leave open, and confirm what differences say.
"""

from collections.abc import Callable, Sequence
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np

from engine.testing.adapter import Array
from engine.testing.cases import Case
from engine.testing.derivatives import complex_step
from engine.testing.spy import takes_context
from engine.testing.trial import Subject, call

STEP = 1e-15  # of the differences in 50 digits, whose error is then some 1e-30


def by_complex_step(
    subject: Subject,
    case: Case,
    arrays: Sequence[Any],
    i: int,
    direction: Array,
    active: Sequence[int],
) -> Array | None:
    """The slope of the active outputs along a direction; None where forward takes no complex
    tensors. It is wrong for a forward that is not analytic, such as abs: compare it.
    """
    plain = case.but(layouts=(), needs=(False,) * len(case.needs), dtype="complex128")
    has_complex = hasattr(subject.library.module, "complex128")
    if subject.pattern.slots[i].kind != "float" or not has_complex:
        return None

    def values(step: complex) -> Array:
        moved = list(arrays)
        moved[i] = np.asarray(arrays[i] + step * direction)
        with subject.library.no_grad():
            made = call(subject, plain, moved)
        return np.concatenate([np.ravel(subject.library.array(made.outputs[k])) for k in active])

    try:
        return complex_step(values)
    except Exception:
        return None


def in_fifty_digits(
    subject: Subject,
    case: Case,
    arrays: Sequence[Any],
    i: int,
    direction: Array,
    active: Sequence[int],
) -> Array | None:
    """The slope of the active outputs along a direction, from differences in 50 digits.

    None where mpmath is missing or forward needs an operation that Digits lacks.
    """
    try:
        import mpmath  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return None
    values = partial(_values, subject, arrays, i, direction, active)
    try:
        with mpmath.workdps(50):
            step = mpmath.mpf(STEP)
            slope = (values(step) - values(-step)) / (2 * step)
            return np.asarray(slope.astype(float))
    except Exception:
        return None


def _values(
    subject: Subject,
    arrays: Sequence[Any],
    i: int,
    direction: Array,
    active: Sequence[int],
    step: Any,
) -> Array:
    """The active outputs, one after the other, at a step of 50 digits."""
    import mpmath  # type: ignore[import-not-found,unused-ignore]

    arguments = [
        Digits(np.vectorize(mpmath.mpf, otypes=[object])(a))
        if slot.kind == "float" and a is not None
        else subject.library.tensor(a) if slot.is_tensor and a is not None else a
        for slot, a in zip(subject.pattern.slots, arrays, strict=True)
    ]
    arguments[i] = Digits(arguments[i].a + step * direction.astype(object))
    result = _forward(subject)(*arguments)
    outputs = list(result) if isinstance(result, (tuple, list)) else [result]
    return np.concatenate([np.ravel(outputs[k].a) for k in active])


def _forward(subject: Subject) -> Callable[..., Any]:
    """What computes the values: forward with a ctx that keeps nothing, or the callable."""
    if not subject.is_function:
        return _answered(subject.target, subject.library.module)
    forward = _answered(subject.target.forward, subject.library.module)
    with_context = takes_context(subject.target, subject.library)
    return partial(forward, Nothing()) if with_context else forward


def _answered(function: Callable[..., Any], module: Any) -> Callable[..., Any]:
    """A function in which the library's name stands for one that knows Digits too."""
    if not isinstance(function, FunctionType):
        return function
    names = function.__globals__.items()
    known = {name: Answering(x) if x is module else x for name, x in names}
    made = FunctionType(function.__code__, known, function.__name__, function.__defaults__)
    return made if function.__closure__ is None else function


class Answering:
    """A library whose functions of Digits are those of Digits."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        own = getattr(self._module, name)
        operation = OPERATIONS.get(name) or _elementary(name)

        def answer(*arguments: Any, **named: Any) -> Any:
            digits = any(isinstance(x, Digits) for x in arguments)
            return (operation if operation and digits else own)(*arguments, **named)

        return answer if operation is not None else own


class Nothing:
    """A ctx that takes everything and keeps nothing."""

    needs_input_grad = (False,) * 99

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: None


class Digits:
    """Numbers of 50 digits under some of a tensor's names; an operation it lacks raises."""

    def __init__(self, a: Any) -> None:
        self.a = np.asarray(a, dtype=object)

    shape = property(lambda self: self.a.shape)
    ndim = property(lambda self: self.a.ndim)
    T = property(lambda self: Digits(self.a.T))
    dtype = property(lambda self: "fifty digits")
    requires_grad = False

    def __getattr__(self, name: str) -> Any:
        operation = OPERATIONS.get(name) or _elementary(name)
        if operation is None:
            raise AttributeError(f"Digits has no {name}")
        return partial(operation, self)

    def __getitem__(self, index: Any) -> "Digits":
        return Digits(self.a[index])

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Any, arguments: Any = (), named: Any = None
    ) -> Any:
        """torch.exp(x) and the like, by the method of that name."""
        name = function.__name__
        operation = OPERATIONS.get(name) or _elementary(name)
        return NotImplemented if operation is None else operation(*arguments, **(named or {}))


def _plain(x: Any) -> Any:
    return x.a if isinstance(x, Digits) else x


def _elementary(name: str) -> Callable[[Any], Digits] | None:
    """An elementwise function by mpmath's function of that name."""
    import mpmath  # type: ignore[import-not-found,unused-ignore]

    if name not in ELEMENTARY:
        return None
    function = getattr(mpmath, name, None) or {"sigmoid": lambda x: 1 / (1 + mpmath.exp(-x))}[name]
    return lambda x: Digits(np.vectorize(function, otypes=[object])(_plain(x)))


ELEMENTARY = frozenset(
    ("exp", "log", "sqrt", "sin", "cos", "tan", "tanh", "sinh", "cosh", "asin", "acos", "atan",
     "erf", "log1p", "expm1", "sigmoid", "sign")
)


def _sum(x: Any, dim: Any = None, keepdim: bool = False) -> Digits:
    return Digits(np.sum(_plain(x), axis=dim, keepdims=keepdim))


def _mean(x: Any, dim: Any = None, keepdim: bool = False) -> Digits:
    total = _sum(x, dim, keepdim)
    return Digits(total.a * total.a.size / _plain(x).size)


def _clamp(x: Any, min: Any = None, max: Any = None) -> Digits:
    a = _plain(x)
    a = a if min is None else np.where(a < min, min + 0 * a, a)
    return Digits(a if max is None else np.where(a > max, max + 0 * a, a))


def _shaped(x: Any, *shape: Any) -> Digits:
    sizes = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
    return Digits(_plain(x).reshape(tuple(sizes)))


def _product(x: Any, y: Any) -> Digits:
    return Digits(np.dot(_plain(x), _plain(y)))


def _same(x: Any, *_: Any, **__: Any) -> Any:
    return x


OPERATIONS: dict[str, Callable[..., Any]] = {
    "sum": _sum,
    "mean": _mean,
    "clamp": _clamp,
    "reshape": _shaped,
    "view": _shaped,
    "mm": _product,
    "matmul": _product,
    "abs": lambda x: Digits(np.abs(_plain(x))),
    "pow": lambda x, n: Digits(_plain(x) ** _plain(n)),
    "t": lambda x: Digits(_plain(x).T),
    "transpose": lambda x, i, j: Digits(np.swapaxes(_plain(x), i, j)),
    "unsqueeze": lambda x, dim: Digits(np.expand_dims(_plain(x), dim)),
    "squeeze": lambda x, dim: Digits(np.squeeze(_plain(x), dim)),
    "expand_as": lambda x, other: Digits(np.broadcast_to(_plain(x), other.shape)),
    "where": lambda c, x, y: Digits(np.where(_plain(c), _plain(x), _plain(y))),
    "dim": lambda x: _plain(x).ndim,
    "numel": lambda x: _plain(x).size,
    "clone": _same,
    "detach": _same,
    "to": _same,
    "contiguous": _same,
}


def _operator(name: str) -> Callable[..., Any]:
    def operator(self: Digits, *others: Any) -> Any:
        result = getattr(self.a, name)(*map(_plain, others))
        comparison = isinstance(result, np.ndarray) and result.dtype == bool
        return result if comparison or result is NotImplemented else Digits(result)

    return operator


for _name in (
    "add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "pow", "rpow", "neg",
    "abs", "matmul", "lt", "le", "gt", "ge", "eq", "ne",
):  # fmt: skip
    setattr(Digits, f"__{_name}__", _operator(f"__{_name}__"))
