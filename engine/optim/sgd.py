"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from engine import builds
from engine.optim.column import State
from engine.optim.optimizer import Group, Optimizer, array_of, changed, zeros_like

kernels = builds.module("kernels")


class SGD(Optimizer):
    """x -= lr * g, with momentum if asked.

    momentum: the gradient is replaced by b, which becomes momentum * b + (1 - dampening) * g each
        step and starts as g; with nesterov by g + momentum * b.
    weight_decay: adds weight_decay * x to g. maximize: climbs instead.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        options = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
        }
        super().__init__(params, options)

    def check(self, group: Group) -> None:
        self.at_least_0(group, "lr", "momentum", "weight_decay")
        if group["nesterov"] and (group["momentum"] <= 0 or group["dampening"] != 0):
            raise ValueError(
                "SGD: nesterov needs a momentum above 0 and no dampening; got "
                f"momentum {group['momentum']} and dampening {group['dampening']}"
            )

    def update(self, x: Any, g: Any, state: State, group: Group) -> None:
        x = changed(x)
        momentum, buffer = group["momentum"], state.get("momentum_buffer")
        first = momentum != 0 and buffer is None
        if first:
            buffer = state["momentum_buffer"] = zeros_like(g)
        kernels.sgd_step(
            x,
            array_of(g),
            array_of(buffer) if momentum != 0 else None,
            first,
            float(group["lr"]),
            momentum,
            1 - group["dampening"],
            group["weight_decay"],
            group["nesterov"],
        )
