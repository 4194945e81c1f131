"""Parameter: a tensor that a Module trains."""

from __future__ import annotations

from typing import Any

import engine
from engine.habits import Value
from engine.tensors import Tensor


class Parameter(Tensor):
    """A tensor that a Module lists among its parameters once it is assigned to an attribute.

    data: a floating tensor of any shape, whose memory is shared; or a Value, whose number becomes
        a 0-dim float64 tensor of its own; nothing at all gives an empty tensor.
    requires_grad: whether gradients are wanted, True unless said otherwise.
    The Parameter is a leaf, whatever history `data` had. A deep copy and a pickle keep the numbers
    and `requires_grad`, and start without a `.grad`.
    Raises TypeError for anything that is not a tensor or a Value.
    """

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Parameter:
        leaf: Parameter = _as_tensor(data).detach().as_subclass(cls)
        leaf.requires_grad_(requires_grad)
        return leaf

    def __init__(self, data: Any = None, requires_grad: bool = True) -> None:
        """All is done in __new__; a Tensor's own constructor, which takes sizes, is not run."""

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        copy: Parameter = memo[id(self)]
        return copy

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.data, self.requires_grad)


def _rebuild(kind: type[Parameter], data: Tensor, requires_grad: bool) -> Parameter:
    """What a pickle calls; a function, so that `data` is read before the Parameter is made."""
    return kind(data, requires_grad)


def _as_tensor(data: Any) -> Tensor:
    if data is None:
        return engine.empty(0)
    if isinstance(data, Value):
        return engine.tensor(data.data, dtype=engine.float64)
    if isinstance(data, Tensor):
        return data
    raise TypeError(
        f"Parameter: data must be a Tensor; got {type(data).__name__}: write "
        "nn.Parameter(engine.tensor(...))"
    )
