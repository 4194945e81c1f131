"""What a check asks of a tensor library: engine's or torch's, under PyTorch's names."""

import random
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


class Library:
    """The few operations through which every check runs, so that none of them names a library."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.name: str = module.__name__
        self.Function = module.autograd.Function
        self.Tensor = module.Tensor
        self.Value: Any = getattr(module, "Value", None)

    def __repr__(self) -> str:
        return f"Library({self.name})"

    def tensor(self, array: Array) -> Any:
        """A tensor of its own memory with an array's numbers, shape and dtype."""
        return self.module.tensor(np.array(array, order="C"))

    def value(self, number: float, requires_grad: bool) -> Any:
        """A scalar of the graph; only engine has them."""
        return self.Value(float(number), requires_grad=requires_grad)

    def is_tensor(self, thing: Any) -> bool:
        return isinstance(thing, self.Tensor)

    def is_value(self, thing: Any) -> bool:
        return self.Value is not None and isinstance(thing, self.Value)

    def is_node(self, thing: Any) -> bool:
        """True for whatever a graph is made of."""
        return self.is_tensor(thing) or self.is_value(thing)

    def array(self, thing: Any) -> Array:
        """A copy of a tensor's numbers (of a Value's, as a float64 array of shape ())."""
        if self.is_value(thing):
            return np.array(float(thing.data))
        return np.array(thing.detach().numpy())

    def is_floating(self, thing: Any) -> bool:
        return self.is_value(thing) or bool(thing.is_floating_point())

    def seed(self, number: int) -> None:
        """Sets every generator that a forward may draw from."""
        random.seed(number)
        np.random.seed(number)
        # torch.manual_seed takes milliseconds, most of it for devices that are not there.
        getattr(self.module, "default_generator", self.module).manual_seed(number)

    def no_grad(self) -> Any:
        return self.module.no_grad()

    def grad(
        self,
        outputs: Sequence[Any],
        inputs: Sequence[Any],
        upstream: Sequence[Any] | None = None,
        create_graph: bool = False,
        retain_graph: bool | None = None,
    ) -> tuple[Any, ...]:
        """Gradients of the inputs, None for an input that the outputs do not depend on."""
        return tuple(
            self.module.autograd.grad(
                list(outputs),
                list(inputs),
                grad_outputs=None if upstream is None else list(upstream),
                create_graph=create_graph,
                retain_graph=retain_graph,
                allow_unused=True,
            )
        )

    @contextmanager
    def settled(self) -> Iterator[None]:
        """One thread, as all is small, and afterwards threads and generators as they were."""
        python, numpy = random.getstate(), np.random.get_state()
        own, threads = self.module.get_rng_state(), self._threads(1)
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numpy)
            self.module.set_rng_state(own)
            self._threads(threads)

    def _threads(self, count: int) -> int:
        before = int(getattr(self.module, "get_num_threads", lambda: 1)())
        if before != count:
            self.module.set_num_threads(count)
        return before


def library(name: str) -> Library:
    """The library of a module's name, "engine" or "torch"."""
    return Library(import_module(name))


def libraries() -> list[Library]:
    """Those that can be met in this process: engine, and torch once something imported it."""
    names = [n for n in ("engine", "torch") if hasattr(sys.modules.get(n), "autograd")]
    return [library(name) for name in names]


def library_of(target: Any, example: Sequence[Any] = ()) -> Library:
    """The library of a Function class, or else of the tensors in an example."""
    for found in libraries():
        if isinstance(target, type) and issubclass(target, found.Function):
            return found
        if any(found.is_node(thing) for thing in example):
            return found
    raise TypeError(
        "check: needs a Function of engine or torch, or a callable with an example of their "
        f"tensors; got {target!r} and an example of {[type(x).__name__ for x in example]}"
    )
