"""The Python build's last part of a backward: all leaves get their gradients or, where a Ctrl-C
comes in, none.

The interpreter looks for signals, and lets other threads run, between two lines of Python, but
not in a function of C. So the loops that write gradients, which the compiled build runs as they
stand, are put together here of iterators of C, and run by one call.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain, repeat, starmap
from operator import add, call, setitem
from typing import Any

import numpy as np

from engine import builds, differentiation, nodes, value
from engine.quiet import quiet

FIELDS = vars(value.Value)
GRAD_OF, SET_GRAD = FIELDS["_grad"].__get__, FIELDS["_grad"].__set__
NEEDS_GRAD = FIELDS["_requires_grad"].__get__
Calls = list[tuple[Any, ...]]  # functions of C with their arguments


def kept(values: list[Any], gradients: Iterable[float]) -> Iterator[Any]:
    """Steps that add to the gradients of leaf Values, 0.0 before any, and set those of others."""
    others = [v for v in values if not v.is_leaf]
    sums = map(add, map(GRAD_OF, values), gradients)
    states = map(FIELDS["_requires_grad"].__set__, values, repeat(2))
    return chain(map(SET_GRAD, others, repeat(0.0)), map(SET_GRAD, values, sums), states)


def keep_all(leaves: list[Any]) -> None:
    """`value.keep_all`."""
    leaves = list(filter(NEEDS_GRAD, leaves))
    deque(kept(leaves, map(FIELDS["_flight"].__get__, leaves)), 0)


def write(arrived: list[tuple[Any, Any]], grads: list[Any]) -> None:
    """`differentiation.write`."""
    values, numbers = [], []
    calls: Calls = []
    sums: Calls = []
    for (x, g), grad in zip(arrived, grads, strict=True):
        if not nodes.needs_grad(x):
            continue
        if isinstance(x, value.Value):
            values.append(x)
            numbers.append(grad)
        elif grad is x._grad:
            sums += in_place(grad, g)
        else:
            calls.append((object.__setattr__, x, "_grad", grad))
    finish(chain(starmap(call, calls), kept(values, numbers) if values else ()), sums)


def in_place(grad: Any, g: Any) -> Calls:
    """What adds g to the gradient of a Tensor where it is."""
    into, counter = grad._array, nodes.counter_of(grad)
    return [(np.add, into, g._array, into), (setitem, counter, 0, counter[0] + 1)]


def finish(steps: Iterable[Any], sums: Calls) -> None:
    """Run the steps, and the sums of arrays in silence."""
    if not sums:
        deque(steps, 0)
        return
    with quiet():
        deque(chain(starmap(call, sums), steps), 0)


if builds.backend() == "python":
    value.keep_all = keep_all
    differentiation.write = write
