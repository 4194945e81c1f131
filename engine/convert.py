"""From one dtype to another, and what a Tensor says of its dtype and device."""

from typing import Any

from engine import creation, devices, dtypes, modes
from engine.quiet import quiet
from engine.tensors import Operation, Tensor, make, method


class ToCopy(Operation):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dtype: Any) -> Tensor:
        with quiet():
            return make(x._array.astype(dtype))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return g, None  # the walk gives every gradient the dtype of its input


def cast(x: Tensor, dtype: Any, copy: bool = False) -> Tensor:
    """x in NumPy's dtype: x itself where it has it already and no copy is asked for."""
    if x._array.dtype == dtype and not copy:
        return x
    recording = modes.set_grad(dtype.kind == "f" and modes.is_grad_enabled())
    try:
        return ToCopy.apply(x, dtype)
    finally:
        modes.set_grad(recording)


@method
def to(
    input: Tensor,
    *where: Any,
    dtype: Any = None,
    device: Any = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: Any = devices.preserve_format,
) -> Tensor:
    """The tensor in another dtype: t.to(dtype), t.to(device), t.to(device, dtype), t.to(other).

    Itself where nothing changes, unless copy is set. A floating tensor stays in the graph, its
    slope is 1; whole numbers have none. Floats are cut off towards 0.
    """
    for x in where:
        if isinstance(x, Tensor):
            dtype = x.dtype
        elif isinstance(x, (str, devices.device)):
            device = x
        elif isinstance(x, bool):
            copy = x
        elif x is not None:
            dtype = x
    devices.check(device, "to")
    out = cast(input, dtypes.to_numpy(dtype) or input._array.dtype, copy)
    if memory_format is devices.preserve_format:
        return out
    return out.contiguous(memory_format=memory_format)


@method
def type(input: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The name of the tensor's type, as 'engine.FloatTensor'; or the tensor in another dtype,
    given as engine.float64, engine.DoubleTensor or 'engine.DoubleTensor'."""
    if dtype is None:
        return f"engine.{input.dtype.letter}Tensor"
    return cast(input, dtypes.to_numpy(named(dtype)))


def named(dtype: Any) -> Any:
    """The dtype that a dtype, a type such as DoubleTensor, or the name of one means."""
    if isinstance(dtype, str):
        name = dtype.rpartition(".")[2]
        if name not in creation.TensorType.by_name:
            raise ValueError(
                f"type: invalid type: {dtype!r}; use a dtype, as engine.float64, or a name, as "
                "'engine.DoubleTensor'"
            )
        dtype = creation.TensorType.by_name[name]
    return dtype.dtype if isinstance(dtype, creation.TensorType) else dtype


@method
def type_as(input: Tensor, other: Tensor) -> Tensor:
    """The tensor in the dtype of another."""
    return cast(input, other._array.dtype)


def conversion(name: str, dtype: dtypes.dtype) -> None:
    """Give Tensor the method `name`, which casts to this dtype."""

    def converted(self: Tensor) -> Tensor:
        return cast(self, dtype.numpy)

    converted.__name__ = name
    converted.__doc__ = f"The tensor in {dtype}; see Tensor.to."
    method(converted)


for _name, _dtype in {
    "double": dtypes.float64,
    "float": dtypes.float32,
    "half": dtypes.float16,
    "long": dtypes.int64,
    "int": dtypes.int32,
    "short": dtypes.int16,
    "char": dtypes.int8,
    "byte": dtypes.uint8,
    "bool": dtypes.bool,
}.items():
    conversion(_name, _dtype)


@method
def cpu(input: Tensor) -> Tensor:
    """The tensor itself: it is on the CPU."""
    return input


@method
def cuda(input: Tensor, device: Any = None, non_blocking: bool = False) -> Tensor:
    """RuntimeError: engine computes on the CPU."""
    raise RuntimeError(devices.CPU_ONLY.format("Tensor.cuda", "cuda"))


def is_floating_point(input: Tensor) -> bool:
    """Whether the tensor holds floats, and so can require grad."""
    return input._array.dtype.kind == "f"


def is_complex(input: Tensor) -> bool:
    """False: a Tensor holds real numbers."""
    return False


def is_inference(input: Tensor) -> bool:
    """False: a tensor made in inference_mode is an ordinary one."""
    return False


def is_signed(input: Tensor) -> bool:
    """Whether the tensor's dtype has negative numbers."""
    return input.dtype.is_signed


def element_size(input: Tensor) -> int:
    """The bytes of one element."""
    return int(input._array.itemsize)


def get_device(input: Tensor) -> int:
    """-1, as for any tensor on the CPU."""
    return -1


for _function in (
    *(is_floating_point, is_complex, is_inference),
    *(is_signed, element_size, get_device),
):
    method(_function)


def attribute(name: str, doc: str, answer: Any) -> None:
    """Give Tensor a read-only attribute."""
    setattr(Tensor, name, property(answer, doc=doc))


attribute("device", "Where the tensor lives: the CPU.", lambda t: devices.cpu)
attribute("is_cuda", "False: engine computes on the CPU.", lambda t: False)
attribute("is_cpu", "True: engine computes on the CPU.", lambda t: True)
attribute("is_sparse", "False: every element is stored.", lambda t: False)
attribute("itemsize", "The bytes of one element.", lambda t: int(t._array.itemsize))
attribute("nbytes", "The bytes of all elements.", lambda t: int(t._array.nbytes))


def can_cast(from_: dtypes.dtype, to: dtypes.dtype) -> bool:
    """Whether a result of the first dtype may be written into a tensor of the second."""
    return dtypes.KIND[from_.numpy.kind] <= dtypes.KIND[to.numpy.kind]


def promote_types(type1: dtypes.dtype, type2: dtypes.dtype) -> dtypes.dtype:
    """The smallest dtype that both fit in, by PyTorch's rules."""
    return dtypes.of(dtypes.highest([type1.numpy, type2.numpy]))


def set_default_tensor_type(t: Any) -> None:
    """Make the dtype of a type, such as DoubleTensor, what floats become."""
    dtypes.set_default_dtype(named(t))
