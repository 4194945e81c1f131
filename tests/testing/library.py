"""The library that the collections of Functions are written for: engine, or torch on request."""

import os
from importlib import import_module
from typing import Any

NAME = os.environ.get("ENGINE_CHECK_LIBRARY", "engine")
torch: Any = import_module(NAME)
Function: Any = torch.autograd.Function
once_differentiable: Any = import_module(f"{NAME}.autograd.function").once_differentiable


def randn(*shape: int) -> Any:
    """Numbers that are the same each time: the example of a Function must not change."""
    count = 1
    for size in shape:
        count *= size
    state = torch.Generator().manual_seed(100 * len(shape) + count)
    return torch.randn(*shape, generator=state, dtype=torch.float64)


def rand(*shape: int) -> Any:
    """Numbers between 0 and 1."""
    return torch.sigmoid(randn(*shape))
