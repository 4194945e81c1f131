"""Named arrays in a file of the safetensors format, written and read with nothing trusted.

Eight bytes hold the length of the header, little-endian; the header is JSON that gives each name a
dtype, a shape and the first and last byte of its numbers; the numbers follow, row by row. Source:
https://github.com/huggingface/safetensors. A reader of ours checks all that a header says against
the size of the file before it makes an array: what it allocates for numbers is what the file holds.
"""

import json
import math
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np

Arrays = dict[str, Any]

DTYPES = {
    "BOOL": np.dtype(np.bool_),
    "U8": np.dtype(np.uint8),
    "I8": np.dtype(np.int8),
    "I16": np.dtype("<i2"),
    "I32": np.dtype("<i4"),
    "I64": np.dtype("<i8"),
    "F16": np.dtype("<f2"),
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
}
NAMES = {d: name for name, d in DTYPES.items()}
FIELDS = {"dtype", "shape", "data_offsets"}
METADATA = "__metadata__"
# Enough for some 60,000 tensors. JSON takes up to 25 times its length in memory, so that a header
# made to harm takes a quarter of a GB at most.
LONGEST = 10_000_000


def broken(what: str) -> ValueError:
    """The error of a file that cannot be read."""
    return ValueError(
        f"load: the file must be a whole safetensors file, such as engine.save writes; {what}: it "
        "is damaged, cut short or of another kind, take another copy of it"
    )


# Writing


def little(array: Any) -> Any:
    """The array row by row and little-endian, as it stands in a file; 0-dim stays 0-dim."""
    return np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")


def octets(array: Any) -> Any:
    """The bytes of an array that lies row by row: a flat view of it."""
    return array.reshape(-1).view(np.uint8)


def wide_first(arrays: Arrays) -> Arrays:
    """The arrays as they lie in a file: the widest dtypes first, so that each is aligned."""
    pairs = ((name, little(a)) for name, a in arrays.items())
    return dict(sorted(pairs, key=lambda pair: -pair[1].itemsize))


def described(arrays: Arrays) -> dict[str, Any]:
    """The header's entries: dtype, shape, first byte and the byte after the last, by name."""
    entries, place = {}, 0
    for name, a in arrays.items():
        offsets = [place, place + a.nbytes]
        entries[name] = {"dtype": NAMES[a.dtype], "shape": list(a.shape), "data_offsets": offsets}
        place += a.nbytes
    return entries


def write(stream: BinaryIO, arrays: Arrays, metadata: dict[str, str]) -> None:
    """Write arrays, as wide_first gives them, and texts to a file open for writing bytes.

    Raises ValueError where the header would be longer than what `read` takes.
    """
    header = {METADATA: metadata} | described(arrays)
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > LONGEST:
        raise ValueError(
            f"save: names and structure must take at most {LONGEST:,} bytes; got {len(text):,}: "
            "put many numbers into one tensor, by engine.stack(values) or engine.tensor(numbers)"
        )
    stream.write(len(text).to_bytes(8, "little") + text)
    for a in arrays.values():
        stream.write(octets(a).data)


# Reading


def read(stream: BinaryIO) -> tuple[Arrays, dict[str, str]]:
    """The arrays of a file, each with memory of its own, and the texts of its metadata.

    stream: open for reading bytes, and able to seek.
    Raises ValueError, with what is wrong, for anything but a whole and regular file.
    """
    size = stream.seek(0, 2)
    stream.seek(0)
    header = read_header(stream, size)
    metadata = texts(header.pop(METADATA, {}))
    rest = size - stream.tell()
    found = {name: read_array(stream, *place) for name, place in places(header, rest)}
    return {name: found[name] for name in header}, metadata


def read_header(stream: BinaryIO, size: int) -> dict[str, Any]:
    """The header, parsed; its length is checked before a byte of it is read."""
    length = int.from_bytes(stream.read(8), "little")
    if size < 8 or length > size - 8:
        raise broken(f"got {size} bytes, of which the header should take 8 + {length}")
    if length > LONGEST:
        raise broken(f"got a header of {length} bytes, where at most {LONGEST} are read")
    try:
        header = json.loads(stream.read(length).decode(), object_pairs_hook=unique)
    except (ValueError, RecursionError) as e:
        raise broken(f"got a header that is no regular JSON ({e})") from None
    if type(header) is not dict:
        raise broken(f"got a {type(header).__name__} for header, which must be a dict")
    return header


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A dict of pairs; a name that comes twice is an error: readers differ in which they take."""
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the name {next(n for n in names if names.count(n) > 1)!r} comes twice")
    return found


def texts(metadata: Any) -> dict[str, str]:
    """The metadata, which must be a dict of texts."""
    if type(metadata) is not dict or any(type(x) is not str for x in metadata.values()):
        raise broken(f"got {METADATA} that is no dict of texts")
    return metadata


def places(header: dict[str, Any], rest: int) -> Iterator[tuple[str, Any]]:
    """Each name with dtype and shape, in the order of the numbers, which must fill the file."""
    entries = [(name, *checked(name, entry)) for name, entry in header.items()]
    entries.sort(key=lambda entry: entry[3:])
    at = 0
    for name, _, _, start, end in entries:
        if start != at:
            raise broken(f"got {name!r} at byte {start}, where byte {at} is the next one")
        at = end
    if at != rest:
        raise broken(f"got {rest} bytes of numbers, where the header describes {at}")
    for name, dtype, shape, _, _ in entries:
        yield name, (dtype, shape)


def checked(name: str, entry: Any) -> tuple[Any, tuple[int, ...], int, int]:
    """dtype, shape, first byte and the byte after the last, in agreement with each other."""
    if type(entry) is not dict or set(entry) != FIELDS:
        raise broken(f"got {name!r} without dtype, shape and data_offsets, or with more")
    shape, offsets = whole(name, entry["shape"], 64), whole(name, entry["data_offsets"], 2)
    dtype = DTYPES.get(entry["dtype"]) if type(entry["dtype"]) is str else None
    if dtype is None:
        raise broken(f"got {name!r} of dtype {entry['dtype']!r}, where one of {[*DTYPES]} is read")
    taken = math.prod(shape) * dtype.itemsize
    if len(offsets) != 2 or offsets[1] - offsets[0] != taken:
        raise broken(f"got {name!r}, {taken} bytes by its shape {shape}, at the bytes {offsets}")
    if math.prod(d or 1 for d in shape) * dtype.itemsize >= 2**63:
        raise broken(f"got {name!r} of shape {shape}, too large for any array")
    return dtype, tuple(shape), offsets[0], offsets[1]


def whole(name: str, numbers: Any, most: int) -> list[int]:
    """A list of at most so many whole numbers from 0 to 2**63 - 1."""
    if type(numbers) is not list or len(numbers) > most:
        raise broken(f"got {name!r} with a shape or data_offsets that is no list of up to {most}")
    if any(type(n) is not int or not 0 <= n < 2**63 for n in numbers):
        raise broken(f"got {name!r} with a shape or data_offsets that is no list of sizes")
    return numbers


def read_array(stream: BinaryIO, dtype: Any, shape: tuple[int, ...]) -> Any:
    """The next numbers of the file as an array of this machine's byte order."""
    array = np.empty(shape, dtype)
    flat = octets(array)
    if stream.readinto(flat.data) != flat.size:  # type: ignore[attr-defined]
        raise broken(f"got fewer than {flat.size} bytes for an array, while it was being read")
    if dtype.kind == "b" and flat.max(initial=0) > 1:
        raise broken("got a bool that is neither 0 nor 1")
    return array.astype(dtype.newbyteorder("="), copy=False)
