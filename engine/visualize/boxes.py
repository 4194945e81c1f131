"""What a picture shows of a graph: one Box per Value, leaf Tensor, operation and constant."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from os.path import basename
from typing import Any

from engine import by_hand, value
from engine.graph import topological
from engine.nodes import DIFFERENTIABLE, Node, Saved, TensorBase, Value, edge_of, edges
from engine.registry import RULES

# Tensors by (id of their node, output number): those that a picture can show the data of.
Known = dict[tuple[int, int], Any]


@dataclass(slots=True)
class Box:
    """One node of a picture; `thing` is the Value, Tensor, node of the graph, or number it shows.

    kind: "leaf", "operation" (of Values), "function" (a node with a ctx, or of Tensors) or
    "constant". parents: numbers of the boxes it was made of, in order, smaller than its own.
    slopes: one per parent, None where that is no number. shape: of the Tensor, None for a number.
    data, grad: float, Tensor, or None for what is not known or not there. count: how many nodes
    a folded box stands for; data and grad are (least, greatest) then.
    line: file and line that made it, where `explore` or anomaly detection noted them.
    """

    thing: Any
    kind: str
    label: str = ""
    op: str = ""
    data: Any = None
    grad: Any = None
    shape: tuple[int, ...] | None = None
    dtype: str = ""
    parents: list[int] = field(default_factory=list)
    slopes: list[float | None] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    count: int = 1
    line: str = ""

    @property
    def has_gradient(self) -> bool:
        """Whether a picture has a gradient to show here, or to say that there is none yet."""
        return self.kind in ("leaf", "operation") or self.grad is not None


def boxes_of(root: Any) -> list[Box]:
    """The boxes of everything that root was made of, and of root: operands before results.

    root: a Value, a Tensor, or several in a list or tuple; TypeError for anything else.
    """
    roots = as_roots(root)
    return boxes_in(topological([edge_of(x) or (x, 0) for x in roots]), results(roots))


def boxes_in(order: list[Any], known: Known) -> list[Box]:
    """The boxes of the nodes of a graph, given in their order, and of their constants."""
    boxes: list[Box] = []
    place: dict[int, int] = {}
    for node in order:
        box = box_of(node, known)
        for x, slope in operands_of(node):
            if isinstance(x, Constant):
                box.parents.append(len(boxes))
                boxes.append(box_of_constant(x))
            else:
                box.parents.append(place[id(x)])
            box.slopes.append(slope)
        place[id(node)] = len(boxes)
        boxes.append(box)
    return boxes


def as_roots(root: Any) -> list[Any]:
    """root as a list of Values and Tensors."""
    roots = list(root) if isinstance(root, (list, tuple)) else [root]
    for x in roots:
        if not isinstance(x, DIFFERENTIABLE):
            raise TypeError(
                f"draw: needs a Value or a Tensor, or a list of them; got {type(x).__name__}; "
                "call it with the result of the computation, as in draw(loss)"
            )
    return roots


def results(roots: Sequence[Any]) -> Known:
    """The roots that are results of nodes, by node."""
    made = [x for x in roots if isinstance(x, TensorBase) and x._node is not None]
    return {(id(x._node), x._output_nr): x for x in made}


def is_rule(v: Any) -> bool:
    """Whether a Value is the result of a rule, whose operands stand in its two slots."""
    extra = v._extra
    if isinstance(extra, value.Extra) and (extra.ctx or extra.push is not None or extra.parents):
        return False
    return value.op_of(v) in RULES


def operands_of(node: Any) -> list[tuple[Any, float | None]]:
    """What a node was made of, in order, with slopes: nodes, and constants as what is known."""
    if isinstance(node, Value) and is_rule(node):
        return operands_of_rule(node)
    if isinstance(node, Value) and not (node.is_leaf or from_function(node)):
        pushes = node._extra.push is not None if isinstance(node._extra, value.Extra) else False
        return [(p, None if pushes else slope) for p, slope in by_hand.links(node)]
    if hasattr(node, "rule"):
        return [(e[0] if e else constant(node, i), None) for i, e in enumerate(node._edges)]
    if isinstance(node, Node) and not node._hidden:
        given = [(e[0] if e else argument(node, i)) for i, e in enumerate(node._edges)]
        return [(x, None) for x in given if x is not None]
    return [(e[0], None) for e in edges(node) if e is not None]


def operands_of_rule(v: Any) -> list[tuple[Any, float | None]]:
    """The operands of a rule on Values, with the slope by each, None by a constant."""
    rule = RULES[value.op_of(v)]
    names = rule.operands[:-1] if rule.operands[-1] == "k" else rule.operands
    slots = zip(names, (v._a, v._b), (v._slope_a, v._slope_b), strict=False)
    return [
        (written(v, i) or Constant(number), None) if p is None else (p, number)
        for i, (_, p, number) in enumerate(slots)
    ]


def from_function(v: Any) -> bool:
    """Whether a Value is the output of a Function."""
    return isinstance(v._extra, value.Extra) and v._extra.ctx is not None


class Constant:
    """An operand without a gradient: a number, a Tensor, or None where nothing was kept."""

    def __init__(self, held: Any, label: str = "", note: str = ""):
        self.held = held
        self.label = label
        self.note = note


def written(node: Any, i: int) -> Constant | None:
    """What `explore` wrote down of operand i of a node, if that has no gradient."""
    is_value = isinstance(node, Value)
    made = getattr(node, "made_", None) if is_value else node.metadata.get("made_")
    return made.operands[i] if made is not None and i < len(made.operands) else None


def constant(node: Any, i: int) -> Constant:
    """Operand i of a rule on Tensors, without a gradient: what `explore` wrote down of it, or
    what the node kept."""
    kept = node._saved[i] if node._saved else None
    if isinstance(kept, Saved):
        kept = kept.saved
    there = isinstance(kept, (int, float, TensorBase))
    return written(node, i) or Constant(kept if there else None)


# Their operands are what they save, in order.
PRODUCTS = ("MmBackward0", "MvBackward0", "DotBackward0", "LinearBackward0")


def argument(node: Any, i: int) -> Constant | None:
    """Argument i of a Function, without a gradient: a Tensor or Value that was written down, or
    what a matrix product kept; None for anything else."""
    found = written(node, i)
    if found is not None and (found.note or isinstance(found.held, TensorBase)):
        return found
    kept = node._saved[i] if node.name() in PRODUCTS and i < len(node._saved or ()) else None
    return Constant(kept.saved) if kept is not None and kept.saved is not None else None


def box_of_constant(x: Constant) -> Box:
    """The box of a constant."""
    box = Box(x, "constant", x.label, data=x.held, notes=[x.note] if x.note else [])
    if isinstance(x.held, TensorBase):
        fill(box, x.held)
        box.grad, box.label = None, x.label or box.label
    return box


def box_of(node: Any, known: Known) -> Box:
    """The box of a Value, a leaf Tensor or a node, without its parents."""
    if isinstance(node, Value):
        return box_of_value(node)
    if isinstance(node, TensorBase):
        box = Box(node, "leaf", notes=["has hooks"] if node._hooks is not None else [])
        fill(box, node)
        return box
    box = Box(node, "function", op=node.name(), notes=notes_of(node), line=made_at(node))
    shown = known.get((id(node), 0))
    if shown is not None and isinstance(shown, TensorBase):
        fill(box, shown)
    elif node._shapes and node._shapes[0]:
        box.shape, box.dtype = node._shapes[0][0], str(node._shapes[0][1])
    return box


def box_of_value(v: Any) -> Box:
    """The box of a Value."""
    kind = "leaf" if v.is_leaf else "operation"
    grad = v.grad if value.has_grad(v) else None
    box = Box(v, kind, str(v.label), "" if from_function(v) else operation(v), v.data, grad)
    if isinstance(v._extra, value.Extra):
        hooks = len(v._extra.hooks or ())
        box.notes += [f"{hooks} hook{'s' * (hooks > 1)}"] * bool(hooks)
    box.line = made_at(v)
    return box


def operation(v: Any) -> str:
    """The operation that made v, in micrograd's spelling, with its number if it has one."""
    op = value.op_of(v)
    if op not in RULES or RULES[op].operands[-1] != "k" or op == "pow_number":
        return str(v._op)
    return f"{op} {v._slope_b:g}"


def fill(box: Box, t: Any) -> None:
    """Show what a Tensor holds."""
    box.data, box.grad = t, t._grad
    box.shape, box.dtype = tuple(t._array.shape), str(t._array.dtype)
    box.label = str(getattr(t, "label", ""))


def notes_of(node: Any) -> list[str]:
    """What else there is to say of a node: what it saved, its hooks."""
    notes = []
    if getattr(node, "_saved", ()):
        notes.append(f"saved: {len(node._saved)}")
    if node.once_differentiable:
        notes.append("once_differentiable")
    if node._hooks is not None:
        notes.append("has hooks")
    return notes


def made_at(node: Any) -> str:
    """The file and line that `explore` or anomaly detection noted, "" where neither did."""
    is_value = isinstance(node, Value)
    notes = {} if is_value else node.metadata
    made = getattr(node, "made_", None) if is_value else notes.get("made_")
    if made is not None and made.stack:
        return f"{basename(made.stack[0][0])}:{made.stack[0][1]}"
    places = getattr(node, "traceback_", None) if is_value else notes.get("traceback_")
    return f"{basename(places[-1][0])}:{places[-1][1]}" if places else ""
