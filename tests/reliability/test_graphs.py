"""Random graphs, nan and inf included: the same bits from both builds, and torch's numbers."""

import math

import pytest
from fresh import printed
from reliability.graphs import bits, numbers_of, random_graph

from engine import Value, builds

DIGESTS = """
import sys
from reliability.graphs import digest
for start in range(0, int(sys.argv[1]), 100):
    print(digest(range(start, start + 100)))
"""


@pytest.mark.skipif(bool(builds.problem()), reason="the compiled build is not there")
def test_random_graphs_give_the_same_bits_in_both_builds(long, figure):
    count = long(500, 20_000)
    python, cython = (printed(DIGESTS, count, backend=b).split() for b in ("python", "cython"))
    assert len(python) == count // 100
    assert [i for i, pair in enumerate(zip(python, cython, strict=True)) if len({*pair}) > 1] == []
    figure("random graphs with the same bits in both builds", count)


def test_the_graphs_hold_what_is_hard():
    seen = [numbers_of(seed) for seed in range(300)]
    flat = [x for numbers in seen for x in numbers if x is not None]
    assert sum(math.isnan(x) for x in flat) > 20
    assert sum(math.isinf(x) for x in flat) > 5
    assert sum(len(numbers) > 4 for numbers in seen) > 100
    assert len({bits(x) for x in flat}) > 500


def test_a_graph_follows_from_its_seed_alone():
    for seed in range(50):
        (a, y), (b, z) = random_graph(Value, seed), random_graph(Value, seed)
        assert [bits(v.data) for v in [*a, y]] == [bits(v.data) for v in [*b, z]]
