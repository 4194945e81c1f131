"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from engine.optim.column import State
from engine.optim.optimizer import Group, Optimizer


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
        if group["weight_decay"] != 0:
            g = g + group["weight_decay"] * x
        if group["momentum"] != 0:
            g = self._with_momentum(g, state, group)
        x -= group["lr"] * g

    def _with_momentum(self, g: Any, state: State, group: Group) -> Any:
        buffer = state.get("momentum_buffer")
        if buffer is None:
            buffer = 1.0 * g  # a copy: g is the parameter's own gradient
        else:
            buffer *= group["momentum"]
            buffer += (1 - group["dampening"]) * g
        state["momentum_buffer"] = buffer
        return g + group["momentum"] * buffer if group["nesterov"] else buffer
