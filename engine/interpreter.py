"""What the compiled build asks of CPython itself; interpreted, Python does all of it unasked.

Compiled, these names are functions of CPython's C interface, and of that of NumPy's arrays
(`engine_fast/interpreter.pxd`).
"""

import math
import threading
from operator import is_
from typing import Any

from engine import locks


class Thread(threading.local):
    """What holds in one thread. A new thread starts with this.

    Compiled, `thread` is a C variable of each thread, and of each module: `modes` has the first two
    fields to itself, `depth` the third and `graph` the last.
    """

    grad_enabled = True
    observed = False
    walks = 0
    running: Any = None


thread = Thread()


def running() -> Any:
    """What `set_running` was last given in this thread, None before."""
    return thread.running


def set_running(walk: Any) -> None:
    """Note what runs in this thread; the caller keeps it alive until it sets another."""
    thread.running = walk


def new(base: Any, cls: Any) -> Any:
    """An object of the class, a subclass of `base`, whose fields are not set."""
    return base.__new__(cls)


def create(cls: Any) -> Any:
    """An object of the class, which is made of no arguments."""
    return cls()


def variable(var: Any) -> Any:
    """The value of a context variable."""
    return var.get()


def set_variable(var: Any, x: Any) -> Any:
    """Set a context variable; returns what `reset_variable` puts the old value back with."""
    return var.set(x)


def reset_variable(var: Any, before: Any) -> None:
    """Give a context variable the value that it had."""
    var.reset(before)


def cut(xs: list[Any], n: int) -> list[Any]:
    """Take the last n items, or all, from a list; returns them. Compiled, the list keeps its
    memory: given back part by part, it would come again page by page in the next walk."""
    end = xs[-n:]
    del xs[-n:]
    return end


def pool(cls: Any) -> None:
    """Have the objects of this class lie side by side in memory of their own, and be born outside
    the garbage collector's lists."""


def is_tracked(x: Any) -> bool:
    """Whether the garbage collector looks at x."""
    return True


def track(x: Any) -> None:
    """Have the garbage collector look at x, which may now be part of a reference cycle."""


def untrack(x: Any) -> None:
    """Take x from the collector's lists: it holds nothing that could lead back to it."""


def check_signals() -> None:
    """Let a Ctrl-C in, as the interpreter does between any two lines."""


def look_for_signals() -> None:
    """`check_signals`, at each hundred-thousandth call."""


def row(n: int) -> Any:
    """n doubles in one piece, all 0; `doubles` reads and writes them."""
    return [0.0] * n


def int_row(n: int) -> Any:
    """n whole numbers of 32 bits in one piece, all 0; `ints` reads and writes them."""
    return [0] * n


def ints(row: Any) -> Any:
    """The numbers of an int_row, by index; as long as the row lives."""
    return row


def same_bits(a: float, b: float) -> bool:
    """Whether two doubles are the same, 0.0 and -0.0 told apart; all nans are one."""
    return (a == b and math.copysign(1.0, a) == math.copysign(1.0, b)) or (a != a and b != b)


def places(n: int) -> Any:
    """A tuple in the making: n places, which `put` fills and `filled` hands out."""
    return [None] * n


def put(places: Any, i: int, x: Any) -> None:
    """Put x into place i, which holds nothing yet."""
    places[i] = x


def filled(places: Any) -> tuple[Any, ...]:
    """The tuple that was made."""
    return tuple(places)


def numbering() -> Any:
    """Will note objects by identity, each with a number. It does not keep them alive."""
    return {}


def is_new(numbering: Any, x: Any) -> bool:
    """Note x, without a number as yet; whether it had not been noted."""
    if id(x) in numbering:
        return False
    numbering[id(x)] = -1
    return True


def gets(numbering: Any, x: Any, number: int) -> bool:
    """Give x, which was noted, this number unless it has one; whether it has got it."""
    if numbering[id(x)] >= 0:
        return False
    numbering[id(x)] = number
    return True


def number(numbering: Any, x: Any) -> int:
    """The number of x; KeyError where it was not noted."""
    return int(numbering[id(x)])


def same_items(xs: list[Any], ys: list[Any]) -> bool:
    """Whether two lists hold the same objects."""
    return len(xs) == len(ys) and all(map(is_, xs, ys))


def doubles(row: Any) -> Any:
    """The doubles of a row, by index; as long as the row lives."""
    return row


def shape_of(array: Any) -> Any:
    """The shape of an array, a tuple."""
    return array.shape


def same_shape(a: Any, b: Any) -> bool:
    """Whether two arrays have the same shape."""
    return bool(a.shape == b.shape)


def has_shape(array: Any, shape: tuple[int, ...]) -> bool:
    """Whether an array has this shape."""
    return bool(array.shape == shape)


def dtype_of(array: Any) -> Any:
    """The dtype of an array."""
    return array.dtype


def holds_floats(array: Any) -> bool:
    """Whether the dtype of an array is one of floating point."""
    return bool(array.dtype.kind == "f")


def is_contiguous(array: Any) -> bool:
    """Whether the numbers of an array lie row by row without gaps."""
    return bool(array.flags.c_contiguous)


def can_write(array: Any) -> bool:
    """Whether the numbers of an array may be changed."""
    return bool(array.flags.writeable)


alone = locks.alone  # compiled it takes a body of two arguments
bare = object.__new__  # a Value whose fields are not set
identity = id
set_attribute = object.__setattr__
delete_attribute = object.__delattr__
