"""Where nodes lie in memory: blocks of their own, used again, and given back when they are many."""

import gc
import random
import sys
from pathlib import Path

import pytest

import engine
from engine import Value

BLOCKS = 600  # nodes, a little more than fit into one block


def test_nodes_freed_in_any_order_never_share_a_place():
    order = random.Random(0)
    alive = {}
    for number in range(20_000):
        alive[number] = Value(float(number))
        if order.random() < 0.45:
            del alive[order.choice(list(alive)[:200])]
        if number % 5_000 == 0:
            alive.clear()
    assert all(v.data == float(number) for number, v in alive.items())
    assert len({id(v) for v in alive.values()}) == len(alive)


def test_a_place_that_is_used_again_remembers_nothing():
    for _ in range(3 * BLOCKS):
        v = Value(1.0) * Value(2.0)
        v.backward()
        v.label = "old"
    del v
    fresh = [Value(1.0, requires_grad=False) + 0.0 for _ in range(3 * BLOCKS)]
    assert all(v.is_leaf and v.label == "" and v._prev == set() for v in fresh)
    assert all(v.grad == 0.0 and not v.requires_grad for v in fresh)


def resident() -> int:
    """Bytes of memory that this process holds, as Linux counts them."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="Linux counts memory here")
def test_the_memory_of_a_big_graph_is_given_back():
    before = resident()
    v = Value(1.0)
    for _ in range(1_000_000):
        v = v + 1.0
    held = resident() - before
    del v
    gc.collect()
    assert held > 70e6  # empty blocks that earlier tests left, up to 32 MiB, are used first
    assert resident() - before < held / 2


@pytest.mark.skipif(engine.backend() == "python", reason="Python's own objects are all tracked")
def test_the_collector_looks_only_at_nodes_that_users_hang_something_on():
    v, w = Value(1.0), Value(2.0) * 3.0
    assert not gc.is_tracked(v)
    assert not gc.is_tracked(w)
    v.notes = []
    assert gc.is_tracked(v)
    assert gc.is_tracked(v * w)
    assert gc.is_tracked(type("Sub", (Value,), {})(1.0))
    assert sys.getsizeof(w) <= 112
