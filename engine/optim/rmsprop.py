"""RMSprop."""

from __future__ import annotations

from typing import Any

from engine import elementary as m
from engine.optim.column import State
from engine.optim.optimizer import Group, Optimizer, zeros_like


class RMSprop(Optimizer):
    """x -= lr * g / (sqrt(square) + eps), square a running mean of g**2.

    alpha: how much of the running mean is kept at each step. centered: the square of the running
    mean of g is taken off, so that it is a variance. momentum: x moves by lr * b, and b becomes
    momentum * b + g / (sqrt(square) + eps). weight_decay: adds weight_decay * x to g.
    maximize: climbs instead. Source: Hinton's lecture 6e (2012); centered: arXiv:1308.0850.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        options = {
            "lr": lr,
            "alpha": alpha,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "centered": centered,
            "maximize": maximize,
        }
        super().__init__(params, options)

    def check(self, group: Group) -> None:
        self.at_least_0(group, "lr", "alpha", "eps", "weight_decay", "momentum")

    def update(self, x: Any, g: Any, state: State, group: Group) -> None:
        if group["weight_decay"] != 0:
            g = g + group["weight_decay"] * x
        change = g / (self._root(g, state, group) + group["eps"])
        if group["momentum"] != 0:
            state.setdefault("momentum_buffer", zeros_like(g))
            state["momentum_buffer"] *= group["momentum"]
            state["momentum_buffer"] += change
            change = state["momentum_buffer"]
        x -= float(group["lr"]) * change

    def _root(self, g: Any, state: State, group: Group) -> Any:
        """The square root of the running mean of g**2, or of the running variance of g."""
        state.setdefault("square_avg", zeros_like(g))
        state["square_avg"] *= group["alpha"]
        state["square_avg"] += (1 - group["alpha"]) * g * g
        if not group["centered"]:
            return m.sqrt(state["square_avg"])
        state.setdefault("grad_avg", zeros_like(g))
        state["grad_avg"] += (1 - group["alpha"]) * (g - state["grad_avg"])
        return m.sqrt(state["square_avg"] - state["grad_avg"] * state["grad_avg"])
