"""Sequential, ModuleList, ModuleDict and ParameterList as lists and dicts."""

import pytest

import engine
from engine import nn


@pytest.fixture
def three():
    return [nn.Linear(1, 1), nn.ReLU(), nn.Tanh()]


def test_sequential_runs_its_modules_in_order(three):
    net, x = nn.Sequential(*three), engine.ones(2, 1)
    assert net(x).tolist() == three[2](three[1](three[0](x))).tolist()
    assert nn.Sequential()(x) is x


def test_sequential_takes_names_from_a_dict():
    net = nn.Sequential({"first": nn.Linear(1, 2), "second": nn.ReLU()})
    assert list(net.state_dict()) == ["first.weight", "first.bias"]
    assert net.second is net[1]
    assert list(dict(net[:1].named_children())) == ["first"]


@pytest.mark.parametrize(
    "make", [nn.ModuleList, lambda modules: nn.Sequential(*modules)], ids=["list", "row"]
)
def test_rows_of_modules_behave_as_lists(make, three):
    a, b, c = three
    row = make(three)
    assert len(row) == 3
    assert list(row) == three
    assert row[0] is a
    assert row[-1] is c
    assert type(row[1:]) is type(row)
    assert list(row[1:]) == [b, c]
    row[1] = nn.Sigmoid()
    assert isinstance(row[1], nn.Sigmoid)
    del row[1]
    assert list(row) == [a, c]
    assert row.insert(1, b).append(nn.GELU()).extend([nn.Identity()]) is row
    assert [name for name, _ in row.named_children()] == ["0", "1", "2", "3", "4"]
    assert isinstance(row.pop(), nn.Identity)
    assert row.pop(0) is a
    del row[:]
    assert len(row) == 0
    assert list(make([a]) + make([b])) == [a, b]


@pytest.mark.parametrize(
    "make", [nn.ModuleList, lambda modules: nn.Sequential(*modules)], ids=["list", "row"]
)
def test_rows_of_modules_refuse_bad_places_and_things(make, three):
    row = make(three)
    with pytest.raises(IndexError, match="index 3 is out of range; it holds 3"):
        row[3]
    with pytest.raises(IndexError, match="index -4 is out of range"):
        row[-4] = nn.ReLU()
    with pytest.raises(TypeError, match="str"):
        row["0"]
    with pytest.raises(TypeError, match="int is not a Module subclass"):
        row.append(3)
    with pytest.raises(TypeError, match="extend should be called with an iterable, but got int"):
        row.extend(3)
    with pytest.raises(TypeError, match="list is not a Module subclass"):
        nn.Sequential(three)


def test_module_list_has_no_forward():
    with pytest.raises(NotImplementedError, match=r"\[ModuleList\]"):
        nn.ModuleList()(1)


def test_module_dict_behaves_as_a_dict():
    relu, tanh = nn.ReLU(), nn.Tanh()
    held = nn.ModuleDict({"a": relu})
    held["b"] = tanh
    held.update([("c", relu)])
    held.update(nn.ModuleDict({"d": tanh}))
    assert list(held) == list(held.keys()) == ["a", "b", "c", "d"]
    assert list(held.values()) == [relu, tanh, relu, tanh]
    assert dict(held.items())["b"] is held["b"] is tanh
    assert "a" in held
    assert held.pop("a") is relu
    del held["b"]
    assert len(held) == 2
    held.clear()
    assert "c" not in held


def test_module_dict_refuses_what_is_no_pair():
    with pytest.raises(TypeError, match=r"pairs \(name, module\); got an item of type ReLU"):
        nn.ModuleDict([nn.ReLU()])
    with pytest.raises(TypeError, match=r"module name should be a string. Got int"):
        nn.ModuleDict({1: nn.ReLU()})
    with pytest.raises(
        TypeError, match=r"ModuleDict.update should be called with an iterable, but got int"
    ):
        nn.ModuleDict(3)


def test_parameter_list_registers_what_it_holds():
    held = nn.ParameterList([nn.Parameter(engine.ones(2)), engine.ones(2, 3)])
    assert all(isinstance(p, nn.Parameter) for p in held)
    assert [name for name, _ in held.named_parameters()] == ["0", "1"]
    held.append(engine.zeros(1)).extend([engine.zeros(1)])
    held[-1] = engine.ones(4)
    assert len(held) == 4
    assert held[3].shape == held[-1].shape == (4,)
    assert len(held[1:3]) == 2
    lines = repr(nn.ParameterList([engine.ones(2, 3)])).split("\n")[-1]
    assert "(0): Parameter containing: [" in lines
    assert "float32 of size 2x3]" in lines


def test_parameter_list_refuses_other_things():
    with pytest.raises(TypeError, match="ParameterList holds Parameters and Tensors; got int"):
        nn.ParameterList([3])
    with pytest.raises(TypeError, match=r"ParameterList.extend should be called with an iterable"):
        nn.ParameterList(3)
    with pytest.raises(IndexError):
        nn.ParameterList()[0]
