"""Value: one number in a graph, and the walk back through a graph of such numbers.

A node keeps two parents and two slopes, the partial derivatives by each, as plain floats: that is
all that `backward` needs. The few nodes that carry more (a label's hook, a Function's ctx, more
than two parents) keep it in an `Extra`. Compiled, this file becomes engine_fast.value.
"""

try:
    from engine import nocython as cython
except ImportError:
    import cython

import itertools
import threading
import warnings
from numbers import Real
from operator import eq, ge, gt, le, lt
from types import SimpleNamespace

import numpy as np

from engine import interpreter, modes, rules, special

# Rules that pass nothing where their slope is 0, by name; the registry fills it.
selections = set()
links = SimpleNamespace()


def connect(**functions):
    """Tie the knots, as `links`, that the import order leaves open; called once, by the package.

    general(v, gradient, retain_graph, inputs): the backward that the scalar walk leaves.
    lookup(v, name): attributes that the class does not have. by_hand(v, parents, slopes): nodes
    that programs make themselves. saved(v): pickles. forget(v, name): `del v.name`.
    ufunc(...): NumPy's functions; elementary(name, operands): those of `elementary`.
    describe(x): x and the cure, for an error. watch(what, v, more): tells who records a program.
    """
    links.__dict__.update(functions)


@cython.freelist(1024)
@cython.cclass
class Extra:
    """What the few nodes keep that are more than an operation of one or two operands.

    op: the operation's name, or None. parents, slopes: those of an operation of many operands, a
    list and a row, as in `node`; seen, walk: how many of them the walk of that number has seen.
    ctx, index: the Function call this is an output of. push: the user's own `_backward`.
    hooks: the functions called with the gradient. attributes: the user's own, by name.
    """

    __slots__ = "attributes ctx hooks index op parents push seen slopes walk".split()

    def __init__(self, op=None):
        self.op = op
        self.parents = self.slopes = None
        self.ctx = self.push = self.hooks = self.attributes = None
        self.index = self.seen = self.walk = 0

    def pairs(self):
        """The operands of many: each parent, or None, with its slope, or number."""
        if not self.parents:
            return []
        slopes = interpreter.doubles(self.slopes)
        return [(p, slopes[i]) for i, p in enumerate(self.parents)]

    def runs_user_code(self):
        """Whether the walk meets code of the user's here, which needs the general walk."""
        return self.ctx is not None or self.push is not None or bool(self.hooks)


def is_number(x):
    """Whether x is one real number: Python's, NumPy's, or a fraction."""
    return type(x) is float or type(x) is int or isinstance(x, (float, Real))


def as_float(x, where):
    """The one way for a number into a Value; `where` names the place in the error."""
    if type(x) is float:
        return x
    if is_number(x) or (isinstance(x, np.ndarray) and x.shape == ()):
        return float(x)
    raise TypeError(f"{where} needs a number; got {links.describe(x)}")


def as_number(x, where):
    """The number that x is, or that the Value x holds."""
    return watch("read", x)._data if isinstance(x, Value) else as_float(x, where)


def watch(what, v, more=None):
    """Tell engine.compile, where it records, what is done to v; returns v."""
    if modes.watched:
        links.watch(what, v, more)
    return v


def node(y, a, slope_a, b, slope_b, op):
    """The result y of an operation; a parent that needs no gradient is None, its number then
    stands in the place of its slope."""
    v = interpreter.bare(Value)
    v._data = y
    v._grad = 0.0
    v._requires_grad = a is not None or b is not None
    v._mark = 0
    v._a = a
    v._b = b
    v._slope_a = slope_a
    v._slope_b = slope_b
    v._extra = op if v._requires_grad else None
    if cython.compiled and (tracked(a) or tracked(b)):
        interpreter.track(v)
    return v


def tracked(v):
    """Whether the garbage collector looks at v, and so must at what is made from it."""
    return v is not None and interpreter.is_tracked(v)


def unary(a, value, slope, op):
    """The operation of one operand whose value and slope these two functions are."""
    x = a._data
    y = value(x)
    v = node(y, a if a._requires_grad else None, slope(x, y), None, 0.0, op)
    return observed(v, op, (a,)) if modes.watched else v


def option(a, number, value, slope, op):
    """The operation of one operand and a number, which has no slope."""
    x = a._data
    k = as_float(number, op)
    y = value(x, k)
    v = node(y, a if a._requires_grad else None, slope(x, k, y), None, k, op)
    return observed(v, op, (a, k)) if modes.watched else v


def binary(a, b, value, slopes, op):
    """The operation of two operands, one of which may be a number; NotImplemented for others."""
    if type(a) is not type(b) and not (isinstance(a, Value) and isinstance(b, Value)):
        return with_number(a, b, value, slopes, op)
    p = a
    q = b
    x = p._data
    z = q._data
    y = value(x, z)
    slope_a, slope_b = slopes(x, z, y)
    if not p._requires_grad:
        p = None
        slope_a = x
    if not q._requires_grad:
        q = None
        slope_b = z
    v = interpreter.bare(Value)  # as in `node`, without the call: most nodes are made here
    v._data = y
    v._grad = 0.0
    v._mark = 0
    v._a = p
    v._b = q
    v._slope_a = slope_a
    v._slope_b = slope_b
    v._requires_grad = True
    v._extra = op
    if p is None and q is None:
        v._requires_grad = False
        v._extra = None
    if cython.compiled and (tracked(p) or tracked(q)):
        interpreter.track(v)
    return observed(v, op, (a, b)) if modes.watched else v


def with_number(a, b, value, slopes, op):
    """`binary` where an operand is no Value."""
    p = a if isinstance(a, Value) else None
    q = b if isinstance(b, Value) else None
    if (p is None and not is_number(a)) or (q is None and not is_number(b)):
        return NotImplemented
    x = float(a) if p is None else p._data
    z = float(b) if q is None else q._data
    y = value(x, z)
    slope_a, slope_b = slopes(x, z, y)
    if p is not None and p._requires_grad:
        v = node(y, p, slope_a, None, z, op)
    elif q is not None and q._requires_grad:
        v = node(y, None, x, q, slope_b, op)
    else:
        v = node(y, None, x, None, z, op)
    return observed(v, op, (a, b)) if modes.watched else v


def named(a, b, value, slopes, op):
    """`binary` as a method of that name, where an operand of another kind may be a Tensor."""
    v = binary(a, b, value, slopes, op)
    return links.lookup(a, op)(b) if v is NotImplemented else v


def observed(v, op, operands):
    """What the modes of this thread make of a new node."""
    if not modes.is_grad_enabled():
        v._requires_grad = False
        v._a = v._b = v._extra = None
    for observer in modes.observers():
        observer(v, op, operands)
    return v


def extra_of(v):
    """The Extra of v, made if it has none yet."""
    if not isinstance(v._extra, Extra):
        v._extra = Extra(v._extra)
    return v._extra


def op_of(v):
    """The name of the operation that made v; None for a leaf."""
    extra = v._extra
    return extra.op if isinstance(extra, Extra) else extra


def compare(relation, v, x):
    """Whether the number of v stands in the relation to x, a Value or a number."""
    if isinstance(x, Value) or is_number(x):
        y = x._data if isinstance(x, Value) else float(x)
        return relation(watch("compared", v, (relation, x))._data, y)
    return NotImplemented


@cython.trashcan(True)
@cython.cclass
class Value:
    """A number in a graph: a double that knows what it was made of.

    data: the number. parents with slopes, one number each, make a node by hand, as microgpt does;
    parents with the name of an operation one whose `_backward` the program sets, as micrograd
    does. requires_grad: whether `backward` is to reach it. label: a name for drawings.

    `grad` is 0.0 before any backward; a leaf's adds up over backwards, an inner node's is that of
    the last. Raises TypeError for what is not one number.
    """

    __slots__ = (
        "__dict__ _data _grad _flight _a _b _slope_a _slope_b _extra _mark _requires_grad"
    ).split()

    def __init__(self, data, parents=(), slopes=(), *, requires_grad=True, label=""):
        watch("made", self)
        self._data = as_float(data, "Value")
        self._grad = self._slope_a = self._slope_b = 0.0
        self._mark = 0
        self._a = self._b = self._extra = None
        self._requires_grad = bool(requires_grad)
        if parents:
            links.by_hand(self, tuple(parents), slopes)
            interpreter.track(self)
        if label:
            self.label = label

    @property
    def data(self):
        """The number, a float. Assigning one changes this node alone, not what was made of it."""
        return watch("read", self)._data

    @data.setter
    def data(self, x):
        watch("written", self)._data = as_float(x, "Value.data")

    @property
    def grad(self):
        """The derivative by this node: a float, 0.0 before any backward. Assigning None means
        that there is none yet."""
        return watch("graded", self)._grad

    @grad.setter
    def grad(self, x):
        watch("graded", self)._grad = 0.0 if x is None else as_float(x, "Value.grad")
        if self._requires_grad:
            self._requires_grad = 1 + (x is not None)

    @property
    def requires_grad(self):
        """Whether backward reaches this node; True for a Value as it is made."""
        return bool(self._requires_grad)

    @requires_grad.setter
    def requires_grad(self, x):
        if not self.is_leaf and not x:
            raise RuntimeError(
                "requires_grad = False needs a leaf; this Value is the result of "
                f"{op_of(self)}: use v.detach() for a Value outside the graph"
            )
        watch("written", self)._requires_grad = 1 + has_grad(self) if x else 0

    @property
    def is_leaf(self):
        """Whether this Value was made by a program and not by an operation."""
        return self._extra is None or op_of(self) is None

    @property
    def _backward(self):
        extra = self._extra
        if isinstance(extra, Extra) and extra.push:
            return extra.push
        return links.lookup(self, "_backward")

    @_backward.setter
    def _backward(self, push):
        extra_of(self).push = push
        interpreter.track(self)

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        """Set `.grad` of all nodes below this one to the derivative of this one by them.

        Leaves add to theirs, inner nodes set theirs afresh. gradient: what to start from, 1.0.
        Raises RuntimeError when this Value does not require grad, and for create_graph=True:
        engine.autograd.grad(v, inputs, create_graph=True) returns gradients with a graph.
        """
        if create_graph:
            raise RuntimeError(
                "Value.backward: a .grad is a number and can hold no graph; for derivatives of "
                "derivatives use engine.autograd.grad(v, inputs, create_graph=True)"
            )
        if not self._requires_grad:
            raise RuntimeError(
                "Value.backward: this Value does not require grad, as nothing it was made of "
                "does, or it was made under no_grad or by detach()"
            )
        g = 1.0 if gradient is None else as_number(gradient, "Value.backward: gradient")
        walks = inputs is None and not modes.observers()
        if not walks or not interpreter.alone(_free, walk, self, g, wait=False):
            links.general(self, g, retain_graph, inputs)

    def item(self):
        """The number, a float."""
        return self.data

    def detach(self):
        """A Value of the same number outside the graph."""
        return watch("detached", Value(self._data, requires_grad=False), self)

    def requires_grad_(self, requires_grad=True):
        """Set requires_grad; returns this Value."""
        self.requires_grad = requires_grad
        return self

    def zero_grad(self):
        """Forget the gradient: `.grad` is 0.0 and counts as none yet."""
        self.grad = None

    def __add__(self, b): return binary(self, b, rules.add, rules.add_slopes, "add")
    def __radd__(self, a): return binary(a, self, rules.add, rules.add_slopes, "add")
    def __sub__(self, b): return binary(self, b, rules.sub, rules.sub_slopes, "sub")
    def __rsub__(self, a): return binary(a, self, rules.sub, rules.sub_slopes, "sub")
    def __mul__(self, b): return binary(self, b, rules.mul, rules.mul_slopes, "mul")
    def __rmul__(self, a): return binary(a, self, rules.mul, rules.mul_slopes, "mul")
    def __truediv__(self, b): return binary(self, b, rules.div, rules.div_slopes, "div")
    def __rtruediv__(self, a): return binary(a, self, rules.div, rules.div_slopes, "div")
    def __rpow__(self, a): return binary(a, self, special.pow, special.pow_slopes, "pow")
    def __neg__(self): return unary(self, rules.neg, rules.neg_slope, "neg")
    def __abs__(self): return unary(self, special.abs, special.abs_slope, "abs")
    def __pos__(self): return self

    def __pow__(self, b):
        if isinstance(b, Value) or not is_number(b):
            return binary(self, b, special.pow, special.pow_slopes, "pow")
        return option(self, b, rules.pow_number, rules.pow_number_slope, "pow_number")

    # One line for each rule.
    def abs(self): return unary(self, special.abs, special.abs_slope, "abs")
    def exp(self): return unary(self, rules.exp, rules.exp_slope, "exp")
    def expm1(self): return unary(self, special.expm1, special.expm1_slope, "expm1")
    def log(self): return unary(self, rules.log, rules.log_slope, "log")
    def log1p(self): return unary(self, special.log1p, special.log1p_slope, "log1p")
    def log2(self): return unary(self, special.log2, special.log2_slope, "log2")
    def log10(self): return unary(self, special.log10, special.log10_slope, "log10")
    def sqrt(self): return unary(self, special.sqrt, special.sqrt_slope, "sqrt")
    def rsqrt(self): return unary(self, special.rsqrt, special.rsqrt_slope, "rsqrt")
    def square(self): return unary(self, special.square, special.square_slope, "square")
    def sin(self): return unary(self, special.sin, special.sin_slope, "sin")
    def cos(self): return unary(self, special.cos, special.cos_slope, "cos")
    def tan(self): return unary(self, special.tan, special.tan_slope, "tan")
    def asin(self): return unary(self, special.asin, special.asin_slope, "asin")
    def acos(self): return unary(self, special.acos, special.acos_slope, "acos")
    def atan(self): return unary(self, special.atan, special.atan_slope, "atan")
    def sinh(self): return unary(self, special.sinh, special.sinh_slope, "sinh")
    def cosh(self): return unary(self, special.cosh, special.cosh_slope, "cosh")
    def tanh(self): return unary(self, rules.tanh, rules.tanh_slope, "tanh")
    def asinh(self): return unary(self, special.asinh, special.asinh_slope, "asinh")
    def acosh(self): return unary(self, special.acosh, special.acosh_slope, "acosh")
    def atanh(self): return unary(self, special.atanh, special.atanh_slope, "atanh")
    def sigmoid(self): return unary(self, rules.sigmoid, rules.sigmoid_slope, "sigmoid")
    def softplus(self): return unary(self, special.softplus, special.softplus_slope, "softplus")
    def silu(self): return unary(self, special.silu, special.silu_slope, "silu")
    def gelu(self): return unary(self, special.gelu, special.gelu_slope, "gelu")
    def erf(self): return unary(self, special.erf, special.erf_slope, "erf")
    def relu(self): return unary(self, rules.relu, rules.relu_slope, "relu")
    def atan2(self, b): return named(self, b, special.atan2, special.atan2_slopes, "atan2")
    def maximum(self, b): return named(self, b, special.maximum, special.maximum_slopes, "maximum")
    def minimum(self, b): return named(self, b, special.minimum, special.minimum_slopes, "minimum")

    def reciprocal(self):
        return unary(self, special.reciprocal, special.reciprocal_slope, "reciprocal")

    def leaky_relu(self, negative_slope=0.01):
        return option(
            self, negative_slope, special.leaky_relu, special.leaky_relu_slope, "leaky_relu"
        )

    def elu(self, alpha=1.0):
        return option(self, alpha, special.elu, special.elu_slope, "elu")

    def clamp_min(self, min):
        return option(self, min, special.clamp_min, special.clamp_min_slope, "clamp_min")

    def clamp_max(self, max):
        return option(self, max, special.clamp_max, special.clamp_max_slope, "clamp_max")

    def clamp(self, min=None, max=None):
        """Held between min and max; the gradient passes where min <= v <= max."""
        v = self if min is None else self.clamp_min(min)
        return v if max is None else v.clamp_max(max)

    def __eq__(self, b): return self is b if isinstance(b, Value) else compare(eq, self, b)
    def __lt__(self, b): return compare(lt, self, b)
    def __le__(self, b): return compare(le, self, b)
    def __gt__(self, b): return compare(gt, self, b)
    def __ge__(self, b): return compare(ge, self, b)
    def __hash__(self): return id(self) >> 4

    def __float__(self):
        if self._requires_grad:
            warnings.warn(
                "float(v), and so math.exp(v), leaves the graph: the result has no gradient; "
                "use engine.exp(v) and the like, or v.data where only the number is wanted",
                UserWarning,
                stacklevel=1 if cython.compiled else 2,
            )
        return self.data

    def __format__(self, spec):
        return format(self.data, spec) if spec else str(self)

    def __repr__(self):
        return f"Value(data={self.data}, grad={self._grad})"

    def __reduce__(self):
        return links.saved(self)

    def _elementary_(self, name, operands):
        return links.elementary(name, operands)

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return links.ufunc(ufunc, method, inputs, options)

    def __getattr__(self, name):
        extra = self._extra if name != "_extra" else None
        if isinstance(extra, Extra) and extra.attributes and name in extra.attributes:
            return extra.attributes[name]
        return links.lookup(self, name)

    def __setattr__(self, name, value):
        try:
            interpreter.set_attribute(self, name, value)
        except AttributeError:
            if hasattr(Value, name):
                raise
            extra = extra_of(self)
            extra.attributes = {**(extra.attributes or {}), name: value}
            if not isinstance(value, (Real, str)):
                interpreter.track(self)

    def __delattr__(self, name):
        if not links.forget(self, name):
            interpreter.delete_attribute(self, name)


interpreter.pool(Value)


# The walk back. Gradients on their way lie in the nodes (`_flight`), and so does the number of the
# walk that saw them last. It runs only where no code of the user's can, one at a time: whoever
# comes second, another thread or a signal handler, takes the general walk, whose state is its own.
_free = threading.RLock()
_walks = itertools.count(1)


def walk(root, gradient):
    """Set the gradients of all nodes below root; False, and nothing done, where user code runs."""
    order, leaves = [], []
    if not arrange(order, leaves, root, next(_walks)):
        return False
    root._flight = gradient
    while order:  # in parts: a Ctrl-C is answered between two, and a part stays in the cache
        interpreter.check_signals()
        push_back(interpreter.cut(order, 1000))
    keep_all(leaves)
    return True


def arrange(order, leaves, root, now):
    """Append root and all below it: leaves to `leaves`, and the others to `order`, parents before
    children: depth first, first parent first. False where a node would run user code."""
    waiting = []
    v = root
    v._mark = now
    while True:
        if cython.compiled:
            interpreter.look_for_signals()
        p = v._a
        if p is None or p._mark == now:
            p = v._b
            if p is None or p._mark == now:
                p = None
                if type(v._extra) is Extra:
                    if v._extra.runs_user_code():
                        return False
                    p = further(v._extra, now, leaves)
                if p is None:
                    (order if v._a is not None or has_parents(v) else leaves).append(v)
                    if not waiting:
                        return True
                    v = waiting.pop()
                    continue
        p._mark = now
        p._flight = 0.0
        if ((p._a is None or p._a._mark == now) and (p._b is None or p._b._mark == now)
                and type(p._extra) is not Extra):
            (order if p._a is not None or p._b is not None else leaves).append(p)
        else:
            waiting.append(v)
            v = p


def has_parents(v):
    """Whether v was made of nodes that need a gradient."""
    return v._a is not None or v._b is not None or (type(v._extra) is Extra and v._extra.parents)


def further(extra, now, leaves):
    """The next parent of many that is new to this walk, but for leaves; None after the last."""
    if extra.walk != now:
        extra.walk = now
        extra.seen = 0
    parents = extra.parents or []
    for i in range(extra.seen, len(parents)):
        if cython.compiled:
            interpreter.look_for_signals()
        p = parents[i]
        if p is not None and p._mark != now:
            if p._a is not None or p._b is not None or p._extra is not None:
                extra.seen = i + 1
                return p
            p._mark = now
            p._flight = 0.0
            leaves.append(p)
    extra.seen = len(parents)
    return None


def push_back(order):
    """Send each node's gradient on to its parents, children before parents."""
    for v in reversed(order):
        g = v._flight
        if v._a is not None:
            c = g * v._slope_a
            v._a._flight += c if c == c else contribution(v, g, v._slope_a)
        if v._b is not None:
            c = g * v._slope_b
            v._b._flight += c if c == c else contribution(v, g, v._slope_b)
        elif v._a is None:
            spread(v, g, v._extra)
        v._grad = g
        v._requires_grad = 2


def spread(v, g, extra):
    """Send the gradient g of v on to its parents, which are many."""
    slopes = interpreter.doubles(extra.slopes)
    for i, p in enumerate(extra.parents):
        if p is not None:
            c = g * slopes[i]
            p._flight += c if c == c else contribution(v, g, slopes[i])


def contribution(v, gradient, slope):
    """What v passes to a parent; a selection passes nothing where its slope is 0."""
    c = gradient * slope
    if c != c and slope == 0.0 and op_of(v) in selections:
        return 0.0
    return c


def keep_all(leaves):
    """Leaves add what has arrived to their gradients, 0.0 before any; others set theirs. One that
    stopped requiring a gradient after the graph was made gets none."""
    for v in leaves:
        if not v._requires_grad:
            continue
        if v._extra is None or v.is_leaf:
            v._grad += v._flight
        else:
            v._grad = v._flight
        v._requires_grad = 2


def has_grad(v):
    """Whether v has a gradient; one that needs none has it where a program assigned one."""
    return v._requires_grad == 2 or v._grad != 0.0
