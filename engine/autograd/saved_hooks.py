"""saved_tensors_hooks: what nodes keep for backward is packed by one function, unpacked by another.

An observer of the thread: it looks at each node as it is made and packs what the node has saved.
Values are not packed, nor are numbers.
"""

from collections.abc import Callable
from typing import Any

from engine import modes
from engine.nodes import CUT, Error, Node, Saved, attach, edge_of, shape_of
from engine.tensors import RuleNode, Tensor

Hook = Callable[[Any], Any]

NOT_A_TENSOR = (
    "Output of saved tensor unpack_hook expected to be a Tensor but got result of type {0}"
)
CHANGED = (
    "A saved tensor pack hook is modifying its input in place. Tensors passed as input to pack "
    "hook can not be modified in-place: clone() it first"
)


class Relink(Node):
    """Leads from an unpacked tensor to the leaf that it was packed from."""

    def __init__(self, edge: Any, shape: Any):
        super().__init__()
        self._edges = (edge,)
        self._shapes = [shape]

    def _differentiate(self, grads: list[Any]) -> tuple[Any, ...]:
        return tuple(grads)


class Packed(Saved):
    """One thing kept for backward in the form that a pack hook gave it."""

    __slots__ = ("edge", "unpack_hook")

    def __init__(self, entry: Saved, pack: Hook, unpack: Hook):
        self.number, self.between, self.version = entry.number, entry.between, -1
        self.edge = edge_of(entry.saved)
        self.unpack_hook = unpack
        before = entry.saved._version
        self.saved = without_observers(pack, entry.saved)
        if entry.saved._version != before:
            raise RuntimeError(CHANGED)

    def unpack(self, node: Node) -> Any:
        """What the unpack hook gives, joined to the graph again."""
        x = self.unpack_hook(self.saved)
        if not isinstance(x, Tensor):
            raise TypeError(NOT_A_TENSOR.format(type(x).__name__))
        if self.number is not None:
            return attach(x.detach(), node, self.number)
        if self.between and modes.is_grad_enabled():
            return attach(x.detach(), Error(CUT.format(node.name()), node._edges, [shape_of(x)]), 0)
        return self.linked(x)

    def linked(self, x: Any) -> Any:
        """x in the place of what was packed."""
        if self.edge is None or (x.requires_grad and x.is_leaf):
            return x
        target, i = self.edge
        if isinstance(target, Tensor):
            target, i = Relink(self.edge, shape_of(x)), 0
        return attach(x.detach(), target, i)


def without_observers(f: Hook, x: Any) -> Any:
    """f(x) with gradients off, unseen by hooks and modes."""
    observers, grad = modes.set_observers(()), modes.set_grad(False)
    try:
        return f(x)
    finally:
        modes.set_grad(grad)
        modes.set_observers(observers)


class Packer:
    """The observer that packs what each node saves; of several the innermost does."""

    def __init__(self, pack: Hook, unpack: Hook):
        self.pack, self.unpack = pack, unpack

    def __call__(self, out: Any, op: Any, operands: Any) -> None:
        if self is not packers()[-1]:
            return
        if not isinstance(op, str):
            op._saved = tuple(map(self.packed, op._saved or ()))
            return
        node = (operands[0] if op == "in_place" else out).grad_fn
        if isinstance(node, RuleNode):
            node._saved = [self.packed(entry) for entry in node._saved]

    def packed(self, entry: Any) -> Any:
        """The entry packed, unless it is packed already or holds no tensor."""
        tensor = type(entry) is Saved and isinstance(entry.saved, Tensor)
        return Packed(entry, self.pack, self.unpack) if tensor else entry


def packers() -> list[Packer]:
    """The packers of this thread, the innermost last."""
    return [o for o in modes.observers() if isinstance(o, Packer)]


class Observed:
    """A `with` block under an observer."""

    observer: Any

    def __enter__(self) -> None:
        modes.set_observers((*modes.observers(), self.observer))

    def __exit__(self, *error: object) -> None:
        modes.set_observers(tuple(o for o in modes.observers() if o is not self.observer))


class saved_tensors_hooks(Observed):
    """A `with` block in which what nodes keep for backward is packed.

    pack_hook(tensor) gives what is kept instead, anything; unpack_hook(it) gives back a tensor of
    the same numbers when backward needs it, inside the block or after. The version of a packed
    tensor is not checked. Raises RuntimeError when pack_hook changes its tensor in place.
    """

    def __init__(self, pack_hook: Hook, unpack_hook: Hook):
        self.observer = Packer(pack_hook, unpack_hook)

    def __enter__(self) -> None:
        refusals = [o for o in modes.observers() if isinstance(o, Refusal)]
        if refusals:
            raise RuntimeError(refusals[-1].message)
        super().__enter__()


class save_on_cpu(saved_tensors_hooks):
    """Nothing: what backward needs is on the CPU already."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda"):
        super().__init__(lambda x: x, lambda x: x)


class allow_mutation_on_saved_tensors(saved_tensors_hooks):
    """A `with` block in which tensors that backward needs may be changed in place: each is copied
    when it is saved, so that backward sees the numbers of then, at the price of the memory.

    The backward belongs into the block: AssertionError outside of it. RuntimeError when nested.
    """

    def __init__(self) -> None:
        super().__init__(lambda x: x.detach().clone(), self.in_here)

    def in_here(self, x: Any) -> Any:
        """The copy, if this block is still open."""
        assert self.observer in packers(), (
            "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which "
            "the graph was originally recorded; call backward inside the block"
        )
        return x

    def __enter__(self) -> Any:
        if any(isinstance(getattr(o.unpack, "__self__", None), type(self)) for o in packers()):
            raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
        super().__enter__()
        return self


class Refusal:
    """Stands among the observers where no hooks may be set."""

    def __init__(self, message: str):
        self.message = message

    def __call__(self, out: Any, op: Any, operands: Any) -> None:
        """Nothing is looked at."""


class disable_saved_tensors_hooks(Observed):
    """A `with` block in which setting hooks is a RuntimeError with this message."""

    def __init__(self, error_message: str):
        self.observer = Refusal(error_message)

    def __enter__(self) -> None:
        if packers():
            raise RuntimeError(self.observer.message)
        super().__enter__()
