"""save and load: tensors, and what checkpoints are made of, in a safetensors file.

The tensors stand in the file under names made of the keys that lead to them, so that any reader of
the format finds `model.0.weight`. How dicts and lists held them, and which of them need gradients,
is JSON in the file's metadata, beside a checksum of everything. No pickle is written or read unless
it is asked for by name.
"""

import io
import json
import math
import os
import pickle
import shutil
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO, ClassVar

import numpy as np

from engine import devices, dtypes, safetensors, saving
from engine.habits import Value
from engine.nn.parameter import Parameter
from engine.safetensors import broken
from engine.tensors import Size, Tensor, make

# What a structure that save did not write may raise while it is read.
UNLIKELY = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RuntimeError)
STRUCTURE, CHECKSUM = "engine.structure", "engine.checksum"


def save(obj: Any, f: Any, *, pickle_protocol: int | None = None) -> None:
    """Write tensors, or dicts and lists of them such as a state_dict, to a safetensors file.

    obj: tensors, Parameters, Values, arrays, numbers, texts, dtypes, devices, None, and dicts,
        lists, tuples and sets of them, however nested. Kept: dtype, numbers, requires_grad and the
        user's attributes; not kept: graphs, `.grad` of tensors, hooks, memory that two share.
    f: a path, or a file opened for writing bytes. At a path the new file takes the old one's place
        in one step, when all of it is on the disk: whatever happens before, the old file is whole.
    pickle_protocol: writes a pickle by this protocol instead, which holds any object and may run
        code when it is read.
    Raises TypeError for what such a file cannot hold, with its place in obj.
    """
    if pickle_protocol is not None:
        return put(f, lambda stream: pickle.dump(obj, stream, pickle_protocol))
    writer = Writer()
    try:
        structure = json.dumps(writer.encode(obj, ""), allow_nan=False, separators=(",", ":"))
    except RecursionError:
        raise ValueError(
            "save: obj must be nested less deep than Python's recursion limit; got one that is "
            "deeper, or holds itself: save its parts"
        ) from None
    arrays = safetensors.wide_first(writer.arrays)
    metadata = {STRUCTURE: structure, CHECKSUM: checksum(arrays, structure)}
    put(f, lambda stream: safetensors.write(stream, arrays, metadata))


def load(f: Any, map_location: Any = None, *, weights_only: bool = True) -> Any:
    """Read what save wrote, or any safetensors file: that is a dict of tensors by name.

    f: a path, or a file opened for reading bytes, which is read to its end.
    map_location: taken for PyTorch's sake; everything lies on the CPU.
    weights_only: False reads pickles too, which may run any code; True refuses them with
        pickle.UnpicklingError.
    Raises ValueError for a file that is damaged: one bit changed in a file of save's is noticed.
    """
    with io.BytesIO(f.read()) if hasattr(f, "read") else open(f, "rb") as stream:
        start = stream.read(9)
        stream.seek(0)
        regular = start[4:] == b"\0\0\0\0{"  # a header shorter than 4 GB
        if not weights_only and not regular:
            return pickle.load(stream)
        if not regular:
            refuse_other_kinds(start)
        return restored(*safetensors.read(stream))


def refuse_other_kinds(start: bytes) -> None:
    """Name a pickle and torch's own format by their first bytes."""
    if start[:1] == b"\x80":
        raise pickle.UnpicklingError(
            "load: the file must be a safetensors file; got a pickle, which may run any code: if "
            "you trust where it comes from, use load(f, weights_only=False)"
        )
    if start[:2] == b"PK":
        raise pickle.UnpicklingError(
            "load: the file must be a safetensors file; got a zip archive, such as torch.save "
            "writes: write it again, in torch, by safetensors.torch.save_file(state_dict, f)"
        )


def restored(arrays: dict[str, Any], metadata: dict[str, str]) -> Any:
    """The object that a file describes; without a structure of ours a dict of tensors."""
    if STRUCTURE not in metadata and CHECKSUM not in metadata:
        return {name: make(a) for name, a in arrays.items()}
    structure = metadata.get(STRUCTURE, "")
    if checksum(arrays, structure) != metadata.get(CHECKSUM):
        raise broken("got contents that differ from the checksum written with them")
    try:
        return Reader(arrays).decode(json.loads(structure))
    except UNLIKELY as e:
        raise broken(f"got {STRUCTURE} that save does not write ({e})") from None


def checksum(arrays: dict[str, Any], structure: str) -> str:
    """CRC-32 of names, dtypes, shapes, structure and numbers; against accidents, not attackers."""
    sorted_arrays = {name: safetensors.little(a) for name, a in sorted(arrays.items())}
    described = [[name, a.dtype.str, a.shape] for name, a in sorted_arrays.items()]
    crc = zlib.crc32(json.dumps([described, structure]).encode())
    for a in sorted_arrays.values():
        crc = zlib.crc32(safetensors.octets(a).data, crc)
    return f"{crc:08x}"


# Putting a file in its place


def put(f: Any, write: Callable[[Any], None]) -> None:
    """Have `write` fill a file: at a path as a whole or not at all."""
    if hasattr(f, "write"):
        return write(f)
    with replacing(os.path.realpath(f)) as stream:
        write(stream)


@contextmanager
def replacing(path: str) -> Iterator[BinaryIO]:
    """A file to write to, which takes the place of `path` when the block ends without an error."""
    if os.path.exists(path) and not os.path.isfile(path):  # a device or a pipe
        with open(path, "wb") as stream:
            yield stream
        return
    part = os.path.join(os.path.dirname(path), f".engine-{os.urandom(8).hex()}.part")
    try:
        with open(part, "xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        move(part, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(part)
        raise


def move(part: str, path: str) -> None:
    """Put the finished file in its place, with the old one's mode, and the folder on the disk."""
    if os.path.exists(path):
        shutil.copymode(path, part)
    os.replace(part, path)
    if os.name == "posix":
        folder = os.open(os.path.dirname(path), os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


# An object as JSON: None, numbers and texts as they are, anything else as [kind, ...]

KEYS = (str, int, float, bool, type(None))
SEQUENCES: dict[str, Callable[[Any], Any]] = {"list": list, "tuple": tuple, "size": Size}
DICTS: dict[str, Any] = {"dict": dict, "ordered": OrderedDict}
BY_NAME = {d.name: d for d in dtypes.dtype.by_numpy.values()}


class Writer:
    """Turns an object into JSON, and collects the arrays in it by name."""

    def __init__(self) -> None:
        self.arrays: dict[str, Any] = {}
        self.tensors: dict[int, int] = {}

    def encode(self, x: Any, place: str) -> Any:
        """What stands for x in the JSON; place: the keys that lead to it, joined by dots."""
        if type(x) is float and not math.isfinite(x):
            return ["float", str(x)]
        if type(x) in KEYS:
            return x
        for kinds, method in self.METHODS.items():
            if type(x) in kinds:
                return method(self, x, place)
        if isinstance(x, np.generic) and x.dtype.newbyteorder("<") in safetensors.NAMES:
            return ["number", self.name_of(np.asarray(x), place)]
        raise unsuited(x, place, "one")

    def tensor(self, x: Any, place: str) -> Any:
        if id(x) in self.tensors:
            return ["again", self.tensors[id(x)]]
        self.tensors[id(x)] = len(self.tensors)
        saving.warn_of_hooks(x)
        kind = "parameter" if type(x) is Parameter else "tensor"
        name = self.name_of(x._array, place)
        return [kind, name, x.requires_grad, self.attributes(x.__dict__, place)]

    def value(self, x: Any, place: str) -> Any:
        _, data, grad, needed, attributes = saving.saved_value(x)
        numbers = self.encode(data, place), self.encode(grad, place)
        return ["value", *numbers, needed, self.attributes(attributes, place)]

    def attributes(self, attributes: dict[str, Any], place: str) -> Any:
        if any(name.startswith("_") for name in attributes):
            raise unsuited(attributes, f"{place}.__dict__", "one with private names")
        return self.mapping(dict(attributes), place) if attributes else None

    def array(self, x: Any, place: str) -> Any:
        if x.dtype.newbyteorder("<") not in safetensors.NAMES:
            raise unsuited(x, place, f"one of {x.dtype}")
        return ["array", self.name_of(x, place)]

    def sequence(self, x: Any, place: str) -> Any:
        kind = next(kind for kind, made in SEQUENCES.items() if made is type(x))
        return [kind, *(self.encode(item, join(place, i)) for i, item in enumerate(x))]

    def mapping(self, x: Any, place: str) -> Any:
        kind = "dict" if type(x) is dict else "ordered"
        return [kind, *([self.key(k, place), self.encode(v, join(place, k))] for k, v in x.items())]

    def of_keys(self, x: Any, place: str) -> Any:
        return ["set", *(self.key(k, place) for k in sorted(x, key=repr))]

    def key(self, k: Any, place: str) -> Any:
        if not is_key(k):
            raise unsuited(k, join(place, k), "one as a key")
        return self.encode(k, place)

    def dtype(self, x: Any, place: str) -> Any:
        return ["dtype", x.name]

    def device(self, x: Any, place: str) -> Any:
        return ["device", str(x)]

    def name_of(self, array: Any, place: str) -> str:
        """Keep an array under its place, or the first free name made from it."""
        name = base = (place or "tensor").encode("utf-8", "replace").decode()
        count = 1
        while name in self.arrays or name == safetensors.METADATA:
            count += 1
            name = f"{base}#{count}"
        self.arrays[name] = array
        return name

    METHODS: ClassVar[dict[Any, Any]] = {
        (Tensor, Parameter): tensor,
        (Value,): value,
        (np.ndarray,): array,
        (list, tuple, Size): sequence,
        (dict, OrderedDict): mapping,
        (set,): of_keys,
        (dtypes.dtype,): dtype,
        (devices.device,): device,
    }


def is_key(k: Any) -> bool:
    """Whether k may be a key: whole numbers below 2**60, whose hashes no file can make collide."""
    return type(k) in KEYS and (type(k) is not int or abs(k) < 2**60)


def join(place: str, key: Any) -> str:
    return f"{place}.{key}" if place else str(key)


def unsuited(x: Any, place: str, what: str) -> TypeError:
    kind = f"{type(x).__module__}.{type(x).__qualname__}"
    return TypeError(
        f"save: obj must be made of tensors, Values, arrays, numbers, texts, dtypes, and lists, "
        f"tuples, sets and dicts of them; got {what} of type {kind} at {place or 'the top'!r}: "
        "save its state_dict() or its numbers, or write a pickle by save(obj, f, "
        "pickle_protocol=4), which load(f, weights_only=False) reads"
    )


class Reader:
    """Turns the JSON of a Writer back into the object; makes nothing but what a Writer takes."""

    def __init__(self, arrays: dict[str, Any]) -> None:
        self.arrays = arrays
        self.tensors: list[Any] = []

    def decode(self, x: Any) -> Any:
        """The object that x stands for."""
        if type(x) in KEYS:
            return x
        kind, *rest = x
        if kind in SEQUENCES:
            return SEQUENCES[kind](self.decode(item) for item in rest)
        if kind in DICTS:
            return DICTS[kind](safetensors.unique([(self.key(k), self.decode(v)) for k, v in rest]))
        return self.METHODS[kind](self, *rest)

    def key(self, x: Any) -> Any:
        k = self.decode(x)
        if not is_key(k):
            raise TypeError("a key that is neither a short number nor a text")
        return k

    def tensor(self, name: str, requires_grad: bool, attributes: Any) -> Any:
        return self.kept(make(self.arrays[name]), requires_grad, attributes)

    def parameter(self, name: str, requires_grad: bool, attributes: Any) -> Any:
        return self.kept(Parameter(make(self.arrays[name])), requires_grad, attributes)

    def kept(self, t: Any, requires_grad: bool, attributes: Any) -> Any:
        self.tensors.append(t.requires_grad_(requires_grad is True))
        t.__dict__.update(self.public(attributes))
        return t

    def public(self, attributes: Any) -> dict[str, Any]:
        found: dict[str, Any] = self.decode(attributes) or {}
        if any(name.startswith("_") for name in found):
            raise ValueError("an attribute with a private name")
        return found

    def again(self, i: int) -> Any:
        return self.tensors[i]

    def value(self, data: Any, grad: Any, requires_grad: bool, attributes: Any) -> Any:
        names = self.public(attributes)
        numbers = self.decode(data), self.decode(grad)
        return saving.rebuild_value(None, *numbers, requires_grad is True, names)

    def array(self, name: str) -> Any:
        return self.arrays[name]

    def number(self, name: str) -> Any:
        return self.arrays[name][()]

    def of_keys(self, *items: Any) -> Any:
        return {self.key(k) for k in items}

    METHODS: ClassVar[dict[Any, Any]] = {
        "tensor": tensor,
        "parameter": parameter,
        "again": again,
        "value": value,
        "array": array,
        "number": number,
        "set": of_keys,
        "float": lambda self, x: float(x),
        "dtype": lambda self, x: BY_NAME[x],
        "device": lambda self, x: devices.device(x),
    }
