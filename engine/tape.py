"""A recorded function of Values as arrays: its tape, replayed forward and backward.

A slot is the place of a number: first those of the inputs, then constants, the first of them
unused, then one for each operation in the order in which they ran. Operation i has its code, two
slots and one number more; codes from 0 up are the rules of `switch.py`, the others those below.
An operation of many operands has, instead of its slots, where they begin in `args`, and how many;
a number plus products has its slot before that.
Compiled, this file becomes engine_fast.tape. `engine.compile` is in compiling.py.
"""

from engine import elementary as m
from engine import fused
from engine import interpreter
from engine import switch
from engine import value

SUM, DOT, MAXIMUM, LOGSUMEXP, CROSS_ENTROPY, SHARE, COPY = -1, -2, -3, -4, -5, -6, -7
# a + b * c, where nothing else uses the product: two roundings and two turns in one operation. The
# same for several products, from left to right; and where their first factors are in slots one
# after the other, and their second factors too.
ADD_PRODUCT, ADD_PRODUCTS, ADD_RUNS = -8, -9, -10

# What a plan, a tuple, says of one thing that a call is given or reaches.
VALUE, AGAIN, RUN, LIST, DICT, SAME, EQUAL, OBJECT, INDEX, ARRAY = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9

# What came of a replay.
DONE, OTHER_STRUCTURE, OTHER_NUMBER, OTHER_READ, OTHER_ANSWER, OUT_OF_RANGE = 0, 1, 2, 3, 4, 5

# The same for who writes tapes: compiled, the names above are C's.
OPERATIONS = {
    "sum": SUM,
    "dot": DOT,
    "maximum": MAXIMUM,
    "logsumexp": LOGSUMEXP,
    "cross_entropy": CROSS_ENTROPY,
    "softmax": SHARE,
    "detach": COPY,
    "add product": ADD_PRODUCT,
    "add products": ADD_PRODUCTS,
    "add runs": ADD_RUNS,
}
KINDS = (VALUE, AGAIN, RUN, LIST, DICT, SAME, EQUAL, OBJECT, INDEX, ARRAY)
OUTCOMES = (DONE, OTHER_STRUCTURE, OTHER_NUMBER, OTHER_READ, OTHER_ANSWER, OUT_OF_RANGE)

NOTHING = object()


def ints_of(numbers):
    """These whole numbers as an int_row."""
    row = interpreter.int_row(len(numbers))
    out = interpreter.ints(row)
    for i, x in enumerate(numbers):
        out[i] = x
    return row


def doubles_of(numbers):
    """These floats as a row."""
    return fused.as_row(numbers, "tape")


class Tape:
    """The arrays of one recording, and what they were last filled with.

    plan, roots: what a call must be given and reach; a root is a plan with where to find it.
    needs: which inputs need a gradient. constants: numbers. codes: four numbers an operation.
    outputs: (slot, operations in the order of the walk back, inputs it reaches) for each.
    reads: slots and numbers, which must be the same. answers: (relation, slot, slot, answer).
    tables: slots of inputs; lookups: (place in tables, rows, number of the index) each;
    ranges: (number of an index, what it must be less than).
    patches: (array, place, lookup), where the slot that was looked up is written: into the second
    number of a code, its third, its fourth, or args.
    """

    def __init__(self, facts):
        self.plan, self.roots = facts["plan"], facts["roots"]
        self.needs = ints_of(facts["needs"])
        self.inputs = len(facts["needs"])
        self.base = self.inputs + len(facts["constants"])
        codes = facts["codes"]
        self.count = len(codes)
        self.ops, self.a, self.b, self.c = [ints_of([code[k] for code in codes]) for k in range(4)]
        self.x = doubles_of([0.0] * self.inputs + list(facts["constants"]) + [0.0] * self.count)
        self.flight = interpreter.row(self.base + self.count)
        self.args = ints_of(facts["args"])
        self.work = interpreter.row(len(facts["args"]))
        self.gathered = interpreter.row(len(facts["args"]))
        self.outputs = [
            (slot, ints_of(order), len(order), ints_of(leaves), len(leaves))
            for slot, order, leaves in facts["outputs"]
        ]
        self.reads = ints_of([slot for slot, _ in facts["reads"]])
        self.read_numbers = doubles_of([number for _, number in facts["reads"]])
        self.read_count = len(facts["reads"])
        self.answers = ints_of([n for answer in facts["answers"] for n in answer])
        self.answer_count = len(facts["answers"])
        self.index = interpreter.int_row(facts["indices"])
        self.tables = ints_of(facts["tables"])
        self.lookups = ints_of([n for lookup in facts["lookups"] for n in lookup])
        self.lookup_count = len(facts["lookups"])
        self.found = interpreter.int_row(self.lookup_count)
        self.patches = ints_of([n for patch in facts["patches"] for n in patch])
        self.patch_count = len(facts["patches"])
        self.ranges = ints_of([n for pair in facts["ranges"] for n in pair])
        self.range_count = len(facts["ranges"])
        self.stamps = interpreter.int_row(self.inputs)
        self.stamp = 0
        self.now = 0
        self.shared = -1
        self.bound = []
        self.where = -1
        self.name = None

    def replay(self, given, now):
        """Run forward on what a call was given; DONE, or why not. `now` is a walk's number."""
        self.now = now
        self.bound = [None] * self.inputs
        outcome = self.bind(self.plan, given)
        if outcome == DONE:
            outcome = self.bind_roots()
        if outcome == DONE:
            outcome = self.find()
        if outcome == DONE:
            self.patch()
            self.forward()
            outcome = self.checked()
        return outcome

    def bind_roots(self):
        """Bind what the function reaches by itself."""
        for plan, holder, name in self.roots:
            x = holder
            if type(holder) is dict:
                x = holder.get(name, NOTHING)
            elif name is not None:
                x = getattr(holder, name, NOTHING)
            outcome = self.bind(plan, x)
            if outcome != DONE:
                return outcome
        return DONE

    def bind(self, plan, x):
        """Compare x with its plan, and take the Values and indices in it as inputs."""
        kind = plan[0]
        if kind == RUN:
            return self.bind_run(plan, x)
        if kind == VALUE:
            return self.take(plan[1], [x], plan[2])
        if kind == AGAIN:
            return DONE if self.bound[plan[1]] is x else OTHER_STRUCTURE
        if kind == LIST:
            return self.bind_list(plan, x)
        if kind == SAME:
            return DONE if plan[1] is x else OTHER_STRUCTURE
        return self.bind_other(kind, plan, x)

    def take(self, cls, values, slot):
        """Take Values of this class as the inputs from this slot on. None may be one already, of
        this call or of several that share it, or need a gradient where the recorded one did not."""
        needs = interpreter.ints(self.needs)
        numbers = interpreter.doubles(self.x)
        bound = self.bound
        now, shared = self.now, self.shared
        for x in values:
            if type(x) is not cls:
                return OTHER_STRUCTURE
            v = x
            if v._mark == now or v._mark == shared or (v._requires_grad != 0) != needs[slot]:
                return OTHER_STRUCTURE
            v._mark = now
            numbers[slot] = v._data
            bound[slot] = v
            slot += 1
        return DONE

    def bind_run(self, plan, x):
        """A list or tuple of Values, all new."""
        if type(x) is not plan[1] or len(x) != plan[3]:
            return OTHER_STRUCTURE
        return self.take(value.Value, x, plan[2])

    def bind_list(self, plan, x):
        if type(x) is not plan[1] or len(x) != len(plan[2]):
            return OTHER_STRUCTURE
        for i, inner in enumerate(plan[2]):
            outcome = self.bind(inner, x[i])
            if outcome != DONE:
                return outcome
        return DONE

    def bind_other(self, kind, plan, x):
        """What is not met by the thousand."""
        if kind == EQUAL:
            if type(x) is not plan[1]:
                return OTHER_STRUCTURE
            if plan[1] is float:
                self.name = plan[3]
                return DONE if interpreter.same_bits(x, plan[2]) else OTHER_NUMBER
            return DONE if x == plan[2] else OTHER_STRUCTURE
        if kind == INDEX:
            return self.bind_index(plan, x)
        if kind == ARRAY:
            return DONE if type(x) is plan[1] and plan[2] == contents(x) else OTHER_STRUCTURE
        if type(x) is not plan[1] or (kind == OBJECT and x is not plan[4]):
            return OTHER_STRUCTURE
        fields = x if kind == DICT else fields_of(x, plan[2])
        if len(fields) != len(plan[2]):
            return OTHER_STRUCTURE
        for key, inner in zip(plan[2], plan[3], strict=True):
            if key not in fields:
                return OTHER_STRUCTURE
            outcome = self.bind(inner, fields[key])
            if outcome != DONE:
                return outcome
        return DONE

    def bind_index(self, plan, x):
        """A whole number that only looks things up."""
        index = interpreter.ints(self.index)
        if type(x) is not int or not -1000000000 < x < 1000000000:
            return OTHER_STRUCTURE
        index[plan[1]] = x
        return DONE

    def find(self):
        """Look up the slots that the indices choose."""
        lookups = interpreter.ints(self.lookups)
        tables = interpreter.ints(self.tables)
        index = interpreter.ints(self.index)
        found = interpreter.ints(self.found)
        ranges = interpreter.ints(self.ranges)
        for i in range(self.range_count):
            k = index[ranges[2 * i]]
            if k < 0 or k >= ranges[2 * i + 1]:
                return OUT_OF_RANGE
        for i in range(self.lookup_count):
            k = index[lookups[3 * i + 2]]
            rows = lookups[3 * i + 1]
            if k < 0:
                k += rows
            if k < 0 or k >= rows:
                return OUT_OF_RANGE
            found[i] = tables[lookups[3 * i] + k]
        return DONE

    def patch(self):
        """Write the slots that were found into the operations that use them."""
        found = interpreter.ints(self.found)
        patches = interpreter.ints(self.patches)
        a, b, c = interpreter.ints(self.a), interpreter.ints(self.b), interpreter.ints(self.c)
        args = interpreter.ints(self.args)
        for i in range(self.patch_count):
            slot = found[patches[3 * i + 2]]
            place = patches[3 * i + 1]
            if patches[3 * i] == 0:
                a[place] = slot
            elif patches[3 * i] == 1:
                b[place] = slot
            elif patches[3 * i] == 2:
                c[place] = slot
            else:
                args[place] = slot

    def forward(self):
        """Every operation in turn."""
        x = interpreter.doubles(self.x)
        ops = interpreter.ints(self.ops)
        a, b, c = interpreter.ints(self.a), interpreter.ints(self.b), interpreter.ints(self.c)
        args = interpreter.ints(self.args)
        base = self.base
        for i in range(self.count):
            if ops[i] >= 0:
                x[base + i] = switch.value(ops[i], x[a[i]], x[b[i]])
            elif ops[i] == ADD_RUNS:
                x[base + i] = add_runs(x, x[a[i]], args[b[i]], args[b[i] + 1], c[i])
            elif ops[i] == ADD_PRODUCTS:
                x[base + i] = add_products(x, x[a[i]], args, b[i], c[i])
            elif ops[i] == ADD_PRODUCT:
                x[base + i] = x[a[i]] + x[b[i]] * x[c[i]]
            else:
                x[base + i] = self.many(ops[i], a[i], b[i], i)

    def many(self, op, first, count, i):
        """The value of an operation that is not a rule."""
        x = interpreter.doubles(self.x)
        args = interpreter.ints(self.args)
        work = interpreter.doubles(self.work)
        more = interpreter.ints(self.c)
        y = 0.0
        if op == DOT:
            for j in range(first, first + count, 2):
                y += x[args[j]] * x[args[j + 1]]
        elif op == SUM:
            for j in range(first, first + count):
                y += x[args[j]]
        elif op == SHARE:
            y = work[more[i]]
        elif op == COPY:
            y = x[first]
        elif op == MAXIMUM:
            y = x[args[first]]
            for j in range(first + 1, first + count):
                y = m.maximum(y, x[args[j]])
        else:
            gathered = interpreter.doubles(self.gathered)
            for j in range(first, first + count):
                gathered[j] = x[args[j]]
            y = fused.shares(gathered, work, first, count)
            if op == CROSS_ENTROPY:
                y -= gathered[first + self.place(more[i])]
        return y

    def place(self, k):
        """The place that a cross entropy chooses: k itself, or index number -1 - k."""
        return k if k >= 0 else interpreter.ints(self.index)[-1 - k]

    def checked(self):
        """Whether numbers that were read, and answers, are those of the recording."""
        x = interpreter.doubles(self.x)
        reads = interpreter.ints(self.reads)
        numbers = interpreter.doubles(self.read_numbers)
        answers = interpreter.ints(self.answers)
        for i in range(self.read_count):
            if not interpreter.same_bits(x[reads[i]], numbers[i]):
                self.where = i
                return OTHER_READ
        for i in range(self.answer_count):
            p = x[answers[4 * i + 1]]
            q = x[answers[4 * i + 2]]
            if answer(answers[4 * i], p, q) != answers[4 * i + 3]:
                return OTHER_ANSWER
        return DONE

    def backward(self, slot, order, count):
        """The derivatives of the number in a slot, by all below it: left in `flight`."""
        x = interpreter.doubles(self.x)
        flight = interpreter.doubles(self.flight)
        ops = interpreter.ints(self.ops)
        a, b, c = interpreter.ints(self.a), interpreter.ints(self.b), interpreter.ints(self.c)
        args = interpreter.ints(self.args)
        turns = interpreter.ints(order)
        base = self.base
        flight[slot] = 1.0
        for j in range(count - 1, -1, -1):
            i = turns[j]
            g = flight[base + i]
            flight[base + i] = 0.0
            if ops[i] >= 0:
                switch.push(ops[i], x, flight, a[i], b[i], x[base + i], g)
            elif ops[i] == ADD_RUNS:
                flight[a[i]] += g
                push_runs(x, flight, g, args[b[i]], args[b[i] + 1], c[i])
            elif ops[i] == ADD_PRODUCTS:
                push_products(x, flight, g, a[i], args, b[i], c[i])
            elif ops[i] == ADD_PRODUCT:
                flight[a[i]] += g
                flight[b[i]] += g * x[c[i]]
                flight[c[i]] += g * x[b[i]]
            else:
                self.spread(ops[i], a[i], b[i], i, g)

    def spread(self, op, first, count, i, g):
        """Send the gradient of an operation that is not a rule on."""
        x = interpreter.doubles(self.x)
        flight = interpreter.doubles(self.flight)
        args = interpreter.ints(self.args)
        work = interpreter.doubles(self.work)
        more = interpreter.ints(self.c)
        y = x[self.base + i]
        if op == DOT:
            for j in range(first, first + count, 2):
                p = x[args[j + 1]]
                q = x[args[j]]
                flight[args[j]] += g * p
                flight[args[j + 1]] += g * q
        elif op == SUM:
            for j in range(first, first + count):
                flight[args[j]] += g
        elif op == SHARE:
            flight[first] += g * y
            flight[count] += g * -y
        elif op == MAXIMUM:
            self.spread_maximum(first, count, y, g)
        else:
            for j in range(first, first + count):
                p = work[j]
                if op == CROSS_ENTROPY and j == first + self.place(more[i]):
                    p -= 1.0
                flight[args[j]] += g * p

    def spread_maximum(self, first, count, y, g):
        x = interpreter.doubles(self.x)
        flight = interpreter.doubles(self.flight)
        args = interpreter.ints(self.args)
        equals = 0.0
        for j in range(first, first + count):
            equals += m.where(m.equal(x[args[j]], y), 1.0, 0.0)
        for j in range(first, first + count):
            if y != y:
                flight[args[j]] += g
            elif x[args[j]] == y:
                flight[args[j]] += g * m.divide(1.0, equals)

    def result(self, i):
        """Output i as a node of its own: its parents are the inputs that it reaches."""
        slot, order, count, leaves, leaf_count = self.outputs[i]
        x = interpreter.doubles(self.x)
        if leaf_count == 0:
            return value.node(x[slot], None, 0.0, None, 0.0, None)
        self.backward(slot, order, count)
        parents = [None] * leaf_count
        row = interpreter.row(leaf_count)
        del parents[self.collect(leaves, leaf_count, parents, row) :]
        return fused.wide(x[slot], parents, row, "compiled")

    def chosen(self, i):
        """The input that lookup i found."""
        return self.bound[interpreter.ints(self.found)[i]]

    def collect(self, leaves, count, parents, row):
        """Take the gradients of inputs out of `flight`: each input once, though it may have been
        looked up several times. Returns how many there are."""
        slopes = interpreter.doubles(row)
        flight = interpreter.doubles(self.flight)
        slots = interpreter.ints(leaves)
        found = interpreter.ints(self.found)
        stamps = interpreter.ints(self.stamps)
        bound = self.bound
        self.stamp += 1
        n = 0
        for i in range(count):
            slot = slots[i] if slots[i] >= 0 else found[-1 - slots[i]]
            if stamps[slot] != self.stamp:
                stamps[slot] = self.stamp
                slopes[n] = flight[slot]
                flight[slot] = 0.0
                parents[n] = bound[slot]
                n += 1
        return n


def add_runs(x, y, p, q, n):
    """y plus n products, whose factors are in the slots from p and from q on."""
    for j in range(n):
        y += x[p + j] * x[q + j]
    return y


def push_runs(x, flight, g, p, q, n):
    """Send the gradient g of such a sum on to the factors."""
    for j in range(n):
        flight[p + j] += g * x[q + j]
    for j in range(n):
        flight[q + j] += g * x[p + j]


def add_products(x, y, args, first, n):
    """y plus n products, whose factors are in the slots that stand in args from `first` on."""
    for j in range(first, first + 2 * n, 2):
        y += x[args[j]] * x[args[j + 1]]
    return y


def push_products(x, flight, g, start, args, first, n):
    """Send the gradient g of such a sum on, the last product first: `start` is the slot of y."""
    for j in range(first + 2 * n - 2, first - 2, -2):
        if j == first:
            flight[start] += g
        p = x[args[j + 1]]
        q = x[args[j]]
        flight[args[j]] += g * p
        flight[args[j + 1]] += g * q


def below(root, now):
    """All nodes below root as value.arrange tells them apart, in its order, and the leaves; None
    where hooks run. `now` is a walk's number."""
    order, leaves = [], []
    return (order, leaves) if value.arrange(order, leaves, root, now) else None


def derivatives(root, now):
    """The derivatives of root by the leaves below it, by their id, as backward would find them;
    no `.grad` is changed. None where hooks run."""
    order, leaves = [], []
    if not value.arrange(order, leaves, root, now):
        return None
    root._flight = 1.0
    value.push_back(order)
    for v in order:
        v._grad = 0.0
        v._requires_grad = 1
    return {id(v): v._flight for v in leaves}


def answer(relation, a, b):
    """Whether a < b, a <= b, a > b, a >= b or a == b, by the number of the relation."""
    if relation == 0:
        return a < b
    if relation == 1:
        return a <= b
    if relation == 2:
        return a > b
    if relation == 3:
        return a >= b
    return a == b


def contents(array):
    """All that an array of NumPy holds."""
    return array.dtype.str, array.shape, array.tobytes()


def fields_of(x, names):
    """The attributes of these names that an object holds itself."""
    return {name: getattr(x, name) for name in names if hasattr(x, name)}
