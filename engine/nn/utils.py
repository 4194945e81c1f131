"""Clipping gradients, and parameters as one long vector."""

from __future__ import annotations

from collections.abc import Iterable

import engine
from engine.tensors import Tensor


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
) -> Tensor:
    """Scales all gradients together so that their common norm is at most max_norm.

    Parameters without a gradient are left out. Returns the norm before, a 0-dim tensor.
    error_if_nonfinite: raises RuntimeError, and changes nothing, if that norm is inf or nan.
    """
    grads = _grads(parameters)
    if not grads:
        return engine.tensor(0.0)
    norms = [engine.norm(grad.detach(), norm_type) for grad in grads]
    total = engine.norm(engine.stack(norms), norm_type)
    if error_if_nonfinite and not bool(engine.isfinite(total)):
        raise RuntimeError(
            f"clip_grad_norm_: the norm of order {norm_type} of the gradients is {total.item()}, "
            "so it cannot be clipped; look for inf or nan in the loss"
        )
    scale = (max_norm / (total + 1e-6)).clamp(max=1.0)
    with engine.no_grad():
        for grad in grads:
            grad.mul_(scale)
    return total


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float) -> None:
    """Clamps each number of each gradient to [-clip_value, clip_value], in place."""
    with engine.no_grad():
        for grad in _grads(parameters):
            grad.clamp_(-clip_value, clip_value)


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All numbers of the parameters in one 1-dim tensor, through which gradients flow."""
    return engine.cat([param.reshape(-1) for param in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Writes the numbers of `vec` into the parameters, in order.

    Raises ValueError, and writes nothing, unless it holds as many as they do.
    """
    params = list(parameters)
    needed = sum(param.numel() for param in params)
    if vec.numel() != needed:
        raise ValueError(f"vector_to_parameters: vec must hold {needed} numbers; got {vec.numel()}")
    start = 0
    for param in params:
        stop = start + param.numel()
        param.data = vec[start:stop].reshape(param.shape).detach().clone()
        start = stop


def _grads(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    params = [parameters] if isinstance(parameters, Tensor) else parameters
    return [param.grad for param in params if param.grad is not None]
