"""What optimizers take, keep, save and refuse."""

import copy
import itertools
import math
import pickle
import re

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import engine
from engine import nn, optim
from engine.value import has_grad

ALL = [optim.SGD, optim.Adam, optim.AdamW, optim.RMSprop]
KINDS = ["tensor", "value"]


def param(kind="tensor", x=1.0):
    if kind == "value":
        return engine.Value(x)
    return engine.tensor(x, dtype=engine.float64, requires_grad=True)


def number(p):
    return float(p.detach())


def descend(optimizer, params, steps=3):
    for _ in range(steps):
        optimizer.zero_grad()
        sum((p * p for p in params), 0.0).backward()
        optimizer.step()
    return [number(p) for p in params]


@pytest.mark.parametrize("make", ALL)
@pytest.mark.parametrize("kind", KINDS)
def test_a_parameter_without_a_gradient_is_left_alone(make, kind):
    x, idle = param(kind), param(kind, 2.0)
    optimizer = make([x, idle], lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        (x * x).backward()
        optimizer.step()
    assert number(idle) == 2.0
    assert idle not in optimizer.state
    assert number(x) < 1.0
    assert x.requires_grad


def test_adam_and_momentum_give_the_numbers_worked_out_by_hand():
    x = param()
    assert [round(descend(optim.Adam([x], lr=0.1), [x], 1)[0], 8)] == [0.9]
    y = param()
    adam = optim.Adam([y], lr=0.1)
    path = [descend(adam, [y], 1)[0] for _ in range(3)]
    assert path == pytest.approx([0.9, 0.80041223, 0.70158627], abs=1e-8)
    z = param()
    sgd = optim.SGD([z], lr=0.1, momentum=0.9)
    path = [descend(sgd, [z], 1)[0] for _ in range(3)]
    assert path == pytest.approx([0.8, 0.46, 0.062], abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_zero_grad_forgets_or_fills_with_zeros(kind):
    x, idle = param(kind), param(kind)
    optimizer = optim.SGD([x, idle], lr=0.1)
    (x * 3).backward()
    optimizer.zero_grad(set_to_none=False)
    assert float(x.grad) == 0.0
    assert kind == "tensor" or (has_grad(x), has_grad(idle)) == (True, False)
    (x * 3).backward()
    optimizer.zero_grad()
    if kind == "tensor":
        assert x.grad is None
        assert idle.grad is None
    else:
        assert x.grad == 0.0
        assert not has_grad(x)


@pytest.mark.parametrize("kind", KINDS)
def test_what_has_no_gradient_yet_does_not_decay(kind):
    idle = param(kind)
    before = idle.item()
    optimizer = optim.SGD([idle], lr=0.1, weight_decay=0.1)
    optimizer.zero_grad(set_to_none=False)
    optimizer.step()
    assert idle.item() == before


@pytest.mark.parametrize("make", ALL)
def test_the_same_tensor_is_changed_in_place_and_its_version_counted(make):
    x = engine.ones(3, requires_grad=True)
    view, version = x.detach(), x._version
    x.sum().backward()
    make([x], lr=0.1).step()
    assert view.tolist() == x.tolist() != [1.0, 1.0, 1.0]
    assert x._version > version
    assert x.is_leaf


@pytest.mark.parametrize("make", ALL)
def test_float32_parameters_and_their_state_stay_float32(make):
    x = engine.ones(3, requires_grad=True)
    (x * 2).sum().backward()
    optimizer = make([x], lr=0.1, weight_decay=0.1)
    optimizer.step()
    kept = [item for item in optimizer.state[x].values() if isinstance(item, engine.Tensor)]
    assert {item.dtype for item in [x, *kept]} == {engine.float32}
    assert not any(item.requires_grad for item in kept)


def test_a_closure_is_run_with_gradients_and_its_loss_returned():
    x = param()
    optimizer = optim.SGD([x], lr=0.1)

    def closure():
        optimizer.zero_grad()
        loss = x * x
        loss.backward()
        return loss

    with engine.no_grad():
        assert optimizer.step(closure).item() == 1.0
    assert number(x) == pytest.approx(0.8)
    assert optimizer.step() is None


@pytest.mark.parametrize("kind", KINDS)
def test_groups_have_options_of_their_own(kind):
    x, y = param(kind), param(kind)
    optimizer = optim.SGD([{"params": [x]}, {"params": y, "lr": 0.01}], lr=0.1)
    assert descend(optimizer, [x, y], 1) == pytest.approx([0.8, 0.98])
    optimizer.param_groups[0]["lr"] = 0.0
    assert descend(optimizer, [x, y], 1) == pytest.approx([0.8, 0.9604])


def test_the_callers_dicts_and_lists_stay_as_they_are():
    x, y, z = param(), param(), param()
    group, later = {"params": [x, y], "lr": 0.5}, {"params": [z]}
    before = copy.copy(group), copy.copy(later)
    optimizer = optim.SGD([group], lr=0.1)
    optimizer.add_param_group(later)
    optimizer.param_groups[0]["lr"] = 9.0
    optimizer.param_groups[0]["params"].append(param())
    assert (group, later) == before
    assert len(group["params"]) == 2
    assert optimizer.param_groups[1]["lr"] == 0.1


@pytest.mark.parametrize("kind", KINDS)
def test_a_parameter_listed_twice_counts_once_with_a_warning(kind):
    x = param(kind)
    with pytest.warns(UserWarning, match="SGD: a parameter is listed twice .* taken once"):
        optimizer = optim.SGD([x, x], lr=0.1)
    assert descend(optimizer, [x], 1) == pytest.approx([0.8])


def test_a_parameter_in_two_groups_is_refused():
    x = param()
    text = "SGD: some parameters appear in more than one parameter group"
    with pytest.raises(ValueError, match=text):
        optim.SGD([{"params": [x]}, {"params": [x]}], lr=0.1)
    optimizer = optim.SGD([x], lr=0.1)
    with pytest.raises(ValueError, match=text):
        optimizer.add_param_group({"params": [x]})
    assert len(optimizer.param_groups) == 1


def test_an_empty_list_is_refused_and_a_spent_generator_named():
    with pytest.raises(ValueError, match=r"SGD: optimizer got an empty parameter list$"):
        optim.SGD([], lr=0.1)
    spent = nn.Linear(1, 1).parameters()
    assert len(list(spent)) == 2
    with pytest.raises(ValueError, match=r"empty .*model.parameters\(\), can be read only once"):
        optim.SGD(spent, lr=0.1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_computed_parameter_is_refused(kind):
    with pytest.raises(ValueError, match=r"can't optimize a non-leaf (Tensor|Value), .*detach\(\)"):
        optim.SGD([param(kind) * 2], lr=0.1)


@pytest.mark.parametrize(
    ("params", "text"),
    [
        (param(), "got Tensor: put it into a list"),
        (param("value"), "got Value: put it into a list"),
        (nn.Linear(1, 1), "got Linear: write model.parameters()"),
        (3, "got int: pass a list"),
        ([3], "one of the params is int"),
        ({"a": param()}, "one of the params is str"),
        ({param()}, "parameters must have an order, which a set has not; pass a list"),
        (nn.Linear(1, 1).named_parameters(), "is tuple: write model.parameters(), not named"),
        ([{"params": [param()]}, param()], "a group must be a dict; got Tensor"),
    ],
)
def test_what_is_no_list_of_parameters_is_refused(params, text):
    with pytest.raises(TypeError, match=re.escape(text)):
        optim.SGD(params, lr=0.1)


def test_a_group_needs_params():
    with pytest.raises(KeyError) as caught:
        optim.SGD([{"lr": 0.1}])
    assert caught.value.args[0] == "SGD: a group needs 'params'; got ['lr']"


@pytest.mark.parametrize(
    ("make", "options", "text"),
    [
        *((make, {"lr": -0.1}, "lr must be at least 0; got -0.1") for make in ALL),
        (optim.SGD, {"lr": math.nan}, "SGD: lr must be at least 0; got nan"),
        (optim.SGD, {"momentum": -1}, "momentum must be at least 0; got -1"),
        (optim.SGD, {"weight_decay": -1}, "weight_decay must be at least 0; got -1"),
        (optim.SGD, {"nesterov": True}, "got momentum 0 and dampening 0"),
        (
            optim.SGD,
            {"nesterov": True, "momentum": 0.9, "dampening": 0.1},
            "nesterov needs a momentum above 0 and no dampening",
        ),
        (optim.Adam, {"eps": -1}, "Adam: eps must be at least 0; got -1"),
        (optim.AdamW, {"betas": (1.0, 0.9)}, "AdamW: betas must be at least 0 and below 1; got"),
        (optim.Adam, {"betas": (0.9, -0.1)}, "betas must be at least 0 and below 1; got (0.9, -0"),
        (optim.RMSprop, {"alpha": -1}, "alpha must be at least 0; got -1"),
        (optim.RMSprop, {"momentum": -1}, "momentum must be at least 0; got -1"),
    ],
)
def test_options_that_make_no_sense_are_refused(make, options, text):
    with pytest.raises(ValueError, match=re.escape(text)):
        make([param()], **options)
    with pytest.raises(ValueError, match=re.escape(text)):
        make([{"params": [param()], **options}])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("make", ALL)
def test_a_saved_state_goes_on_as_if_nothing_had_happened(make, kind):
    options = {} if make in (optim.Adam, optim.AdamW) else {"momentum": 0.9}
    params = [param(kind), param(kind, -2.0)]
    optimizer = make(params, lr=0.1, **options)
    descend(optimizer, params)
    saved = pickle.loads(pickle.dumps(optimizer.state_dict()))
    twins = [param(kind, number(p)) for p in params]
    other = make(twins, lr=9.0, **options)
    other.load_state_dict(saved)
    assert descend(other, twins) == descend(optimizer, params)
    assert other.param_groups[0]["lr"] == 0.1
    assert saved["param_groups"][0]["params"] == [0, 1]


def test_loading_a_state_copies_it_and_takes_on_our_dtype():
    x = engine.ones(2, requires_grad=True)
    x.sum().backward()
    optimizer = optim.Adam([x])
    optimizer.step()
    y = engine.ones(2, dtype=engine.float64, requires_grad=True)
    other = optim.Adam([y])
    other.load_state_dict(optimizer.state_dict())
    assert other.state[y]["exp_avg"].dtype == engine.float64
    y.sum().backward()
    other.step()
    assert optimizer.state[x]["step"] == 1
    assert optimizer.state[x]["exp_avg"].tolist() == pytest.approx([0.1, 0.1])


def test_a_state_of_other_groups_is_refused_and_nothing_changed():
    optimizer = optim.SGD([param()], lr=0.1)
    two = optim.SGD([param(), param()], lr=0.2).state_dict()
    text = r"must have groups of \[1\] parameters; got \[2\]"
    with pytest.raises(ValueError, match=text):
        optimizer.load_state_dict(two)
    assert optimizer.param_groups[0]["lr"] == 0.1


def test_an_optimizer_prints_its_groups_as_torch_does():
    assert repr(optim.SGD([param()], lr=0.1)) == (
        "SGD (\nParameter Group 0\n    dampening: 0\n    lr: 0.1\n    maximize: False\n"
        "    momentum: 0\n    nesterov: False\n    weight_decay: 0\n)"
    )


def test_an_optimizer_of_ones_own_needs_an_update_or_a_step():
    class Signs(optim.Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr})

        def update(self, x, g, state, group):
            x -= group["lr"] * ((g > 0) * 2.0 - 1.0)

    for kind in KINDS:
        x = param(kind)
        assert descend(Signs([x], lr=0.25), [x], 2) == [0.5]
    x = param()
    x.backward()
    with pytest.raises(NotImplementedError, match="Optimizer must have an update or a step"):
        optim.Optimizer([x], {}).step()


def test_tensors_and_values_can_share_an_optimizer():
    x, v = param("tensor"), param("value")
    optimizer = optim.Adam([x, v], lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        (x * x).backward()
        (v * v).backward()
        optimizer.step()
    assert number(x) == pytest.approx(v.data, rel=1e-15)


@settings(max_examples=25)
@given(
    st.lists(st.lists(st.booleans(), min_size=4, max_size=4), min_size=1, max_size=8),
    st.sampled_from([*ALL, lambda p: optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.2)]),
)
def test_values_with_a_gradient_now_and_then_move_as_tensors_do(plan, make):
    tensors, values = ([param(kind, x) for x in (1.0, -2.0, 0.5, 3.0)] for kind in KINDS)
    both = make(tensors), make(values)
    for step, reached in enumerate(plan):
        for params, optimizer in zip((tensors, values), both, strict=True):
            optimizer.zero_grad()
            for p in itertools.compress(params, reached):
                (p * p * (step + 1.0)).backward()
            optimizer.step()
    numbers = [p.data for p in values]
    assert numbers == pytest.approx([number(p) for p in tensors], rel=1e-14)
    saved = [optimizer.state_dict()["state"] for optimizer in both]
    assert saved[0].keys() == saved[1].keys()
    for i, kept in saved[1].items():
        assert kept == pytest.approx({k: float(x) for k, x in saved[0][i].items()}, rel=1e-13)


def test_values_that_join_or_leave_a_group_keep_their_state():
    x, y, z = (param("value") for _ in range(3))
    optimizer = optim.Adam([x, y], lr=0.1)
    descend(optimizer, [x, y], 2)
    optimizer.param_groups[0]["params"] = [z, y]
    descend(optimizer, [z, y], 1)
    state = optimizer.state_dict()["state"]
    assert [state[i]["step"] for i in (0, 1)] == [1.0, 3.0]
    twin = param()
    assert descend(optim.Adam([twin], lr=0.1), [twin], 3) == pytest.approx([y.data], rel=1e-14)


def test_overflow_in_values_gives_inf_without_a_warning():
    x = param("value", 1e300)
    optimizer = optim.Adam([x], lr=0.1)
    (x * x).backward()
    optimizer.step()
    assert x.data == 1e300
    assert optimizer.state_dict()["state"][0]["exp_avg_sq"] == math.inf


@pytest.mark.parametrize("make", ALL)
def test_values_of_other_histories_move_as_tensors_do(make):
    """Some have no gradient in some steps: each has a count of steps of its own."""
    starts = [0.5, -1.0, 2.0, 3.0]
    paths = []
    for kind in KINDS:
        params = [param(kind, x) for x in starts]
        optimizer = make(params, lr=0.1)
        for step in range(6):
            optimizer.zero_grad()
            sum(p * p for i, p in enumerate(params) if (step + i) % 3).backward()
            optimizer.step()
        optimizer.load_state_dict(optimizer.state_dict())
        paths.append(descend(optimizer, params, 2))
    assert paths[0] == pytest.approx(paths[1], rel=1e-12)


def test_a_read_only_array_that_a_tensor_shares_is_not_written():
    array = np.ones(3)
    array.flags.writeable = False
    with pytest.warns(UserWarning, match="not writ"):
        x = engine.from_numpy(array).requires_grad_()
    x.sum().backward()
    optimizer = optim.Adam([x], lr=0.5)
    with pytest.raises(RuntimeError, match=r"step: .* its memory is read-only"):
        optimizer.step()
    assert (array.tolist(), optimizer.state[x]) == ([1.0] * 3, {})


@pytest.mark.parametrize("make", [optim.SGD, optim.Adam, optim.AdamW, optim.RMSprop])
@pytest.mark.parametrize("shape", [(3, 2), (2, 3)])
def test_the_rate_may_be_a_tensor(make, shape):
    found = []
    for lr in (0.125, engine.tensor(0.125)):
        x = engine.ones(2, 3).T.requires_grad_() if shape == (3, 2) else engine.ones(shape)
        v = engine.Value(1.0)
        x.grad, v.grad = 2.0 * engine.ones(shape), 2.0
        make([x, v], lr=lr).step()
        found.append([x.tolist(), v.data])
    assert found[0] == found[1]
