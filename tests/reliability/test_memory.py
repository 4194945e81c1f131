"""Nothing grows, and what nobody names is gone, with the garbage collector off."""

import gc
import sys
import weakref
from pathlib import Path

import pytest
from fresh import printed

import engine
from engine import Function, Value


@pytest.fixture(autouse=True)
def _no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def value_steps():
    engine.manual_seed(0)
    weights = [Value(0.1 * i - 0.2) for i in range(6)]
    optimizer = engine.optim.Adam(weights, lr=0.01)

    def step(i):
        x = 0.1 * (i % 7)
        hidden = [(w * x + b).tanh() for w, b in zip(weights[:2], weights[2:4], strict=True)]
        y = hidden[0] * weights[4] + hidden[1] * weights[5]
        optimizer.zero_grad()
        ((y - x * x) ** 2).backward()
        optimizer.step()

    return step


def tensor_steps():
    engine.manual_seed(0)
    net = engine.nn.Sequential(engine.nn.Linear(2, 3), engine.nn.ReLU(), engine.nn.Linear(3, 1))
    optimizer = engine.optim.Adam(net.parameters(), lr=0.01)
    x = engine.randn(4, 2)

    def step(i):
        optimizer.zero_grad()
        net(x).pow(2).mean().backward()
        optimizer.step()

    return step


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3.0 * x * x


def hooked_steps():
    v, t = Value(1.5), engine.ones(3, requires_grad=True)

    def step(i):
        y = Cube.apply(v * 2.0) + Cube.apply(t * 2.0).sum()
        y.register_hook(lambda g: g * 0.5)
        v.grad = t.grad = None
        y.backward()

    return step


def second_derivative_steps():
    v, t = Value(0.5), engine.ones(2, requires_grad=True)

    def step(i):
        for x in (v, t):
            y = Cube.apply(x.tanh())
            y = y if x is v else y.sum()
            (slope,) = engine.autograd.grad(y, x, create_graph=True)
            engine.autograd.grad(slope if x is v else slope.sum(), x)

    return step


def failing_steps():
    class Fails(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1.0

        @staticmethod
        def backward(ctx, g):
            raise ArithmeticError

    v, t = Value(1.0), engine.ones(2, requires_grad=True)

    def step(i):
        for y in (Fails.apply(v * 2.0) * 3.0, (Fails.apply(t * 2.0) * 3.0).sum()):
            try:
                y.backward()
            except ArithmeticError:
                pass
            else:
                raise AssertionError("the error was lost")

    return step


def compiled_steps():
    v = Value(0.5)
    loss = engine.compile(lambda x: (v * x).tanh() * x)

    def step(i):
        v.grad = None
        loss(Value(0.1 * (i % 5))).backward()

    return step


KINDS = {
    "values": (value_steps, 100_000),
    "tensors": (tensor_steps, 100_000),
    "Functions with hooks": (hooked_steps, 20_000),
    "second derivatives": (second_derivative_steps, 20_000),
    "failing backwards": (failing_steps, 20_000),
    "engine.compile": (compiled_steps, 20_000),
}


@pytest.mark.parametrize("kind", KINDS)
def test_steps_of_training_leave_nothing(kind, long, figure):
    make, much = KINDS[kind]
    step, count = make(), long(300, much)
    for i in range(100):
        step(i)
    gc.collect()
    before = sys.getallocatedblocks()
    for i in range(count):
        step(i)
    cycles = gc.collect()  # and it empties the interpreter's free lists
    grown = sys.getallocatedblocks() - before
    figure(f"steps, {kind}", count)
    figure("objects left in cycles by all steps", cycles)
    figure("blocks of memory left by all steps", max(grown, 0))
    assert cycles == 0
    assert grown < 100  # a third of one for each step: caches of the interpreter, no leak


RESIDENT = """
import gc, sys
sys.path.insert(0, {folder!r})
import test_memory as t
from reliability.work import peak
gc.disable()
step = t.KINDS[sys.argv[1]][0]()
for i in range(200):
    step(i)
before = peak()
for i in range(int(sys.argv[2])):
    step(i)
print((peak() - before) // 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Linux counts the memory")
@pytest.mark.parametrize("kind", ["values", "tensors"])
def test_a_process_that_trains_does_not_grow(kind, long, figure):
    program = RESIDENT.format(folder=str(Path(__file__).parent))
    grown = int(printed(program, kind, long(2_000, 100_000)))
    figure(f"KB that a process grew by, {kind}", grown)
    assert grown < 1_024


class Marker:
    """Something that a weak reference can watch."""


class Marked(Function):
    """Puts a Marker on its ctx; `seen` gets a watch on it."""

    @staticmethod
    def forward(ctx, x, seen):
        ctx.marker = Marker()
        seen.append(weakref.ref(ctx.marker))
        return x * 2.0

    @staticmethod
    def backward(ctx, g):
        return g * 2.0, None


def graph_with_marker(x):
    """A result over x, and a watch on what a node between them holds."""
    seen = []
    y = Marked.apply(x * 1.0, seen) * 3.0
    return y, seen[0]


LEAVES = {
    "Value": lambda: Value(1.0),
    "Tensor": lambda: engine.ones((), requires_grad=True),
}


@pytest.mark.parametrize("kind", LEAVES)
@pytest.mark.parametrize("walked", [False, True])
def test_a_graph_goes_when_its_last_name_goes(kind, walked):
    x = LEAVES[kind]()
    y, watch = graph_with_marker(x)
    if walked:
        y.backward()
    assert watch() is not None
    del y
    assert watch() is None


def collected(watch):
    """Whether one collection is enough."""
    gc.collect()
    return watch() is None


@pytest.mark.parametrize("kind", LEAVES)
def test_a_ctx_that_holds_its_own_output_goes_in_one_collection(kind):
    class Holds(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.y = x * 2.0
            ctx.marker = Marker()
            seen.append(weakref.ref(ctx.marker))
            return ctx.y

        @staticmethod
        def backward(ctx, g):
            return g * 2.0

    seen = []
    y = Holds.apply(LEAVES[kind]())
    y.backward()
    del y
    assert collected(*seen)


@pytest.mark.filterwarnings("ignore:Using backward")
def test_a_graph_in_a_cycle_goes_though_the_collector_came_by_while_it_was_made():
    watches, before = [], gc.get_threshold()
    for _ in range(20):
        x = engine.ones(2, 2, requires_grad=True)
        gc.set_threshold(1)
        gc.enable()
        y = x
        for _ in range(20):
            y = (y @ x) * 0.1
        y.sum().backward(create_graph=True)
        gc.disable()
        gc.set_threshold(*before)
        watches.append(weakref.ref(x))
        del x, y
    gc.collect()
    assert [watch() for watch in watches] == [None] * 20


@pytest.mark.parametrize("kind", LEAVES)
def test_a_hook_that_holds_its_tensor_goes_in_one_collection(kind):
    marker = Marker()
    watch, y = weakref.ref(marker), LEAVES[kind]() * 2.0
    y.register_hook(lambda g, held=(y, marker): g)
    y.backward()
    del y, marker
    assert collected(watch)


@pytest.mark.parametrize("kind", LEAVES)
def test_what_a_failed_backward_held_goes_in_one_collection(kind):
    class Fails(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.marker = Marker()
            seen.append(weakref.ref(ctx.marker))
            return x * 2.0

        @staticmethod
        def backward(ctx, g):
            raise ArithmeticError

    seen = []
    y = Fails.apply(LEAVES[kind]() * 1.0) * 2.0
    with pytest.raises(ArithmeticError):
        y.backward()
    del y
    assert collected(*seen)


@pytest.mark.parametrize("kind", LEAVES)
def test_a_generator_left_half_way_keeps_no_graph_and_no_mode(kind):
    @engine.no_grad()
    def numbers(x):
        while True:
            yield x * 2.0

    x = LEAVES[kind]()
    y, watch = graph_with_marker(x)
    half = numbers(y)
    assert next(half).requires_grad is False
    del half, y
    assert collected(watch)
    assert (x * 2.0).requires_grad


NODES = """
import sys
from engine import Value
from reliability.work import peak
count = int(sys.argv[1])
x = y = Value(1.0)
for _ in range(1000):
    y = y + x
before = peak()
for _ in range(count // 2):
    y = y + x
    y = y.tanh()
y.backward()
print((peak() - before) // count, peak())
del y
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Linux counts the memory")
def test_a_long_chain_is_walked_and_freed_without_recursion(long, figure):
    count = long(300_000, 10_000_000)
    each, whole = map(int, printed(NODES, count).split())
    figure("nodes of the longest chain", count)
    figure("bytes a node, walk included", each)
    figure("MB that its process took in all", whole // 1_000_000)
    assert each > 100
    if engine.backend() == "cython":
        assert each <= 132
        assert whole < 1_400_000_000
