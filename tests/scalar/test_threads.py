"""Values in several threads: graphs of their own, shared leaves, modes of their own."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from fresh import printed
from together import THREADS, in_threads, switching_often  # noqa: F401  a fixture

import engine
from engine import Value
from engine.autograd import grad

ROUNDS = 200

pytestmark = pytest.mark.usefixtures("switching_often")


def test_graphs_of_their_own_do_not_disturb_each_other():
    def work(i):
        for k in range(ROUNDS):
            x = Value(float(i + k))
            y = x * x
            for _ in range(20):
                y = y * 1.0 + x
            y.backward()
            if x.grad != 2.0 * (i + k) + 20.0:
                return False
        return True

    assert in_threads(work) == [True] * THREADS


def test_a_shared_leaf_gets_every_gradient():
    shared = Value(1.0)

    def work(i):
        for _ in range(ROUNDS):
            y = shared * float(i + 1)
            for _ in range(20):
                y = y * 1.0
            y.backward()

    in_threads(work)
    assert shared.grad == ROUNDS * sum(range(1, THREADS + 1))


def test_walks_of_both_kinds_lose_no_gradient_of_a_leaf():
    shared = Value(1.0)

    def work(i):
        for _ in range(10 * ROUNDS):
            y = shared * 2.0
            if i % 2:
                y.register_hook(lambda g: None)  # the general walk
            y.backward()

    in_threads(work)
    assert shared.grad == 2.0 * 10 * ROUNDS * THREADS


WITHOUT_THE_GLOBAL_LOCK = """
import sys, threading
sys._is_gil_enabled = lambda: False
import engine
x = engine.Value(3.0)
with engine.differentiation._adding:
    other = threading.Thread(target=(x * x).backward)
    other.start()
    other.join(0.2)
    print(other.is_alive(), x.grad)
other.join()
print(x.grad)
"""


def test_without_the_global_lock_the_python_build_adds_to_leaves_one_thread_at_a_time():
    assert printed(WITHOUT_THE_GLOBAL_LOCK, backend="python") == "True 0.0\n6.0\n"


def test_one_graph_can_be_walked_by_all_at_once():
    x = Value(1.0)
    y = x * 3.0
    z = y * y

    def work(i):
        for _ in range(ROUNDS):
            z.backward()

    in_threads(work)
    assert (x.grad, y.grad) == (18.0 * THREADS * ROUNDS, 6.0)


def test_functions_and_hooks_in_threads_add_up_too():
    class Double(engine.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    shared = Value(1.0)

    def work(i):
        for _ in range(ROUNDS // 4):
            (Double.apply(shared) * 1.0).backward()

    in_threads(work)
    assert shared.grad == 2.0 * THREADS * (ROUNDS // 4)


def test_grad_in_threads_gives_each_its_own_answer():
    x = Value(2.0)

    def work(i):
        (first,) = grad(x ** float(i + 1), x, create_graph=True)
        return first.data

    assert in_threads(work) == [(i + 1) * 2.0**i for i in range(THREADS)]
    assert x.grad == 0.0


def test_no_grad_holds_for_its_own_thread_only():
    x = Value(2.0)
    inside = threading.Barrier(2)

    def without():
        with engine.no_grad():
            inside.wait(timeout=20)
            y = x * x
            inside.wait(timeout=20)
            return y.requires_grad

    def beside():
        inside.wait(timeout=20)
        y = x * x
        inside.wait(timeout=20)
        return y.requires_grad

    with ThreadPoolExecutor(2) as pool:
        results = pool.submit(without), pool.submit(beside)
        assert [r.result() for r in results] == [False, True]


def test_a_backward_begun_inside_a_backward_in_another_thread_finds_clean_nodes():
    x = Value(3.0)
    shared = x * x

    class Threaded(engine.Function):
        @staticmethod
        def forward(ctx, v):
            return v * 1.0

        @staticmethod
        def backward(ctx, g):
            with ThreadPoolExecutor(1) as pool:
                work = pool.submit(lambda: grad(shared * 2.0, x))
                (inner,) = work.result(timeout=20)
            return g * inner.data

    (Threaded.apply(shared) + shared).backward()
    assert x.grad == 6.0 * (12.0 + 1.0)
