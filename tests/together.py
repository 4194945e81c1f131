"""Threads that begin together and switch often, for tests that look for races."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

THREADS = 8


@pytest.fixture
def switching_often():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def in_threads(work):
    """The results of work(i) in as many threads, begun together."""
    barrier = threading.Barrier(THREADS)

    def begin(i):
        barrier.wait(timeout=60)
        return work(i)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(begin, range(THREADS)))
