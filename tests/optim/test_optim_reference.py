"""Optimizers and schedulers against torch's numbers (optim.json), on Tensors and on Values."""

import json
import runpy
from pathlib import Path

import pytest

import engine

REFERENCE = Path(__file__).parents[1] / "reference"
RECORD = json.loads((REFERENCE / "optim.json").read_text())
MAKE = runpy.run_path(str(REFERENCE / "make_optim.py"))


def describe(run):
    return f"{run['name']}({', '.join(f'{k}={v}' for k, v in run['options'].items())})"


def near(row):
    return pytest.approx(row, rel=1e-12, abs=1e-14)


def values():
    return [engine.Value(x) for x in MAKE["START"]]


def scalars():
    return [engine.tensor(x, dtype=engine.float64, requires_grad=True) for x in MAKE["START"]]


@pytest.mark.parametrize("make", [scalars, values])
@pytest.mark.parametrize("run", RECORD["optimizers"], ids=describe)
def test_ten_steps_end_where_torch_ends(run, make):
    params = make()
    optimizer = getattr(engine.optim, run["name"])(params, **run["options"])
    for expected in run["path"]:
        optimizer.zero_grad()
        MAKE["loss"](*params).backward()
        optimizer.step()
        assert [float(p.detach()) for p in params] == near(expected)


@pytest.mark.parametrize("run", RECORD["optimizers"], ids=describe)
def test_a_vector_moves_as_its_numbers_do(run):
    x = engine.tensor(MAKE["START"], dtype=engine.float64, requires_grad=True)
    before = x.detach()
    optimizer = getattr(engine.optim, run["name"])([x], **run["options"])
    for expected in run["path"]:
        optimizer.zero_grad()
        MAKE["loss"](*x).backward()
        grad = x.grad.tolist()
        optimizer.step()
        assert x.tolist() == near(expected)
        assert x.grad.tolist() == grad
    assert before.tolist() == x.tolist()


@pytest.mark.parametrize("run", RECORD["schedulers"], ids=describe)
def test_rates_are_those_of_torch(run):
    optimizer = engine.optim.SGD([engine.zeros(1, requires_grad=True)], lr=0.2)
    scheduler = getattr(engine.optim.lr_scheduler, run["name"])(optimizer, **run["options"])
    rates = scheduler.get_last_lr()
    for _ in run["rates"][1:]:
        optimizer.step()
        scheduler.step()
        assert optimizer.param_groups[0]["lr"] == scheduler.get_last_lr()[0]
        rates += scheduler.get_last_lr()
    assert rates == near(run["rates"])


def test_every_recorded_run_still_stands_in_the_program_that_made_it():
    for kind in ("optimizers", "schedulers"):
        recorded = [[run["name"], run["options"]] for run in RECORD[kind]]
        assert recorded == [list(pair) for pair in MAKE[kind.upper()]]
