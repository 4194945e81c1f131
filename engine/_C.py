"""torch._C: the few names of PyTorch's private module that programs, and its own tests, use.

>>> import engine
>>> x = engine.ones(1, requires_grad=True)
>>> type((x * 2).grad_fn.next_functions[0][0]) is engine._C._functions.AccumulateGrad
True
"""

import weakref
from types import SimpleNamespace
from typing import Any

from engine.autograd.introspection import AccumulateGrad
from engine.function import Function
from engine.grad_mode import is_grad_enabled as is_grad_enabled


class Undefined(Function):
    """The identity, which hands no gradient on."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, g: Any) -> None:
        return None


class Delayed(Function):
    """The identity, whose backward raises."""

    @staticmethod
    def forward(ctx: Any, x: Any, message: str) -> Any:
        ctx.message = message
        return x.clone()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        raise RuntimeError(ctx.message)


class UndefinedGrad:
    """UndefinedGrad()(x) is x, but what comes before it gets no gradient."""

    def __call__(self, x: Any) -> Any:
        return Undefined.apply(x)


class DelayedError:
    """DelayedError(message, 1)(x) is x, but backward through it is a RuntimeError."""

    def __init__(self, message: str, num_inputs: int):
        self.message = message

    def __call__(self, x: Any) -> Any:
        return Delayed.apply(x, self.message)


class _WeakTensorRef:
    """A weak reference to a tensor."""

    def __init__(self, tensor: Any):
        self.reference = weakref.ref(tensor)

    def expired(self) -> bool:
        """Whether the tensor is gone."""
        return self.reference() is None


_functions = SimpleNamespace(
    AccumulateGrad=AccumulateGrad, DelayedError=DelayedError, UndefinedGrad=UndefinedGrad
)
