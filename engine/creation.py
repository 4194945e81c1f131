"""Tensors out of nothing, out of Python's numbers and lists, out of NumPy's arrays.

Sizes are whole numbers, or one tuple of them: zeros(2, 3), zeros((2, 3)), zeros(size=(2, 3)).
Every function takes dtype, device ("cpu") and requires_grad as PyTorch's do.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from engine import devices, dtypes, quiet, value
from engine.attention import warn
from engine.nodes import TensorBase
from engine.tensors import Size, Tensor, as_ndarray, make, method

Value = value.Value

# Python's numbers whose dtype is always the same.
WHOLE = {int: dtypes.int64.numpy, bool: dtypes.bool.numpy}

Sizes = int | Sequence[int]


def made(array: Any, requires_grad: bool = False) -> Tensor:
    """A Tensor of this array, a leaf that requires grad if asked for."""
    t = make(as_ndarray(array))
    return t.requires_grad_() if requires_grad else t


# out of data


def tensor(
    data: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A Tensor with a copy of the data, outside any graph.

    data: a number, nested lists or tuples of numbers of equal lengths, an array or a Tensor.
    dtype: that of an array, a Tensor or NumPy's numbers; otherwise int64 for Python's ints, bool
    for bools, the default dtype for floats. Raises TypeError for Values, whose graph would be
    lost (engine.stack keeps it), ValueError for ragged lists.
    """
    devices.check(device, "tensor")
    if isinstance(data, Tensor):
        warn(
            "tensor: to copy a Tensor it is recommended to use t.detach().clone() rather than "
            "engine.tensor(t)"
        )
    return made(new_array(data, dtypes.to_numpy(dtype), "tensor"), requires_grad)


def new_array(data: Any, wanted: Any, where: str) -> Any:
    """A new array of the data, of the NumPy dtype `wanted` or of its own."""
    if isinstance(data, Tensor):
        data = data._array
    elif isinstance(data, (list, tuple)) or is_sequence(data):
        return array_of_list(list(data), wanted, where)
    if isinstance(data, (np.ndarray, np.generic)) or hasattr(data, "__array__"):
        array = np.asarray(data)
        return np.array(array, wanted or dtypes.of(array.dtype).numpy)
    if wanted is None or isinstance(data, (str, bytes, Value)):
        wanted = dtype_of(data, where)
    elif not (hasattr(data, "__float__") or hasattr(data, "__index__")):
        raise TypeError(
            f"{where}: needs numbers, lists, an array or a Tensor; got {type(data).__name__}"
        )
    return converted(data, wanted, where)


def is_sequence(x: Any) -> bool:
    """Whether x is a range, a deque or the like: not text, not an array."""
    return (
        isinstance(x, Sequence)
        and not isinstance(x, (str, bytes, np.ndarray, np.generic))
        and not hasattr(x, "__array__")
    )


def array_of_list(data: list[Any], wanted: Any, where: str) -> Any:
    """A new array of nested lists."""
    kinds = kinds_in(data, where)
    if None in kinds:
        data = plain(data, where)
        kinds = kinds_in(data, where)
    return converted(data, common(list(kinds)) if wanted is None else wanted, where)


def common(kinds: list[Any]) -> Any:
    """The NumPy dtype of an array of numbers of these dtypes."""
    if len(kinds) == 1:
        return kinds[0]
    return dtypes.highest(kinds) if kinds else dtypes.get_default_dtype().numpy


def kinds_in(data: Any, where: str) -> dict[Any, None]:
    """The NumPy dtypes of what stands in nested lists; None where Tensors do."""
    found: dict[Any, None] = {}
    kinds = dict.fromkeys(map(type, data))
    nested = [kind for kind in kinds if issubclass(kind, (list, tuple))]
    if nested and len(nested) < len(kinds):
        raise TypeError(f"{where}: nested lists need equal depth; got numbers beside lists")
    for kind in kinds:
        if kind is float:
            found[floating(None)] = None
        elif kind in WHOLE:
            found[WHOLE[kind]] = None
        else:
            found |= kinds_of([x for x in data if type(x) is kind], kind, where)
    return found


def kinds_of(same: list[Any], kind: Any, where: str) -> dict[Any, None]:
    """The NumPy dtypes of what is all of one type."""
    if issubclass(kind, (list, tuple)):
        found: dict[Any, None] = {}
        for x in same:
            found |= kinds_in(x, where)
        return found
    if issubclass(kind, Tensor):
        return {None: None}
    if issubclass(kind, np.ndarray):
        return dict.fromkeys([dtypes.of(x.dtype).numpy for x in same])
    return {dtype_of(same[0], where): None}


def dtype_of(x: Any, where: str) -> Any:
    """The NumPy dtype that a number gets."""
    if isinstance(x, np.generic):
        return dtypes.of(x.dtype).numpy
    if isinstance(x, (bool, int, float)):
        return dtypes.of_number(x)
    if isinstance(x, Value):
        raise TypeError(
            f"{where}: needs numbers; got a Value, whose graph would be lost: engine.stack(values) "
            "makes a Tensor of the same graph, and v.data is the number alone"
        )
    if isinstance(x, (str, bytes)):
        raise TypeError(f"{where}: needs numbers; got the text {x!r}: convert it with float(...)")
    if isinstance(x, complex):
        raise TypeError(f"{where}: needs real numbers; got {x!r}: pass real and imaginary parts")
    raise RuntimeError(
        f"{where}: needs numbers, lists, an array or a Tensor; got {type(x).__name__}. Could not "
        f"infer dtype of {type(x).__name__}"
    )


def plain(data: Any, where: str) -> Any:
    """Nested lists with numbers in the place of Tensors of one element."""
    if isinstance(data, (list, tuple)):
        return [plain(x, where) for x in data]
    if not isinstance(data, Tensor):
        return data
    if data._array.size != 1:
        raise ValueError(
            f"{where}: only one element tensors can be converted to Python scalars; got one of "
            f"shape {tuple(data.shape)}: use engine.stack or engine.cat for Tensors"
        )
    if data.requires_grad:
        warn(
            f"{where}: a tensor with requires_grad=True is converted to a number and loses its "
            "graph; engine.stack(tensors) keeps it"
        )
    return data._array.reshape(())[()]


def converted(data: Any, wanted: Any, where: str) -> Any:
    """NumPy's array of a number or of nested lists, with errors in our words."""
    said = quiet.begin()
    try:
        return np.array(data, wanted)
    except OverflowError as error:
        raise_overflow(error, wanted, where)
    except ValueError as error:
        if "NaN" in str(error):
            raise_overflow(error, wanted, where)
        raise ValueError(
            f"{where}: nested lists need equal lengths in each dimension; {error}"
        ) from None
    except TypeError:
        raise TypeError(f"{where}: needs numbers, or nested lists of equal depth") from None
    finally:
        quiet.end(said)


def raise_overflow(error: Exception, wanted: Any, where: str) -> None:
    kind = RuntimeError if wanted != np.int64 or isinstance(error, ValueError) else ValueError
    raise kind(
        f"{where}: value cannot be converted to type {wanted} without overflow: {error}; choose a "
        "wider dtype"
    ) from None


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """The data as a Tensor without a copy where that is possible.

    A Tensor of that dtype is returned itself, an array shares its memory; all else is copied as
    engine.tensor does.
    """
    devices.check(device, "as_tensor")
    if isinstance(data, Tensor):
        return data if dtype is None else data.to(dtype)
    if isinstance(data, np.ndarray):
        kind = dtypes.to_numpy(dtype) or dtypes.of(data.dtype).numpy
        return make(data.astype(kind, copy=False))
    return made(new_array(data, dtypes.to_numpy(dtype), "as_tensor"))


def from_numpy(ndarray: Any) -> Tensor:
    """A Tensor that shares the array's memory: changing one changes the other.

    An array of another byte order is copied, as its numbers become native.
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(
            f"from_numpy: expected np.ndarray (got {type(ndarray).__name__}); engine.tensor(...) "
            "takes numbers and lists"
        )
    if not ndarray.flags.writeable:
        warn(
            "from_numpy: the array is not writeable, and neither is the Tensor that shares its "
            "memory; use engine.tensor(array) for a copy"
        )
    return make(ndarray.astype(dtypes.of(ndarray.dtype).numpy, copy=False))


# out of sizes


def shape_of(sizes: tuple[Any, ...], size: Any, where: str) -> tuple[int, ...]:
    """The shape that sizes, or the one tuple among them, or the keyword `size` mean."""
    if size is not None:
        sizes = (size,)
    if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):
        sizes = tuple(sizes[0])
    elif not sizes:
        raise TypeError(f'{where}() missing 1 required positional arguments: "size"')
    return tuple([whole(n, "size", where) for n in sizes])


def whole(n: Any, name: str, where: str) -> int:
    """n as a number of elements, 0 or more."""
    if type(n) is int and n >= 0:
        return n
    if isinstance(n, bool) or not hasattr(n, "__index__"):
        raise TypeError(
            f"{where}(): argument '{name}' must be whole numbers or one tuple of them, not "
            f"{type(n).__name__}"
        )
    if n.__index__() < 0:
        raise RuntimeError(f"{where}: argument '{name}' must be non-negative; got {n}")
    return int(n.__index__())


def floating(dtype: Any) -> Any:
    """NumPy's dtype of a dtype, the default one for None."""
    return dtypes.get_default_dtype().numpy if dtype is None else dtypes.to_numpy(dtype)


def empty(
    *sizes: Any,
    size: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A Tensor of a shape with whatever numbers its memory holds."""
    devices.check(device, "empty")
    return made(np.empty(shape_of(sizes, size, "empty"), floating(dtype)), requires_grad)


def zeros(
    *sizes: Any,
    size: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A Tensor of a shape, all 0."""
    devices.check(device, "zeros")
    return made(np.zeros(shape_of(sizes, size, "zeros"), floating(dtype)), requires_grad)


def ones(
    *sizes: Any,
    size: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A Tensor of a shape, all 1."""
    devices.check(device, "ones")
    return made(np.ones(shape_of(sizes, size, "ones"), floating(dtype)), requires_grad)


def full(
    size: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A Tensor of a shape, all fill_value; its dtype is that of the number."""
    devices.check(device, "full")
    if not isinstance(size, (tuple, list)):
        raise TypeError(
            f"full(): argument 'size' must be tuple of ints, not {type(size).__name__}; write "
            "full((3,), 1.0)"
        )
    number = new_array(fill_value, dtypes.to_numpy(dtype), "full")
    return made(np.full(shape_of((), size, "full"), number, number.dtype), requires_grad)


def empty_like(
    input: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """An uninitialised Tensor of the shape, and unless dtype is given the dtype, of another."""
    like = like_array(input, device, "empty_like")
    return made(np.empty_like(like, dtypes.to_numpy(dtype)), requires_grad)


def zeros_like(
    input: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A Tensor of zeros of the shape, and unless dtype is given the dtype, of another."""
    like = like_array(input, device, "zeros_like")
    return made(np.zeros_like(like, dtypes.to_numpy(dtype)), requires_grad)


def ones_like(
    input: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A Tensor of ones of the shape, and unless dtype is given the dtype, of another."""
    like = like_array(input, device, "ones_like")
    return made(np.ones_like(like, dtypes.to_numpy(dtype)), requires_grad)


def full_like(
    input: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A Tensor of one number of the shape, and unless dtype is given the dtype, of another."""
    like = like_array(input, device, "full_like")
    wanted = dtypes.to_numpy(dtype) or like.dtype
    number = new_array(fill_value, wanted, "full_like")
    return made(np.full_like(like, number, wanted), requires_grad)


def like_array(input: Any, device: Any, where: str) -> Any:
    """The array of the Tensor that a *_like function is given."""
    devices.check(device, where)
    if not isinstance(input, Tensor):
        raise TypeError(
            f"{where}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}"
        )
    return input._array


# out of ranges


def arange(
    start: Any = None,
    end: Any = None,
    step: Any = 1,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Numbers from start (0 if only one is given), by step, up to but not including end.

    int64 if all are whole numbers, otherwise the default dtype.
    """
    devices.check(device, "arange")
    start, end = (0, start) if end is None else (0 if start is None else start, end)
    start, end, step = (number(x, "arange") for x in (start, end, step))
    if step == 0:
        raise RuntimeError("arange: step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError(
            f"arange: upper bound and lower bound inconsistent with step sign; got {start}, {end} "
            f"and step {step}"
        )
    whole_numbers = all(isinstance(x, int) for x in (start, end, step))
    wanted = dtypes.to_numpy(dtype) or (np.dtype(np.int64) if whole_numbers else floating(None))
    count = int(np.ceil((end - start) / step))
    return made((start + step * np.arange(count)).astype(wanted), requires_grad)


def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """`steps` numbers at equal distances from start to end, both included."""
    devices.check(device, "linspace")
    start, end = number(start, "linspace"), number(end, "linspace")
    array = np.linspace(start, end, whole(steps, "steps", "linspace"))
    return made(array.astype(floating(dtype)), requires_grad)


def eye(
    n: int,
    m: int | None = None,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The n x m matrix (n x n if m is not given) with 1 on its diagonal and 0 elsewhere."""
    devices.check(device, "eye")
    columns = whole(n if m is None else m, "m", "eye")
    return made(np.eye(whole(n, "n", "eye"), columns, dtype=floating(dtype)), requires_grad)


def number(x: Any, where: str) -> Any:
    """x as a Python number; a Tensor of one element is taken."""
    x = x.item() if isinstance(x, (Tensor, np.generic)) else x
    if not isinstance(x, (int, float)):
        raise TypeError(f"{where}: needs numbers; got {type(x).__name__}")
    return x


# like a Tensor at hand: its dtype unless another is given


@method
def new_tensor(
    input: Tensor, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """engine.tensor(data) in this tensor's dtype."""
    devices.check(device, "new_tensor")
    return made(new_array(data, dtypes.to_numpy(dtype or input.dtype), "new_tensor"), requires_grad)


@method
def new_empty(input: Tensor, *sizes: Any, dtype: Any = None, **options: Any) -> Tensor:
    """engine.empty(sizes) in this tensor's dtype."""
    return empty(*sizes, dtype=dtype or input.dtype, **options)


@method
def new_zeros(input: Tensor, *sizes: Any, dtype: Any = None, **options: Any) -> Tensor:
    """engine.zeros(sizes) in this tensor's dtype."""
    return zeros(*sizes, dtype=dtype or input.dtype, **options)


@method
def new_ones(input: Tensor, *sizes: Any, dtype: Any = None, **options: Any) -> Tensor:
    """engine.ones(sizes) in this tensor's dtype."""
    return ones(*sizes, dtype=dtype or input.dtype, **options)


@method
def new_full(
    input: Tensor, size: Any, fill_value: Any, *, dtype: Any = None, **options: Any
) -> Tensor:
    """engine.full(size, fill_value) in this tensor's dtype."""
    return full(size, fill_value, dtype=dtype or input.dtype, **options)


@method
def new(input: Tensor, *data: Any) -> Tensor:
    """engine.Tensor(...) in this tensor's dtype."""
    return make(constructed(data, input.dtype.numpy))


# Tensor(2, 3) and its subclasses


def constructed(data: tuple[Any, ...], wanted: Any) -> Any:
    """The array that Tensor(*data) means: sizes, or a list, an array or a Tensor."""
    first = data[0] if data else 0
    if len(data) > 1 or isinstance(first, Size) or not data:
        return np.empty(shape_of(data or (0,), None, "Tensor"), wanted)
    if isinstance(first, int) and not isinstance(first, bool):
        return np.empty(whole(first, "size", "Tensor"), wanted)
    if isinstance(first, (bool, float, str)) or first is None:
        raise TypeError(
            f"Tensor: new(): data must be a sequence (got {type(first).__name__}); "
            "engine.tensor(x) makes a 0-dim tensor of a number"
        )
    if isinstance(first, Tensor) and first._array.dtype == wanted:
        return first._array
    return new_array(first, wanted, "Tensor")


def construct(cls: Any, data: tuple[Any, ...], device: Any) -> Any:
    """Tensor(*data), or that of a subclass."""
    devices.check(device, "Tensor")
    array = constructed(data, dtypes.get_default_dtype().numpy)
    return make(array) if cls is Tensor else make(array).as_subclass(cls)


@method
def as_subclass(input: Tensor, cls: Any) -> Any:
    """This tensor as an object of a subclass of Tensor, sharing memory and graph."""
    if not issubclass(cls, Tensor):
        raise RuntimeError(f"as_subclass: needs a subclass of Tensor; got {cls!r}")
    source = input.view_as(input) if input.requires_grad else input.detach()
    out = TensorBase.__new__(cls)
    for name in TensorBase.__slots__:
        if name.startswith("_") and not name.startswith("__"):
            setattr(out, name, getattr(source, name))
    return out


def make_subclass(cls: Any, data: Tensor, require_grad: bool = False) -> Any:
    """A leaf of a subclass of Tensor that shares the memory of data."""
    return data.detach().as_subclass(cls).requires_grad_(require_grad)


Tensor._construct = classmethod(construct)
Tensor._make_subclass = staticmethod(make_subclass)  # type: ignore[attr-defined]


class TensorType:
    """A constructor of tensors of one dtype under PyTorch's old name, such as DoubleTensor.

    DoubleTensor(2, 3) is uninitialised, DoubleTensor([1, 2]) holds the numbers, and
    isinstance(t, DoubleTensor) asks for the dtype.
    """

    by_name: ClassVar[dict[str, "TensorType"]] = {}

    def __init__(self, dtype: dtypes.dtype):
        self.dtype = dtype
        self.__name__ = f"{dtype.letter}Tensor"
        TensorType.by_name[self.__name__] = self

    def __call__(self, *data: Any, device: Any = None) -> Tensor:
        devices.check(device, self.__name__)
        return make(constructed(data, self.dtype.numpy))

    def __instancecheck__(self, x: Any) -> bool:
        return isinstance(x, Tensor) and x.dtype is self.dtype

    def __repr__(self) -> str:
        return f"<class 'engine.{self.__name__}'>"

    def __reduce__(self) -> str:
        return self.__name__


DoubleTensor = TensorType(dtypes.float64)
FloatTensor = TensorType(dtypes.float32)
HalfTensor = TensorType(dtypes.float16)
LongTensor = TensorType(dtypes.int64)
IntTensor = TensorType(dtypes.int32)
ShortTensor = TensorType(dtypes.int16)
CharTensor = TensorType(dtypes.int8)
ByteTensor = TensorType(dtypes.uint8)
BoolTensor = TensorType(dtypes.bool)


# questions


def is_tensor(obj: Any) -> bool:
    """Whether obj is a Tensor."""
    return isinstance(obj, Tensor)
