"""Functions of lists of Values: sum, dot, softmax and others, each one node of many operands.

What a program would write out itself, one operation at a time, stands here as `PLAIN`: the same
values to the last bit, and what runs where something looks at each operation (forward mode,
anomaly detection, the explorer). Gradients may differ from the plain program's in the last bits,
as their terms are added in another order. Lists may hold Values and numbers.
"""

import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from engine import fused, modes, registry, value
from engine.habits import Value

F = TypeVar("F", bound=Callable[..., Any])


def plain_sum(xs: list[Any]) -> Any:
    """From left to right, from 0, as Python's sum."""
    total = Value(0.0, requires_grad=False)
    for x in xs:
        total = total + x
    return total


def plain_dot(xs: list[Any], ys: list[Any]) -> Any:
    return fused.add_products(Value(0.0, requires_grad=False), [as_value(x) for x in xs], ys)


def plain_softmax(xs: list[Any]) -> list[Any]:
    top = largest(xs)
    powers = [(as_value(x) - top).exp() for x in xs]
    total = plain_sum(powers)
    return [power / total for power in powers]


def plain_logsumexp(xs: list[Any]) -> Any:
    top = largest(xs)
    if abs(top) == np.inf:
        top = 0.0
    return plain_sum([(as_value(x) - top).exp() for x in xs]).log() + top


def plain_cross_entropy(xs: list[Any], k: int) -> Any:
    return plain_logsumexp(xs) - xs[k]


def plain_maximum(xs: list[Any]) -> Any:
    """By pairs: of three equals the last has half the slope, where the fused one gives thirds."""
    top = as_value(xs[0])
    for x in xs[1:]:
        top = top.maximum(x)
    return top


PLAIN: dict[str, Callable[..., Any]] = {
    "sum": plain_sum,
    "dot": plain_dot,
    "softmax": plain_softmax,
    "logsumexp": plain_logsumexp,
    "cross_entropy": plain_cross_entropy,
    "maximum": plain_maximum,
}


FUSED = {name: getattr(fused, name) for name in PLAIN}


def as_value(x: Any) -> Any:
    """x, or the number x as a constant Value."""
    return x if isinstance(x, Value) else Value(x, requires_grad=False)


def largest(xs: list[Any]) -> float:
    """The largest number, as Python's max finds it."""
    return max(value.as_number(x, "max") for x in xs)


def run(name: str, *arguments: Any) -> Any:
    """The fused operation, or the plain one where an observer wants to see each step."""
    observers = modes.observers()
    if observers and not all(getattr(o, "takes_lists", False) for o in observers):
        return PLAIN[name](*arguments)
    return FUSED[name](*arguments)


def as_list(xs: Iterable[Any], name: str) -> list[Any]:
    """xs as a list that is not empty."""
    xs = list(xs)
    if not xs:
        raise ValueError(f"{name}: needs at least one Value; got an empty list")
    return xs


def is_list(x: Any) -> bool:
    """Whether a function of Tensors was given a list, and so Values."""
    return isinstance(x, (list, tuple))


def or_list(of_list: Callable[..., Any]) -> Callable[[F], F]:
    """Decorates a function of Tensors: with a list for its first argument it is `of_list`."""

    def decorate(of_tensor: F) -> F:
        @functools.wraps(of_tensor)
        def either(*args: Any, **kwargs: Any) -> Any:
            if args and isinstance(args[0], (list, tuple)):
                return of_list(*args, **kwargs)
            return of_tensor(*args, **kwargs)

        either.__doc__ = f"{of_tensor.__doc__}\n\n    Of a list of Values: {of_list.__doc__}"
        return cast(F, either)

    return decorate


def sum_list(xs: Iterable[Any]) -> Any:
    """xs[0] + xs[1] + ... as one node: the same number as sum(xs); 0.0 of none."""
    return run("sum", list(xs))


def dot_lists(xs: Sequence[Any], ys: Sequence[Any]) -> Any:
    """xs[0] * ys[0] + xs[1] * ys[1] + ... as one node, with the number of
    sum(x * y for x, y in zip(xs, ys)); ValueError unless there are as many ys as xs."""
    if not is_list(ys) or len(xs) != len(ys):
        got = f"{len(ys)}" if is_list(ys) else type(ys).__name__
        raise ValueError(f"dot: needs two lists of one length; got {len(xs)} and {got}")
    if type(xs) is list and type(ys) is list:
        return run("dot", xs, ys)
    return run("dot", list(xs), list(ys))


def softmax_list(xs: Iterable[Any]) -> list[Any]:
    """e ** x over the sum of them, for each x: a list of Values.

    The numbers are those of the program that takes the largest off first:
    powers = [(x - max(...)).exp() for x in xs], then power / sum(powers). All nan where the
    largest is infinite.
    """
    return run("softmax", as_list(xs, "softmax"))


def logsumexp_list(xs: Iterable[Any]) -> Any:
    """log(sum(e ** x)) as one node: the largest plus sum((x - largest).exp() ...).log().

    An infinite largest is the result itself, where that program gives nan; its slopes are nan.
    """
    return run("logsumexp", as_list(xs, "logsumexp"))


def cross_entropy(xs: Iterable[Any], i: Any) -> Any:
    """-log(softmax(xs)[i]) as one node: how little the scores xs expected i, in nats.

    xs: scores, Values and numbers. i: from 0 to len(xs) - 1. The number is that of
    logsumexp(xs) - xs[i]; -softmax(xs)[i].log() differs in the last bits, and is inf where that
    share is too small for a double. Under engine.compile i is an input, as in `lookup`. Raises
    IndexError for another i. For Tensors there is
    engine.nn.functional.cross_entropy.
    """
    if not is_list(xs):
        raise TypeError(
            f"cross_entropy: needs a list of Values and the place of the right one; got "
            f"{type(xs).__name__}; for Tensors use engine.nn.functional.cross_entropy"
        )
    scores = as_list(xs, "cross_entropy")
    k = i.number if hasattr(i, "look_up") else operator.index(i)
    if not 0 <= k < len(scores):
        raise IndexError(f"cross_entropy: i must be from 0 to {len(scores) - 1}; got {k}")
    v = run("cross_entropy", scores, k)
    if hasattr(i, "look_up"):
        i.chooses(v, len(scores))
    return v


def maximum(*xs: Any, out: Any = None) -> Any:
    """The largest of several Values and numbers, or of a list of them; nan if one is nan.

    k that are equally large have the slope 1 / k each. Of Tensors two, as torch.maximum: then
    elementwise, and `out` takes the result.
    """
    if len(xs) == 1 and is_list(xs[0]):
        xs = tuple(xs[0])
    if len(xs) == 2 or not all(map(registry.is_scalar, xs)):
        return registry.RULES["maximum"](*xs, out=out)
    return run("maximum", as_list(xs, "maximum"))


def lookup(rows: Sequence[Any], i: Any) -> Any:
    """rows[i]. Under engine.compile, where `i` is an argument of the compiled function and rows
    holds Values that it is given or reaches, not results, the tape looks it up in each call, so
    that another i needs no other tape."""
    return i.look_up(rows) if hasattr(i, "look_up") else rows[operator.index(i)]


def values(array: Any, requires_grad: bool = True) -> Any:
    """The numbers of an array, or of nested lists, as new Values: lists as deep as its shape.

    Numbers become doubles; one Value for shape (). The way back: engine.numbers(values).
    """
    array = np.asarray(array)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"values: needs numbers; got an array of {array.dtype}")
    found = fused.values(array.astype(np.float64).ravel().tolist(), requires_grad)
    for size in array.shape[:0:-1]:
        count = len(found) // size if size else 0
        found = [found[i * size : (i + 1) * size] for i in range(count)]
    if 0 in array.shape:
        return np.empty(array.shape).tolist()
    return found if array.ndim else found[0]


def numbers(values: Any) -> Any:
    """The numbers of Values, in lists of any depth, as a float64 array, outside any graph.

    Raises ValueError where lists differ in length. engine.stack(values) keeps the graph.
    """
    if not is_list(values):
        return np.array(value.as_number(values, "numbers"))
    if not any(map(is_list, values)):
        return np.array(fused.numbers(list(values)), np.float64)
    rows = [numbers(row) for row in values]
    if len({row.shape for row in rows}) > 1:
        shapes = sorted({row.shape for row in rows})
        raise ValueError(f"numbers: lists must be of one length; got rows of shapes {shapes}")
    return np.stack(rows)


# The slopes of each operation, made of operands and result: differentiable, of the same bits.
def softmax_slopes(operands: list[Any], v: Any) -> list[Any]:
    return [v, -v]


def dot_slopes(operands: list[Any], v: Any) -> list[Any]:
    return [operands[i ^ 1] for i in range(len(operands))]


def cross_entropy_slopes(operands: list[Any], v: Any) -> list[Any]:
    shares = softmax_list(operands)
    shares[v._extra.index] = shares[v._extra.index] - 1.0
    return shares


def maximum_slopes(operands: list[Any], v: Any) -> list[Any]:
    if v.data != v.data:
        return [1.0] * len(operands)
    chosen = [float(value.as_number(x, "maximum") == v.data) for x in operands]
    return [c / sum(chosen) for c in chosen]


def compiled_slopes(operands: list[Any], v: Any) -> list[Any]:
    raise RuntimeError(
        "create_graph: the result of a function under engine.compile has no second derivatives; "
        "call the function itself for them"
    )


registry.LISTS.update(
    compiled=compiled_slopes,
    sum=lambda operands, v: [1.0] * len(operands),
    dot=dot_slopes,
    softmax=softmax_slopes,
    logsumexp=lambda operands, v: softmax_list(operands),
    cross_entropy=cross_entropy_slopes,
    maximum=maximum_slopes,
)
