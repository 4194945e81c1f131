"""Copies and pickles of tensors, by torch's rules."""

import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import engine
from engine import builds

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)
KINDS = ["float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool"]


def through_pickle(x, protocol=4):
    return pickle.loads(pickle.dumps(x, protocol))


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("kind", KINDS)
def test_numbers_and_dtypes_survive_every_protocol(kind, protocol):
    x = engine.tensor([[1, 0], [3, 2]], dtype=getattr(engine, kind))
    y = through_pickle(x, protocol)
    assert type(y) is engine.Tensor
    assert y.dtype is x.dtype
    assert y.tolist() == x.tolist()
    assert through_pickle(x.dtype, protocol) is x.dtype
    assert through_pickle(x.shape, protocol) == engine.Size([2, 2])
    assert through_pickle(x.device, protocol) == x.device


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_leaf_keeps_requires_grad_and_attributes_but_not_its_gradient(protocol):
    x = engine.ones(2, requires_grad=True)
    x.sum().backward()
    x.label = "weights"
    y = through_pickle(x, protocol)
    assert (y.requires_grad, y.is_leaf, y.label) == (True, True, "weights")
    assert y.grad is None


def test_an_inner_tensor_pickles_without_its_graph():
    y = through_pickle(engine.ones(2, requires_grad=True) * 2.0)
    assert y.tolist() == [2.0, 2.0]
    assert y.is_leaf
    assert y.requires_grad


def test_views_pickle_as_what_they_show():
    x = engine.arange(6.0).reshape(2, 3)
    assert through_pickle(x.t()).tolist() == [[0, 3], [1, 4], [2, 5]]
    assert through_pickle(x[:, 1]).tolist() == [1, 4]
    assert through_pickle(engine.ones(1).expand(3)).tolist() == [1, 1, 1]
    assert through_pickle(engine.zeros(0, 3)).shape == (0, 3)
    assert through_pickle(engine.tensor(2.0)).shape == ()


def test_hooks_are_left_behind_with_a_warning():
    x = engine.ones(1, requires_grad=True)
    handle = x.register_hook(lambda g: g * 2)
    with pytest.warns(UserWarning, match="hooks will not be serialized"):
        y = through_pickle(x)
    y.sum().backward()
    assert y.grad.tolist() == [1.0]
    handle.remove()
    through_pickle(x)


class Image(engine.Tensor):
    """A subclass of the user's own; pickle finds it by its name."""


Image.__module__ = __name__
sys.modules.setdefault(__name__, sys.modules.get(__name__) or type(sys)(__name__))
sys.modules[__name__].Image = Image


def test_a_subclass_stays_one():
    x = engine.ones(2).as_subclass(Image)
    x.title = "night"
    for y in (through_pickle(x), copy.copy(x), copy.deepcopy(x)):
        assert type(y) is Image
        assert y.title == "night"
        assert y.tolist() == [1.0, 1.0]


def test_copy_shares_memory_and_deepcopy_does_not():
    x = engine.zeros(2)
    shared, apart = copy.copy(x), copy.deepcopy(x)
    x[0] = 1.0
    assert shared is not x
    assert shared.tolist() == [1.0, 0.0]
    assert apart.tolist() == [0.0, 0.0]


def test_deepcopy_of_a_leaf_copies_gradient_flags_and_attributes():
    x = engine.ones(2, requires_grad=True)
    (x * 3.0).sum().backward()
    x.notes = [1]
    y = copy.deepcopy(x)
    y.notes.append(2)
    x.grad.zero_()
    assert y.grad.tolist() == [3.0, 3.0]
    assert (y.requires_grad, y.is_leaf, x.notes) == (True, True, [1])
    (y * 5.0).sum().backward()
    assert y.grad.tolist() == [8.0, 8.0]


def test_deepcopy_of_an_inner_tensor_is_refused_with_the_cure():
    y = engine.ones(2, requires_grad=True) * 2.0
    with pytest.raises(RuntimeError, match=r"graph leaves.*MulBackward0: use t\.detach\(\)\.clone"):
        copy.deepcopy(y)


def test_what_shares_memory_shares_it_in_a_deep_copy_too():
    x = engine.arange(6.0).reshape(2, 3)
    base, row, turned = copy.deepcopy([x, x[1], x.t()])
    base[1, 0] = 99.0
    assert row.tolist() == [99.0, 4.0, 5.0]
    assert turned.tolist() == [[0, 99], [1, 4], [2, 5]]
    assert x[1, 0].item() == 3.0


def test_a_deep_copy_of_a_part_in_other_order_or_without_memory_of_its_own_is_right():
    array = np.arange(12.0).reshape(3, 4)
    for view in (array[::-1, 1::2], array.T[2:], np.asfortranarray(array)[1:], array[:, :0]):
        assert copy.deepcopy(engine.from_numpy(view)).tolist() == view.tolist()
    strided = np.lib.stride_tricks.as_strided(array, (3,), (40,))
    assert copy.deepcopy(engine.from_numpy(strided)).tolist() == [0.0, 5.0, 10.0]


def test_one_tensor_twice_in_a_list_stays_one():
    x = engine.ones(1)
    a, b = copy.deepcopy([x, x])
    assert a is b


def test_a_parameter_and_a_module_survive_both():
    layer = engine.nn.Linear(2, 1)
    for other in (through_pickle(layer), copy.deepcopy(layer)):
        assert [p.tolist() for p in other.parameters()] == [p.tolist() for p in layer.parameters()]
        assert all(type(p) is engine.nn.Parameter and p.requires_grad for p in other.parameters())


OTHER = {"python": "cython", "cython": "python"}[engine.backend()]
READ = """
import pickle, sys, engine
x, v, p = pickle.load(open(sys.argv[1], "rb"))
assert engine.backend() == sys.argv[2], engine.backend()
print(x.tolist(), x.requires_grad, v.data, type(p).__name__, p.tolist())
"""


@pytest.mark.skipif(bool(builds.problem()), reason="the compiled build is not there")
def test_a_file_of_one_build_opens_in_the_other(tmp_path):
    path = tmp_path / "all.pickle"
    x, parameter = engine.ones(2, requires_grad=True), engine.nn.Parameter(engine.ones(1))
    path.write_bytes(pickle.dumps((x, engine.Value(1.5), parameter)))
    root = Path(engine.__file__).parent.parent
    variables = os.environ | {"ENGINE_BACKEND": OTHER, "PYTHONPATH": str(root)}
    command = [sys.executable, "-c", READ, str(path), OTHER]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout == "[1.0, 1.0] True 1.5 Parameter [1.0]\n"
