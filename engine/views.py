"""Views and changes in place: how gradients stay right when tensors share memory.

A view remembers its base and how to take the same view again. Tensors that share memory share a
version counter, which a change in place moves on; backward refuses what it saved at another
version. After a change in place of a base, a view takes its place in the graph anew when it is
next looked at; after one of a view, the base becomes the result of a `CopySlices` node.
"""

from typing import Any

from engine import interpreter, memory, modes, nodes
from engine.nodes import FREED, Node, edge_of

# Why a change in place of a view would give wrong gradients.
MULTI = (
    "This view is the output of a function that returns multiple views. Such functions do not "
    "allow the output views to be modified inplace. You should replace the inplace operation by an "
    "out-of-place one."
)
NO_GRAD = (
    "It cannot be known whether the change is meant to be recorded: do both, taking the view and "
    "changing it, inside the no_grad block, or both inside the inference_mode, or both outside."
)
CUSTOM = (
    "This view was created inside a custom Function (or because an input was returned as-is), and "
    "following the view would override the Function's own backward. clone() what forward returns."
)


class View:
    """How a tensor views its base: by the operation that took the last step of the way, from the
    view `previous` (None: from the base itself).

    rest: what the operation was given beside the tensor. number: which of its outputs this is, None
    where it has one. refusal: why a change in place is an error, or "". version: the count of
    changes at which the view's place in the graph was last right. changed: the node of the base
    after a change in place of this view, with the count of changes then, until that place is found.
    """

    __slots__ = ("changed", "number", "operation", "previous", "refusal", "rest", "version")

    def __init__(self, operation: Any, rest: tuple[Any, ...], number: int | None):
        self.operation = operation
        self.rest = rest
        self.number = number
        self.previous: Any = None
        self.version = -1
        self.refusal = ""
        self.changed: Any = None

    def changed_by(self, node: Any, count: int) -> "View":
        """This view after a change in place, whose CopySlices the node is."""
        view = View(self.operation, self.rest, self.number)
        view.previous, view.refusal = self.previous, self.refusal
        view.changed = node, count
        return view

    def step(self, x: Any) -> Any:
        """The last step of the way, from x."""
        out = self.operation.apply(x, *self.rest)
        return out if self.number is None else out[self.number]

    def replay(self, base: Any) -> Any:
        """The same view of any tensor with the shape and layout of the base."""
        steps = []
        view: Any = self
        while view is not None:
            steps.append(view)
            view = view.previous
        for view in reversed(steps):
            base = view.step(base)
        return base


def changes(counter: list[int]) -> int:
    """How often numbers were changed: a change of a shape in place, which counts as a change too,
    leaves other views where they are in the graph."""
    return counter[0] - counter[1]


def count_turn(counter: list[int]) -> None:
    """Move the counter on for a change of shape in place."""
    counter[0] += 1
    counter[1] += 1


def link(out: Any, source: Any, operation: Any, rest: tuple[Any, ...], number: int | None) -> Any:
    """Make out, which shares source's memory, a view of source's base, as output `number` (None:
    the only one) of the operation on source and the rest."""
    how, before = View(operation, rest, number), source._view
    if not modes.is_grad_enabled():
        how.refusal = NO_GRAD
    elif number is not None:
        how.refusal = MULTI
    elif before is not None:
        how.refusal = before.refusal
    out._counter = nodes.counter_of(source)
    out._base = source if source._base is None else source._base
    how.previous, how.version = before, changes(out._counter)
    out._view = how
    return out


def returned(out: Any, node: Any) -> None:
    """Let nobody follow a view that a custom Function returned, past the Function's backward; a
    Function that is a pure view by its own word (ctx._is_pure_view) may be followed."""
    if out._view is not None:
        several = len(node._shapes) > 1
        out._view.refusal = MULTI if several else "" if node._is_pure_view else CUSTOM
        out._view.version = changes(out._counter)


class Whole:
    """The step to a view of all that there is."""

    @staticmethod
    def apply(x: Any) -> Any:
        """x itself."""
        return x


def as_is(x: Any) -> Any:
    """A view of the whole of x, for a custom Function that returned its input x itself."""
    return link(x.detach(), x, Whole, (), None)


def grad_fn(view: Any) -> Any:
    """The node of a view, made anew if its base or another view was changed in place since."""
    how, base = view._view, view._base
    if how.version == changes(view._counter):
        return view._node
    if not base._requires_grad:
        if view._node is None:
            return None
        base = left_behind(how, view)
    if how.refusal:
        raise RuntimeError(refused(view, "its base or another view of its base has been"))
    old = view._node
    before = modes.set_grad(True)
    try:
        again = replayed(how, base)
    finally:
        modes.set_grad(before)
    check_place(view, again)
    view._node, view._output_nr, view._requires_grad = again._node, again._output_nr, True
    how.version, how.changed = changes(view._counter), None
    keep_retained(view, old)
    return view._node


def left_behind(how: View, view: Any) -> Any:
    """What a changed view is a view of after its base was detached in place: the base as the last
    change left it, where that was one of this view; else a leaf that no gradient is asked for."""
    base = view._base.detach()
    if how.changed is not None and how.changed[1] == changes(view._counter):
        return nodes.attach(base, how.changed[0], 0)
    base._requires_grad = True
    return base


TURNED = (
    "a view is used whose base got another shape in place (t_, transpose_, squeeze_, ...) after "
    "the view was taken, and was changed since: take the view anew"
)


def replayed(how: View, base: Any) -> Any:
    """The view of its base again; an error where the base was turned in place (t_, squeeze_) so
    that it has no such view."""
    try:
        return how.replay(base)
    except (RuntimeError, ValueError, IndexError):
        if not base._reshaped:
            raise
        raise RuntimeError(TURNED) from None


def check_place(view: Any, again: Any) -> None:
    """Refuse a view that its base, turned in place since, does not lead to again."""
    a, b = view._array, again._array
    places = ((x.shape, x.strides, x.ctypes.data) for x in (a, b))
    if view._base._reshaped and len(set(places)) > 1:
        raise RuntimeError(TURNED)


def refused(x: Any, event: str) -> str:
    """The error for a change in place of a view that cannot be followed; event tells it."""
    node, refusal = x._node, x._view.refusal
    who = "A view" if node is None else f"Output {x._output_nr} of {node.name()} is a view"
    if refusal is not NO_GRAD:
        return f"{who}{' and' if node is not None else ''} {event} modified inplace. {refusal}"
    return (
        f"{who}{' of a view which' if node is not None else ''} was created in no_grad mode and "
        f"{event} modified inplace with grad mode enabled. {refusal}"
    )


def leave_place(x: Any) -> None:
    """Give a leaf whose memory or shape is about to be exchanged another place in graphs."""
    if x._requires_grad and x._node is None and x._base is None:
        x._shapes = {**x._shapes, x._output_nr: nodes.shape_of(x)}
        x._output_nr += 1


def check(x: Any, name: str, recorded: bool) -> None:
    """Refuse a change in place that would make gradients wrong, or that has no one meaning.

    recorded: whether gradients are on and one of the operands requires one.
    """
    if not interpreter.can_write(x._array):
        x._array = apart(x._array, name)
    if recorded:
        check_recorded(x, name)


def check_recorded(x: Any, name: str) -> None:
    """Refuse a change in place of a leaf, or of a view that cannot be followed."""
    if x._base is not None and x._view.refusal:
        raise RuntimeError(refused(x, "is being"))
    whole = x if x._base is None else x._base
    if x.requires_grad and whole.is_leaf:
        what = "a leaf" if whole is x else "a view of a leaf"
        raise RuntimeError(
            f"{name}: {what} Variable that requires grad is being used in an in-place operation; "
            "change it under engine.no_grad(), or clone() the leaf first"
        )


def apart(array: Any, name: str) -> Any:
    """The same memory for writing: of an expanded tensor one part may be changed, not the whole."""
    ours = memory.writeable(array)
    if ours is None or memory.overlaps(array):
        raise RuntimeError(
            f"{name}: unsupported operation: more than one element of the written-to tensor refers "
            "to a single memory location (it was expanded), or its memory is read-only. Please "
            "clone() the tensor before performing the operation."
        )
    return ours


def rebase(x: Any, node: Node, i: int) -> Any:
    """Make x, just changed in place, output i of the node; returns x."""
    whole, old = x, x._node
    if x._base is not None:
        whole, old = x._base, x._base._node
        node, i = CopySlices(x, node, i), 0
        x._view = x._view.changed_by(node, changes(x._counter))
    whole._node, whole._output_nr, whole._requires_grad = node, i, True
    keep_retained(whole, old)
    return x


def keep_retained(x: Any, old: Any) -> None:
    """Have x.retain_grad() speak of the value after the change."""
    if old is None or old._hooks is None:
        return
    for i, ref in list(old._hooks.retained.items()):
        if ref() is x:
            del old._hooks.retained[i]
            x.retain_grad()


class CopySlices(Node):
    """The node of a base after a change in place of one of its views by another node.

    The gradient of the part under the view goes to that node; what the node gives back for the
    view takes the place of the part, and the whole goes to the base as it was before. A hidden
    edge keeps the order: what the node saved may lead a second derivative to it directly.
    """

    def __init__(self, view: Any, node: Node, i: int):
        super().__init__()
        base = view._base
        self.node: Any = node
        self.output = i
        self.view = view._view
        if base._reshaped:
            detached = base.detach()
            detached._reshaped = True
            check_place(view, replayed(self.view, detached))
        self.order = memory_order(base._array.strides)
        self._shapes = [(base._array.shape, base._array.dtype)]
        self.place = place_of(view, node._edges)
        others = [edge for j, edge in enumerate(node._edges) if j != self.place]
        self._edges = (edge_of(base), *others)
        self._hidden = ((node, i),)
        if len(node._shapes) > 1:
            raise RuntimeError(
                f"{node.name()}: if your Function modifies inplace an input that is a view of "
                "another Tensor, your Function cannot return more than one Tensor; clone() the "
                "input, or make two Functions of it"
            )

    def _differentiate(self, grads: list[Any]) -> tuple[Any, ...]:
        if self.node is None:
            raise RuntimeError(FREED.format(self.name()))
        whole = grads[0]._laid_out(self.order)
        part = self.view.replay(whole)
        given = list(nodes.differentiate(self.node, [part.clone()]))
        old = None if self.place is None else given.pop(self.place)
        part.copy_(0.0 if old is None else old)
        return (whole, *given)

    def _release(self) -> None:
        self.node, self._hidden = None, ()

    def _argument(self, i: int) -> str:
        """The base stands first, in the place of the view."""
        before = self.place is not None and i > self.place
        return "the base" if i == 0 else self.node._argument(i if before else i - 1)


def place_of(view: Any, edges: Any) -> int | None:
    """Which edge of the node leads to the view as it was before the change."""
    before = view._node
    for j, edge in enumerate(edges):
        same = edge is not None and edge[0] is before and edge[1] == view._output_nr
        if same or (edge is None and before is None):
            return j
    return None


def memory_order(strides: tuple[int, ...]) -> tuple[int, ...]:
    """The dimensions from the one with the widest steps in memory to that with the narrowest."""
    return tuple(sorted(range(len(strides)), key=lambda d: -strides[d]))
