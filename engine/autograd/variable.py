"""Variable: PyTorch's old name for a tensor with a gradient."""

from collections.abc import Callable
from typing import Any

from engine.attention import warn
from engine.graph import current_walk
from engine.nodes import DIFFERENTIABLE
from engine.tensors import Tensor


class VariableMeta(type):
    """Makes every Tensor an instance of Variable."""

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, Tensor)

    def __call__(cls, data: Any, requires_grad: bool = False, volatile: bool = False) -> Any:
        if not isinstance(data, DIFFERENTIABLE):
            raise TypeError(f"Variable: data has to be a tensor, but got {type(data).__name__}")
        return data.detach().requires_grad_(requires_grad)


class Execution:
    """The walk that runs, under the name by which programs ask PyTorch's for a callback."""

    @staticmethod
    def queue_callback(callback: Callable[[], None]) -> None:
        """Call `callback` when the backward that runs in this thread has visited all nodes."""
        walk = current_walk()
        if walk is None:
            raise RuntimeError("Final callbacks can only be installed during backward pass.")
        walk.callbacks[object()] = callback


class Variable(metaclass=VariableMeta):
    """Variable(t, requires_grad=True) is a leaf that shares t's memory; use tensors themselves:
    engine.tensor(..., requires_grad=True)."""

    _execution_engine = Execution


VOLATILE = (
    "volatile was removed (Variable.volatile is always False): use engine.no_grad() for a block "
    "without gradients"
)


def volatile(t: Tensor) -> bool:
    """False: an old flag, replaced by no_grad."""
    warn(VOLATILE)
    return False


def set_volatile(t: Tensor, x: Any) -> None:
    """Nothing but the warning."""
    warn(VOLATILE)


Tensor.volatile = property(volatile, set_volatile)  # type: ignore[attr-defined]
