"""Random graphs, nan and inf included: the same bits from both builds, and torch's numbers."""

import json
import math

import pytest
from fresh import printed
from reliability import many_graphs
from reliability.graphs import bits, floats, random_graph

from engine import Value, builds

DIGESTS = """
import sys
from reliability.graphs import digest, floats
for start in range(0, int(sys.argv[1]), 100):
    print(digest([floats(seed) for seed in range(start, start + 100)]))
"""


BOTH = pytest.mark.skipif(bool(builds.problem()), reason="the compiled build is not there")


@BOTH
def test_random_graphs_give_the_same_bits_in_both_builds(long, figure):
    count = long(500, 20_000)
    python, cython = (printed(DIGESTS, count, backend=b).split() for b in ("python", "cython"))
    assert len(python) == count // 100
    assert [i for i, pair in enumerate(zip(python, cython, strict=True)) if len({*pair}) > 1] == []
    figure("random graphs with the same bits in both builds", count)


def test_the_graphs_hold_what_is_hard():
    seen = [floats(seed) for seed in range(300)]
    flat = [x for numbers in seen for x in numbers if x is not None]
    assert sum(math.isnan(x) for x in flat) > 20
    assert sum(math.isinf(x) for x in flat) > 5
    assert sum(len(numbers) > 4 for numbers in seen) > 100
    assert len({bits(x) for x in flat}) > 500


def test_a_graph_follows_from_its_seed_alone():
    for seed in range(50):
        (a, y), (b, z) = random_graph(Value, seed), random_graph(Value, seed)
        assert [bits(v.data) for v in [*a, y]] == [bits(v.data) for v in [*b, z]]


@pytest.mark.parametrize("seeds", [range(300), [6098, 14464, 175185, 128881]], ids=["300", "nan"])
def test_grad_with_create_graph_gives_the_numbers_of_backward(seeds):
    for numbers in map(floats, seeds):
        count = math.isqrt(len(numbers)) - 1
        first, left = numbers[1 : 1 + count], numbers[len(numbers) - count :]
        assert [bits((x or 0.0) + 0.0) for x in first] == [bits(x) for x in left]


MANY = """
import sys
from reliability import many_graphs
many_graphs.BLOCK = 50
many_graphs.main(*sys.argv[1:])
"""


@BOTH
def test_the_comparison_of_many_graphs_goes_on_where_it_was_stopped(tmp_path):
    file = tmp_path / "graphs.jsonl"
    printed(MANY, 100, file, backend="cython")
    first = file.read_text()
    out = printed(MANY, 200, file, backend="cython")
    assert file.read_text().startswith(first)
    assert [json.loads(line)["start"] for line in file.read_text().splitlines()] == [
        0,
        50,
        100,
        150,
    ]
    assert "200 graphs in both builds; blocks with another bit: []" in out
    assert "unknown: []" in out


def test_numbers_that_are_not_torchs_are_told_from_rounding():
    python = many_graphs.PythonBuild()
    ours = floats(37)
    assert many_graphs.reasons(37, ours, ours, python) == set()
    wrong = [x if x is None else x * 1.1 for x in ours]
    assert many_graphs.reasons(37, ours, wrong, python) == {many_graphs.UNKNOWN}
    last_bits = [ours[0], ours[1] * (1.0 + 1e-4), *ours[2:]]  # 1 - y * y where y is nearly 1
    assert many_graphs.reasons(37, ours, last_bits, python) == {many_graphs.ROUNDING}
    python.close()
