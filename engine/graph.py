"""The walk back over any graph: Values, Tensors, Functions, hooks, derivatives of any order.

It orders the nodes as the scalar walk does (depth first from the root, first parent first, read
backwards), hands gradients over and reduces broadcasting, once, for everyone; it knows no
operation. All its state lies in the call, so a walk inside a walk, another thread or an exception
finds the nodes clean; `.grad`s are written after the last node, by who asked for the walk.
"""

from collections.abc import Callable
from typing import Any

from engine import by_hand, checks, hooks, interpreter, modes, nodes, quiet, value
from engine.nodes import Edge, Node
from engine.registry import contributions


def topological(roots: list[Edge], numbers: Any = None) -> list[Any]:
    """Every node below the roots once, parents before children; numbers: their places in it."""
    order: list[Any] = []
    numbers = interpreter.numbering() if numbers is None else numbers
    open_nodes = [node for node, _ in reversed(roots)]
    while open_nodes:
        node = open_nodes[-1]
        if interpreter.is_new(numbers, node):
            interpreter.check_signals()
            for edge in reversed(nodes.edges(node)):
                if edge is not None:
                    open_nodes.append(edge[0])
        else:  # all below it is in the order
            open_nodes.pop()
            if interpreter.gets(numbers, node, len(order)):
                order.append(node)
    return order


def current_walk() -> Any:
    """The walk that runs in this thread, the innermost of several, or None."""
    return interpreter.running()


def set_walk(walk: Any) -> None:
    """Have this walk, or None, be the one that runs in this thread."""
    interpreter.set_running(walk)


class Walk:
    """One walk back: from roots with their gradients to the leaves, or to the inputs asked for."""

    def __init__(self, roots: list[Edge], inputs: list[Edge] | None, retain: bool, create: bool):
        self.retain_graph = retain
        self.create_graph = create
        self.writes = False
        self.numbers = interpreter.numbering()
        self.order = topological(roots, self.numbers)
        self.flight: list[Any] = [None] * len(self.order)  # what has arrived at each node
        self.arrived: list[tuple[Any, Any]] = []  # (leaf, inner Value or retaining tensor; its g)
        self.captured: dict[tuple[int, int], Any] = {}
        self.callbacks: dict[Any, Callable[[], None]] = {}  # run at the end, by what asked for it
        self.wanted: Any = None if inputs is None else {(id(node), i) for node, i in inputs}
        self.needed = self.reaching({id(node) for node, _ in inputs}) if inputs else set()

    def reaching(self, ends: set[int]) -> set[int]:
        """The nodes from which a node asked for can be reached."""
        reach = set(ends)
        needed: set[int] = set()
        for node in self.order:
            interpreter.check_signals()
            if any(e is not None and id(e[0]) in reach for e in nodes.edges(node)):
                reach.add(id(node))
                needed.add(id(node))
        return needed

    def let_write(self, inputs: list[Edge] | None) -> None:
        """`.grad` is to be written: hooks of accumulation run, and the nodes asked for too."""
        self.writes = True
        if inputs is not None:
            self.needed |= {id(node) for node, _ in inputs if isinstance(node, Node)}

    def add(self, edge: Edge, g: Any) -> None:
        """Add g to what has arrived at the edge, where that leads to something asked for. None:
        the node has its turn, though no gradient arrives."""
        node, i = edge
        if self.wanted is not None and not self.leads_on(node, i):
            return
        n = interpreter.number(self.numbers, node)
        arrived = self.flight[n]
        if arrived is None:
            arrived = self.flight[n] = [None] * nodes.places(node)
        if g is None:
            return
        if arrived[i] is not None:
            g = arrived[i] + g
        elif type(g) is float:
            g = 0.0 + g  # the scalar walk starts from 0.0 too, which makes 0.0 of -0.0
        arrived[i] = g

    def at(self, node: Any) -> list[Any]:
        """What has arrived at the places of a node; nothing while it has no turn."""
        return self.flight[interpreter.number(self.numbers, node)] or []

    def leads_on(self, node: Any, i: int) -> bool:
        """Whether output i of a node is asked for, or something is that lies beyond the node."""
        return id(node) in self.needed or (id(node), i) in self.wanted

    def run(self) -> None:
        """Visit each node that a gradient reaches once, children before parents; leaves last."""
        before, outer, said = modes.set_grad(self.create_graph), current_walk(), quiet.begin()
        set_walk(self)
        try:
            for n in range(len(self.order) - 1, -1, -1):
                interpreter.check_signals()
                grads, self.flight[n] = self.flight[n], None
                if grads is not None:
                    self.visit(self.order[n], grads)
            self.arrived = [(x, self.at_leaf(x, g)) for x, g in self.arrived]
            while self.callbacks:
                self.callbacks.pop(next(iter(self.callbacks)))()
        finally:
            set_walk(outer)
            quiet.end(said)
            modes.set_grad(before)

    def visit(self, node: Any, grads: list[Any]) -> None:
        """Take what has arrived at a node, and send it on."""
        if isinstance(node, nodes.NodeBase):
            self.visit_node(node, grads)
        elif not checks.arrived(grads):
            for edge in filter(None, nodes.edges(node)):
                self.add(edge, None)
        elif isinstance(node, nodes.TensorBase):
            self.visit_leaf(node, grads)
        elif node.is_leaf:
            self.arrived.append((node, grads[0]))
        else:
            self.visit_value(node, hooks.run_on_value(node, grads[0]))

    def visit_leaf(self, leaf: Any, grads: list[Any]) -> None:
        """Keep a leaf's gradient for the end; one asked for at a place it has left is captured."""
        for i, g in enumerate(grads if self.wanted else checks.at_one_place(grads)):
            if g is not None and (self.wanted is None or i == leaf._output_nr):
                self.arrived.append((leaf, g))
            elif g is not None:
                self.captured[id(leaf), i] = g

    def visit_value(self, v: Any, g: Any) -> None:
        """An operation on Values: its slopes turn its gradient into those of its parents."""
        if self.wanted is None:
            self.arrived.append((v, g))
        if self.goes_on(v, [g]):
            for edge, c in value_contributions(v, g, self.create_graph):
                self.add(edge, c)

    def visit_node(self, node: Any, grads: list[Any]) -> None:
        """A call of a Function: backward turns gradients of outputs into those of inputs."""
        hooked = node._hooks
        if hooked is not None:
            hooked.on_outputs(self, grads)
        if not self.goes_on(node, grads):
            return
        runs = grads[0] is not None or checks.arrived(grads) or node.runs_without
        if hooked is not None:
            grads = hooked.before(grads)
        given = node.differentiate(grads) if runs else (None,) * len(node._edges)
        if hooked is not None:
            given = hooked.after(given, grads)
        for i, edge in enumerate(node._edges):
            if edge is not None:
                self.add(edge, checks.fit(given[i], edge, node, i, self.create_graph))
        if not self.retain_graph:
            node.release()

    def goes_on(self, node: Any, grads: list[Any]) -> bool:
        """Keep the gradients that are asked for; whether others lie beyond the node."""
        if self.wanted is None:
            return True
        for i, g in enumerate(grads):
            if g is not None and (id(node), i) in self.wanted:
                self.captured[id(node), i] = g
        return id(node) in self.needed

    def at_leaf(self, x: Any, g: Any) -> Any:
        """The gradient of a leaf after its hooks."""
        if isinstance(x, value.Value):
            g = hooks.run_on_value(x, g) if x.is_leaf else g
        elif x._hooks is not None and x.is_leaf:
            g = x._hooks.on_leaf(g, self.writes)
        if self.wanted is not None and (key := nodes.edge_key(nodes.edge_of(x))) in self.wanted:
            self.captured[key] = g
        return g


def value_contributions(v: Any, g: Any, create_graph: bool) -> list[tuple[Edge, Any]]:
    """What a Value with gradient g hands to what it was made of."""
    extra: Any = v._extra if isinstance(v._extra, value.Extra) else None
    if extra is not None and extra.ctx is not None:
        return [((extra.ctx, extra.index), g)]
    if create_graph:
        return contributions(v, g)
    if extra is not None and extra.push is not None:
        return by_hand.pushed(v, g)
    pairs = [(v._a, v._slope_a), (v._b, v._slope_b), *(extra.pairs() if extra else ())]
    return [((p, 0), value.contribution(v, g, slope)) for p, slope in pairs if p is not None]
