"""Files, indices and arrays made of any bytes: an error or the right numbers, never anything else.

    PYTHONPATH=.:tests python -m reliability.fuzz files 100000      random bytes
    PYTHONPATH=.:tests python -m reliability.fuzz files -runs=100000   atheris, guided by coverage

The targets are `files`, `shapes` and `kernels`. A failure ends the program with its bytes.
"""

import inspect
import io
import pickle
import random
import sys

import numpy as np

import engine
from engine import builds, kernels as plain, safetensors

fast = builds.module("kernels")


class Draw:
    """Numbers taken from bytes; zeros after their end."""

    def __init__(self, data):
        self.data = data
        self.place = 0

    def number(self, low, high):
        """A whole number from low to high, from two bytes."""
        two = self.data[self.place : self.place + 2]
        self.place += 2
        return low + int.from_bytes(two, "little") % (high - low + 1)

    def pick(self, choices):
        return choices[self.number(0, len(choices) - 1)]

    def numbers(self, low, high, most):
        return [self.number(low, high) for _ in range(self.number(0, most))]

    def rest(self):
        return self.data[self.place :]


def whole_files():
    """One that save wrote, with a checksum, and one of arrays alone."""
    saved, bare = io.BytesIO(), io.BytesIO()
    state = {"w": engine.ones(2, 3), "n": [1, 2.5, None, "text"], "v": engine.Value(0.5)}
    engine.save(state, saved)
    arrays = {"a": np.arange(6.0).reshape(2, 3), "b": np.array([True, False])}
    safetensors.write(bare, arrays, {})
    return [saved.getvalue(), bare.getvalue()]


WHOLE = whole_files()


def changed(d):
    """A whole file with some bytes changed, cut out, or put in."""
    data = bytearray(d.pick(WHOLE))
    for _ in range(d.number(1, 4)):
        at = d.number(0, len(data) - 1)
        new = bytes(d.numbers(0, 255, 4))
        data[at : at + d.number(0, 4)] = new
    return bytes(data)


def files(data):
    """What load makes of bytes: an object of containers, or one of two errors."""
    d = Draw(data)
    content = changed(d) if d.number(0, 3) else d.rest()
    try:
        found = engine.load(io.BytesIO(content))
    except (ValueError, pickle.UnpicklingError):
        return
    again = io.BytesIO()
    engine.save(found, again)


def an_index(d):
    """One of the things that may stand between brackets."""
    kind = d.number(0, 6)
    if kind == 0:
        return d.number(-5, 5)
    if kind == 1:
        ends = [d.pick([None, *range(-5, 6)]) for _ in range(2)]
        return slice(*ends, d.pick([None, 1, 2, 3, -1, 0]))
    if kind == 2:
        return d.pick([None, ..., True, False])
    if kind == 3:
        return d.numbers(-4, 4, 3)
    if kind == 4:
        return np.array(d.numbers(-4, 4, 4), dtype=np.int64)
    if kind == 5:
        return np.array([bool(x) for x in d.numbers(0, 1, 4)])
    return d.number(-(2**15), 2**15) * 2 ** d.number(0, 50)


def attempt(work, *also):
    """What work() returns, or None where it refuses."""
    try:
        return work()
    except (IndexError, ValueError, TypeError, RuntimeError, *also):
        return None


def order_differs(index):
    """Whether NumPy may put the dimensions elsewhere than PyTorch does: where numbers stand beside
    arrays, lists or truths, NumPy takes a number for an array too; and where ... stands between
    two arrays and means no dimension, they lie apart for NumPy alone."""
    kinds = ["number" if type(i) is int else type(i).__name__ for i in index]
    arrays = [kind for kind in kinds if kind in ("list", "ndarray", "bool")]
    return bool(arrays) and ("number" in kinds or ("ellipsis" in kinds and len(arrays) > 1))


def shapes(data):
    """Indexing and changes of shape: NumPy's numbers, wherever both take the request, and the
    gradient of each element is how often it was taken."""
    d = Draw(data)
    array = np.arange(float(np.prod(shape := d.numbers(0, 4, 4)))).reshape(shape)
    t = engine.from_numpy(array).requires_grad_()
    what = d.number(0, 3)
    if what < 2:
        index = tuple(an_index(d) for _ in range(d.number(0, 4)))
        ours, theirs = attempt(lambda: t[index]), attempt(lambda: array[index], OverflowError)
        theirs = None if order_differs(index) else theirs
    elif what == 2:
        to = d.numbers(-1, 6, 4)
        ours, theirs = attempt(lambda: t.reshape(to)), attempt(lambda: array.reshape(to))
    else:
        axes = d.numbers(-4, 4, 4)
        ours, theirs = attempt(lambda: t.permute(axes)), attempt(lambda: array.transpose(axes))
    if ours is not None and theirs is not None:
        assert ours.shape == theirs.shape
        assert np.array_equal(ours.detach().numpy(), theirs)
        ours.sum().backward()
        taken = np.bincount(np.asarray(theirs, np.int64).ravel(), minlength=array.size)
        assert np.array_equal(t.grad.numpy().ravel(), taken)


def an_array(d, shape):
    """An array of an odd dtype, byte order, place or order in memory, perhaps read-only."""
    dtype = np.dtype(d.pick(["float32", "float64", "float16", "int64", ">f4", ">f8"]))
    numbers = np.array([d.number(-300, 300) / 4 for _ in range(int(np.prod(shape)))])
    x = numbers.astype(dtype).reshape(shape)
    kind = d.number(0, 5) if x.size else 0
    if kind == 1:
        x = np.frombuffer(b"?" + x.tobytes(), dtype, offset=1).reshape(shape)
    if kind == 2:
        x = np.asfortranarray(x)
    if kind == 3:
        x = np.repeat(x, 2, axis=-1)[..., ::2]
    if kind == 4:
        x = np.ascontiguousarray(x[..., ::-1])[..., ::-1]
    if kind == 5:
        x = np.broadcast_to(x[:1, :1], shape)
    x.flags.writeable = x.flags.writeable and bool(d.number(0, 1))
    return x


def close(x, y):
    """The same dtype, shape and numbers, but for rounding in sums."""
    if x is None or y is None:
        return x is y
    return x.dtype == y.dtype and np.allclose(x, y, rtol=1e-2 if x.itemsize < 4 else 1e-4)


def kernels(data):
    """The compiled loops on any arrays: the numbers of NumPy's versions."""
    d = Draw(data)
    n, m, k = (d.number(0, 5) for _ in range(3))
    a, b, g = an_array(d, (n, m)), an_array(d, (m, k)), an_array(d, (n, k))
    other = an_array(d, (n, m))
    with np.errstate(all="ignore"):
        assert close(fast.relu_forward(a), plain.relu_forward(a))
        assert close(fast.relu_backward(other, a), plain.relu_backward(other, a))
        assert close(fast.matmul_forward(a, b), plain.matmul_forward(a, b))
        found, right = (x.matmul_backward(g, a, b) for x in (fast, plain))
        assert all(close(x, y) for x, y in zip(found, right, strict=True))


TARGETS = {"files": files, "shapes": shapes, "kernels": kernels}


def at_random(target, count, seed=0):
    """Calls a target with count random texts of bytes."""
    draw = random.Random(seed)
    for _ in range(count):
        data = draw.randbytes(draw.randint(0, 120))
        try:
            target(data)
        except BaseException:
            print(f"{target.__name__}({data!r})", file=sys.stderr)
            raise


def guided(target, arguments):
    """Has atheris choose the bytes: those that reach lines not reached before."""
    import atheris

    for module in (engine.files, safetensors, engine.ops.index, engine.ops.shape):
        for function in filter(inspect.isfunction, [*vars(module).values()]):
            atheris.instrument_func(function)
    atheris.Setup([sys.argv[0], *arguments], target)
    atheris.Fuzz()


if __name__ == "__main__":
    target, how = TARGETS[sys.argv[1]], sys.argv[2]
    at_random(target, int(how)) if how.isdigit() else guided(target, sys.argv[2:])
