"""Module: what is registered, found, saved, converted, copied and refused."""

import copy
import pickle
import re
import warnings

import pytest

import engine
from engine import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.act = nn.Tanh()
        self.second = nn.Linear(3, 1, bias=False)
        self.scale = nn.Parameter(engine.ones(1))
        self.register_buffer("mean", engine.zeros(2))
        self.register_buffer("scratch", engine.zeros(2), persistent=False)

    def forward(self, x):
        return self.scale * self.second(self.act(self.first(x - self.mean)))


class WithoutInit(nn.Module):
    def __init__(self):
        pass


class Holder(nn.Module):
    def __init__(self, held):
        super().__init__()
        self.held = held


def names(pairs):
    return [name for name, _ in pairs]


def test_parameters_come_with_dotted_names_own_ones_first():
    net = Net()
    expected = ["scale", "first.weight", "first.bias", "second.weight"]
    assert names(net.named_parameters()) == expected
    assert [id(p) for p in net.parameters()] == [id(p) for _, p in net.named_parameters()]
    assert names(net.named_parameters(prefix="net", recurse=False)) == ["net.scale"]


def test_modules_children_and_buffers_are_walked_in_order():
    net = Net()
    assert names(net.named_modules()) == ["", "first", "act", "second"]
    assert names(net.named_children()) == ["first", "act", "second"]
    assert list(net.modules()) == [net, *net.children()]
    assert names(net.named_buffers()) == ["mean", "scratch"]
    assert len(list(net.buffers())) == 2


def test_a_shared_parameter_is_found_once_and_saved_under_both_names():
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    net[1].weight = net[0].weight
    assert names(net.named_parameters()) == ["0.weight", "0.bias", "1.bias"]
    assert names(net.named_parameters(remove_duplicate=False)).count("1.weight") == 1
    assert list(net.state_dict()) == ["0.weight", "0.bias", "1.weight", "1.bias"]


def test_a_shared_module_is_walked_once():
    layer = nn.Linear(1, 1)
    net = nn.Sequential(layer, layer)
    assert names(net.named_modules()) == ["", "0"]
    assert names(net.named_children()) == ["0"]
    assert len(list(net.parameters())) == 2
    assert len(list(net.named_modules(remove_duplicate=False))) == 3


def test_assigning_moves_a_name_from_one_table_to_another():
    net = Net()
    net.act = nn.Parameter(engine.ones(2))
    assert "act" not in dict(net.named_children())
    assert "act" in dict(net.named_parameters())
    net.scale = None
    assert net.scale is None
    assert "scale" not in dict(net.named_parameters())
    net.plain = 3
    net.plain = nn.Linear(1, 1)
    assert "plain" in dict(net.named_children())
    assert "plain" not in vars(net)


def test_deleting_and_listing_attributes_reaches_the_tables():
    net = Net()
    assert {"first", "scale", "mean", "forward"} <= set(dir(net))
    del net.first, net.scale, net.scratch
    assert not hasattr(net, "first")
    assert not hasattr(net, "scale")
    net.register_buffer("scratch", engine.zeros(1))
    assert "scratch" in net.state_dict()
    with pytest.raises(AttributeError, match="nothing"):
        del net.nothing


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("scale", 3, "cannot assign 'int' as parameter 'scale' (Parameter or None expected)"),
        ("first", 3, "cannot assign 'int' as child module 'first' (Module or None expected)"),
        ("mean", 3, "cannot assign 'int' as buffer 'mean' (Tensor or None expected)"),
    ],
)
def test_assigning_another_kind_to_a_registered_name_is_refused(name, value, text):
    with pytest.raises(TypeError, match=re.escape(text)):
        setattr(Net(), name, value)


def test_a_tensor_assigned_to_a_parameter_is_refused():
    with pytest.raises(TypeError, match="cannot assign 'Tensor' as parameter 'scale'"):
        Net().scale = engine.ones(1)


@pytest.mark.parametrize("kind", ["parameter", "buffer", "module"])
@pytest.mark.parametrize(
    ("name", "error", "text"),
    [
        (3, TypeError, "name should be a string. Got int"),
        ("a.b", KeyError, "name must not be empty or contain '.'; got 'a.b'"),
        ("", KeyError, "name must not be empty or contain '.'; got ''"),
        ("forward", KeyError, "attribute 'forward' already exists"),
    ],
)
def test_names_that_cannot_be_registered_are_refused(kind, name, error, text):
    with pytest.raises(error) as caught:
        getattr(Net(), f"register_{kind}")(name, None)
    assert text in caught.value.args[0]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("parameter", "cannot assign 'list' object to parameter 'q' (nn.Parameter or None"),
        ("buffer", "cannot assign 'list' object to buffer 'q' (Tensor or None required)"),
        ("module", "list is not a Module subclass"),
    ],
)
def test_things_that_cannot_be_registered_are_refused(kind, text):
    with pytest.raises(TypeError, match=re.escape(text)):
        getattr(Net(), f"register_{kind}")("q", [1])


@pytest.mark.parametrize(
    "use",
    [
        lambda net: setattr(net, "w", nn.Parameter(engine.ones(1))),
        lambda net: setattr(net, "w", nn.Linear(1, 1)),
        lambda net: net.register_buffer("w", None),
        lambda net: net(1),
        lambda net: list(net.parameters()),
        repr,
        lambda net: net.training,
    ],
    ids=["parameter", "module", "buffer", "call", "parameters", "repr", "training"],
)
def test_a_forgotten_super_init_is_told(use):
    with pytest.raises(AttributeError, match=r"WithoutInit: .*super\(\).__init__\(\) first"):
        use(WithoutInit())


def test_a_missing_attribute_and_a_missing_forward_are_told():
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'third'"):
        _ = Net().third
    with pytest.raises(NotImplementedError, match=r'\[Module\] is missing the required "forward"'):
        nn.Module()(1)


@pytest.mark.parametrize(
    ("held", "cure"),
    [
        ([nn.Linear(1, 1)], r"plain list: .*nn.ModuleList\("),
        ((nn.Linear(1, 1), 3), r"plain tuple: .*nn.ModuleList\("),
        ({"a": nn.Linear(1, 1)}, r"plain dict: .*nn.ModuleDict\("),
        ([nn.Parameter(engine.ones(1))], r"plain list: .*nn.ParameterList\("),
    ],
)
def test_parameters_in_a_plain_list_or_dict_are_warned_of_by_name(held, cure):
    net = nn.Sequential(Holder(held))
    with pytest.warns(UserWarning, match=r"Holder.held is a " + cure) as seen:
        assert list(net.parameters()) == []
    assert seen[0].filename == __file__
    with pytest.warns(UserWarning, match="Holder.held"):
        net.named_parameters()


def test_a_list_filled_later_is_warned_of_too():
    net = Holder([])
    list(net.parameters())
    net.held.append(nn.Linear(1, 1))
    with pytest.warns(UserWarning, match="Holder.held"):
        list(net.parameters())


def test_a_list_of_what_is_registered_elsewhere_is_fine():
    net = Net()
    net.order = [net.first, net.second]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(list(net.parameters())) == 4


def test_get_submodule_parameter_and_buffer_follow_dots():
    net = nn.Sequential(Net())
    assert net.get_submodule("") is net
    assert net.get_submodule("0.first") is net[0].first
    assert net.get_parameter("0.first.weight") is net[0].first.weight
    assert net.get_buffer("0.mean") is net[0].mean
    with pytest.raises(AttributeError, match="Net has no submodule `third`"):
        net.get_submodule("0.third.x")
    with pytest.raises(AttributeError, match="Linear has no parameter `mean`"):
        net.get_parameter("0.first.mean")
    with pytest.raises(AttributeError, match="Linear has no buffer `weight`"):
        net.get_buffer("0.first.weight")


def test_state_dict_shares_memory_and_leaves_out_what_is_not_persistent():
    net = Net()
    state = net.state_dict()
    assert list(state) == ["scale", "mean", "first.weight", "first.bias", "second.weight"]
    assert not state["scale"].requires_grad
    state["scale"].fill_(7.0)
    assert net.scale.item() == 7.0
    assert net.state_dict(keep_vars=True)["scale"] is net.scale
    assert next(iter(net.state_dict(prefix="net."))) == "net.scale"


def test_load_state_dict_copies_every_number():
    net, other = Net(), Net()
    x = engine.randn(4, 2)
    weight = other.first.weight
    assert repr(other.load_state_dict(net.state_dict())) == "<All keys matched successfully>"
    assert other.first.weight is weight
    assert weight.requires_grad
    assert other(x).tolist() == net(x).tolist()
    net.scale.data.fill_(3.0)
    assert other.scale.item() == 1.0


def test_load_state_dict_without_strict_returns_what_did_not_fit():
    net = nn.Linear(2, 1)
    keys = net.load_state_dict({"bias": engine.ones(1), "extra": 3}, strict=False)
    assert keys.missing_keys == ["weight"]
    assert keys.unexpected_keys == ["extra"]
    assert repr(keys) == "IncompatibleKeys(missing_keys=['weight'], unexpected_keys=['extra'])"
    assert net.bias.item() == 1.0


def test_a_failed_load_names_every_fault_and_changes_nothing():
    net = Net()
    state = {name: engine.zeros_like(t) for name, t in net.state_dict().items()}
    del state["scale"]
    state |= {"zz": engine.ones(1), "first.weight": engine.ones(5, 5), "first.bias": [1]}
    with pytest.raises(RuntimeError) as caught:
        net.load_state_dict(state)
    assert str(caught.value).split("\n\t") == [
        "Error(s) in loading state_dict for Net:",
        'Missing key(s) in state_dict: "scale". ',
        'Unexpected key(s) in state_dict: "zz". ',
        "size mismatch for first.weight: copying a param with shape (5, 5) from checkpoint, "
        "the shape in current model is (3, 2).",
        '"first.bias" must be a Tensor; got list: engine.from_numpy(...) makes one of an array',
    ]
    assert bool((net.second.weight != 0).any())


def test_load_state_dict_needs_a_mapping():
    with pytest.raises(TypeError, match="Expected state_dict to be dict-like, got int"):
        Net().load_state_dict(3)


def test_train_and_eval_reach_every_module():
    net = nn.Sequential(Net(), nn.Dropout(0.5))
    assert net.eval() is net
    assert not any(module.training for module in net.modules())
    net.train()
    assert all(module.training for module in net.modules())
    with pytest.raises(ValueError, match="training mode is expected to be boolean; got int"):
        net.train(3)


def test_zero_grad_forgets_or_fills_with_zeros():
    net = Net()
    net(engine.ones(1, 2)).sum().backward()
    net.zero_grad(set_to_none=False)
    assert all(bool((p.grad == 0).all()) for p in net.parameters())
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters())


def test_requires_grad_can_be_switched_off_for_all():
    net = Net().requires_grad_(False)
    assert not any(p.requires_grad for p in net.parameters())


def test_apply_visits_children_before_their_parents():
    seen = []
    net = nn.Sequential(nn.Linear(1, 1), nn.Sequential(nn.ReLU()))
    assert net.apply(lambda module: seen.append(type(module).__name__)) is net
    assert seen == ["Linear", "ReLU", "Sequential", "Sequential"]


@pytest.mark.parametrize(
    ("convert", "dtype"),
    [
        (lambda net: net.double(), engine.float64),
        (lambda net: net.half(), engine.float16),
        (lambda net: net.double().float(), engine.float32),
        (lambda net: net.to(engine.float64), engine.float64),
        (lambda net: net.to("cpu", dtype=engine.float64), engine.float64),
        (lambda net: net.to(engine.ones(1, dtype=engine.float64)), engine.float64),
        (lambda net: net.type(engine.float64), engine.float64),
        (lambda net: net.cpu(), engine.float32),
    ],
    ids=["double", "half", "float", "to dtype", "to both", "to tensor", "type", "cpu"],
)
def test_conversions_reach_parameters_buffers_and_gradients(convert, dtype):
    net = Net()
    net.register_buffer("count", engine.zeros(1, dtype=engine.int64))
    net(engine.ones(1, 2)).sum().backward()
    before = list(net.parameters())
    assert convert(net) is net
    assert all(a is b for a, b in zip(net.parameters(), before, strict=True))
    assert all(p.dtype == p.grad.dtype == dtype for p in net.parameters())
    assert net.mean.dtype == dtype
    assert net.count.dtype == (dtype if net.count.is_floating_point() else engine.int64)


def test_only_floating_dtypes_are_taken():
    with pytest.raises(TypeError, match="only accepts floating point dtypes, but got desired"):
        Net().to(engine.int64)


def test_modules_copy_and_pickle_with_numbers_of_their_own():
    net = Net()
    x = engine.randn(3, 2)
    net(x).sum().backward()
    for twin in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert twin(x).tolist() == net(x).tolist()
        assert names(twin.named_parameters()) == names(net.named_parameters())
        assert all(p.requires_grad and p.is_leaf for p in twin.parameters())
        twin.scale.data.fill_(5.0)
        assert net.scale.item() == 1.0


def test_a_shared_parameter_stays_shared_in_copies():
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    net[1].weight = net[0].weight
    for twin in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert twin[0].weight is twin[1].weight
        assert twin[0].weight is not net[0].weight


def test_extra_repr_of_several_lines_stands_indented():
    class Two(nn.Module):
        def extra_repr(self):
            return "a=1\nb=2"

    assert repr(Two()) == "Two(\n  a=1\n  b=2\n)"
    assert repr(nn.Sequential(Two())) == "Sequential(\n  (0): Two(\n    a=1\n    b=2\n  )\n)"


def test_too_many_arguments_are_refused_by_name():
    with pytest.raises(TypeError, match="forward"):
        nn.Sequential(nn.ReLU())(1, 2)
