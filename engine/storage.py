"""The memory of tensors, for programs that ask where numbers lie: data_ptr, storage, layout,
empty_strided, resize_. Nothing else in engine needs it."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine import devices, dtypes, memory
from engine.tensors import Tensor, make, method


class Layout:
    """How elements lie in memory; engine has one kind, with a step per dimension."""

    def __repr__(self) -> str:
        return "engine.strided"

    def __reduce__(self) -> str:
        return "strided"


strided = Layout()
Tensor.layout = strided  # type: ignore[attr-defined]


class Storage:
    """The whole memory that a tensor is a view of, as one row of elements."""

    def __init__(self, array: Any):
        self.array = memory.owner(array).ravel(order="K")

    def data_ptr(self) -> int:
        """The address of the first element."""
        return int(self.array.ctypes.data)

    def __len__(self) -> int:
        return int(self.array.size)

    size = __len__

    def nbytes(self) -> int:
        """The bytes of all elements."""
        return int(self.array.nbytes)

    def element_size(self) -> int:
        """The bytes of one element."""
        return int(self.array.itemsize)

    def tolist(self) -> list[Any]:
        """The elements as a list of numbers."""
        return list(self.array.tolist())

    def __getitem__(self, i: int) -> Any:
        return self.array[i].item()


@method
def storage(input: Tensor) -> Storage:
    """The memory that the tensor is, or is a view of."""
    return Storage(input._array)


@method
def data_ptr(input: Tensor) -> int:
    """The address of the tensor's first element in memory."""
    return int(input._array.ctypes.data)


def empty_strided(
    size: Sequence[int],
    stride: Sequence[int],
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A Tensor of a shape whose dimensions lie `stride` elements apart in memory, with whatever
    numbers that holds. ValueError unless there is one step of 0 or more for each dimension."""
    devices.check(device, "empty_strided")
    if len(size) != len(stride) or any(n < 0 for n in (*size, *stride)):
        raise ValueError(
            "empty_strided: needs one stride of 0 or more for each size; got sizes "
            f"{list(size)} and strides {list(stride)}"
        )
    kind = dtypes.to_numpy(dtype) or dtypes.get_default_dtype().numpy
    last = sum((n - 1) * step for n, step in zip(size, stride, strict=True)) if all(size) else -1
    steps = [step * kind.itemsize for step in stride]
    array = np.ndarray(tuple(size), kind, np.empty(last + 1, kind), 0, steps)
    return make(array).requires_grad_(requires_grad)


@method
def resize_(input: Tensor, *sizes: Any, memory_format: Any = None) -> Tensor:
    """Give this tensor another shape, row by row, over the same memory where that is enough and
    over more, with whatever numbers it holds, where it is not.

    Nothing happens where the shape is the same. RuntimeError for a tensor that requires grad.
    """
    shape = tuple(sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes)
    if input.requires_grad:
        raise RuntimeError(
            "resize_: cannot resize variables that require grad; use reshape, or make a new tensor"
        )
    if shape != input._array.shape:
        input._array = resized(input._array, shape)
        input._reshaped = True
        input._shared_counter()[0] += 1
    return input


def resized(array: Any, shape: tuple[int, ...]) -> Any:
    """An array of another shape over the same memory, or over a larger copy of it."""
    whole = memory.owner(array).ravel(order="K")
    start = (array.ctypes.data - whole.ctypes.data) // array.itemsize
    needed = int(np.prod(shape))
    if start + needed > whole.size:
        new = np.empty(needed, array.dtype)
        new[: whole.size - start] = whole[start:]
        whole, start = new, 0
    return whole[start : start + needed].reshape(shape)


@method
def resize_as_(input: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """resize_ to the shape of another tensor."""
    return input.resize_(tuple(the_template.shape))
