"""Learning rates that change from epoch to epoch: call `step()` after each epoch's last update."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from engine.attention import warn
from engine.optim.optimizer import Optimizer


class LRScheduler:
    """Base of the schedulers: writes a new "lr" into each group of the optimizer at each step.

    last_epoch: -1 to begin; to go on after that epoch, each group must have its "initial_lr",
        which the optimizer's state_dict of the earlier run holds.
    A subclass writes get_lr. Raises TypeError unless `optimizer` is one, KeyError without
    "initial_lr".
    """

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(
                f"{type(self).__name__}: optimizer must be an Optimizer; "
                f"got {type(optimizer).__name__}"
            )
        self.optimizer, self.last_epoch = optimizer, last_epoch
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch != -1 and "initial_lr" not in group:
                raise KeyError(
                    f"{type(self).__name__}: to go on after epoch {last_epoch}, param_groups[{i}] "
                    "needs 'initial_lr'; load the optimizer's state_dict first"
                )
            group.setdefault("initial_lr", group["lr"])
        self.base_lrs: list[float] = [group["initial_lr"] for group in optimizer.param_groups]
        self._advance()

    def get_lr(self) -> list[float]:
        """The rate of each group in the epoch `last_epoch`."""
        raise NotImplementedError(f"{type(self).__name__} must have a get_lr")

    def get_last_lr(self) -> list[float]:
        """The rate of each group that was set last."""
        return self._last_lr

    def step(self) -> None:
        """Goes on to the next epoch. Warns if the optimizer has not taken a step before."""
        counted = type(self.optimizer).step is Optimizer.step
        if counted and self.last_epoch == 0 and self.optimizer.steps_taken == 0:
            warn(
                f"{type(self).__name__}: step() came before optimizer.step(), so the first rate "
                "is skipped; call optimizer.step() first"
            )
        self._advance()

    def _advance(self) -> None:
        self.last_epoch += 1
        self._last_lr = [float(rate) for rate in self.get_lr()]
        for group, rate in zip(self.optimizer.param_groups, self._last_lr, strict=True):
            group["lr"] = rate

    def _now(self) -> list[float]:
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer."""
        return {key: item for key, item in vars(self).items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes on what state_dict gave."""
        self.__dict__.update(state_dict)


class StepLR(LRScheduler):
    """Multiplies the rates by gamma after every step_size epochs."""

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        if self.last_epoch == 0 or self.last_epoch % self.step_size != 0:
            return self._now()
        return [rate * self.gamma for rate in self._now()]


class ExponentialLR(LRScheduler):
    """Multiplies the rates by gamma after every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        return [rate * (self.gamma if self.last_epoch else 1.0) for rate in self._now()]


class LambdaLR(LRScheduler):
    """The initial rates times lr_lambda(epoch), one function or a list of one per group."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        self.lr_lambdas: list[Callable[[int], float]]
        groups = len(optimizer.param_groups)
        many = isinstance(lr_lambda, list | tuple)
        self.lr_lambdas = list(lr_lambda) if many else [lr_lambda] * groups
        if len(self.lr_lambdas) != groups:
            raise ValueError(f"LambdaLR: Expected {groups} lr_lambdas, but got {len(lr_lambda)}")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        pairs = zip(self.base_lrs, self.lr_lambdas, strict=True)
        return [base * factor(self.last_epoch) for base, factor in pairs]

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer and the functions."""
        return {key: item for key, item in super().state_dict().items() if key != "lr_lambdas"}


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the initial rates down to eta_min, reached at epoch T_max; then up again.

    Each rate is made from the one before, so that it goes together with other schedulers.
    Source: arXiv:1608.03983, without restarts.
    """

    def __init__(
        self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        if self.last_epoch == 0:
            return self._now()
        before, after = self._height(self.last_epoch - 1), self._height(self.last_epoch)
        if self.last_epoch % (2 * self.T_max) == self.T_max + 1:  # `before` is 0, at the bottom
            spans = [(base - self.eta_min) * after / 2 for base in self.base_lrs]
            return [rate + span for rate, span in zip(self._now(), spans, strict=True)]
        return [after / before * (rate - self.eta_min) + self.eta_min for rate in self._now()]

    def _height(self, epoch: int) -> float:
        """Twice the height of the cosine at an epoch, from 2 at the start to 0 at T_max."""
        return 1 + math.cos(math.pi * epoch / self.T_max)
