"""Schedulers: what torch's numbers do not show."""

import pytest

import engine
from engine import optim
from engine.optim import lr_scheduler


@pytest.fixture
def optimizer():
    x, y = (engine.zeros(1, requires_grad=True) for _ in range(2))
    return optim.SGD([{"params": [x]}, {"params": [y], "lr": 1.0}], lr=0.1)


def advance(optimizer, *schedulers, steps=1):
    for _ in range(steps):
        optimizer.step()
        for scheduler in schedulers:
            scheduler.step()
    return [group["lr"] for group in optimizer.param_groups]


def test_lambda_multiplies_the_initial_rates(optimizer):
    scheduler = lr_scheduler.LambdaLR(optimizer, lambda epoch: 1 / (1 + epoch))
    assert advance(optimizer, scheduler, steps=3) == pytest.approx([0.025, 0.25])
    assert scheduler.get_last_lr() == pytest.approx([0.025, 0.25])


def test_lambda_takes_one_function_per_group(optimizer):
    scheduler = lr_scheduler.LambdaLR(optimizer, [lambda e: 0.5**e, lambda e: 2.0**e])
    assert advance(optimizer, scheduler, steps=2) == pytest.approx([0.025, 4.0])
    with pytest.raises(ValueError, match="Expected 2 lr_lambdas, but got 1"):
        lr_scheduler.LambdaLR(optimizer, [lambda e: 1.0])


def test_schedulers_can_be_chained(optimizer):
    first = lr_scheduler.ExponentialLR(optimizer, 0.5)
    second = lr_scheduler.StepLR(optimizer, 2, gamma=0.1)
    assert advance(optimizer, first, second, steps=2) == pytest.approx([0.0025, 0.025])


def test_stepping_before_the_optimizer_is_warned_of(optimizer):
    scheduler = lr_scheduler.StepLR(optimizer, 1)
    with pytest.warns(UserWarning, match=r"step\(\) came before optimizer.step\(\)"):
        scheduler.step()
    optimizer.step()
    scheduler.step()


def test_an_optimizer_with_a_step_of_its_own_is_not_warned_of():
    class Still(optim.Optimizer):
        def step(self):
            pass

    still = Still([engine.zeros(1, requires_grad=True)], {"lr": 1.0})
    lr_scheduler.ExponentialLR(still, 0.5).step()
    assert still.param_groups[0]["lr"] == 0.5


def test_a_saved_scheduler_goes_on_from_its_epoch(optimizer):
    scheduler = lr_scheduler.StepLR(optimizer, 2)
    advance(optimizer, scheduler, steps=3)
    other = lr_scheduler.StepLR(optimizer, 7)
    other.load_state_dict(scheduler.state_dict())
    assert other.last_epoch == 3
    assert other.step_size == 2
    assert advance(optimizer, other) == pytest.approx([0.001, 0.01])


def test_a_saved_scheduler_holds_no_functions_and_no_optimizer(optimizer):
    state = lr_scheduler.LambdaLR(optimizer, lambda e: 1.0).state_dict()
    assert state["base_lrs"] == [0.1, 1.0]
    assert not {"optimizer", "lr_lambdas"} & set(state)


def test_resuming_needs_the_initial_rate(optimizer):
    with pytest.raises(KeyError) as caught:
        lr_scheduler.StepLR(optimizer, 2, last_epoch=3)
    assert "go on after epoch 3, param_groups[0] needs 'initial_lr'" in caught.value.args[0]
    lr_scheduler.StepLR(optimizer, 2)
    assert lr_scheduler.StepLR(optimizer, 2, last_epoch=3).last_epoch == 4


def test_only_optimizers_are_scheduled():
    with pytest.raises(TypeError, match="StepLR: optimizer must be an Optimizer; got int"):
        lr_scheduler.StepLR(3, 2)


def test_the_base_class_needs_a_get_lr(optimizer):
    with pytest.raises(NotImplementedError, match="LRScheduler must have a get_lr"):
        lr_scheduler.LRScheduler(optimizer)
