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
