"""Nodes of many operands, and the operations on lists of Values that make them: sum, dot, softmax.

Their values are those of the programs in `lists.py`, to the last bit. Compiled, this file becomes
engine_fast.fused. A list may hold Values and numbers; a row is what `interpreter.row` makes.
"""

try:
    from engine import nocython as cython
except ImportError:
    import cython

from engine import elementary as m
from engine import interpreter
from engine import modes
from engine import value


def as_row(numbers, where):
    """These numbers as a row."""
    row = interpreter.row(len(numbers))
    out = interpreter.doubles(row)
    for i, x in enumerate(numbers):
        out[i] = value.as_float(x, where)
    return row


def adopt(v, extra, parents, slopes):
    """Make v the result of an operation of many operands: a list and a row, as in `node`."""
    v._requires_grad = False
    for p in parents:
        if p is not None:
            v._requires_grad = True
            if cython.compiled and interpreter.is_tracked(p):
                interpreter.track(v)
    if v._requires_grad:
        extra.parents = parents
        extra.slopes = slopes
        v._extra = extra


def wide(y, parents, slopes, op):
    """The result y of an operation of many operands."""
    v = value.node(y, None, 0.0, None, 0.0, None)
    adopt(v, value.Extra(op), parents, slopes)
    if cython.compiled and not interpreter.is_tracked(v):
        interpreter.untrack(parents)
    return v


def result(y, op, operands, slopes):
    """The result y of a rule of somebody's own, given its operands and its slopes as floats."""
    parents, numbers = [None, None], [0.0, 0.0]
    for i, x in enumerate(operands):
        needed = isinstance(x, value.Value) and x.requires_grad and i < len(slopes)
        parents[i] = x if needed else None
        numbers[i] = slopes[i] if needed else value.as_number(x, op)
    v = value.node(y, parents[0], numbers[0], parents[1], numbers[1], op)
    return value.observed(v, op, operands) if modes.watched else v


def take(x, op, parents, i):
    """The number of operand i; it becomes parent i if it needs a gradient."""
    if not isinstance(x, value.Value):
        return value.as_float(x, op)
    p = x
    if p._requires_grad:
        parents[i] = p
    return p._data


def taken(xs, op, parents):
    """The numbers of xs as a row; those that need a gradient become parents."""
    row = interpreter.row(len(xs))
    numbers = interpreter.doubles(row)
    for i, x in enumerate(xs):
        numbers[i] = take(x, op, parents, i)
    return row


def sum(xs):
    """xs[0] + xs[1] + ..., from left to right."""
    parents = [None] * len(xs)
    row = taken(xs, "sum", parents)
    numbers = interpreter.doubles(row)
    y = 0.0
    for i, p in enumerate(parents):
        y += numbers[i]
        if p is not None:
            numbers[i] = 1.0
    v = wide(y, parents, row, "sum")
    return value.observed(v, "sum", tuple(xs)) if modes.watched else v


def dot(xs, ys):
    """xs[0] * ys[0] + xs[1] * ys[1] + ..., from left to right; the operands in this order."""
    n = len(xs)
    parents = [None] * (2 * n)
    row = interpreter.row(2 * n)
    slopes = interpreter.doubles(row)
    y = 0.0
    for i in range(n):
        a = take(xs[i], "dot", parents, 2 * i)
        b = take(ys[i], "dot", parents, 2 * i + 1)
        y += a * b
        slopes[2 * i] = a if parents[2 * i] is None else b
        slopes[2 * i + 1] = b if parents[2 * i + 1] is None else a
    v = wide(y, parents, row, "dot")
    return value.observed(v, "dot", in_turns(xs, ys)) if modes.watched else v


def add_products(total, xs, ys):
    """total + xs[0] * ys[0] + xs[1] * ys[1] + ..., each product and each sum a node of its own."""
    for i in range(len(xs)):
        total = total + xs[i] * ys[i]
    return total


def in_turns(xs, ys):
    """xs[0], ys[0], xs[1], ys[1], ..."""
    return tuple([x for pair in zip(xs, ys, strict=True) for x in pair])


def maximum(xs):
    """The largest; k that are equally large have the slope 1 / k, all have 1 where one is nan."""
    parents = [None] * len(xs)
    row = taken(xs, "maximum", parents)
    numbers = interpreter.doubles(row)
    n = len(parents)
    y = numbers[0]
    for i in range(1, n):
        y = m.maximum(y, numbers[i])
    equals = 0.0
    for i in range(n):
        equals += m.where(m.equal(numbers[i], y), 1.0, 0.0)
    for i, p in enumerate(parents):
        if p is not None:
            slope = m.where(m.equal(numbers[i], y), m.divide(1.0, equals), 0.0)
            numbers[i] = m.where(m.equal(y, y), slope, 1.0)
    v = wide(y, parents, row, "maximum")
    return value.observed(v, "maximum", tuple(xs)) if modes.watched else v


def shares(x, y, first, n):
    """Write e ** x over their sum into y, for each of the n numbers x from `first` on; returns
    the logarithm of the sum."""
    top = x[first]
    for i in range(first + 1, first + n):
        top = m.where(m.less(top, x[i]), x[i], top)
    total = 0.0
    for i in range(first, first + n):
        y[i] = m.exp(x[i] - top)
        total += y[i]
    for i in range(first, first + n):
        y[i] = m.divide(y[i], total)
    return m.where(m.less(m.fabs(top), m.inf), top + m.log(total), top)


def keep_constants(row, out, parents):
    """Where there is no parent, write the number of the row into `out`."""
    x = interpreter.doubles(row)
    y = interpreter.doubles(out)
    for i, p in enumerate(parents):
        if p is None:
            y[i] = x[i]


def logsumexp(xs):
    """The logarithm of the sum of e ** x; its slopes are the shares of each e ** x."""
    parents = [None] * len(xs)
    row = taken(xs, "logsumexp", parents)
    out = interpreter.row(len(parents))
    y = shares(interpreter.doubles(row), interpreter.doubles(out), 0, len(parents))
    keep_constants(row, out, parents)
    v = wide(y, parents, out, "logsumexp")
    return value.observed(v, "logsumexp", tuple(xs)) if modes.watched else v


def cross_entropy(xs, k):
    """logsumexp(xs) - xs[k]; its slopes are the shares, less 1 at k, which stands in `index`."""
    parents = [None] * len(xs)
    row = taken(xs, "cross_entropy", parents)
    out = interpreter.row(len(parents))
    slopes = interpreter.doubles(out)
    numbers = interpreter.doubles(row)
    y = shares(numbers, slopes, 0, len(parents)) - numbers[k]
    slopes[k] -= 1.0
    keep_constants(row, out, parents)
    v = wide(y, parents, out, "cross_entropy")
    if v._requires_grad:
        v._extra.index = k
    return value.observed(v, "cross_entropy", (*xs, k)) if modes.watched else v


def softmax(xs):
    """The shares of each e ** x in their sum, as nodes of two operands: x, and the logarithm of
    the sum, which is one node for all."""
    parents = [None] * len(xs)
    row = taken(xs, "softmax", parents)
    out = interpreter.row(len(parents))
    numbers = interpreter.doubles(row)
    y = interpreter.doubles(out)
    log_sum = shares(numbers, y, 0, len(parents))
    slopes = interpreter.row(len(parents))
    into = interpreter.doubles(slopes)
    for i, p in enumerate(parents):
        into[i] = numbers[i] if p is None else y[i]
    total = wide(log_sum, parents, slopes, "logsumexp")
    if modes.watched:
        value.observed(total, "logsumexp", tuple(xs))
    q = total if total._requires_grad else None
    found = []
    for i, p in enumerate(parents):
        v = value.node(y[i], p, into[i], q, log_sum if q is None else -y[i], "softmax")
        found.append(value.observed(v, "softmax", (xs[i], total)) if modes.watched else v)
    return found


def values(numbers, requires_grad):
    """A leaf for each of these floats."""
    return [value.Value(x, requires_grad=requires_grad) for x in numbers]


def numbers(xs):
    """The numbers of these Values, and numbers, as a list of floats."""
    return [value.as_number(x, "numbers") for x in xs]


def same(xs, ys):
    """Whether two lists hold the same objects."""
    return interpreter.same_items(xs, ys)


def split(params):
    """The Values among parameters, and the others."""
    found = []
    others = []
    for p in params:
        if isinstance(p, value.Value):
            found.append(p)
        else:
            others.append(p)
    return found, others


def read_columns(vs, x, g):
    """Write the numbers of Values into x and their gradients into g, arrays; returns the places of
    those that have no gradient."""
    lacking = []
    for i, v in enumerate(vs):
        x[i] = v._data
        g[i] = v._grad
        if v._requires_grad != 2 and not value.has_grad(v):
            lacking.append(i)
    return lacking


def write_column(vs, x):
    """Make the numbers of an array those of the Values."""
    for i, v in enumerate(vs):
        v._data = float(x[i])


def clear_grads(vs, none):
    """Make the gradients 0.0; with `none` they count as none yet."""
    for v in vs:
        v._grad = 0.0
        if none and v._requires_grad:
            v._requires_grad = 1
