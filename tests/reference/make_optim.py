"""Records torch's optimizers and schedulers in optim.json: `python make_optim.py`, with torch.

Each run starts from the same four numbers and takes ten steps on the same loss, in float64.
`loss` is written for anything that computes, so that the tests use it on Tensors and on Values.
"""

import json
from pathlib import Path

START = [0.5, -1.25, 2.0, 0.1]
STEPS = 10

OPTIMIZERS = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.05, "momentum": 0.8, "dampening": 0.3, "weight_decay": 0.02}),
    ("SGD", {"lr": 0.05, "momentum": 0.9, "nesterov": True}),
    ("SGD", {"lr": 0.01, "maximize": True}),
    ("Adam", {"lr": 0.1}),
    ("Adam", {"lr": 0.1, "betas": [0.8, 0.95], "eps": 1e-3, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.2, "amsgrad": True}),
    ("Adam", {"lr": 0.02, "maximize": True}),
    ("AdamW", {"lr": 0.1}),
    ("AdamW", {"lr": 0.1, "weight_decay": 0.3, "amsgrad": True}),
    ("RMSprop", {"lr": 0.05}),
    ("RMSprop", {"lr": 0.05, "alpha": 0.8, "weight_decay": 0.1, "momentum": 0.5}),
    ("RMSprop", {"lr": 0.02, "centered": True}),
    ("RMSprop", {"lr": 0.02, "centered": True, "momentum": 0.9, "maximize": True}),
]

SCHEDULERS = [
    ("StepLR", {"step_size": 3}),
    ("StepLR", {"step_size": 2, "gamma": 0.5}),
    ("ExponentialLR", {"gamma": 0.9}),
    ("CosineAnnealingLR", {"T_max": 5}),
    ("CosineAnnealingLR", {"T_max": 4, "eta_min": 0.01}),
]


def loss(a, b, c, d):
    """A valley with a bend, whose gradient depends on every number."""
    return (a - 1) ** 2 + 3 * (a * b + c) ** 2 + (b - d) ** 2 * 0.5 + (c * d - 0.3) ** 2


def trajectory(torch, name, options):
    params = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in START]
    optimizer = getattr(torch.optim, name)(params, **options)
    path = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss(*params).backward()
        optimizer.step()
        path.append([param.item() for param in params])
    return path


def rates(torch, name, options):
    param = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.SGD([{"params": [param]}], lr=0.2)
    scheduler = getattr(torch.optim.lr_scheduler, name)(optimizer, **options)
    row = [scheduler.get_last_lr()[0]]
    for _ in range(12):
        optimizer.step()
        scheduler.step()
        row.append(scheduler.get_last_lr()[0])
    return row


def main():
    import torch

    runs = [
        {"name": name, "options": options, "path": trajectory(torch, name, options)}
        for name, options in OPTIMIZERS
    ]
    schedules = [
        {"name": name, "options": options, "rates": rates(torch, name, options)}
        for name, options in SCHEDULERS
    ]
    record = {"torch": torch.__version__, "optimizers": runs, "schedulers": schedules}
    Path(__file__).with_name("optim.json").write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
