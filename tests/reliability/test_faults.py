"""Ctrl-C, a signal handler that raises, and memory that runs out: state stays usable."""

import dis
import functools
import gc
import itertools
import json
import operator
import os
import signal
import sys
import threading
import time

import pytest
from fresh import printed

import engine
from engine import Value, forking, free_threading, graph, modes
from engine.autograd import grad

ALARMS = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="timers of POSIX")


def taken():
    """The locks of engine that some thread has now."""
    return [x for x in forking.LOCKS if x._is_owned() or not x.acquire(False) or x.release()]


@pytest.fixture(autouse=True)
def no_lock_is_left_taken():
    """Other threads would wait for it for ever."""
    yield
    left = taken()
    for lock in left:
        lock._at_fork_reinit()  # other tests are not to fail for this one
    assert left == []


class Interrupted:
    """Runs work() with an exception due after so many seconds; keeps how long the answer took."""

    def __init__(self, error):
        self.error = error
        self.answered = False
        self.working = True

    def handler(self, number, frame):
        if self.working:
            raise self.error()

    def run(self, work, seconds):
        before = signal.signal(signal.SIGALRM, self.handler)
        due = time.perf_counter() + seconds
        gc.disable()  # the alarm is for work(), not for the callbacks of others in the collector
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds)
            work()
            self.working = False  # an alarm from here on comes too late
        except self.error:
            self.answered = True
            return time.perf_counter() - due
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
            gc.enable()


class Stop(Exception):
    """What a handler of the user's raises."""


def scalar_graph(count):
    x = y = Value(1.0)
    for _ in range(count // 2):
        y = y * 0.5 + x
    return x, y


def tensor_graph(count):
    x = engine.ones(1, requires_grad=True)
    y = x
    for _ in range(count // 2):
        y = y * 0.5 + x
    return x, y


COMPILED = engine.backend() == "cython"
GRAPHS = {
    "Values": (scalar_graph, 400_000 if COMPILED else 20_000, 1_000_000),
    "Tensors": (tensor_graph, 10_000, 100_000),
}


def time_of(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


@ALARMS
@pytest.mark.parametrize("error", [KeyboardInterrupt, Stop], ids=["Ctrl-C", "a handler"])
@pytest.mark.parametrize("kind", GRAPHS)
def test_a_backward_that_is_interrupted_changes_nothing_and_can_be_done_again(
    kind, error, long, figure
):
    make, few, many = GRAPHS[kind]
    x, y = make(long(few, many))
    whole = time_of(lambda: y.backward(retain_graph=True))
    right = float(x.grad)
    stopped = 0
    for i in range(long(3, 20)):
        x.grad = None
        interrupted = Interrupted(error)
        interrupted.run(lambda: y.backward(retain_graph=True), whole * (i % 4 + 1) / 6)
        stopped += interrupted.answered
        assert graph.current_walk() is None
        assert float(x.grad or 0.0) in ((0.0, right) if interrupted.answered else (right,))
        x.grad = None
        y.backward(retain_graph=True)
        assert float(x.grad) == right
    assert stopped > 0
    figure(f"backwards interrupted, {kind}", stopped)


def leaves(kind, count):
    """Leaves of a kind and their sum, which gives them one gradient among them."""
    tensors = kind != "Values"
    x = [engine.ones(1, requires_grad=True) if tensors else Value(1.0) for _ in range(count)]
    if kind == "both":
        x[::2] = [Value(1.0) for _ in x[::2]]
    y = functools.reduce(operator.add, x)
    if kind == "Values":
        y.register_hook(lambda g: None)  # which makes it the general walk
    return x, y


class Stopper:
    """Raises where the interpreter looks for signals the n-th time: as a function of Python
    begins, as one of C returns, and in the jump back of a loop. It raises in that instruction, as
    a signal does: it need not lie in the `try` block that the next one lies in."""

    def __init__(self, n):
        self.left = n

    def look(self):
        self.left -= 1
        if self.left == 0:
            raise Stop()

    def trace(self, frame, event, argument):
        frame.f_trace_opcodes = True
        if event == "call" or (event == "opcode" and jumps_back(frame)):
            self.look()
        return self.trace

    def profile(self, frame, event, argument):
        if event == "c_return":
            self.look()


def jumps_back(frame):
    return dis.opname[frame.f_code.co_code[frame.f_lasti]] == "JUMP_BACKWARD"


def each_stopped(work):
    """Runs work() again and again, stopped where the interpreter looks for signals the first time,
    the second time and so on, until nothing stops it; its caller looks at the state each time."""
    for n in itertools.count(1):
        try:
            stopped_at(n, work)
        except Stop:
            yield
        else:
            return


def stopped_at(n, work):
    """Runs work() until the interpreter looks for signals the n-th time."""
    before, stopper = sys.gettrace(), Stopper(n)
    gc.disable()  # others' callbacks, hypothesis has one, are not to be stopped
    sys.settrace(stopper.trace)
    sys.setprofile(stopper.profile)
    try:
        work()
    finally:
        sys.setprofile(None)
        sys.settrace(before)
        gc.enable()


GENERAL = ["Values", "Tensors", "both"]


@pytest.mark.parametrize("there", [False, True], ids=["first gradients", "added to what is there"])
@pytest.mark.parametrize("kind", GENERAL)
def test_a_backward_stopped_at_any_look_for_signals_gives_all_leaves_their_gradients_or_none(
    kind, there, long, figure
):
    x, y = leaves(kind, long(4, 20))

    def start():
        for leaf in x:
            leaf.grad = None
        if there:
            y.backward(retain_graph=True)

    start()
    stops = 0
    for _ in each_stopped(lambda: y.backward(retain_graph=True)):
        stops += 1
        assert len({float(leaf.grad or 0.0) for leaf in x}) == 1
        assert engine.is_grad_enabled()
        assert graph.current_walk() is None
        start()
    assert {float(leaf.grad) for leaf in x} == {1.0 + there}
    figure(f"places where a backward was stopped, {kind}", stops)


def test_a_scalar_walk_stopped_at_any_look_for_signals_gives_all_leaves_their_gradients_or_none():
    x = [Value(1.0) for _ in range(8)]
    y = functools.reduce(operator.add, x)
    for _ in each_stopped(y.backward):
        assert len({leaf.grad for leaf in x}) == 1
        for leaf in x:
            leaf.grad = None
    assert {leaf.grad for leaf in x} == {1.0}


def sum_of_four(x):
    return functools.reduce(operator.add, x)


def compiled():
    """A function under engine.compile, with its tape, and what to call it with."""
    x = [Value(1.0) for _ in range(4)]
    loss = engine.compile(sum_of_four)
    loss(x)
    return loss, x


def scalar_walk():
    return sum_of_four([Value(1.0) for _ in range(4)]).backward


def general_walk():
    y = leaves("both", 4)[1]
    return lambda: y.backward(retain_graph=True)


def first_call():
    x = [Value(1.0)]
    return lambda: engine.compile(sum_of_four)(x)


def replay_and_compare():
    loss, x = compiled()
    return lambda: loss(x)


def batch():
    loss, x = compiled()
    return lambda: loss.sum([(x,)] * 8)


def adding_without_the_global_lock():
    v = Value(1.0)
    v._flight = 2.0
    return lambda: free_threading.keep_alone([v])


def counting_without_the_global_lock():
    return lambda: free_threading.count_alone(0)


LOCKED = [scalar_walk, general_walk, first_call, replay_and_compare, batch]
LOCKED += [counting_without_the_global_lock]
LOCKED += [] if COMPILED else [adding_without_the_global_lock]


@pytest.mark.parametrize("prepare", LOCKED, ids=lambda prepare: prepare.__name__)
def test_a_call_stopped_at_any_look_for_signals_leaves_no_lock_taken(prepare, figure):
    work, stops = [prepare()], 0
    for _ in each_stopped(lambda: work[0]()):
        assert (taken(), modes.observers()) == ([], ())
        work[0] = prepare()  # what was stopped may have changed
        stops += 1
    assert stops > 0
    figure("places where a call was stopped that takes a lock", stops)


@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
def test_a_ctrl_c_as_a_first_call_ends_leaves_profile_and_collector_as_they_were(
    done, monkeypatch
):
    calls, before, setprofile = [], sys.getprofile(), sys.setprofile

    def interrupted(profile):
        calls.append(profile)
        if len(calls) != 2 or done:
            setprofile(profile)
        if len(calls) == 2:
            raise KeyboardInterrupt()

    monkeypatch.setattr(sys, "setprofile", interrupted)
    with pytest.raises(KeyboardInterrupt):
        engine.compile(sum_of_four)([Value(1.0)])
    assert len(calls) == 3
    assert gc.isenabled()
    assert sys.getprofile() is before


@ALARMS
@pytest.mark.parametrize("kind", ["Values in the scalar walk", *GENERAL])
def test_a_backward_that_is_interrupted_gives_all_leaves_their_gradients_or_none(
    kind, long, figure
):
    x, y = leaves(kind, 50)
    if kind not in GENERAL:
        x = [Value(1.0) for _ in range(100)]
        y = functools.reduce(operator.add, x)
    whole = min(time_of(lambda: y.backward(retain_graph=True)) for _ in range(3))
    for i in range(long(60, 2_000)):
        for leaf in x:
            leaf.grad = None
        Interrupted(Stop).run(lambda: y.backward(retain_graph=True), whole * (0.5 + i % 20 / 40))
        assert len({float(leaf.grad or 0.0) for leaf in x}) == 1
        assert engine.is_grad_enabled()
    figure(f"backwards interrupted while leaves get their gradients, {kind}", long(60, 2_000))


@pytest.mark.parametrize("turned_first", [False, True])
def test_a_gradient_that_does_not_fit_its_leaf_leaves_all_others_as_they_were(turned_first):
    x, w = engine.ones(2, 3, requires_grad=True), engine.ones(2, 3, requires_grad=True)
    y = (w + x if turned_first else x + w).sum()
    with engine.no_grad():
        w.t_()
    with pytest.raises(RuntimeError, match=r"a gradient of shape \(2, 3\) arrived at a leaf"):
        y.backward()
    assert (x.grad, w.grad) == (None, None)


@ALARMS
def test_ctrl_c_is_answered_in_the_middle_of_a_long_walk(long, figure):
    x, y = scalar_graph(long(2_000_000 if COMPILED else 50_000, 5_000_000))
    interrupted = Interrupted(KeyboardInterrupt)
    late = interrupted.run(y.backward, 0.001)
    assert interrupted.answered
    figure("ms until Ctrl-C was answered in a long walk", round(1000 * late))
    assert (x.grad, grad(Value(2.0) * 3.0 + x, x)[0].data) == (0.0, 1.0)
    assert engine.is_grad_enabled()


def looks(work, see):
    """What see() gave each time that work() let a signal in; the next is due a moment later."""
    seen, going_on = [], [True]

    def handler(number, frame):
        seen.append(see())
        if going_on:
            signal.setitimer(signal.ITIMER_REAL, 1e-4)

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 1e-4)
        work()
    finally:
        going_on.clear()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return seen


@ALARMS
def test_a_scalar_walk_looks_for_signals_every_hundred_thousand_nodes_both_ways():
    count = 1_000_000 if COMPILED else 100_000
    _, y = scalar_graph(count)
    seen = looks(y.backward, lambda: y.grad)  # which is set when the nodes are in order
    assert min(seen.count(0.0), seen.count(1.0)) >= count // 200_000


@ALARMS
@pytest.mark.parametrize(
    "ask", [lambda x, y: y.backward(), lambda x, y: grad(y, x)], ids=["backward", "grad"]
)
def test_a_general_walk_looks_for_signals_while_it_orders_the_nodes(ask):
    count = 1_000_000 if COMPILED else 100_000
    x, y = scalar_graph(count)
    called = []
    y.register_hook(called.append)
    seen = looks(lambda: ask(x, y), lambda: len(called))
    assert seen.count(0) >= 5


@ALARMS
def test_a_walk_over_tensors_looks_for_signals_between_any_two_nodes():
    y = x = engine.ones(2).requires_grad_()
    for _ in range(20_000):
        y = y + x
    y = y.sum()
    assert len(looks(y.backward, lambda: None)) >= 10


@ALARMS
def test_a_compiled_loop_that_is_interrupted_goes_on_afterwards(long, figure):
    v = Value(0.5)

    @engine.compile
    def loss(x):
        y = x
        for _ in range(300):
            y = (y * v).tanh() + x
        return y

    def loop():
        while True:
            v.grad = None
            loss(Value(0.3)).backward()

    for _ in range(5):
        v.grad = None
        loss(Value(0.3)).backward()
    right = v.grad
    for i in range(long(5, 200)):
        interrupted = Interrupted(KeyboardInterrupt)
        interrupted.run(loop, 0.01 + 0.0007 * i)
        assert interrupted.answered
        v.grad = None
        loss(Value(0.3)).backward()
        assert v.grad == right
    figure("compiled loops interrupted", long(5, 200))


@ALARMS
def test_an_interrupted_no_grad_block_gives_the_mode_back(long):
    def block():
        with engine.no_grad():
            while True:
                Value(1.0) * 2.0

    try:
        for i in range(long(20, 2_000)):
            Interrupted(KeyboardInterrupt).run(block, 0.002 + 1e-5 * (i % 50))
            assert engine.is_grad_enabled()
    finally:
        engine.set_grad_enabled(True)  # other tests are not to fail for this one


def test_a_no_grad_block_stopped_at_any_look_for_signals_takes_no_other_threads_mode():
    def block():
        with engine.no_grad():
            pass

    def other():
        with engine.no_grad():
            recorded.append((Value(1.0) * 2.0).requires_grad)

    recorded = []
    try:
        for _ in each_stopped(block):
            engine.set_grad_enabled(True)
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()
    finally:
        engine.set_grad_enabled(True)
    assert not any(recorded)


MANY_MODES = """
import engine, signal
from engine import Value, graph

def handler(number, frame):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, handler)
for i in range(1000):
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.0005 + 1e-5 * (i % 50))
        while True:
            with engine.no_grad():
                Value(1.0) * 2.0
    except KeyboardInterrupt:
        engine.set_grad_enabled(True)
print("done")
"""


@ALARMS
def test_ctrl_c_while_modes_change_never_stops_the_program_for_ever():
    assert printed(MANY_MODES, timeout=60) == "done\n"


NO_MEMORY = """
import json, resource, engine
x = engine.ones(30_000, 1, requires_grad=True)
v = engine.Value(1.0)
small = (x[:2] * v).sum()
with open("/proc/self/statm") as f:
    now = int(f.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + 200_000_000,) * 2)
failed = 0
for make in (
    lambda: x @ x.t(),
    lambda: (x * x.t()).sum().backward(),
    lambda: x.expand(30_000, 30_000).exp(),
    lambda: engine.zeros(30_000, 30_000),
):
    try:
        make()
    except MemoryError:
        failed += 1
print(json.dumps([failed, x.grad is None, engine.is_grad_enabled()]))
small.backward()
print(json.dumps([float(x.grad.sum()), v.grad, (x.t() @ x).item()]))
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="Linux counts the memory")
def test_a_product_too_large_for_memory_raises_and_leaves_all_usable(figure):
    first, second = map(json.loads, printed(NO_MEMORY).splitlines())
    assert first == [4, True, True]
    assert second == [2.0, 2.0, 30_000.0]
    figure("allocations refused", first[0])
