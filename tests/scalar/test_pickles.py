"""Pickles of Values, which either build opens."""

import copy
import os
import pickle
import subprocess
import sys

import pytest

import engine
from engine import Value, builds

BUILDS = ["python", "cython"]
SAVE = """
import pickle, sys
from engine import Value
x = Value(3.0, label="x")
x.note = ["kept"]
(x * x).backward()
c = Value(0.1, requires_grad=False)
sys.stdout.buffer.write(pickle.dumps({"x": x, "pair": [x, x], "c": c, "new": Value(-0.0)}))
"""
OPEN = """
import pickle, sys, engine
d = pickle.loads(sys.stdin.buffer.read())
x, c = d["x"], d["c"]
assert type(x) is engine.Value and d["pair"][0] is d["pair"][1] is x
assert (x.data, x.grad, x.label, x.note) == (3.0, 6.0, "x", ["kept"])
assert (c.data, c.requires_grad, str(d["new"].data)) == (0.1, False, "-0.0")
(x * x).backward()
assert x.grad == 12.0
print(engine.backend())
"""


def run(build, text, data=b""):
    """The output of a program under one build."""
    environment = os.environ | {"ENGINE_BACKEND": build}
    done = subprocess.run(
        [sys.executable, "-c", text], input=data, capture_output=True, env=environment
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@pytest.mark.skipif(bool(builds.problem()), reason=builds.problem())
@pytest.mark.parametrize("opened", BUILDS)
@pytest.mark.parametrize("saved", BUILDS)
def test_a_pickle_of_either_build_opens_in_either(saved, opened):
    assert run(opened, OPEN, run(saved, SAVE)).decode().strip() == opened


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_every_protocol_keeps_the_number_the_gradient_and_what_hangs_on_it(protocol):
    x = Value(3.0, label="x")
    x.m = 0.5
    (x * x).backward()
    twin = pickle.loads(pickle.dumps(x, protocol))
    assert (twin.data, twin.grad, twin.label, twin.m) == (3.0, 6.0, "x", 0.5)
    assert (twin.requires_grad, twin.is_leaf) == (True, True)


def test_a_pickle_names_engine_and_no_build():
    data = pickle.dumps(Value(3.0), 0)
    assert b"engine" in data
    assert b"engine_fast" not in data


def test_a_gradient_of_none_yet_stays_one():
    x = pickle.loads(pickle.dumps(Value(3.0)))
    (x * x).backward()
    assert x.grad == 6.0


def test_a_result_is_refused_as_its_graph_would_be_lost():
    x = Value(3.0)
    with pytest.raises(RuntimeError, match=r"the result of '\*': use v\.detach\(\)"):
        pickle.dumps(x * x)
    assert pickle.loads(pickle.dumps((x * x).detach())).data == 9.0


class Named(Value):
    """A subclass that can be found by its name."""

    def __init__(self, name):
        super().__init__(1.0)
        self.name = name


def test_a_subclass_is_restored_without_calling_its_constructor():
    v = Named("v")
    v.data = 5.0
    twin = pickle.loads(pickle.dumps(v))
    assert (type(twin), twin.data, twin.name) == (Named, 5.0, "v")
    assert engine.Value is Value


class Slotted(Value):
    """A subclass with a slot of its own, which may be unset."""

    __slots__ = ("color", "size")


def test_what_a_subclass_keeps_in_slots_is_copied_too():
    v = Slotted(2.0)
    v.color = ["red"]
    for twin in (copy.copy(v), copy.deepcopy(v), pickle.loads(pickle.dumps(v))):
        assert (type(twin), twin.data, twin.color) == (Slotted, 2.0, ["red"])
        assert not hasattr(twin, "size")


def in_a_ring():
    """A Value whose attributes lead back to it: directly, by a list, and by a twin."""
    v, twin = Value(2.0), Slotted(3.0)
    v.self, v.others, v.twin, twin.color = v, [v, twin], twin, v
    return v


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_what_leads_back_to_a_value_is_pickled_once(protocol):
    v = pickle.loads(pickle.dumps(in_a_ring(), protocol))
    assert v.self is v
    assert v.others == [v, v.twin]
    assert (v.twin.color is v, v.data, v.twin.data) == (True, 2.0, 3.0)


def test_a_deep_copy_of_what_leads_back_to_a_value_leads_to_the_copy():
    v = in_a_ring()
    twin = copy.deepcopy(v)
    assert twin.self is twin
    assert twin.others == [twin, twin.twin]
    assert twin.twin is not v.twin
    assert copy.copy(v).self is v
