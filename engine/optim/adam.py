"""Adam and AdamW."""

from __future__ import annotations

from typing import Any

from engine import elementary as m
from engine.optim.column import State
from engine.optim.optimizer import Group, Optimizer, zeros_like


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
        lr, decay, (beta1, beta2) = group["lr"], group["weight_decay"], group["betas"]
        if decay != 0 and self.decoupled:
            x *= 1 - lr * decay
        elif decay != 0:
            g = g + decay * x
        mean, square = self._averages(g, state, beta1, beta2)
        if group["amsgrad"]:
            square = m.maximum(state.get("max_exp_avg_sq", zeros_like(g)), square)
            state["max_exp_avg_sq"] = square
        root = m.sqrt(square) / m.sqrt(1 - beta2 ** state["step"]) + group["eps"]
        x -= lr / (1 - beta1 ** state["step"]) * mean / root

    def _averages(self, g: Any, state: State, beta1: float, beta2: float) -> tuple[Any, Any]:
        """The running means of g and of g**2, moved on by one step."""
        if not state:
            state.update(step=0, exp_avg=zeros_like(g), exp_avg_sq=zeros_like(g))
        state["step"] += 1
        state["exp_avg"] += (1 - beta1) * (g - state["exp_avg"])
        state["exp_avg_sq"] *= beta2
        state["exp_avg_sq"] += (1 - beta2) * g * g
        return state["exp_avg"], state["exp_avg_sq"]


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
