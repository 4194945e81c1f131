"""What other processes are asked to do: importable, so that `spawn` finds it."""

import engine


def value_and_gradient(x):
    """x tanh(x), and its derivative at x, of a Value or a Tensor that came through a pickle."""
    y = x.tanh() * x
    y.backward()
    return y.detach(), x.grad, engine.backend()
