"""The Recorder of engine.compile: sees what a function does with Values, and makes a tape of it."""

import linecache
import operator
import struct
from collections import Counter
from collections.abc import Iterator
from typing import Any

from engine import by_hand, modes, tape, value
from engine.attention import users_frame
from engine.nodes import Value
from engine.reaching import Index, Planner, Refused
from engine.switch import ARITY, NUMBERS

RELATIONS = {operator.lt: 0, operator.le: 1, operator.gt: 2, operator.ge: 3, operator.eq: 4}
SHARE, ADD_PRODUCT, ADD_PRODUCTS, ADD_RUNS = (
    tape.OPERATIONS[name] for name in ("softmax", "add product", "add products", "add runs")
)
GAP = 64  # turns of a walk back, at most, over which a sum is joined with what is added to it
SECOND, THIRD, FOURTH, ARGS, NOWHERE = range(5)  # where an operand is written


def place() -> tuple[str, int]:
    """The line of the program that runs: file and number."""
    frame, _ = users_frame()
    return frame.f_code.co_filename, frame.f_lineno


def shown(at: tuple[str, int]) -> str:
    """A line of a program, for an error."""
    text = linecache.getline(*at).strip()
    return f"{at[0]}:{at[1]}" + (f": {text}" if text else "")


def watch(what: str, v: Any, more: Any) -> None:
    """Told by value.py, while anything watches: pass it on to the recorder of this thread."""
    for observer in modes.observers():
        if isinstance(observer, Recorder):
            observer.watch(what, v, more)


class Recorder:
    """An observer that writes down each operation, each number read and each comparison."""

    takes_lists = True

    def __init__(self) -> None:
        self.planner: Planner
        self.nodes: list[tuple[Any, str, Any]] = []
        self.place_of: dict[int, int] = {}  # of a Value in nodes, by id
        self.made: dict[int, Any] = {}  # leaves that the function makes itself, by id
        self.stand_ins: dict[int, int] = {}  # id of a Value that was looked up: which lookup
        self.reads: list[tuple[Any, tuple[str, int]]] = []
        self.answers: list[tuple[int, Any, Any, bool]] = []
        self.fixed: set[int] = set()  # indices that were used as numbers
        self.lookups: list[tuple[int, int, int]] = []
        self.tables: list[int] = []
        self.chosen: dict[int, int] = {}  # id of a cross entropy: by which index it chooses
        self.ranges: list[tuple[int, int]] = []  # indices and how many there are to choose from
        self.looked_up: dict[tuple[int, int], Any] = {}
        self.shares: dict[int, int] = {}  # how many shares of a softmax were met, by its sum's id
        self.refusal = ""

    def refuse(self, why: str) -> Any:
        """Stop: this function is not compiled. A program that catches this is refused all the
        same."""
        self.refusal = self.refusal or f"{why}, at {shown(place())}"
        raise Refused(self.refusal)

    def __call__(self, out: Any, op: Any, operands: Any) -> None:
        if not isinstance(out, Value) or type(op) is not str:
            name = op if type(op) is str else op.name().removesuffix("Backward")
            self.refuse(f"it runs {name}, a Function or an operation on Tensors; keep it outside")
        if op not in NUMBERS and op not in tape.OPERATIONS:
            self.refuse(f"it runs {op!r}, which is made by hand or a rule of your own")
        if op == "softmax":  # one share of several, in order: which, stands behind its operands
            n = self.shares[id(operands[1])] = self.shares.get(id(operands[1]), -1) + 1
            operands = (*operands, n)
        self.place_of[id(out)] = len(self.nodes)
        self.nodes.append((out, op, operands))

    def walk(self, *_: Any) -> Any:
        self.refuse("it calls backward or grad; call it on the result instead")

    def watch(self, what: str, v: Any, more: Any) -> None:
        """What is done to a Value besides operations, told by value.py."""
        if what == "made":
            self.made[id(v)] = v
        elif what == "detached":
            self(v, "detach", (more,))
        elif what == "compared":
            self.compared(v, *more)
        elif what == "read":
            self.reads.append((v, place()))
        elif what == "written":
            self.refuse("it assigns .data or requires_grad of a Value; do it outside")
        else:
            self.refuse("it reads or assigns a .grad; do it outside")

    def compared(self, v: Any, relation: Any, x: Any) -> None:
        other = value.as_float(x, "comparison") if not isinstance(x, Value) else x
        answer = relation(v._data, other._data if isinstance(other, Value) else other)
        self.answers.append((RELATIONS[relation], v, other, answer))

    def look_up(self, index: Index, rows: Any) -> Any:
        """rows[index]: stand-ins for the Values there, where all rows are inputs of one shape."""
        known = self.looked_up.get((index.k, id(rows)))
        if known is not None:
            return known[0]
        i = range(len(rows))[index.number] if -len(rows) <= index.number < len(rows) else None
        columns = None if i is None else self.columns(rows)
        if columns is None:
            return rows[index.read()]
        found = self.stand_in(rows[i], iter(columns), index.k, len(rows))
        self.looked_up[index.k, id(rows)] = found, rows
        return found

    def columns(self, rows: Any) -> Any:
        """For each Value of a row the slots of those in its place in all rows; None where they
        are not inputs, or not alike."""
        flat = [list(leaves(row)) for row in rows]
        slots = [[self.planner.slots.get(id(v)) for v in row] for row in flat]
        alike = {(shape_of(r), tuple(getattr(v, "_requires_grad", 0) for v in f))
                 for r, f in zip(rows, flat, strict=True)}  # fmt: skip
        if len(alike) != 1 or any(None in row for row in slots) or not flat[0]:
            return None
        return list(zip(*slots, strict=True))

    def stand_in(self, x: Any, columns: Iterator[Any], k: int, rows: int) -> Any:
        """The row x with new Values for its own, which stand for a lookup by index k."""
        if isinstance(x, (list, tuple)):
            return type(x)([self.stand_in(y, columns, k, rows) for y in x])
        v = Value(x._data, requires_grad=bool(x._requires_grad))
        self.stand_ins[id(v)] = len(self.lookups)
        self.lookups.append((len(self.tables), rows, k))
        self.tables += next(columns)
        return v


def leaves(x: Any) -> Iterator[Any]:
    """What lists hold, at any depth."""
    if isinstance(x, (list, tuple)):
        for y in x:
            yield from leaves(y)
    else:
        yield x


def shape_of(x: Any) -> Any:
    """Lists as what they are made of; anything else is None."""
    if not isinstance(x, (list, tuple)):
        return None
    return type(x), tuple(map(shape_of, x))


def below(root: Any, is_inner: Any) -> tuple[list[Any], list[Any]]:
    """The inner nodes below root, parents before children, in the order of the walks of value.py
    and graph.py; and the other nodes that they are made of."""
    order, ends, seen = [], [], {id(root)}
    stack = [(root, parents_of(root))]
    while stack:
        p = next((p for p in stack[-1][1] if id(p) not in seen), None)
        if p is None:
            order.append(stack.pop()[0])
        elif is_inner(p):
            seen.add(id(p))
            stack.append((p, parents_of(p)))
        else:
            seen.add(id(p))
            ends.append(p)
    return order, ends


def parents_of(v: Any) -> Iterator[Any]:
    return iter([p for p, _ in by_hand.links(v)])


class Writer:
    """Makes the tape of what a Recorder saw."""

    def __init__(self, recorder: Recorder, indices: int):
        self.recorder = recorder
        self.planner = recorder.planner
        self.indices = indices
        self.constants: dict[bytes, int] = {struct.pack("d", 0.0): len(self.planner.inputs)}
        self.numbers = [0.0]
        self.args: list[int] = []
        self.codes: list[tuple[int, int, int, int]] = []
        self.patches: list[tuple[int, int, int]] = []
        # By id of a sum: its start, pairs of factors, and what gradients for these go to.
        self.sums: dict[int, Any] = {}
        self.inside: set[int] = set()  # ids of these products, and of the sums on the way
        self.walks: dict[int, Any] = {}  # by id of an output: what is below it
        self.turns: list[Any] = []  # for each of them: its order, and the turn of each node by id
        looked_up = set(recorder.tables)
        self.anywhere = {i for i, slot in self.planner.slots.items() if slot in looked_up}
        self.anywhere |= set(recorder.stand_ins)  # ids of what lookups find or may find
        self.starts: dict[int, int] = {}  # by id: where its operands begin in args
        self.outputs: list[tuple[Any, list[int], list[int]]] = []

    def needed(self, outputs: list[Any]) -> list[tuple[Any, str, Any]]:
        """The operations that outputs, numbers read and comparisons depend on, in order."""
        r = self.recorder
        wanted = {id(v) for v in outputs} | {id(v) for v, _ in r.reads}
        wanted |= {id(x) for _, v, other, _ in r.answers for x in (v, other)}
        kept = []
        for v, op, operands in reversed(r.nodes):
            if id(v) in wanted:
                kept.append((v, op, operands))
                wanted.update(map(id, operands))
        return kept[::-1]

    def merged(self, nodes: list[Any], outputs: list[Any]) -> list[Any]:
        """The nodes without products that only the sum uses whose last operand they are: their
        turn in a walk back is right after its own, so it takes theirs too; and without sums that
        only the next such sum uses, where that changes no gradient."""
        r = self.recorder
        used = Counter(id(x) for _, _, operands in nodes for x in operands)
        used.update(id(v) for v in [*outputs, *(v for v, _ in r.reads)])
        used.update(id(x) for _, v, other, _ in r.answers for x in (v, other))
        products = {
            id(v): operands
            for v, op, operands in nodes
            if op == "mul" and used[id(v)] == 1 and v._requires_grad
        }
        for v, op, operands in nodes:
            if op == "add" and id(operands[1]) in products and v._requires_grad:
                self.inside.add(id(operands[1]))
                self.join(v, operands[0], operands[1], products, used)
        return [node for node in nodes if id(node[0]) not in self.inside]

    def join(self, v: Any, start: Any, product: Any, products: Any, used: Counter[int]) -> None:
        """Take v = start + product as a sum of products; start, where it is one, goes into it."""
        factors = products[id(product)]
        before = self.sums.get(id(start))
        targets = before[2] if before else set()
        if not before or used[id(start)] != 1 or not self.may_join(v, start, product, targets):
            self.sums[id(v)] = start, [factors], {self.target(x) for x in (start, *factors)}
            return
        self.inside.add(id(start))
        before[1].append(factors)
        targets.update(map(self.target, factors))
        self.sums[id(v)] = self.sums.pop(id(start))

    def may_join(self, v: Any, start: Any, product: Any, targets: set[int]) -> bool:
        """Whether no node between v and start, in a walk back, sends a gradient to one of the
        targets, as start does: only then start's turn may come with v's, to the last bit."""
        r = self.recorder
        for order, turn in self.turns:
            first, last = turn.get(id(start), 0), turn.get(id(v), 0)
            if last - first > GAP:
                return False
            for x in order[first + 1 : last]:
                operands = r.nodes[r.place_of[id(x)]][2]
                if x is not product and any(self.target(y) in targets for y in operands):
                    return False
        return True

    def target(self, x: Any) -> int:
        """What a gradient for x goes to: by id, but one for all that lookups find or may find."""
        return NOWHERE if id(x) in self.anywhere else id(x)

    def constant(self, number: float) -> int:
        """The slot of a number."""
        key = struct.pack("d", number)
        if key not in self.constants:
            self.constants[key] = len(self.planner.inputs) + len(self.numbers)
            self.numbers.append(number)
        return self.constants[key]

    def operand(self, x: Any, array: int, at: int) -> int:
        """The slot of an operand, or -1 less the place of an operation. A lookup is noted for the
        place where it is used."""
        found = self.known.get(id(x))
        if found is not None:
            return found
        r = self.recorder
        if not isinstance(x, Value):
            return self.constant(float(x))
        lookup = r.stand_ins.get(id(x))
        if lookup is not None:
            first, rows, k = r.lookups[lookup]
            if k not in r.fixed and array != NOWHERE:
                self.patches.append((array, at, lookup))
            return r.tables[first + self.index_numbers[k] % rows]
        if id(x) in r.made:
            return self.constant(x._data)
        raise Refused(
            f"it uses {x!r}, which it reaches in a way that is not seen; give it as an argument"
        )

    def write(self, outputs: list[Any], index_numbers: list[int]) -> dict[str, Any]:
        """The facts of a Tape, for these Values as outputs."""
        r, self.index_numbers = self.recorder, index_numbers
        self.hooked()
        for v, _ in r.reads:
            self.fix(v)
        for _, v, other, _ in r.answers:
            self.fix(v)
            self.fix(other)
        self.walk(outputs)
        nodes = self.merged(self.needed(outputs), outputs)
        self.known = self.planner.slots | {id(v): -1 - i for i, (v, _, _) in enumerate(nodes)}
        rows = [self.code(i, *node) for i, node in enumerate(nodes)]
        guards = [(self.operand(v, NOWHERE, 0), v._data) for v, _ in r.reads]
        answers = [
            (n, self.operand(v, NOWHERE, 0), self.operand(x, NOWHERE, 0), a)
            for n, v, x, a in r.answers
        ]
        ends = [self.output(v) for v in outputs]
        base = len(self.planner.inputs) + len(self.numbers)

        def slot(found: int) -> int:
            return found if found >= 0 else base - 1 - found

        return {
            "needs": [int(bool(v._requires_grad)) for v in self.planner.inputs],
            "constants": self.numbers,
            "codes": [
                (op, slot(a), slot(b), slot(c) if op == ADD_PRODUCT else c) for op, a, b, c in rows
            ],
            "args": [slot(x) for x in self.args],
            "outputs": [(base + i, order, found) for i, order, found in ends],
            "reads": [(slot(x), number) for x, number in guards],
            "answers": [(n, slot(a), slot(b), int(answer)) for n, a, b, answer in answers],
            "indices": self.indices,
            "tables": r.tables,
            "lookups": r.lookups if not r.fixed else self.open_lookups(),
            "patches": self.patches,
            "ranges": [pair for pair in r.ranges if pair[0] not in r.fixed],
        }

    def open_lookups(self) -> list[tuple[int, int, int]]:
        """The lookups; one by an index that was used as a number finds that row always."""
        found = []
        for first, rows, k in self.recorder.lookups:
            if k in self.recorder.fixed:
                first, rows = first + self.index_numbers[k] % rows, 1
            found.append((first, rows, k))
        return found

    def fix(self, x: Any) -> None:
        """A number that was looked up and read belongs to that index."""
        lookup = self.recorder.stand_ins.get(id(x))
        if lookup is not None:
            self.recorder.fixed.add(self.recorder.lookups[lookup][2])

    def code(self, i: int, v: Any, op: str, operands: Any) -> tuple[int, int, int, int]:
        """The four numbers of operation i."""
        none = len(self.planner.inputs)
        if op == "softmax":
            a, b = self.operand(operands[0], SECOND, i), self.operand(operands[1], THIRD, i)
            return SHARE, a, b, self.starts[id(operands[1])] + operands[2]
        if op == "detach":
            return tape.OPERATIONS[op], self.operand(operands[0], SECOND, i), none, 0
        if op in tape.OPERATIONS and (op != "maximum" or is_wide(v, operands)):
            return self.code_of_many(v, op, operands)
        if id(v) in self.sums:
            return self.code_of_sum(i, *self.sums[id(v)][:2])
        number = NUMBERS[op]
        a = self.operand(operands[0], SECOND, i)
        b = self.operand(operands[1], THIRD, i) if ARITY[number] == 2 else none
        return number, a, b, 0

    def code_of_sum(self, i: int, start: Any, products: Any) -> tuple[int, int, int, int]:
        """A number plus products: one, some, or those of two runs of slots."""
        a = self.operand(start, SECOND, i)
        if len(products) == 1:
            p, q = products[0]
            return ADD_PRODUCT, a, self.operand(p, THIRD, i), self.operand(q, FOURTH, i)
        runs = None if id(start) in self.recorder.stand_ins else self.code_of_runs(a, products)
        return runs or self.code_of_products(a, products)

    def code_of_products(self, a: int, products: Any) -> tuple[int, int, int, int]:
        at = len(self.args)
        for x in (x for pair in products for x in pair):
            self.args.append(self.operand(x, ARGS, len(self.args)))
        return ADD_PRODUCTS, a, at, len(products)

    def code_of_runs(self, a: int, products: Any) -> tuple[int, int, int, int] | None:
        """None unless the first factors are a run of slots and the second another: then no slot
        gets two gradients, and their order does not count."""
        p, q = (self.run(factors) for factors in zip(*products, strict=True))
        if not p or not q or not {a, *p}.isdisjoint(q) or a in p:
            return None
        self.args += [p[0], q[0]]
        return ADD_RUNS, a, len(self.args) - 2, len(products)

    def run(self, operands: Any) -> Any:
        """The slots of operands that stand in a row; None where they do not, or are looked up."""
        if any(id(x) in self.recorder.stand_ins for x in operands):
            return None
        slots = [self.operand(x, NOWHERE, 0) for x in operands]
        step = 1 if slots[0] >= 0 else -1
        last = slots[0] + step * len(slots)
        return slots if slots == list(range(slots[0], last, step)) else None

    def code_of_many(self, v: Any, op: str, operands: Any) -> tuple[int, int, int, int]:
        more = 0
        if op == "dot":
            pairs = list(zip(operands[::2], operands[1::2], strict=True))
            runs = self.code_of_runs(len(self.planner.inputs), pairs) if pairs else None
            if runs:
                return runs
        if op == "cross_entropy":
            *operands, more = operands
            k = self.recorder.chosen.get(id(v))
            more = more if k is None or k in self.recorder.fixed else -1 - k
        start = self.starts[id(v)] = len(self.args)
        for x in operands:
            self.args.append(self.operand(x, ARGS, len(self.args)))
        return tape.OPERATIONS[op], start, len(operands), more

    def hooked(self) -> None:
        """Refuse user code on what the function computes."""
        for v, op, _ in self.recorder.nodes:
            if isinstance(v._extra, value.Extra) and v._extra.runs_user_code():
                raise Refused(f"it sets a hook or a _backward on a result of {op}; do it outside")

    def output(self, v: Any) -> tuple[int, list[int], list[int]]:
        """Where an output stands, the turns of the walk back from it, and the inputs it reaches;
        one that was looked up is -1 less its number."""
        r = self.recorder
        place = -1 - self.known[id(v)]
        if not v._requires_grad:
            return place, [], []
        order, ends = self.walks[id(v)]
        found = []
        for p in ends:
            slot = self.operand(p, NOWHERE, 0)
            if slot < len(self.planner.inputs):
                lookup = r.stand_ins.get(id(p), -1)
                is_open = lookup >= 0 and r.lookups[lookup][2] not in r.fixed
                found.append(-1 - lookup if is_open else slot)
        if not found:
            raise Refused("its result depends on no Value that it is given or reaches")
        order = [p for p in order if id(p) not in self.inside]
        return place, [-1 - self.known[id(p)] for p in order], found

    def walk(self, outputs: list[Any]) -> None:
        """Find what is below each output, and in which order a walk back meets it."""
        for v in outputs:
            if v._requires_grad:
                order, _ = self.walks[id(v)] = self.below(v)
                self.turns.append((order, {id(x): turn for turn, x in enumerate(order)}))

    def below(self, v: Any) -> tuple[list[Any], list[Any]]:
        """The nodes below v that are on the tape, in the order of a walk, and the others there."""
        place_of = self.recorder.place_of
        if not all(x.is_leaf for x in self.planner.inputs):
            return below(v, lambda p: id(p) in place_of)
        found = tape.below(v, next(value._walks))
        # None: a leaf has hooks, which the scalar walk leaves to others
        return found or below(v, lambda p: id(p) in place_of)


def is_wide(v: Any, operands: Any) -> bool:
    """Whether maximum was the one of a list, and not the rule of two operands."""
    return len(operands) != 2 or isinstance(v._extra, value.Extra)
