"""Eight threads on shared leaves, and processes made by fork and spawn."""

import dis
import math
import multiprocessing
import os
import threading

import pytest
from reliability.work import value_and_gradient
from together import THREADS, in_threads, switching_often  # noqa: F401  a fixture

import engine
from engine import Function, Value, differentiation, forking, free_threading

pytestmark = pytest.mark.usefixtures("switching_often")


class Double(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2.0

    @staticmethod
    def backward(ctx, g):
        assert ctx.saved_tensors
        return g * 2.0


def test_no_gradient_of_a_shared_leaf_is_lost(long, figure):
    v, t = Value(1.0), engine.ones(2, requires_grad=True, dtype=engine.float64)
    rounds = long(50, 5_000)

    def work(i):
        seen = []
        for _ in range(rounds):
            a = Double.apply(v * 1.0) + v * 2.0
            b = Double.apply(t * 1.0) + t * 2.0
            a.register_hook(seen.append)
            b.register_hook(seen.append)
            a.backward()
            b.sum().backward()
        return len(seen)

    assert in_threads(work) == [2 * rounds] * THREADS
    assert v.grad == 4.0 * rounds * THREADS
    assert t.grad.tolist() == [4.0 * rounds * THREADS] * 2
    figure("backwards in 8 threads that share leaves", 2 * rounds * THREADS)


def test_one_graph_is_walked_by_all_threads_at_once(long):
    v, t = Value(1.0), engine.ones(2, requires_grad=True, dtype=engine.float64)
    y, z = (v * 3.0).tanh() * 0.0 + v * 3.0, (t * 3.0).sum()
    rounds = long(50, 5_000)

    def work(i):
        for _ in range(rounds):
            y.backward()
            z.backward(retain_graph=True)

    in_threads(work)
    assert v.grad == 3.0 * rounds * THREADS
    assert t.grad.tolist() == [3.0 * rounds * THREADS] * 2


def test_modes_stay_in_their_thread(long):
    def work(i):
        x, wrong = Value(1.0), 0
        for _ in range(long(200, 20_000)):
            if i % 2:
                with engine.no_grad():
                    wrong += (x * 2.0).requires_grad
            else:
                wrong += not (x * 2.0).requires_grad
        return wrong

    assert in_threads(work) == [0] * THREADS
    assert (Value(1.0) * 2.0).requires_grad


def test_threads_that_share_a_generator_are_given_each_number_once(long):
    for seed in range(long(20, 1_000)):
        g, again = (engine.Generator().manual_seed(seed) for _ in range(2))
        found = in_threads(lambda i, g=g: engine.rand(3, generator=g).tolist())
        assert sorted(found) == sorted(engine.rand(THREADS, 3, generator=again).tolist())


def answer_of_child(work):
    """What work() returns in a forked process: True, or False and a hang for anything else."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, b"1" if work() else b"0")
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader, "rb") as stream:
        answer = stream.read()
    os.waitpid(child, 0)
    return answer == b"1"


def modes_and_gradients():
    x, t = Value(1.0), engine.ones(2, requires_grad=True)
    with engine.no_grad():
        plain = x * 2.0
    (x * 3.0).tanh().backward()
    (t * 3.0).sum().backward()
    right = x.grad == 3.0 * (1.0 - math.tanh(3.0) ** 2)
    return right and t.grad.tolist() == [3.0, 3.0] and not plain.requires_grad


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_fork_while_other_threads_switch_modes_and_walk_does_not_hang(long, figure):
    stop = threading.Event()

    def busy():
        x = Value(1.0)
        while not stop.is_set():
            with engine.no_grad():
                x * 2.0
            (x * 2.0 + x).backward()

    threads = [threading.Thread(target=busy, daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    forks = long(40, 1_000)
    try:
        assert [answer_of_child(modes_and_gradients) for _ in range(forks)] == [True] * forks
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    figure("forks among busy threads", forks)


def test_spawned_processes_take_and_give_values_and_tensors():
    x, t = Value(0.5), engine.tensor(0.5, dtype=engine.float64, requires_grad=True)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        (y, slope, build), (u, du, _) = pool.map(value_and_gradient, [x, t])
    here, here_slope, here_build = value_and_gradient(Value(0.5))
    assert (y.data, slope, build) == (here.data, here_slope, here_build)
    assert u.item() == pytest.approx(y.data, rel=1e-15)
    assert du.item() == pytest.approx(slope, rel=1e-15)
    assert x.grad == 0.0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("lock", forking.LOCKS, ids=["counting", "adding", "walk"])
def test_a_child_forked_while_another_thread_holds_a_lock_finds_it_free(lock):
    held, done = threading.Event(), threading.Event()

    def hold():
        with lock:
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    if child == 0:
        os._exit(0 if lock.acquire(blocking=False) else 1)
    _, status = os.waitpid(child, 0)
    done.set()
    thread.join()
    assert status == 0


@pytest.mark.skipif(engine.backend() == "cython", reason="the global lock is switched on there")
def test_without_the_global_lock_the_scalar_walk_waits_to_add_to_leaves():
    v, added = Value(1.0), []
    v._flight = 2.0

    def add():
        free_threading.keep_alone([v])
        added.append(v.grad)

    with differentiation._adding:
        thread = threading.Thread(target=add)
        thread.start()
        thread.join(0.05)
        assert added == []
    thread.join()
    assert added == [2.0]


@pytest.mark.skipif(engine.backend() == "cython", reason="compiled it is one addition of C")
def test_the_interpreter_lets_no_other_thread_in_while_modes_are_counted():
    steps = [step.opname for step in dis.get_instructions(free_threading.count)]
    within = steps[steps.index("LOAD_GLOBAL") : steps.index("STORE_GLOBAL")]
    assert len(within) >= 2
    assert not [step for step in within if step.startswith(("CALL", "RESUME", "JUMP"))]
