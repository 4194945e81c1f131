"""torch._VF: the one name of PyTorch's private module that its tests of autograd use."""

from typing import Any

from engine.ops.unique import Unique
from engine.tensors import Tensor


def unique_dim(
    input: Tensor,
    dim: int,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> Any:
    """The unique slices along `dim`, the place of each slice among them, and their counts."""
    return Unique.apply(input, dim, False)
