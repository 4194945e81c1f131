"""What a graph is made of: nodes, edges between them, and what a node keeps for backward."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from engine import interpreter, modes, value

Value = value.Value

Edge = tuple[Any, int]

# What stands further right and is reached from here: constant(x), zeros(shape, dtype).
links = SimpleNamespace()

# What classes start with: in a class Cython takes no annotation for this.
NOWHERE: Any = {}
NOTHING: Any = None


class TensorBase:
    """The fields of a Tensor that a graph needs: see `engine.tensors`."""

    __slots__ = (
        "__dict__ __weakref__ _array _base _counter _grad _hooks _node _output_nr "
        "_requires_grad _view"
    ).split()
    _array: Any
    _base: Any
    _counter: Any
    _grad: Any
    _hooks: Any
    _node: Any
    _output_nr: int
    _requires_grad: bool
    _view: Any
    _reshaped = False  # whether the tensor got another shape in place
    _shapes = NOWHERE  # of a leaf at the places in graphs that it has left


DIFFERENTIABLE: Any = (Value, TensorBase)


def needs_grad(x: Any) -> bool:
    """Whether x is a Value or Tensor that a gradient is wanted for."""
    if isinstance(x, TensorBase):
        return wants_grad(x)
    return isinstance(x, value.Value) and x.requires_grad


def is_differentiable(x: Any) -> bool:
    """Whether x is a Value or a Tensor."""
    return isinstance(x, (TensorBase, value.Value))


def is_view(t: Any) -> bool:
    """Whether a Tensor shares the memory of another, its base."""
    return t._base is not None


def version_of(t: Any) -> int:
    """How many changes in place a Tensor, its views and its base have seen."""
    return 0 if t._counter is None else int(t._counter[0])


def all_needs_grad(xs: tuple[Any, ...]) -> tuple[bool, ...]:
    """For each, whether a gradient is wanted for it."""
    found = interpreter.places(len(xs))
    for i, x in enumerate(xs):
        interpreter.put(found, i, needs_grad(x))
    return interpreter.filled(found)


def any_needs_grad(xs: Any) -> bool:
    """Whether a gradient is wanted for one of them."""
    for x in xs:  # noqa: SIM110  any() makes a generator
        if needs_grad(x):
            return True
    return False


def wants_grad(t: Any) -> bool:
    """Whether a gradient is wanted for a Tensor, or for the base that it is a view of."""
    return t._requires_grad or (t._base is not None and t._base._requires_grad)


def counter_of(t: Any) -> list[int]:
    """Changes in place of a Tensor, and how many of them changed the shape alone (see `views`)."""
    if t._counter is None:
        t._counter = [0, 0]
    counter: list[int] = t._counter
    return counter


def count_change(t: Any) -> None:
    """Move the version of a Tensor on."""
    counter_of(t)[0] += 1


class NodeBase:
    """The fields of a node, those of the ctx of a Function among them.

    _edges, _hidden, _shapes: see Node. _plain: the inputs that are neither Values nor Tensors,
    of a Function of the user's.
    _saved: what backward needs, None once it is freed. The rest is said on a ctx.
    """

    __slots__ = (
        "__dict__ __weakref__ _constant _dirty _edges _hidden _hooks _is_pure_view "
        "_materialize_non_diff_grads _plain _saved _shapes _to_save materialize_grads "
        "needs_input_grad"
    ).split()
    _function = NOTHING  # a class of nodes of a Function has it

    def __init__(self) -> None:
        self._edges: Any = ()
        self._hidden: Any = ()
        self._plain: Any = ()
        self._dirty: Any = ()
        self._constant: Any = ()
        self._shapes: Any = ()
        self._saved: Any = ()
        self.needs_input_grad: Any = ()
        self._hooks: Any = None
        self._to_save: Any = None
        self.materialize_grads = True
        self._materialize_non_diff_grads = True
        self._is_pure_view = False

    def name(self) -> str:
        """The node's name, as PyTorch's: MulBackward0, CubeBackward."""
        return type(self).__name__

    def differentiate(self, grads: list[Any]) -> tuple[Any, ...]:
        """The gradients of the inputs, given one per output. A compiled class has it in C; any
        other writes `_differentiate`."""
        node: Any = self
        return tuple(node._differentiate(grads))

    def release(self) -> None:
        """Free what was saved for backward. A compiled class has it in C; others `_release`."""
        node: Any = self
        node._release()


class Node(NodeBase):
    """A node of the graph: one call of an operation, with an edge to each of its inputs.

    An edge is a pair (node, output number), None for a constant; a Value, and a leaf Tensor,
    stands for its own node. A leaf whose memory or shape is exchanged in place gets another
    number: graphs made before lead to the place that it has left. `shapes` has one entry per
    output: (shape, dtype), None for a Value.
    Hidden edges lead to nodes that are visited after this one, but get no gradient from it.
    """

    once_differentiable = False
    runs_without = False  # whether backward is called where no gradient arrived

    def _differentiate(self, grads: list[Any]) -> tuple[Any, ...]:
        """The gradients of the inputs, given one per output."""
        raise NotImplementedError

    def __call__(self, *grads: Any) -> Any:
        """Backward by hand: the gradients of the inputs, given one per output."""
        if len(grads) != len(self._shapes):
            raise TypeError(
                f"{self.name()}: expected {len(self._shapes)} arguments, got {len(grads)} instead: "
                "one gradient for each of its outputs"
            )
        given = differentiate(self, list(grads))
        return given[0] if len(given) == 1 else given

    def _release(self) -> None:
        """Free what was saved for backward."""

    def _argument(self, i: int) -> str:
        """The name of input i, for errors."""
        return f"input {i}"


def edges(node: Any) -> Sequence[Edge | None]:
    """The edges of a node to what it was made of."""
    if isinstance(node, NodeBase):
        inner = node
        return inner._edges + inner._hidden if inner._hidden else inner._edges
    return value_edges(node) if isinstance(node, Value) else ()


def places(node: Any) -> int:
    """How many places a node has for gradients to arrive at: one per output; of a leaf, those that
    it has left too."""
    if isinstance(node, NodeBase):
        inner = node
        return len(inner._shapes)
    if isinstance(node, TensorBase):
        leaf = node
        return leaf._output_nr + 1
    return 1


def differentiate(node: NodeBase, grads: list[Any]) -> tuple[Any, ...]:
    """The gradients of the inputs of a node, given one per output."""
    return node.differentiate(grads)


def edge_key(edge: Edge) -> tuple[int, int]:
    """An edge as a key: nodes are compared by identity."""
    return id(edge[0]), edge[1]


def value_edges(v: Any) -> Sequence[Edge | None]:
    """The edges of a Value: to the Function it is an output of, or to its parents."""
    extra: Any = v._extra if isinstance(v._extra, value.Extra) else None
    if extra is not None and extra.ctx is not None:
        return ((extra.ctx, extra.index),)
    parents = (v._a, v._b, *(extra.parents or ())) if extra is not None else (v._a, v._b)
    return tuple([(p, 0) for p in parents if p is not None])


class Error(Node):
    """Stands behind a gradient that cannot be differentiated again; raises when that is tried.

    Its visible edges are those of the Function; the hidden ones lead to what the incoming
    gradients were made of, so that a walk knows what lies behind it.
    """

    def __init__(self, message: str, edges: Any, shapes: list[Any], hidden: Any = ()):
        super().__init__()
        self.message = message
        self._edges = edges
        self._shapes = shapes
        self._hidden = hidden

    def _differentiate(self, grads: list[Any]) -> tuple[Any, ...]:
        raise RuntimeError(self.message)


def edge_of(x: Any) -> Any:
    """Where the gradient of x goes: (node, output number), or None for a constant."""
    if not isinstance(x, TensorBase):
        return (x, 0) if needs_grad(x) else None
    return place_of(x) if wants_grad(x) else None


def place_of(t: Any) -> tuple[Any, int]:
    """The node and output number of a Tensor in a graph; the Tensor itself is a leaf's node."""
    node = t._node if t._base is None else t.grad_fn
    return (t if node is None else node), t._output_nr


def link(node: Node, inputs: tuple[Any, ...]) -> None:
    """Give the node an edge to each input."""
    edges = interpreter.places(len(inputs))
    for i, x in enumerate(inputs):
        interpreter.put(edges, i, edge_of(x))
    node._edges = interpreter.filled(edges)


def connect(node: Node, inputs: tuple[Any, ...]) -> None:
    """Link the node, and tell constants of the graph from other objects."""
    link(node, inputs)
    if None in node._edges:
        plain = [i for i, x in enumerate(inputs) if not is_differentiable(x)]
        node._plain = tuple(plain)


def output(y: float, node: NodeBase, number: int) -> Any:
    """A Value of the number y: output `number` of the node, a Function's."""
    v = Value(y)
    extra: Any = value.extra_of(v)
    extra.op, extra.ctx, extra.index = node.name(), node, number
    interpreter.track(v)
    return v


def hooks_of(v: Any) -> Any:
    """The table of v's hooks, made if it has none; the collector looks at v from now on."""
    extra: Any = value.extra_of(v)
    extra.hooks = {} if extra.hooks is None else extra.hooks
    interpreter.track(v)
    return extra.hooks


def attach(x: Any, node: NodeBase, number: int) -> Any:
    """Make x, fresh from forward, output `number` of the node."""
    if isinstance(x, value.Value):
        return output(x.data, node, number)
    return join(x, node, number)


def join(t: Any, node: Any, number: int) -> Any:
    """Make a Tensor output `number` of the node."""
    t._node, t._output_nr, t._requires_grad = node, number, True
    return t


class Saved:
    """One thing kept for backward: an input, an output by its number, or something between.

    version: the count of changes in place when it was saved, -1 where none are counted.
    """

    __slots__ = ("between", "inner", "number", "saved", "version")

    def __init__(self, x: Any, number: int | None, between: bool):
        self.number = number
        self.between = between
        self.version = version_of(x) if isinstance(x, TensorBase) else -1
        self.saved = x if number is None else x.detach()
        self.inner = number is None and self.version >= 0 and node_of(x) is not None

    def unpack(self, node: Any) -> Any:
        """What was saved, joined to the graph again; an in-place change since is an error."""
        x = self.saved
        if self.version >= 0 and version_of(x) != self.version:
            raise RuntimeError(stale(node, x, self.version))
        if self.inner and node_of(x) is None:
            raise RuntimeError(DETACHED.format(node.name()))
        if self.number is not None:
            return attach(x.detach(), node, self.number)
        if self.between and is_floating(x) and modes.is_grad_enabled():
            cut = Error(CUT.format(node.name()), node._edges, [shape_of(x)])
            return attach(x.detach(), cut, 0)
        return x


def unpacked(kept: Sequence[Any], node: Any) -> tuple[Any, ...]:
    """What a node kept: tensors and Values as they were, joined to the graph again; the rest."""
    found = interpreter.places(len(kept))
    for i, entry in enumerate(kept):
        if isinstance(entry, Saved):
            saved = entry
            interpreter.put(found, i, saved.unpack(node))
        else:
            interpreter.put(found, i, entry)
    return interpreter.filled(found)


def position(x: Any, where: tuple[Any, ...]) -> int | None:
    """The place of the object x among others."""
    for i, y in enumerate(where):
        if y is x:
            return i
    return None


def keep(node: Any, inputs: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
    """Keep what save_for_backward was given, None of None."""
    given = node._to_save or ()
    saved = interpreter.places(len(given))
    for i, x in enumerate(given):
        if x is not None:
            between = position(x, inputs) is None
            interpreter.put(saved, i, Saved(x, position(x, outputs), between))
    node._saved, node._to_save = interpreter.filled(saved), ()


def as_node(x: Any, scalar: bool) -> Any:
    """A number as a constant Value, or a number or an array as a constant Tensor."""
    return Value(x, requires_grad=False) if scalar else links.constant(x)


def is_floating(x: Any) -> bool:
    """Whether x can have a gradient."""
    return isinstance(x, value.Value) or interpreter.holds_floats(array_of(x))


def shape_of(x: Any) -> Any:
    """What the gradient of an output must look like: (shape, dtype), None for a number, False
    for what has none."""
    if isinstance(x, TensorBase):
        array = array_of(x)
        return interpreter.shape_of(array), interpreter.dtype_of(array)
    return None if isinstance(x, value.Value) else False


def shape_at(target: Any, i: int) -> Any:
    """What the gradient of output i of a node, or of a leaf that stands for its own, must look
    like."""
    if isinstance(target, NodeBase):
        node = target
        return node._shapes[i]
    leaf = target
    return shape_of(leaf) if leaf._output_nr == i else leaf._shapes[i]


def expects(target: Any, i: int, array: Any) -> bool:
    """Whether an array looks as the gradient of output i of a node, or of a leaf, must look."""
    if isinstance(target, TensorBase):
        leaf = target
        if leaf._output_nr == i:
            dtype = interpreter.dtype_of(leaf._array)
            fits = interpreter.same_shape(array, leaf._array)
            return fits and interpreter.dtype_of(array) is dtype
    shape, dtype = shape_at(target, i)
    return interpreter.has_shape(array, shape) and interpreter.dtype_of(array) is dtype


def array_of(t: Any) -> Any:
    """The array of a Tensor."""
    return t._array


def grad_of(t: Any) -> Any:
    """What stands in `.grad` of a Tensor."""
    return t._grad


def node_of(t: Any) -> Any:
    """The node that a Tensor was last made by, None for a leaf."""
    return t._node


def zero(shape: Any) -> Any:
    """The gradient of an output that got none, given what it must look like."""
    if shape is None:
        return Value(0.0, requires_grad=False)
    return links.zeros(*shape) if shape else None


CUT = (
    "{0}: a second derivative through a tensor that forward saved and that is neither an input nor "
    "an output would be wrong, as its link to the input is lost; save the input and compute it in "
    "backward, return it as an output too, or, if it is a constant (a mask, noise), keep it as a "
    "plain attribute of ctx"
)
DETACHED = (
    "{0}: Trying to use a saved tensor that has been detached in-place, i.e. with .detach_(). Use "
    ".detach(), which makes a new tensor"
)
FREED = (
    "{0}: Trying to backward through the graph a second time (or directly access saved tensors "
    "after they have already been freed). Specify retain_graph=True in the first backward if it is "
    "meant; the usual cause is a tensor made once outside the loop: make it inside"
)


def stale(node: NodeBase, x: Any, version: int) -> str:
    """The error for a saved tensor that was changed in place."""
    return (
        f"one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: a {type(x).__name__} of shape {tuple(x.shape)} that {node.name()} saved is at "
        f"version {x._version}; expected version {version}. Use the out-of-place form, or clone() "
        "before the change"
    )
