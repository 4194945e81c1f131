"""More activations as modules; what each does stands at the function of the same name."""

from __future__ import annotations

from typing import Any

import engine
from engine.nn import functional
from engine.nn.modules.module import Module
from engine.nn.parameter import Parameter
from engine.tensors import Tensor


class Activation(Module):
    """A module without parameters that calls a function of `functional` with its own options."""

    function = ""
    shown: tuple[str, ...] = ()  # the options that repr tells; inplace is told where it is set

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.options = options
        vars(self).update(options)

    def forward(self, input: Tensor) -> Tensor:
        options = {name: getattr(self, name) for name in self.options}
        return getattr(functional, self.function)(input, **options)

    def extra_repr(self) -> str:
        told = [f"{name}={getattr(self, name)}" for name in self.shown]
        return ", ".join(told + ["inplace=True"] * getattr(self, "inplace", False))


class ELU(Activation):
    """x where x > 0, else alpha (e**x - 1), elementwise."""

    function, shown = "elu", ("alpha",)

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(alpha=alpha, inplace=inplace)


class CELU(Activation):
    """x where x > 0, else alpha (e**(x / alpha) - 1), elementwise."""

    function, shown = "celu", ("alpha",)

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(alpha=alpha, inplace=inplace)


class SELU(Activation):
    """elu with alpha 1.6733 times 1.0507, elementwise."""

    function = "selu"

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace=inplace)


class SiLU(Activation):
    """x times sigmoid(x), elementwise."""

    function = "silu"

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace=inplace)


class Mish(Activation):
    """x tanh(log(1 + e**x)), elementwise."""

    function = "mish"

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace=inplace)


class Hardtanh(Activation):
    """x held between min_val and max_val, elementwise."""

    function, shown = "hardtanh", ("min_val", "max_val")

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__(min_val=min_val, max_val=max_val, inplace=inplace)


class ReLU6(Activation):
    """x held between 0 and 6, elementwise."""

    function = "relu6"

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace=inplace)


class Hardsigmoid(Activation):
    """relu6(x + 3) / 6, elementwise."""

    function = "hardsigmoid"

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace=inplace)

    def extra_repr(self) -> str:
        return ""


class Hardswish(Hardsigmoid):
    """x relu6(x + 3) / 6, elementwise."""

    function = "hardswish"


class Softsign(Activation):
    """x / (1 + |x|), elementwise."""

    function = "softsign"

    def __init__(self) -> None:
        super().__init__()


class LogSigmoid(Softsign):
    """log(sigmoid(x)), elementwise."""

    function = "logsigmoid"


class Tanhshrink(Softsign):
    """x - tanh(x), elementwise."""

    function = "tanhshrink"


class Softshrink(Activation):
    """x moved towards 0 by lambd, 0 within it, elementwise."""

    function = "softshrink"

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__(lambd=lambd)

    def extra_repr(self) -> str:
        return str(self.lambd)


class Hardshrink(Softshrink):
    """x, but 0 from -lambd to lambd, elementwise."""

    function = "hardshrink"


class Threshold(Activation):
    """x where x > threshold, else value, elementwise."""

    function, shown = "threshold", ("threshold", "value")

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(threshold=threshold, value=value, inplace=inplace)


class GLU(Activation):
    """The first half along `dim` times the sigmoid of the second."""

    function, shown = "glu", ("dim",)

    def __init__(self, dim: int = -1) -> None:
        super().__init__(dim=dim)


class Softmin(Activation):
    """The softmax of -x along `dim`."""

    function, shown = "softmin", ("dim",)

    def __init__(self, dim: int | None = None) -> None:
        super().__init__(dim=dim)


class PReLU(Module):
    """x where x > 0, else `weight` * x: one learned number, or one for each place along dim 1;
    each starts at init."""

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.weight = Parameter(engine.full((num_parameters,), init, dtype=dtype))

    def forward(self, input: Tensor) -> Tensor:
        return functional.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"
