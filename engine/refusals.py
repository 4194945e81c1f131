"""What a Tensor refuses: attributes are not deleted, and operations in place need their `_`.

Attributes of a tensor are read at every step of every program, and Python reads them fastest where
the class has neither `__getattr__` nor `__delattr__`: so each refusal is an attribute of its own.
"""

from typing import Any

from engine.tensors import Tensor


class InPlaceOnly:
    """Stands under the name of an operation that works in place alone, and says so."""

    def __init__(self, name: str):
        self.name = name

    def __get__(self, t: Any, kind: Any = None) -> Any:
        raise AttributeError(
            f"a Tensor has no attribute {self.name!r}; it works in place: {self.name}_",
            name=self.name,
            obj=t,
        )


class Hidden:
    """Stands under the name of something that a tensor keeps elsewhere: None, and not deleted."""

    def __init__(self, name: str):
        self.name = name

    def __get__(self, t: Any, kind: Any = None) -> Any:
        return None if t is None else t.__dict__.get(self.name)

    def __set__(self, t: Any, x: Any) -> None:
        t.__dict__[self.name] = x

    def __delete__(self, t: Any) -> None:
        refuse_deletion(t)


def refuse_deletion(t: Any) -> None:
    """The deleter of every attribute but `grad`."""
    raise RuntimeError("an attribute of a Tensor cannot be deleted; del t.grad is possible")


def complete() -> None:
    """Give Tensor its refusals; called once, when it has all of its attributes."""
    for name, x in list(vars(Tensor).items()):
        if isinstance(x, property) and x.fdel is None:
            setattr(Tensor, name, x.deleter(refuse_deletion))
        elif name.endswith("_") and not name.startswith("_") and not hasattr(Tensor, name[:-1]):
            setattr(Tensor, name[:-1], InPlaceOnly(name[:-1]))
    Tensor._grad_fn = property(lambda t: t.grad_fn, fdel=refuse_deletion)  # type: ignore[attr-defined]
    Tensor._backward_hooks = Hidden("_backward_hooks")  # type: ignore[attr-defined]
