"""Tensor: a batch of numbers, a NumPy array that knows what it was made of.

Elementwise operations come from the rules; every other operation is a class in `ops`, which adds
its methods here. Views and changes in place are kept right by `views`.
"""

import math
import operator as operator_module
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from engine import (
    differentiation,
    dtypes,
    elementary,
    hooks,
    interpreter,
    kernels,
    modes,
    nodes,
    promotion,
    value,
    views,
)
from engine.attention import warn
from engine.function import Function, FunctionNode, finish, new_node
from engine.nodes import FREED, Node, Value, links
from engine.promotion import FLOAT16, FLOAT32, FLOAT64, in_single
from engine.quiet import quiet
from engine.registry import RULES, SYNONYMS, Rule, on_rule
from engine.views import check as check_change, link as link_view

ndarray = np.ndarray
BOOL = dtypes.bool.numpy
F = TypeVar("F", bound=Callable[..., Any])

# Rules that are one function of NumPy on arrays; those that have a kernel of their own.
LOOPS: dict[str, kernels.Elementwise] = {
    **{name: kernels.elementwise(getattr(np, name)) for name in ("exp", "log", "tanh", "sqrt")},
    "add": kernels.elementwise(np.add),
    "sub": kernels.elementwise(np.subtract),
    "mul": kernels.elementwise(np.multiply),
    "div": kernels.elementwise(np.divide),
    "neg": kernels.elementwise(np.negative),
    "abs": kernels.elementwise(np.abs),  # np.fabs makes floats of integers
    "square": kernels.elementwise(np.square),
    "pow_number": kernels.elementwise(np.power),
    "clamp_min": kernels.elementwise(np.maximum),
    "clamp_max": kernels.elementwise(np.minimum),
}
FORWARD: dict[str, Callable[..., Any]] = {"relu": lambda a: kernels.relu_forward(a)}
# Of g and what was saved, as arrays: the operands and, last, the result.
BACKWARD: dict[str, Callable[..., Any]] = {
    "relu": lambda g, saved: kernels.relu_backward(g, saved[1]),
    "pow_number": lambda g, saved: kernels.power_backward(g, saved[0], saved[1]),
}


class StandIn:
    """Stands for an operand: whatever is made of it knows so, and nothing is computed.

    Given these for all operands, a slope tells what it is made of, and so what a node must save;
    given in place of what was not saved, it absorbs the slopes that are not needed.
    """

    __array_ufunc__ = None

    def __init__(self, names: frozenset[int]):
        self.names = names

    def _elementary_(self, name: str, operands: Any) -> "StandIn":
        return StandIn(frozenset().union(*(x.names for x in operands if isinstance(x, StandIn))))

    def _with(self, *others: Any) -> "StandIn":
        return self._elementary_("", (self, *others))

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __neg__ = _with


MISSING = StandIn(frozenset())


def needs(rule: Any) -> list[int]:
    """For each slope of the rule, the places of the operands (and, last, of the result) that it
    is made of, as bits: none for add, the other operand for mul, the result for exp."""
    slopes = rule.slopes(*(StandIn(frozenset([i])) for i in range(rule.arity + 1)))
    names = [s.names if isinstance(s, StandIn) else () for s in slopes]
    return [sum(1 << i for i in places) for places in names]


def constants(rule: Any, needed: list[int]) -> Any:
    """The slopes of a rule where they are numbers, as those of add; None where they are not."""
    return None if any(needed) else rule.slopes(*[MISSING] * (rule.arity + 1))


class Plan:
    """What operations on Tensors ask of a rule, found once."""

    def __init__(self, rule: Any):
        self.rule = rule
        self.name_in_place = f"{rule.name}_"
        self.loop = LOOPS.get(rule.name)
        self.forward = FORWARD.get(rule.name)
        self.backward = BACKWARD.get(rule.name)
        self.keeps_integers = rule.name in promotion.KEEPS_INTEGERS
        self.selection = rule.selection
        self.kind: Any = None
        self.needs: Any = None
        self.constants: Any = None

    def compute(self, arrays: tuple[Any, ...]) -> Any:
        """The rule's value."""
        if self.loop is not None:
            return self.loop.run(arrays[0], arrays[1] if len(arrays) == 2 else None)
        if self.forward is not None:
            return self.forward(*arrays)
        with quiet():
            return as_ndarray(self.rule.value(*arrays))

    def compute_in(self, wanted: Any, arrays: tuple[Any, ...]) -> Any:
        """The rule's value in this dtype."""
        name = self.rule.name
        if wanted.kind != "f" and name in ("pow", "pow_number"):
            return promotion.whole_powers(*arrays)
        if wanted != FLOAT16:
            return self.compute(arrays)
        with quiet():
            return self.compute(tuple(promotion.beside_float16(name, list(arrays)))).astype(wanted)

    def node(self) -> Any:
        """A new node."""
        if self.kind is None:
            self.needs, self.kind = needs(self.rule), node_class(self.rule)
            self.constants = constants(self.rule, self.needs)
        return interpreter.create(self.kind)


def plan_of(rule: Any) -> Plan:
    """The plan of a rule, made if it has none yet."""
    plan: Any = rule.plan
    if plan is None:
        plan = rule.plan = Plan(rule)
    return plan


class RuleBase(nodes.NodeBase):
    """What the node of a rule does."""

    plan: Any

    def differentiate(self, grads: list[Any]) -> tuple[Any, ...]:
        if self._saved is None:
            raise RuntimeError(FREED.format(self.name()))
        if grads[0] is None:  # a pre-hook of the node gave none
            return (None,) * len(self._edges)
        return slopes_times(self, self.plan, grads[0], nodes.unpacked(self._saved, self))

    def release(self) -> None:
        for x in self._saved or ():
            if isinstance(x, nodes.Saved):
                self._saved = None
                break

    def _argument(self, i: int) -> str:
        return str(self.plan.rule.operands[i])


class RuleNode(RuleBase, Node):
    """The node of a rule applied to Tensors; its class is named as PyTorch's, MulBackward0."""

    rule: Rule


def slopes_times(node: Any, plan: Plan, g: Any, saved: tuple[Any, ...]) -> tuple[Any, ...]:
    """The gradients of a rule's operands, given what was saved of them and of the result."""
    if plan.constants is not None:
        slopes = plan.constants
    elif not modes.is_grad_enabled():
        operands = [nodes.array_of(x) if isinstance(x, nodes.TensorBase) else x for x in saved]
        if node._shapes[0][1] is FLOAT16:
            g, operands = make(in_single(nodes.array_of(g))), [in_single(x) for x in operands]
        if plan.backward is not None:
            return (make(plan.backward(nodes.array_of(g), operands)),)
        slopes = plan.rule.slopes(*operands)
    else:
        slopes = plan.rule.slopes(*[as_floating(x, node) for x in saved])
    given: list[Any] = [None] * len(node._edges)
    for i, slope in enumerate(slopes):
        if node._edges[i] is not None:
            given[i] = times(g, slope, plan.selection)
    return tuple(given)


def as_floating(x: Any, node: Any) -> Any:
    """An operand of integers in the dtype of the node's result, which its slopes are to keep."""
    if isinstance(x, nodes.TensorBase) and nodes.array_of(x).dtype.kind != "f":
        return make(nodes.array_of(x).astype(node._shapes[0][1]))
    return x


def times(g: Any, slope: Any, selection: bool) -> Any:
    """g * slope; a selection passes nothing where its slope is 0, not even inf or nan."""
    if type(slope) is float and slope == 1.0:
        return g
    if isinstance(slope, nodes.TensorBase) or modes.is_grad_enabled():
        chosen = selection and isinstance(slope, nodes.TensorBase)
        return (slope == 0.0).where_else(0.0, g * slope) if chosen else g * slope
    c = LOOPS["mul"].run(nodes.array_of(g), slope)
    if selection and not np.isfinite(c.sum()):
        c = np.where(slope == 0.0, 0.0, c)
    return make(as_ndarray(c))


def as_ndarray(x: Any) -> Any:
    """x as an array: what NumPy returns of 0-dim arrays is none."""
    return x if type(x) is ndarray else np.asarray(x)


def make(array: Any) -> "Tensor":
    """A Tensor of this very array, outside any graph."""
    t = interpreter.new(nodes.TensorBase, Tensor)
    t._array = array
    t._requires_grad = False
    t._output_nr = 0
    t._grad = t._node = t._counter = t._hooks = t._base = t._view = None
    return t


def apply_rule(rule: Rule, operands: tuple[Any, ...]) -> "Tensor":
    """The rule's value on tensors and numbers, recorded where a gradient is wanted."""
    return apply_plan(plan_of(rule), operands)


def apply_plan(plan: Plan, operands: tuple[Any, ...]) -> "Tensor":
    """The value of the plan's rule."""
    rule, tensors = plan.rule, as_operands(operands)
    arrays = of_one_dtype(rule, tensors)
    try:
        if arrays is not None:
            out = make(plan.compute(arrays))
        else:
            wanted = promotion.promoted(rule.name, plan.keeps_integers, tensors)
            arrays = tuple([as_array(x, wanted, rule) for x in tensors])
            out = make(plan.compute_in(wanted, arrays))
    except ValueError:
        refuse_unequal_shapes(rule.name, arrays)
        raise
    if modes.is_grad_enabled() and nodes.any_needs_grad(tensors):
        record(plan, tensors, arrays, out)
    for observer in modes.observers():
        observer(out, rule.name, tensors)
    return out


def refuse_unequal_shapes(name: str, arrays: tuple[Any, ...]) -> None:
    """Refuse operands whose shapes do not broadcast."""
    a, b = (np.shape(x) for x in (*arrays, 0)[:2])
    for at in range(1, min(len(a), len(b)) + 1):
        if a[-at] != b[-at] and 1 not in (a[-at], b[-at]):
            place = max(len(a), len(b)) - at
            raise RuntimeError(
                f"{name}: The size of tensor a ({a[-at]}) must match the size of tensor b "
                f"({b[-at]}) at non-singleton dimension {place}; got shapes {a} and {b}"
            ) from None


def as_operands(operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """The operands with each Value as a 0-dim tensor of the dtype of the others."""
    for x in operands:
        if isinstance(x, value.Value):
            kinds = [t._array.dtype for t in operands if isinstance(t, nodes.TensorBase)]
            floating = kinds[0] if kinds[0].kind == "f" else dtypes.get_default_dtype().numpy
            tensors = [t.as_tensor(floating) if isinstance(t, Value) else t for t in operands]
            return tuple(tensors)
    return operands


def of_one_dtype(rule: Any, operands: tuple[Any, ...]) -> Any:
    """Arrays and numbers for the rule where every tensor is of float32, or of float64; None where
    that is not so."""
    wanted = None
    for x in operands:
        if isinstance(x, nodes.TensorBase):
            kind = interpreter.dtype_of(nodes.array_of(x))
            wanted = kind if wanted is None else wanted
            if kind is not wanted or not (kind is FLOAT32 or kind is FLOAT64):
                return None
    arrays = interpreter.places(len(operands))
    for i, x in enumerate(operands):
        tensor = isinstance(x, nodes.TensorBase)
        interpreter.put(arrays, i, nodes.array_of(x) if tensor else as_float(x, rule))
    return interpreter.filled(arrays)


def as_float(x: Any, rule: Any) -> float:
    """A number beside floating tensors."""
    if type(x) is float:
        return x
    if type(x) is int and -(2**62) < x < 2**62:
        return float(x)
    if rule.name == "sub":
        promotion.refuse_bools([dtypes.of_number(x)])
    return float(value.as_float(dtypes.within_64_bits(x), rule.name))


def as_array(x: Any, wanted: Any, rule: Any) -> Any:
    """The array of a tensor in this dtype; a number as Python's float or as NumPy's integer."""
    if isinstance(x, nodes.TensorBase):
        array = nodes.array_of(x)
        return array if array.dtype is wanted else promotion.cast(array, wanted, rule)
    return as_float(x, rule) if wanted.kind == "f" else promotion.as_integer(x, wanted, rule.name)


def record(plan: Plan, operands: tuple[Any, ...], arrays: tuple[Any, ...], out: "Tensor") -> None:
    """Make out the result of a node that keeps what the needed slopes are made of."""
    node, n = plan.node(), len(operands)
    edges, keep = interpreter.places(len(plan.needs)), 0
    for i, need in enumerate(plan.needs):
        edge = nodes.edge_of(operands[i])
        interpreter.put(edges, i, edge)
        keep |= 0 if edge is None else need
    saved: list[Any] = [MISSING] * (n + 1)
    for i, x in enumerate(operands):
        if keep >> i & 1:
            saved[i] = nodes.Saved(x, None, False) if isinstance(x, nodes.TensorBase) else arrays[i]
    if keep >> n & 1:
        saved[n] = nodes.Saved(out, 0, False)
    node.plan, node._saved, node._shapes = plan, saved, [nodes.shape_of(out)]
    node._edges = interpreter.filled(edges)
    nodes.join(out, node, 0)


# PyTorch numbers the overloads of an operation; nearly all nodes are number 0.
OVERLOAD = {"pow": "PowBackward1", "pow_number": "PowBackward0", "maximum": "MaximumBackward0"}


def node_class(rule: Any) -> Any:
    """The class of the rule's nodes."""
    words = "".join(word.capitalize() for word in rule.name.split("_"))
    return type(OVERLOAD.get(rule.name, f"{words}Backward0"), (RuleNode,), {"rule": rule})


def constant(x: Any) -> "Tensor":
    """A Tensor outside any graph of a number (float64), an array or a list."""
    array = np.asarray(x)
    return make(array.astype(dtypes.of(array.dtype).numpy, copy=False))


def operand(x: Any) -> Any:
    """x as an operand of an operator: a tensor, a Value or a number; NotImplemented otherwise."""
    if isinstance(x, (nodes.TensorBase, value.Value)) or type(x) in (float, int):
        return x
    if value.is_number(x):
        return x
    if isinstance(x, np.bool_):
        return bool(x)
    return constant(x) if isinstance(x, np.ndarray) else NotImplemented


def operator(name: str, reflected: bool = False) -> Callable[[Any, Any], "Tensor"]:
    """The method of an operator: the rule `name` on self and another operand."""
    plan = plan_of(RULES[name])

    def method(self: Any, other: Any) -> Any:
        other = operand(other)
        if other is NotImplemented:
            return other
        return apply_plan(plan, (other, self) if reflected else (self, other))

    return method


def comparison(name: str) -> Callable[[Any, Any], Any]:
    """The method of a comparison: a bool tensor, outside any graph."""
    loop = kernels.elementwise(getattr(np, name))

    def method(self: Any, other: Any) -> Any:
        other = operand(other)
        if other is NotImplemented:
            return other
        if isinstance(other, nodes.TensorBase):
            other = nodes.array_of(other)
        elif isinstance(other, value.Value):
            other = other.data
        return make(loop.run(nodes.array_of(self), other))

    return method


class Size(tuple[int, ...]):
    """The shape of a Tensor: a tuple, printed as torch.Size is."""

    __slots__ = ()

    def numel(self) -> int:
        """The number of elements."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"engine.Size({list(self)})"


def holders(g: Any) -> tuple[int, int]:
    """How many references there are to a gradient, and to its array."""
    return sys.getrefcount(g), sys.getrefcount(g._array)


class FirstLeaf(nodes.TensorBase):
    """Receives one gradient that nobody else holds, and so tells `own` how many references the
    walk itself makes: that differs between the builds."""

    _grad = _hooks = None
    _requires_grad = True
    found = (0, 0)

    def _sum(self, g: Any, create_graph: bool) -> Any:
        FirstLeaf.found = holders(g)
        return g


def own(g: Any, leaf: Any, held: tuple[int, int]) -> Any:
    """The array of a gradient that has just arrived, copied if anybody else may hold it, or if it
    does not lie in memory as the leaf's array does."""
    array = g._array
    alone = held[0] <= FirstLeaf.found[0] and held[1] <= FirstLeaf.found[1]
    flags = array.flags
    if alone and flags.owndata and flags.writeable and array.strides == leaf.strides:
        return array
    return copied_like(array, leaf)


def copied_like(array: Any, leaf: Any) -> Any:
    """A copy in the memory layout of the leaf, or row by row where the leaf has gaps."""
    out = np.empty_like(leaf)
    if out.strides != leaf.strides:
        out = np.empty(leaf.shape, leaf.dtype)
    try:
        np.copyto(out, array)
    except ValueError:
        raise RuntimeError(
            f"backward: a gradient of shape {array.shape} arrived at a leaf that had this shape in "
            f"the graph and was given the shape {leaf.shape} in place since"
        ) from None
    return out


class Tensor(nodes.TensorBase):
    """A batch of numbers of one dtype, in a graph where requires_grad is set.

    Tensor(2, 3) is uninitialised, of shape (2, 3) and the default dtype; Tensor([1, 2]) holds the
    numbers given; `engine.tensor` is the usual constructor. Names, defaults, results and
    exceptions are torch.Tensor's.
    """

    __slots__ = ()
    __module__ = "engine"

    if TYPE_CHECKING:  # methods that stand further right

        def __getattr__(self, name: str) -> Any: ...

    __getitem__: Any  # operators that the modules of `ops` add
    __setitem__: Any
    __matmul__: Any
    __rmatmul__: Any
    __floordiv__: Any
    __rfloordiv__: Any
    __mod__: Any
    __rmod__: Any
    __and__: Any
    __rand__: Any
    __or__: Any
    __ror__: Any
    __xor__: Any
    __rxor__: Any
    __invert__: Any
    _construct: ClassVar[Any]  # from `creation`

    def __new__(cls, *data: Any, device: Any = None) -> "Tensor":
        return cls._construct(data, device)

    # what it is

    @property
    def shape(self) -> "Size":
        """The sizes of the dimensions, as a tuple."""
        return Size(self._array.shape)

    @property
    def dtype(self) -> dtypes.dtype:
        """The kind of number held."""
        return dtypes.dtype.by_numpy[self._array.dtype]

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return int(self._array.ndim)

    @property
    def requires_grad(self) -> bool:
        """Whether backward reaches this tensor."""
        return nodes.wants_grad(self)

    @requires_grad.setter
    def requires_grad(self, x: bool) -> None:
        self.requires_grad_(x)

    @property
    def grad_fn(self) -> Any:
        """The node that made this tensor, None for a leaf."""
        return self._node if self._base is None else views.grad_fn(self)

    @property
    def output_nr(self) -> int:
        """Which output of grad_fn this is."""
        return self._output_nr

    @property
    def is_leaf(self) -> bool:
        """Whether this tensor was made by a program and not by recorded operations."""
        return self.grad_fn is None

    @property
    def _version(self) -> int:
        """How many changes in place this tensor, its views and its base have seen."""
        return nodes.version_of(self)

    @property
    def retains_grad(self) -> bool:
        """Whether an inner tensor keeps its gradient."""
        node = self.grad_fn
        table = None if node is None else node._hooks
        return table is not None and self._output_nr in table.retained

    # its gradient

    @property
    def grad(self) -> "Tensor | None":
        """The derivative by this tensor: None before any backward."""
        grad = nodes.grad_of(self)
        if grad is None and self._requires_grad and not (self.is_leaf or self.retains_grad):
            warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its "
                ".grad attribute won't be populated during autograd.backward(). If you indeed want "
                "it, use .retain_grad() on the non-leaf Tensor."
            )
        return grad

    @grad.setter
    def grad(self, g: "Tensor | None") -> None:
        if g is not None:
            self._check_grad(g)
        self._grad = g

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    def _check_grad(self, g: Any) -> None:
        if not isinstance(g, Tensor):
            raise TypeError(
                f"assigned grad expected to be a Tensor or None but got {type(g).__name__}; "
                "engine.tensor(...) makes one"
            )
        if g is self:
            raise RuntimeError("can't assign Variable as its own grad: use detach() or clone()")
        if g.shape != self.shape or g.dtype != self.dtype:
            raise RuntimeError(
                f"attempting to assign a gradient of size {list(g.shape)} and dtype {g.dtype}: "
                f"assigned grad has data of a different size or type; it needs shape "
                f"{list(self.shape)} and dtype {self.dtype}"
            )

    def backward(
        self,
        gradient: Any = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        """Add the derivatives of this tensor to `.grad` of the leaves it was made of.

        gradient: what each element is weighted with; needed unless this tensor is one number.
        The graph is freed on the way unless retain_graph is set.
        """
        differentiation.backward(self, gradient, retain_graph, create_graph, None, inputs)

    def _seed(self, g: Any, where: str, i: int = 0) -> "Tensor":
        """The gradient to start from here: g, checked, or 1 for one number."""
        if g is None:
            array = nodes.array_of(self)
            if array.size != 1:
                raise RuntimeError(
                    f"grad can be implicitly created only for scalar outputs: {self._cure(where)}"
                )
            return make(kernels.filled(array, 1.0))
        if not isinstance(g, nodes.TensorBase):
            g = constant(g)
        if g._array.shape != self._array.shape:
            raise RuntimeError(
                f"Mismatch in shape: grad_output[{i}] has a shape of {g.shape} and output[{i}] "
                f"has a shape of {self.shape}."
            )
        return g

    def _cure(self, where: str) -> str:
        shape = tuple(self._array.shape)
        if where == "grad":
            return f"the output has shape {shape}; pass grad_outputs of that shape, or use .sum()"
        return f"this tensor has shape {shape}; reduce it, .sum().backward(), or pass gradient="

    def _sum(self, g: "Tensor", create_graph: bool) -> Any:
        """What .grad is to be when g is added, where that is not done in place. The first is kept
        as it is if nobody else holds it."""
        grad = self._grad
        if grad is not None:
            if g._array.shape != grad._array.shape:
                g = make(copied_like(g._array, grad._array))
            return grad + g if create_graph else make(LOOPS["add"].run(grad._array, g._array))
        if create_graph:
            return make(np.empty_like(self._array)).copy_(g)
        return make(own(g, self._array, holders(g)))

    def requires_grad_(self, requires_grad: bool = True) -> "Tensor":
        """Set whether operations on this leaf are recorded; returns the tensor."""
        if requires_grad and self._array.dtype.kind != "f":
            raise RuntimeError(
                f"only Tensors of floating point dtype can require gradients; this one is "
                f"{self.dtype}: convert it with .float() or .double()"
            )
        if not requires_grad and not self.is_leaf:
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a "
                "computed variable in a subgraph that doesn't require differentiation use "
                "var_no_grad = var.detach()."
            )
        if self.is_leaf:
            self._requires_grad = bool(requires_grad)
        return self

    def retain_grad(self) -> None:
        """Keep the gradient of this inner tensor in `.grad` too."""
        if not self.requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if not self.is_leaf:
            hooks.of(self.grad_fn).retain(self, self._output_nr)

    def register_hook(self, hook: Callable[..., Any]) -> hooks.RemovableHandle:
        """Call hook(grad) when the gradient of this tensor is known; it may return another."""
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        owner = self if self.is_leaf else self.grad_fn
        table = hooks.of(owner).outputs.setdefault(0 if self.is_leaf else self._output_nr, {})
        return hooks.RemovableHandle(table, hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[..., Any]) -> hooks.RemovableHandle:
        """Call hook(tensor) after a backward has written this leaf's `.grad`."""
        if not self.is_leaf:
            raise RuntimeError(
                "post accumulate grad hooks cannot be registered on non-leaf tensors"
            )
        return hooks.RemovableHandle(hooks.of(self).accumulated, hook)

    # its data, outside the graph

    @property
    def data(self) -> "Tensor":
        """The same memory outside the graph; changes through it are not noticed by backward."""
        return make(nodes.array_of(self))

    @data.setter
    def data(self, x: "Tensor") -> None:
        if not isinstance(x, nodes.TensorBase):
            raise TypeError(f"Tensor.data needs a Tensor; got {type(x).__name__}")
        if self._requires_grad and x._array.dtype.kind != "f":
            raise RuntimeError(
                "data set to a tensor that requires gradients must be floating point or complex "
                f"dtype; got {x.dtype}: convert it with .to({self.dtype})"
            )
        self._array = x._array

    def detach(self) -> "Tensor":
        """The same memory outside the graph; a change in place is noticed by backward."""
        t = make(self._array)
        t._counter = self._shared_counter()
        return t

    def _shared_counter(self) -> list[int]:
        """Changes in place, and how many of them changed the shape alone (see `views`)."""
        return nodes.counter_of(self)

    def numpy(self, *, force: bool = False) -> Any:
        """The array itself, sharing memory; refused for a tensor that requires grad, unless force
        or no_grad."""
        if self.requires_grad and modes.is_grad_enabled() and not force:
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. "
                "Use tensor.detach().numpy() instead."
            )
        return self._array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        array = self.numpy()
        return np.array(array, dtype=dtype, copy=copy)

    def item(self) -> Any:
        """The only number held, as Python's."""
        if nodes.array_of(self).size != 1:
            raise RuntimeError(
                f"a Tensor with {self._array.size} elements cannot be converted to Scalar; "
                "use .tolist(), or reduce it first"
            )
        return nodes.array_of(self).item()

    def tolist(self) -> Any:
        """The numbers as nested lists; one number for shape ()."""
        return self._array.tolist()

    # operators

    __add__, __radd__ = operator("add"), operator("add", True)
    __sub__, __rsub__ = operator("sub"), operator("sub", True)
    __mul__, __rmul__ = operator("mul"), operator("mul", True)
    __truediv__, __rtruediv__ = operator("div"), operator("div", True)
    __rpow__ = operator("pow", True)

    def __pow__(self, other: Any) -> "Tensor":
        rule = RULES["pow_number" if value.is_number(other) else "pow"]
        return apply_rule(rule, (self, checked_operand(other)))

    def __neg__(self) -> "Tensor":
        return apply_rule(RULES["neg"], (self,))

    def __pos__(self) -> "Tensor":
        return self

    def __abs__(self) -> "Tensor":
        return apply_rule(RULES["abs"], (self,))

    __lt__, __le__ = comparison("less"), comparison("less_equal")
    __gt__, __ge__ = comparison("greater"), comparison("greater_equal")
    __eq__, __ne__ = comparison("equal"), comparison("not_equal")

    def __hash__(self) -> int:
        return id(self) >> 4

    def _apply_rule(self, rule: Rule, operands: tuple[Any, ...]) -> "Tensor":
        return apply_rule(rule, tuple([checked_operand(x) for x in operands]))

    def _elementary_(self, name: str, operands: tuple[Any, ...]) -> Any:
        return of_tensors(name, operands)

    # changes in place

    def _change_in_place(self, name: str, recorded: bool) -> None:
        """Refuse a change in place that would be wrong; else move the version on."""
        check_change(self, name, recorded)
        nodes.count_change(self)

    def _receive(self, rule: Rule, operands: tuple[Any, ...]) -> "Tensor":
        """Take the rule's value, out= of the rule; an empty tensor takes its shape too."""
        if modes.is_grad_enabled() and nodes.any_needs_grad((self, *operands)):
            raise RuntimeError(
                f"{rule.name}(): functions with out=... arguments don't support automatic "
                "differentiation, but one of the arguments requires grad; use the result"
            )
        for observer in modes.observers():
            observer(self, "out=", (self, *operands))
        found = apply_rule(rule, tuple(map(checked_operand, operands)))
        if not self._array.size:
            self._array = found._array
            return self
        fits_in_place(self, found, rule.name)
        return self.copy_(found)

    def _rebase(self, node: Node, i: int) -> "Tensor":
        return views.rebase(self, node, i)

    def _as_is(self) -> "Tensor":
        return views.as_is(self)

    def _returned(self, node: Node) -> None:
        views.returned(self, node)

    def __iadd__(self, other: Any) -> "Tensor":
        return put_rule(self, RULES["add"], (other,))

    def __isub__(self, other: Any) -> "Tensor":
        return put_rule(self, RULES["sub"], (other,))

    def __imul__(self, other: Any) -> "Tensor":
        return put_rule(self, RULES["mul"], (other,))

    def __itruediv__(self, other: Any) -> "Tensor":
        return put_rule(self, RULES["div"], (other,))

    def __ipow__(self, other: Any) -> "Tensor":
        rule = RULES["pow_number" if value.is_number(other) else "pow"]
        return put_rule(self, rule, (other,))

    # conversions

    def __len__(self) -> int:
        if not self._array.ndim:
            raise TypeError("len() of a 0-d tensor")
        return len(self._array)

    def __iter__(self) -> Any:
        if not self._array.ndim:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __bool__(self) -> bool:
        if self._array.size != 1:
            raise RuntimeError(
                f"Boolean value of Tensor with {self._array.size} values is ambiguous: use "
                ".any() or .all()"
            )
        return bool(self._array.item())

    def __float__(self) -> float:
        if self.requires_grad:
            warn(
                "Converting a tensor with requires_grad=True to a scalar may lead to unexpected "
                "behavior: it leaves the graph. Use engine.exp(t) and the like, or t.detach()"
            )
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        if self._array.dtype.kind not in "iub" or self._array.size != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self._array.item())

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return array_ufunc(ufunc, method, inputs, options)


def checked_operand(x: Any) -> Any:
    """x as an operand of a rule, or a TypeError."""
    found = operand(x)
    if found is NotImplemented:
        raise TypeError(
            f"an operation needs tensors, Values or numbers; got {type(x).__name__}: make a tensor "
            "of it with engine.tensor(...)"
        )
    return found


def with_operands(x: Any, others: tuple[Any, ...]) -> tuple[Any, ...]:
    """x and others as operands of a rule, or a TypeError."""
    operands = interpreter.places(len(others) + 1)
    interpreter.put(operands, 0, x)
    for i, other in enumerate(others):
        interpreter.put(operands, i + 1, checked_operand(other))
    return interpreter.filled(operands)


def copy_of(x: Tensor) -> Tensor:
    """A copy of the data in x's own place in the graph."""
    t = make(x._array.copy())
    t._node, t._output_nr, t._requires_grad = x.grad_fn, x._output_nr, x.requires_grad
    return t


def put_rule(x: Tensor, rule: Rule, others: tuple[Any, ...]) -> Tensor:
    """Set x to the rule's value of it and the others."""
    plan, operands = plan_of(rule), with_operands(x, others)
    recorded = modes.is_grad_enabled() and nodes.any_needs_grad(operands)
    check_change(x, plan.name_in_place, recorded)
    if not recorded and directly(x, plan, operands):
        return x
    out = apply_rule(rule, operands)
    fits_in_place(x, out, plan.name_in_place)
    node = out._node
    if node is not None and isinstance(node._saved[0], nodes.Saved):
        node._saved[0] = nodes.Saved(copy_of(x), None, False)
    with quiet():
        np.copyto(x._array, out._array, casting="unsafe")
    nodes.count_change(x)
    if node is not None and isinstance(node._saved[-1], nodes.Saved):
        node._saved[-1] = nodes.Saved(x, 0, False)
    if node is not None:
        node._shapes = [nodes.shape_of(x)]  # in x's dtype, which may be narrower
        views.rebase(x, node, 0)
    for observer in modes.observers():
        observer(x, "in_place", (out,))
    return x


def directly(x: Tensor, plan: Plan, operands: tuple[Any, ...]) -> bool:
    """Change x in place with no array in between, where the rule is one loop of NumPy over numbers
    of x's own dtype and shape, or one number; False where it is not."""
    if plan.loop is None or modes.observers():
        return False
    arrays = of_one_dtype(plan.rule, as_operands(operands))
    if arrays is None:
        return False
    a, b = arrays if len(arrays) == 2 else (arrays[0], None)
    if isinstance(b, ndarray) and not interpreter.same_shape(a, b) and b.ndim:
        return False
    plan.loop.run(a, b, a)
    nodes.count_change(x)
    return True


def fits_in_place(x: Tensor, out: Tensor, name: str) -> None:
    """Refuse a result that x cannot hold."""
    if out._array.shape != x._array.shape:
        raise RuntimeError(
            f"{name}: output with shape {list(x.shape)} doesn't match the broadcast shape "
            f"{list(out.shape)}; use the out-of-place form"
        )
    if dtypes.KIND[out._array.dtype.kind] > dtypes.KIND[x._array.dtype.kind]:
        raise RuntimeError(
            f"{name}: result type {out.dtype} can't be cast to the desired output type {x.dtype}; "
            "use the out-of-place form"
        )


def is_mask_of(mask: Any, x: Any) -> bool:
    """Whether a Tensor is one of bools of the shape of another, which is not that of a number."""
    a, b = nodes.array_of(mask), nodes.array_of(x)
    bools = interpreter.dtype_of(a) is BOOL
    return bools and interpreter.same_shape(a, b) and not interpreter.has_shape(a, ())


def put_in_place(x: Tensor, out: Tensor, name: str) -> Tensor:
    """x, with a result put into it, where it can hold it."""
    fits_in_place(x, out, name)
    changed: Tensor = x.copy_(out)
    return changed


links.constant = constant
links.zeros = lambda shape, dtype: make(np.zeros(shape, dtype))


def operation_node(name: str, operation: Any) -> Any:
    """The class of the nodes of an operation: without a gradient nothing is to be computed."""
    return type(name, (FunctionNode,), {"_function": operation, "runs_without": False})


class Operation(Function):
    """A Function of the engine's own: forward computes on arrays and returns fresh tensors, so it
    needs no mode; its node is named as PyTorch's, SumBackward0."""

    @classmethod
    def node_class(cls) -> Any:
        return operation_node(f"{cls.__name__}Backward0", cls)

    @classmethod
    def apply(cls, *args: Any) -> Any:
        return applied(cls, args)


def applied(operation: Any, args: tuple[Any, ...]) -> Any:
    """The outputs of an operation, in the graph where a gradient is wanted."""
    ctx = new_node(operation)
    ctx.needs_input_grad = nodes.all_needs_grad(args)
    recorded = modes.is_grad_enabled() and nodes.any_needs_grad(args)
    output = operation.forward(ctx, *args)
    if not (recorded or ctx._dirty or modes.observers()):
        return output
    if is_fresh(ctx, args, output):
        return joined(ctx, args, output)
    return finish(ctx, args, output, recorded)


def unseen() -> bool:
    """Whether nobody records or watches what is computed, as gradients in most walks."""
    return not (modes.is_grad_enabled() or modes.observers())


def is_fresh(ctx: Any, args: tuple[Any, ...], out: Any) -> bool:
    """Whether all that `finish` has to do with what an operation returned is in `joined`."""
    return (
        not (ctx._dirty or ctx._constant or modes.observers())
        and isinstance(out, nodes.TensorBase)
        and not nodes.is_view(out)
        and nodes.position(out, args) is None
        and nodes.is_floating(out)
    )


def joined(ctx: Any, args: tuple[Any, ...], out: Any) -> Any:
    """One new tensor of numbers as the result of its node."""
    nodes.link(ctx, args)
    nodes.keep(ctx, args, (out,))
    ctx._shapes = [nodes.shape_of(out)]
    return nodes.join(out, ctx, 0)


def applied_in_place(operation: Any, name: str, args: tuple[Any, ...]) -> Any:
    """The first argument, changed in place by an operation of that name, where it may be."""
    if not isinstance(args[0], nodes.TensorBase):
        raise TypeError(f"{name}: what it changes needs to be a Tensor; got {args[0]!r}")
    recorded = modes.is_grad_enabled() and nodes.any_needs_grad(args)
    check_change(args[0], name, recorded)
    if recorded or modes.observers():
        return applied(operation, args)
    operation.change(*args)
    nodes.count_change(args[0])
    return args[0]


class ViewOperation(Operation):
    """An operation whose result shares its first argument's memory: a view of it."""

    refusal = ""

    @classmethod
    def apply(cls, *args: Any) -> Any:
        return viewed(cls, args)


def viewed(operation: Any, args: tuple[Any, ...]) -> Any:
    """The outputs of a ViewOperation, views of the first argument."""
    out, source, rest = applied(operation, args), args[0], args[1:]
    if not isinstance(out, tuple):
        return link_view(out, source, operation, rest, None)
    for i, view in enumerate(out):
        link_view(view, source, operation, rest, i)
    return out


def method(f: F) -> F:
    """Make a function of a tensor a method of Tensor too, under its own name."""
    setattr(Tensor, f.__name__, f)
    return f


def check_count(rule: Rule, others: tuple[Any, ...]) -> None:
    """Refuse more operands beside the tensor itself than a rule has, or fewer."""
    if len(others) != rule.arity - 1:
        raise TypeError(
            f"{rule.name}: needs, beside the tensor itself, {rule.operands[-1]}; "
            f"got {len(others)} operands"
            if rule.arity == 2
            else f"{rule.name}: takes the tensor alone; got {len(others)} more operands"
        )


def add_rule_methods(rule: Rule) -> None:
    """A rule's method, and its form in place, with PyTorch's names for the operands."""

    def of(self: Tensor, *others: Any) -> Tensor:
        check_count(rule, others)
        return apply_rule(rule, with_operands(self, others))

    def in_place(self: Tensor, *others: Any) -> Tensor:
        check_count(rule, others)
        return put_rule(self, rule, others)

    for f, name in ((of, rule.name), (in_place, f"{rule.name}_")):
        f.__name__, f.__doc__ = name, rule.__doc__
        if name not in vars(Tensor):
            setattr(Tensor, name, f)


differentiation.accumulate([(FirstLeaf(), make(np.zeros(1)))], False)

for _rule in RULES.values():
    add_rule_methods(_rule)
on_rule.append(add_rule_methods)


# Functions of `elementary` with slope 0, for second derivatives; `ops.stepwise` fills it.
FLAT: dict[str, Callable[..., Any]] = {}


def of_tensors(name: str, operands: tuple[Any, ...]) -> Any:
    """The function of `elementary` called `name` where an operand is a Tensor."""
    rule = RULES.get(SYNONYMS.get(name, name))
    if any(isinstance(x, StandIn) for x in operands):
        return MISSING
    if rule is not None:
        return apply_rule(rule, operands)
    if name in FLAT:
        return FLAT[name](*operands)
    arrays = [getattr(x, "_array", x) for x in operands]
    if name == "where":
        return operands[0].where_else(*operands[1:])
    return make(np.asarray(getattr(elementary, name)(*arrays)))


# NumPy's names for operations that are called otherwise here.
UFUNCS = {
    "subtract": "sub",
    "multiply": "mul",
    "divide": "div",
    "power": "pow",
    "negative": "neg",
    "absolute": "abs",
    "fabs": "abs",
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arctan2": "atan2",
}
OPERATORS = {
    "add": "__add__",
    "subtract": "__sub__",
    "multiply": "__mul__",
    "divide": "__truediv__",
    "power": "__pow__",
    "matmul": "__matmul__",
    "less": "__lt__",
    "less_equal": "__le__",
    "greater": "__gt__",
    "greater_equal": "__ge__",
    "equal": "__eq__",
    "not_equal": "__ne__",
}


def array_ufunc(ufunc: Any, how: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """NumPy's function of operands among which are Values or Tensors, in the same graph."""
    name = ufunc.__name__
    if how != "__call__" or options or ufunc.nout != 1:
        raise TypeError(
            f"np.{name}: of Values and Tensors only the plain call is possible, without out= and "
            f"the like; got np.{name}.{how}({', '.join(options)}); use engine's own operation"
        )
    inputs = tuple(joined_input(x, inputs) for x in inputs)
    if name in OPERATORS:
        return getattr(operator_module, OPERATORS[name])(*inputs)
    rule = RULES.get(UFUNCS.get(name, name))
    if rule is None or rule.arity != len(inputs):
        raise TypeError(f"np.{name}: there is no engine.{name}; use engine's own operations")
    return rule(*inputs)


def joined_input(x: Any, inputs: tuple[Any, ...]) -> Any:
    """An array beside Values and Tensors as a tensor, a NumPy number as Python's."""
    if isinstance(x, np.ndarray):
        return constant(x)
    return x.item() if isinstance(x, np.generic) else x
