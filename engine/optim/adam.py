"""Adam and AdamW."""

from __future__ import annotations

from typing import Any

from engine import builds, elementary as m
from engine.optim.column import State
from engine.optim.optimizer import Group, Optimizer, array_of, changed, one_of, zeros_like

kernels = builds.module("kernels")
STATE = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")


class Adam(Optimizer):
    """x -= lr * mean / (sqrt(square) + eps), both corrected for their start at 0.

    betas: how much of the running means of g and of g**2 is kept at each step.
    weight_decay: adds weight_decay * x to g. amsgrad: the largest square so far is used.
    maximize: climbs instead. Source: arXiv:1412.6980; amsgrad: Reddi et al. 2018.
    """

    decoupled = False

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        options = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
        }
        super().__init__(params, options)

    def check(self, group: Group) -> None:
        self.at_least_0(group, "lr", "eps", "weight_decay")
        if not all(0 <= beta < 1 for beta in group["betas"]):
            raise ValueError(
                f"{type(self).__name__}: betas must be at least 0 and below 1; got {group['betas']}"
            )

    def update(self, x: Any, g: Any, state: State, group: Group) -> None:
        x = changed(x)
        lr, (beta1, beta2), decay = float(group["lr"]), group["betas"], group["weight_decay"]
        names = STATE if group["amsgrad"] else STATE[:2]
        for name in names:
            if name not in state:
                state[name] = zeros_like(g)
        state["step"] = state.get("step", 0) + 1
        step = one_of(state["step"])
        kernels.adam_step(
            x,
            array_of(g),
            *(array_of(state[name]) if name in names else None for name in STATE),
            lr / (1 - beta1**step),
            m.sqrt(1 - beta2**step),
            beta1,
            beta2,
            group["eps"],
            0 if self.decoupled else decay,
            1 - lr * decay if self.decoupled else 1,
        )


class AdamW(Adam):
    """Adam whose weight decay shrinks x by lr * weight_decay and leaves g alone.

    Source: arXiv:1711.05101.
    """

    decoupled = True

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize)
