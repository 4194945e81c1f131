"""The step of the two-layer net as autograd, MyGrad and JAX write it.

The ReLU is a function of one's own in each, as it is a custom Function in the other contenders.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

PEERS = ("autograd", "mygrad", "jax", "jax jit")

Step = Callable[[], float]


def two_layers(contender: str, data: Any, rate: float) -> Step:
    """One whole step on x, y and a list of the two weights, which it updates."""
    if contender.startswith("jax"):
        return jax_step(data, rate, jit=contender == "jax jit")
    return {"autograd": autograd_step, "mygrad": mygrad_step}[contender](data, rate)


def loss_by(relu: Callable[[Any], Any]) -> Callable[..., Any]:
    def loss(weights: Any, x: Any, y: Any) -> Any:
        w1, w2 = weights
        return ((relu(x @ w1) @ w2 - y) ** 2).sum()

    return loss


def autograd_step(data: Any, rate: float) -> Step:
    import numpy as np
    from autograd import value_and_grad
    from autograd.extend import defvjp, primitive

    relu = primitive(lambda x: np.maximum(x, 0))
    defvjp(relu, lambda y, x: lambda g: np.where(x < 0, 0, g))
    both = value_and_grad(loss_by(relu))
    x, y, weights = data

    def step() -> float:
        last, gradients = both(weights, x, y)
        for w, gradient in zip(weights, gradients, strict=True):
            w -= rate * gradient
        return float(last)

    return step


def mygrad_step(data: Any, rate: float) -> Step:
    mygrad = fast_mygrad()
    loss = loss_by(mygrad_relu(mygrad))
    x, y = data[:2]
    weights = [mygrad.tensor(w) for w in data[2]]

    def step() -> float:
        last = loss(weights, x, y)
        last.backward()
        for w in weights:
            w.data -= rate * w.grad
        return float(last)

    return step


def fast_mygrad() -> Any:
    """MyGrad as its pages advise for speed: without locks on the arrays of a graph."""
    import mygrad

    mygrad.turn_memory_guarding_off()
    return mygrad


def mygrad_relu(mygrad: Any) -> Callable[[Any], Any]:
    import numpy as np
    from mygrad.operation_base import Operation

    class ReLU(Operation):  # type: ignore[misc]
        def __call__(self, x: Any) -> Any:
            self.variables = (x,)
            return np.maximum(x.data, 0)

        def backward_var(self, grad: Any, index: int, **kwargs: Any) -> Any:
            return np.where(self.variables[index].data < 0, 0, grad)

    return lambda x: mygrad.execute_op(ReLU, x)


def jax_step(data: Any, rate: float, jit: bool) -> Step:
    """With `jit` the step is one compiled function that gets the memory of the old weights."""
    import jax

    both = jax.value_and_grad(loss_by(jax_relu()))
    x, y, weights = jax.tree.map(jax.numpy.array, data)

    def train(weights: Any, x: Any, y: Any) -> Any:
        last, gradients = both(weights, x, y)
        return last, jax.tree.map(lambda w, gradient: w - rate * gradient, weights, gradients)

    if jit:
        train = jax.jit(train, donate_argnums=0)

    def step() -> float:
        nonlocal weights
        last, weights = jax.block_until_ready(train(weights, x, y))
        return float(last)

    return step


def jax_relu() -> Callable[[Any], Any]:
    import jax

    relu = jax.custom_vjp(lambda x: jax.numpy.maximum(x, 0))
    relu.defvjp(lambda x: (relu(x), x), lambda x, g: (jax.numpy.where(x < 0, 0, g),))
    return relu
