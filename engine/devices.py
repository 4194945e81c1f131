"""Where tensors live: the CPU, under PyTorch's names."""

from typing import Any

CPU_ONLY = (
    "{0}: engine computes on the CPU only, and there is no device {1!r}; use engine.device('cpu'), "
    "or choose by engine.cuda.is_available(), which is False"
)


class device:
    """A place where tensors live, such as device("cpu"), device("cpu", 0), device("cpu:0").

    Raises RuntimeError for any other kind: engine computes on the CPU.
    """

    __slots__ = ("index", "type")

    def __init__(self, type: Any, index: int | None = None):
        kind, _, number = str(type).partition(":")
        if kind != "cpu":
            raise RuntimeError(CPU_ONLY.format("device", str(type)))
        self.type = kind
        self.index = int(number) if number else index

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type={self.type!r}{index})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __reduce__(self) -> Any:
        return device, (str(self),)


cpu = device("cpu")


def check(d: Any, where: str) -> None:
    """Refuse a device that is not the CPU; None means the CPU."""
    if d is not None and not isinstance(d, device) and str(d).partition(":")[0] != "cpu":
        raise RuntimeError(CPU_ONLY.format(where, d))


class memory_format:
    """How the elements of a tensor lie in memory: see contiguous_format, channels_last."""

    __slots__ = ("name", "order")

    def __init__(self, name: str, order: Any):
        self.name = name
        self.order = order

    def __repr__(self) -> str:
        return f"engine.{self.name}"

    def order_of(self, ndim: int) -> Any:
        """NumPy's order, "C" or "K", or the dimensions from the widest steps to the narrowest."""
        if not isinstance(self.order, str) and len(self.order) != ndim:
            raise RuntimeError(f"required rank {len(self.order)} tensor to use {self.name} format")
        return self.order


contiguous_format = memory_format("contiguous_format", "C")
preserve_format = memory_format("preserve_format", "K")
channels_last = memory_format("channels_last", (0, 2, 3, 1))
