# Several calls of a compiled function at once: each number of the tape is a row of LANES doubles,
# one for each call, so that every loop below is SIMD. Each lane has the numbers and gradients of
# Tape.forward and Tape.backward on that call alone, to the last bit; engine/batches.py says which
# calls go together. The Python build has no lanes: it replays one call after the other.

cimport cython
cimport switch

from engine_fast cimport elementary as m
from engine_fast cimport fused, interpreter, tape
from engine_fast.tape cimport Tape
from engine_fast.value cimport Value

cdef enum:
    LANES = switch.LANES
    PADDING = 8 + 256  # doubles

WIDTH = LANES


# A row of lanes is a line of the cache. A number and its gradient lie at places that differ modulo
# 4,096: a load waits for an earlier store whose address has the same last twelve bits.


cdef inline double *numbers(object row) noexcept:
    return <double *> ((<size_t> interpreter.doubles(row) + 63) // 64 * 64)


cdef inline double *gradients(object row) noexcept:
    cdef size_t start = <size_t> interpreter.doubles(row)
    return <double *> ((start + 63) // 64 * 64 + 2048)


cdef class Lanes:
    """The rows of one tape, and its calls.

    A slot that a lookup fills gets a row of its own, behind all others: `uses` lists, for each
    operation, the rows of lookups and the slots of inputs that it reads.
    """

    cdef readonly Tape tape
    cdef object x, flight, work, gathered, found, index, totals, reached, uses_at, uses
    cdef Py_ssize_t args, indices, lookups, first_row
    cdef long long shared
    cdef list owners

    def __init__(self, Tape tape):
        self.tape = tape
        self.first_row = tape.base + tape.count
        self.lookups = tape.lookup_count
        self.args = len(tape.args) // sizeof(int)
        self.indices = len(tape.index) // sizeof(int)
        self.x = interpreter.row(LANES * (self.first_row + self.lookups) + PADDING)
        self.flight = interpreter.row(LANES * (self.first_row + self.lookups) + PADDING)
        self.work = interpreter.row(LANES * self.args)
        self.gathered = interpreter.row(LANES * self.args)
        self.found = interpreter.int_row(LANES * self.lookups)
        self.index = interpreter.int_row(LANES * self.indices)
        self.point_at_rows()
        uses = [self.uses_of(i) for i in range(tape.count)]
        self.uses_at = ints_of([sum(map(len, uses[:i])) for i in range(len(uses) + 1)])
        self.uses = ints_of(sum(uses, []))

    cdef list uses_of(self, Py_ssize_t i):
        """What operation i reads of inputs and lookups; nothing where it reads no lookup."""
        cdef Tape t = self.tape
        cdef int *args = interpreter.ints(t.args)
        cdef int op = interpreter.ints(t.ops)[i]
        a, b, c = interpreter.ints(t.a)[i], interpreter.ints(t.b)[i], interpreter.ints(t.c)[i]
        if op >= 0 or op == tape.SHARE:
            read = [a, b]
        elif op == tape.COPY:
            read = [a]
        elif op == tape.ADD_PRODUCT:
            read = [a, b, c]
        elif op == tape.ADD_RUNS:
            read = []  # runs hold no lookups
        elif op == tape.ADD_PRODUCTS:
            read = [a] + [args[j] for j in range(b, b + 2 * c)]
        else:
            read = [args[j] for j in range(a, a + b)]
        read = [slot for slot in read if slot < t.inputs or slot >= self.first_row]
        return read if any(slot >= self.first_row for slot in read) else []

    # what the calls are given

    def share(self, list plans, list xs, long long now):
        """Take what all calls are given alike, and what they reach: a tape.DONE or why not."""
        cdef int outcome = 0
        self.tape.now, self.tape.shared, self.shared = now, -1, now
        self.tape.bound = [None] * self.tape.inputs
        for plan, x in zip(plans, xs):
            outcome = outcome or self.tape.bind(plan, x)
        outcome = outcome or self.tape.bind_roots()
        if outcome == 0:
            self.broadcast()
        self.owners = list(self.tape.bound)
        self.totals = interpreter.row(self.tape.inputs)
        self.reached = interpreter.int_row(self.tape.inputs)
        return outcome

    cdef int broadcast(self) except -1:
        """Write the numbers of inputs and constants into every lane."""
        cdef double *x = numbers(self.x)
        cdef double *one = interpreter.doubles(self.tape.x)
        cdef Py_ssize_t slot, l
        for slot in range(self.tape.base):
            for l in range(LANES):
                x[slot * LANES + l] = one[slot]
        return 0

    def take(self, Py_ssize_t l, list plans, list xs, list slots, long long now):
        """Take what call number l is given alone: a tape.DONE or why not. slots: of its inputs."""
        cdef int outcome = 0
        self.tape.now, self.tape.shared = now, self.shared
        for plan, x in zip(plans, xs):
            outcome = outcome or self.tape.bind(plan, x)
        self.tape.shared = -1
        outcome = outcome or self.tape.find()
        if outcome == 0:
            self.load(l, slots)
            if self.meets(l):
                outcome = tape.OTHER_STRUCTURE
        return outcome

    cdef int load(self, Py_ssize_t l, list slots) except -1:
        cdef double *x = numbers(self.x)
        cdef double *one = interpreter.doubles(self.tape.x)
        cdef int *found = interpreter.ints(self.found)
        cdef int *index = interpreter.ints(self.index)
        cdef int *found_now = interpreter.ints(self.tape.found)
        cdef int *index_now = interpreter.ints(self.tape.index)
        cdef Py_ssize_t slot, k
        for slot in slots:
            x[slot * LANES + l] = one[slot]
        for k in range(self.lookups):
            found[l * self.lookups + k] = found_now[k]
            x[(self.first_row + k) * LANES + l] = x[found_now[k] * LANES + l]
        for k in range(self.indices):
            index[l * self.indices + k] = index_now[k]
        return 0

    cdef bint meets(self, Py_ssize_t l):
        """Whether two operands of one operation, one of them looked up, are the same input: their
        gradients would get into each other's way."""
        cdef int *at = interpreter.ints(self.uses_at)
        cdef int *uses = interpreter.ints(self.uses)
        cdef Py_ssize_t i, j, k
        for i in range(self.tape.count):
            for j in range(at[i], at[i + 1]):
                for k in range(at[i], j):
                    if uses[j] != uses[k] and self.slot(uses[j], l) == self.slot(uses[k], l):
                        return True
        return False

    cdef inline Py_ssize_t slot(self, Py_ssize_t use, Py_ssize_t l):
        """The input behind a use: a slot itself, or what call l looked up."""
        if use < self.first_row:
            return use
        return interpreter.ints(self.found)[l * self.lookups + use - self.first_row]

    def repeat(self, Py_ssize_t l, list slots):
        """Have a lane that no call has taken do what lane 0 does."""
        cdef double *x = numbers(self.x)
        cdef int *found = interpreter.ints(self.found)
        cdef int *index = interpreter.ints(self.index)
        cdef Py_ssize_t slot, k
        for slot in slots:
            x[slot * LANES + l] = x[slot * LANES]
        for k in range(self.lookups):
            found[l * self.lookups + k] = found[k]
            x[(self.first_row + k) * LANES + l] = x[(self.first_row + k) * LANES]
        for k in range(self.indices):
            index[l * self.indices + k] = index[k]

    # forward

    def forward(self):
        """Every operation in turn, for all lanes."""
        cdef Tape t = self.tape
        cdef double *x = numbers(self.x)
        cdef int *ops = interpreter.ints(t.ops)
        cdef int *a = interpreter.ints(t.a)
        cdef int *b = interpreter.ints(t.b)
        cdef int *c = interpreter.ints(t.c)
        cdef int *args = interpreter.ints(t.args)
        cdef Py_ssize_t i
        cdef double *y
        self.point_at_rows()
        for i in range(t.count):
            y = x + (t.base + i) * LANES
            if ops[i] >= 0:
                switch.values(ops[i], x + a[i] * LANES, x + b[i] * LANES, y)
            elif ops[i] == tape.ADD_RUNS:
                add_runs(x, x + a[i] * LANES, y, args[b[i]], args[b[i] + 1], c[i])
            elif ops[i] == tape.ADD_PRODUCTS:
                add_products(x, x + a[i] * LANES, y, args + b[i], c[i])
            elif ops[i] == tape.ADD_PRODUCT:
                add_runs(x, x + a[i] * LANES, y, b[i], c[i], 1)
            elif ops[i] == tape.DOT:
                add_products(x, NULL, y, args + a[i], b[i] // 2)
            elif ops[i] == tape.SUM:
                add_all(x, y, args + a[i], b[i])
            elif ops[i] == tape.COPY:
                add_runs(x, x + a[i] * LANES, y, 0, 0, 0)
            else:
                self.many(ops[i], a[i], b[i], c[i], y)

    cdef int point_at_rows(self) except -1:
        """Have operations that use what was looked up read the rows of the lookups."""
        cdef int *found = interpreter.ints(self.tape.found)
        cdef Py_ssize_t k
        for k in range(self.lookups):
            found[k] = self.first_row + k
        self.tape.patch()
        return 0

    cdef void many(self, int op, Py_ssize_t first, Py_ssize_t n, int more, double *y) noexcept:
        """The values of what has a loop of its own in each lane."""
        cdef double *x = numbers(self.x)
        cdef int *args = interpreter.ints(self.tape.args)
        cdef double *work
        cdef double *gathered
        cdef Py_ssize_t l, j
        for l in range(LANES):
            work = interpreter.doubles(self.work) + l * self.args
            gathered = interpreter.doubles(self.gathered) + l * self.args
            if op == tape.SHARE:
                y[l] = work[more]
                continue
            for j in range(first, first + n):
                gathered[j] = x[args[j] * LANES + l]
            if op == tape.MAXIMUM:
                y[l] = gathered[first]
                for j in range(first + 1, first + n):
                    y[l] = m.maximum(y[l], gathered[j])
            else:
                y[l] = fused.shares(gathered, work, first, n)
                if op == tape.CROSS_ENTROPY:
                    y[l] -= gathered[first + self.place(more, l)]

    cdef Py_ssize_t place(self, int k, Py_ssize_t l) noexcept:
        """The place that a cross entropy chooses in lane l."""
        return k if k >= 0 else interpreter.ints(self.index)[l * self.indices - 1 - k]

    def holds(self, Py_ssize_t l):
        """Whether numbers that were read, and answers, are those of the recording in lane l."""
        cdef Tape t = self.tape
        cdef double *x = numbers(self.x)
        cdef int *reads = interpreter.ints(t.reads)
        cdef int *answers = interpreter.ints(t.answers)
        cdef double *recorded = interpreter.doubles(t.read_numbers)
        cdef Py_ssize_t i
        cdef double p, q
        for i in range(t.read_count):
            if not interpreter.same_bits(x[reads[i] * LANES + l], recorded[i]):
                return False
        for i in range(t.answer_count):
            p = x[answers[4 * i + 1] * LANES + l]
            q = x[answers[4 * i + 2] * LANES + l]
            if tape.answer(answers[4 * i], p, q) != answers[4 * i + 3]:
                return False
        return True

    def number(self, Py_ssize_t l):
        """The result in lane l."""
        return numbers(self.x)[<Py_ssize_t> self.tape.outputs[0][0] * LANES + l]

    # backward

    def backward(self):
        """The derivatives of the results, each by all below it in its lane."""
        cdef Tape t = self.tape
        cdef double *flight = gradients(self.flight)
        cdef int *at = interpreter.ints(self.uses_at)
        cdef double g[LANES]
        cdef Py_ssize_t j, l, i
        place, order, count, _, _ = t.outputs[0]
        cdef int *turns = interpreter.ints(order)
        cdef double *row = flight + <Py_ssize_t> place * LANES
        for l in range(LANES):
            row[l] = 1.0
        for j in range(<Py_ssize_t> count - 1, -1, -1):
            i = turns[j]
            row = flight + (t.base + i) * LANES
            for l in range(LANES):
                g[l] = row[l]
                row[l] = 0.0
            if at[i] == at[i + 1]:
                self.push(i, g)
            else:
                self.push_looked_up(i, g)

    cdef void push_looked_up(self, Py_ssize_t i, double *g) noexcept:
        """The rows of lookups carry, during their operation, the gradients of the inputs."""
        cdef double *flight = gradients(self.flight)
        cdef int *at = interpreter.ints(self.uses_at)
        cdef int *uses = interpreter.ints(self.uses)
        cdef Py_ssize_t j, l
        for j in range(at[i], at[i + 1]):
            for l in range(LANES):
                flight[uses[j] * LANES + l] = flight[self.slot(uses[j], l) * LANES + l]
        self.push(i, g)
        for j in range(at[i], at[i + 1]):
            for l in range(LANES):
                flight[self.slot(uses[j], l) * LANES + l] = flight[uses[j] * LANES + l]

    cdef void push(self, Py_ssize_t i, double *g) noexcept:
        """Send the gradients g of operation i on."""
        cdef Tape t = self.tape
        cdef double *x = numbers(self.x)
        cdef double *flight = gradients(self.flight)
        cdef int *args = interpreter.ints(t.args)
        cdef int op = interpreter.ints(t.ops)[i]
        cdef Py_ssize_t a = interpreter.ints(t.a)[i], b = interpreter.ints(t.b)[i]
        cdef int c = interpreter.ints(t.c)[i]
        cdef double *y = x + (t.base + i) * LANES
        if op >= 0:
            switch.pushes(
                op, x + a * LANES, x + b * LANES, y, g, flight + a * LANES, flight + b * LANES
            )
        elif op == tape.ADD_RUNS:
            add_to(flight + a * LANES, g)
            push_runs(x, flight, g, args[b], args[b + 1], c)
        elif op == tape.ADD_PRODUCTS:
            push_products(x, flight, g, a, args + b, c)
        elif op == tape.ADD_PRODUCT:
            add_to(flight + a * LANES, g)
            push_runs(x, flight, g, b, c, 1)
        else:
            self.spread(op, a, b, c, y, g)

    cdef void spread(
        self, int op, Py_ssize_t first, Py_ssize_t n, int more, double *y, double *g
    ) noexcept:
        """The same for operations of many operands, and shares of a softmax."""
        cdef double *x = numbers(self.x)
        cdef double *flight = gradients(self.flight)
        cdef int *args = interpreter.ints(self.tape.args)
        cdef Py_ssize_t j, l
        cdef double p
        if op == tape.DOT:
            for j in range(first, first + n, 2):
                push_runs(x, flight, g, args[j], args[j + 1], 1)
        elif op == tape.SUM:
            for j in range(first, first + n):
                add_to(flight + args[j] * LANES, g)
        elif op == tape.SHARE:
            for l in range(LANES):
                flight[first * LANES + l] += g[l] * y[l]
                flight[n * LANES + l] += g[l] * -y[l]
        else:
            for l in range(LANES):
                for j in range(first, first + n):
                    p = self.slope(op, j, first, n, more, l, y[l])
                    flight[args[j] * LANES + l] += g[l] * p

    cdef double slope(
        self, int op, Py_ssize_t j, Py_ssize_t first, Py_ssize_t n, int more, Py_ssize_t l,
        double y,
    ) noexcept:
        """That of a logsumexp, a cross entropy or a maximum by its operand j, in lane l."""
        cdef double *gathered = interpreter.doubles(self.gathered) + l * self.args
        cdef double share = interpreter.doubles(self.work)[l * self.args + j]
        cdef double equals = 0.0
        cdef Py_ssize_t k
        if op == tape.CROSS_ENTROPY and j == first + self.place(more, l):
            return share - 1.0
        if op != tape.MAXIMUM:
            return share
        if y != y:
            return 1.0
        for k in range(first, first + n):
            equals += m.where(m.equal(gathered[k], y), 1.0, 0.0)
        return m.divide(1.0, equals) if gathered[j] == y else 0.0

    # what came of it

    def collect(self, list good, list own, list parents, list slopes):
        """Take the gradients of inputs out of `flight`, lane after lane: those of Values that all
        calls share are added up for `result`; each other is one of `parents`, with its slope.

        good: whether each lane counts. own: for each lane the Values of its call alone, by slot.
        """
        cdef Py_ssize_t i, l, slot
        cdef bint counts[LANES]
        _, _, _, leaves, count = self.tape.outputs[0]
        cdef int *slots = interpreter.ints(leaves)
        for l in range(LANES):
            counts[l] = good[l]
        for i in range(<Py_ssize_t> count):
            if slots[i] >= 0 and self.owners[slots[i]] is not None:
                self.add_lanes(slots[i], counts)
            elif slots[i] >= 0:
                for l in range(LANES):
                    self.add(slots[i], l, good[l], own[l], parents, slopes)
        for l in range(LANES):
            for i in range(<Py_ssize_t> count):
                if slots[i] < 0:
                    slot = self.slot(self.first_row - 1 - slots[i], l)
                    self.add(slot, l, good[l], own[l], parents, slopes)

    cdef void add_lanes(self, Py_ssize_t slot, bint *counts) noexcept:
        """Take the gradients of an input that all calls share."""
        cdef double *flight = gradients(self.flight) + slot * LANES
        cdef double total = interpreter.doubles(self.totals)[slot]
        cdef Py_ssize_t l
        for l in range(LANES):
            if counts[l]:
                total += flight[l]
            flight[l] = 0.0
        interpreter.doubles(self.totals)[slot] = total
        interpreter.ints(self.reached)[slot] = 1

    cdef int add(
        self, Py_ssize_t slot, Py_ssize_t l, bint counts, dict own, list parents, list slopes
    ) except -1:
        """Take the gradient of one input in one lane; one found twice has given all it has."""
        cdef double *flight = gradients(self.flight) + slot * LANES + l
        if counts and self.owners[slot] is not None:
            interpreter.doubles(self.totals)[slot] += flight[0]
            interpreter.ints(self.reached)[slot] = 1
        elif counts and slot in own:
            parents.append(own.pop(slot))
            slopes.append(flight[0])
        flight[0] = 0.0
        return 0

    def result(self, double y, list parents, list slopes):
        """The number y, the sum of the calls, as a node of the parents and of what they share."""
        cdef double *totals = interpreter.doubles(self.totals)
        cdef int *reached = interpreter.ints(self.reached)
        cdef Py_ssize_t slot
        for slot in range(self.tape.inputs):
            if reached[slot]:
                parents.append(self.owners[slot])
                slopes.append(totals[slot])
        return node(y, parents, slopes)

    def forget(self):
        """Keep nothing of the calls."""
        self.tape.bound, self.owners = [], []


def node(double y, list parents, list slopes):
    """The number y as a node of these parents, with these slopes."""
    return fused.wide(y, parents, fused.as_row(slopes, "compile"), "compiled")


cdef object ints_of(list numbers):
    cdef object row = interpreter.int_row(len(numbers))
    cdef int *out = interpreter.ints(row)
    cdef Py_ssize_t i
    for i in range(len(numbers)):
        out[i] = numbers[i]
    return row


# Loops over lanes, each into an array of its own first: nothing else can be in its way.


cdef inline void add_to(double *row, const double *g) noexcept nogil:
    cdef Py_ssize_t l
    cdef double sums[LANES]
    for l in range(LANES):
        sums[l] = row[l] + g[l]
    for l in range(LANES):
        row[l] = sums[l]


cdef inline void add_product(double *row, const double *p, const double *q) noexcept nogil:
    cdef Py_ssize_t l
    cdef double sums[LANES]
    for l in range(LANES):
        sums[l] = row[l] + p[l] * q[l]
    for l in range(LANES):
        row[l] = sums[l]


cdef void add_runs(
    double *x, double *start, double *y, Py_ssize_t p, Py_ssize_t q, Py_ssize_t n
) noexcept nogil:
    cdef double sums[LANES]
    cdef double *a = x + p * LANES
    cdef double *b = x + q * LANES
    cdef Py_ssize_t j, l
    for l in range(LANES):
        sums[l] = start[l]
    for j in range(n):
        for l in range(LANES):
            sums[l] += a[j * LANES + l] * b[j * LANES + l]
    for l in range(LANES):
        y[l] = sums[l]


cdef void push_runs(
    double *x, double *flight, const double *g, Py_ssize_t p, Py_ssize_t q, Py_ssize_t n
) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(n):
        add_product(flight + (p + j) * LANES, g, x + (q + j) * LANES)
        add_product(flight + (q + j) * LANES, g, x + (p + j) * LANES)


cdef void add_products(
    double *x, double *start, double *y, int *args, Py_ssize_t n
) noexcept nogil:
    cdef double sums[LANES]
    cdef Py_ssize_t j, l
    for l in range(LANES):
        sums[l] = 0.0 if start == NULL else start[l]
    for j in range(n):
        add_product(sums, x + args[2 * j] * LANES, x + args[2 * j + 1] * LANES)
    for l in range(LANES):
        y[l] = sums[l]


cdef void push_products(
    double *x, double *flight, const double *g, Py_ssize_t start, int *args, Py_ssize_t n
) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(n - 1, -1, -1):
        if j == 0:
            add_to(flight + start * LANES, g)
        push_runs(x, flight, g, args[2 * j], args[2 * j + 1], 1)


cdef void add_all(double *x, double *y, int *args, Py_ssize_t n) noexcept nogil:
    cdef double sums[LANES]
    cdef Py_ssize_t j, l
    for l in range(LANES):
        sums[l] = 0.0
    for j in range(n):
        add_to(sums, x + args[j] * LANES)
    for l in range(LANES):
        y[l] = sums[l]
