"""Random tensors, reproducible after manual_seed.

The numbers come from NumPy's generators: for the same seed they differ from PyTorch's.
"""

import os
from typing import Any

import numpy as np

from engine import devices, dtypes, modes, views
from engine.creation import floating, like_array, made, shape_of, whole, zeros_like
from engine.tensors import Operation, Tensor, make, method


class Generator:
    """A source of random numbers of its own: Generator().manual_seed(42).

    It starts from seed 67280421310721, as PyTorch's do; its numbers are NumPy's PCG64.
    """

    def __init__(self, device: Any = "cpu"):
        devices.check(device, "Generator")
        self.device = devices.cpu
        self.manual_seed(67280421310721)

    def manual_seed(self, seed: int) -> "Generator":
        """Start afresh from a seed, any whole number of 64 bits; returns the Generator."""
        if isinstance(seed, bool) or not hasattr(seed, "__index__"):
            raise TypeError(f"manual_seed: needs a whole number; got {type(seed).__name__}")
        if not -(2**63) <= seed.__index__() < 2**64:
            raise RuntimeError(f"manual_seed: Overflow when unpacking long: {seed} exceeds 64 bits")
        self._seed = seed.__index__() % 2**64
        self._numpy: dict[str, Any] = {}
        return self

    @property
    def numpy(self) -> Any:
        """NumPy's generator, made when first needed, as numpy.random takes a while to import."""
        kept = self._numpy
        if not kept:  # setdefault: threads that come here at once are given the same one
            kept.setdefault("generator", np.random.Generator(np.random.PCG64(self._seed)))
        return kept["generator"]

    def initial_seed(self) -> int:
        """The seed that the numbers started from."""
        return self._seed

    def seed(self) -> int:
        """Start afresh from a seed of the operating system's; returns it."""
        self.manual_seed(int.from_bytes(os.urandom(7), "big"))
        return self._seed

    def get_state(self) -> Any:
        """What set_state needs to go on from here: a copy of NumPy's state."""
        return {"seed": self._seed, "numpy": self.numpy.bit_generator.state}

    def set_state(self, state: Any) -> None:
        """Go on from where get_state was called."""
        self.manual_seed(state["seed"])
        self.numpy.bit_generator.state = state["numpy"]


default_generator = Generator()
default_generator.seed()


def source(generator: Generator | None, where: str) -> Any:
    """NumPy's generator in a Generator, or in the default one."""
    if generator is None:
        return default_generator.numpy
    if not isinstance(generator, Generator):
        raise TypeError(
            f"{where}: generator needs to be an engine.Generator; got {type(generator).__name__}"
        )
    return generator.numpy


def manual_seed(seed: int) -> Generator:
    """Start the default generator from a seed, so that a program repeats its random numbers.

    They differ from PyTorch's for the same seed. Returns the default generator.
    """
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Start the default generator from a seed of the operating system's; returns it."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed that the default generator started from."""
    return default_generator.initial_seed()


def get_rng_state() -> Any:
    """The state of the default generator, for set_rng_state."""
    return default_generator.get_state()


def set_rng_state(state: Any) -> None:
    """Put the default generator back to where get_rng_state was called."""
    default_generator.set_state(state)


def floats(draw: Any, shape: tuple[int, ...], dtype: Any, where: str) -> Any:
    """draw(shape, kind) in a floating dtype; NumPy draws in double or single precision."""
    wanted = floating(dtype)
    if wanted.kind != "f":
        raise RuntimeError(f"{where}: needs a floating dtype; got {dtypes.of(wanted)}")
    kind = np.float32 if wanted == np.float32 else np.float64
    return np.asarray(draw(shape, kind)).astype(wanted, copy=False)


def rand(
    *sizes: Any,
    size: Any = None,
    generator: Generator | None = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Numbers drawn evenly from [0, 1)."""
    devices.check(device, "rand")
    draw = source(generator, "rand").random
    return made(floats(draw, shape_of(sizes, size, "rand"), dtype, "rand"), requires_grad)


def randn(
    *sizes: Any,
    size: Any = None,
    generator: Generator | None = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Numbers drawn from the normal distribution of mean 0 and standard deviation 1."""
    devices.check(device, "randn")
    draw = source(generator, "randn").standard_normal
    return made(floats(draw, shape_of(sizes, size, "randn"), dtype, "randn"), requires_grad)


def randint(
    *bounds: Any,
    low: int | None = None,
    high: int | None = None,
    size: Any = None,
    generator: Generator | None = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Whole numbers drawn evenly from low to high - 1: randint(high, size) starts from 0,
    randint(low, high, size) from low.

    int64 unless dtype says otherwise. Raises RuntimeError unless low < high.
    """
    devices.check(device, "randint")
    if bounds and isinstance(bounds[-1], (tuple, list)):
        *bounds, size = bounds  # type: ignore[assignment]
    ends = [x for x in (*bounds, low, high) if x is not None]
    if len(ends) not in (1, 2) or size is None:
        raise TypeError(
            "randint: needs randint(high, size) or randint(low, high, size), with size a tuple"
        )
    shape = shape_of((), size, "randint")
    low, high = (0, *ends)[-2:]
    whole_numbers = integers(low, high, shape, generator, "randint")
    return made(whole_numbers.astype(dtypes.to_numpy(dtype) or np.int64), requires_grad)


def integers(low: int, high: int, shape: Any, generator: Generator | None, where: str) -> Any:
    """An array of whole numbers from low to high - 1."""
    if low >= high:
        raise RuntimeError(f"{where}: expects 'from' to be less than 'to'; got {low} >= {high}")
    return source(generator, where).integers(low, high, shape)


def randperm(
    n: int,
    *,
    generator: Generator | None = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The whole numbers from 0 to n - 1 in random order, as int64."""
    devices.check(device, "randperm")
    order = source(generator, "randperm").permutation(whole(n, "n", "randperm"))
    return made(order.astype(dtypes.to_numpy(dtype) or np.int64), requires_grad)


def rand_like(input: Tensor, *, dtype: Any = None, **options: Any) -> Tensor:
    """engine.rand of the shape, and unless dtype is given the dtype, of another tensor."""
    shape = like_array(input, None, "rand_like").shape
    return rand(size=shape, dtype=dtype or input.dtype, **options)


def randn_like(input: Tensor, *, dtype: Any = None, **options: Any) -> Tensor:
    """engine.randn of the shape, and unless dtype is given the dtype, of another tensor."""
    shape = like_array(input, None, "randn_like").shape
    return randn(size=shape, dtype=dtype or input.dtype, **options)


def randint_like(input: Tensor, *bounds: Any, dtype: Any = None, **options: Any) -> Tensor:
    """engine.randint of the shape, and unless dtype is given the dtype, of another tensor."""
    shape = like_array(input, None, "randint_like").shape
    return randint(*bounds, size=shape, dtype=dtype or input.dtype, **options)


def normal(
    mean: Any = 0.0,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Generator | None = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Numbers drawn from normal distributions of these means and standard deviations.

    mean, std: numbers with a size, or Tensors, which broadcast; no gradient goes to them.
    """
    devices.check(device, "normal")
    known = [x.detach() for x in (mean, std) if isinstance(x, Tensor)]
    mean, std = (x.detach() if isinstance(x, Tensor) else x for x in (mean, std))
    refuse_negative(std, "normal")
    if not known and size is None:
        raise TypeError("normal: numbers for mean and std need a size; got none")
    shape = shape_of((), size, "normal") if size is not None else (mean + std).shape
    kind = dtype or (known[0].dtype if known else None)
    drawn = randn(size=shape, generator=generator, dtype=kind) * std + mean
    return drawn.requires_grad_() if requires_grad else drawn


def refuse_negative(std: Any, where: str) -> None:
    lowest = np.min(getattr(std, "_array", std), initial=0.0)
    if lowest < 0:
        raise RuntimeError(f"{where}: expects all elements of std >= 0.0; got {lowest}")


@method
def bernoulli(
    input: Tensor, p: float | None = None, *, generator: Generator | None = None
) -> Tensor:
    """1 with the probability that stands in input (or p everywhere), otherwise 0.

    The result has input's dtype and stands outside the graph.
    """
    chance = input._array if p is None else np.full(input._array.shape, p)
    if chance.size and not (chance.min() >= 0 and chance.max() <= 1):
        raise RuntimeError("bernoulli: Expected p_in >= 0 && p_in <= 1: probabilities from 0 to 1")
    hit = source(generator, "bernoulli").random(chance.shape) < chance
    return make(np.asarray(hit).astype(input._array.dtype))


@method
def multinomial(
    input: Tensor,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """Places drawn with the weights in each row of input, as int64.

    input: shape (n,) or (m, n), weights of 0 or more, which need not sum to 1. Without
    replacement no place comes twice, and a row needs num_samples weights above 0.
    """
    weights = np.asarray(input._array, np.float64)
    check_weights(weights, num_samples, replacement)
    draw = source(generator, "multinomial")
    rows = [places(draw, row, num_samples, replacement) for row in np.atleast_2d(weights)]
    return make(np.array(rows, np.int64).reshape(*weights.shape[:-1], num_samples))


def places(draw: Any, weights: Any, n: int, replacement: bool) -> Any:
    """n places drawn from one row of weights."""
    return draw.choice(weights.size, n, replace=replacement, p=weights / weights.sum())


def check_weights(weights: Any, n: int, replacement: bool) -> None:
    if weights.ndim not in (1, 2):
        raise RuntimeError(f"multinomial: needs one or two dimensions; got {weights.ndim}")
    if n < 1:
        raise RuntimeError(f"multinomial: cannot sample n_sample <= 0 samples; got {n}")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise RuntimeError("multinomial: probability tensor contains either `inf`, `nan` or < 0")
    possible = (weights > 0).sum(-1).min()
    if possible < (1 if replacement else n):
        raise RuntimeError(
            f"multinomial: {n} samples without replacement need as many weights above 0 in each "
            f"row; got {possible}"
            if possible
            else "multinomial: a row of weights is all 0"
        )


# in place


class Refill(Operation):
    """New numbers in the place of the old ones, whose slope is 0."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, array: Any) -> Tensor:
        np.copyto(x._array, array, casting="unsafe")
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return zeros_like(g), None


def refill(x: Tensor, name: str, array: Any) -> Tensor:
    """Put the array's numbers into x, unless a change in place is refused there."""
    views.check(x, name, modes.is_grad_enabled() and x.requires_grad)
    return Refill.apply(x, array)


@method
def uniform_(
    input: Tensor, from_: float = 0.0, to: float = 1.0, *, generator: Generator | None = None
) -> Tensor:
    """Fill the tensor with numbers drawn evenly from [from_, to)."""
    if from_ > to:
        raise RuntimeError(f"uniform_: expects from_ <= to; got from_={from_} and to={to}")
    drawn = floats(source(generator, "uniform_").random, input.shape, input.dtype, "uniform_")
    return refill(input, "uniform_", from_ + (to - from_) * drawn)


@method
def normal_(
    input: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Generator | None = None
) -> Tensor:
    """Fill the tensor with numbers drawn from a normal distribution."""
    refuse_negative(std, "normal_")
    draw = source(generator, "normal_").standard_normal
    return refill(input, "normal_", mean + std * floats(draw, input.shape, input.dtype, "normal_"))


@method
def random_(
    input: Tensor, from_: Any = None, to: Any = None, *, generator: Generator | None = None
) -> Tensor:
    """Fill the tensor with whole numbers drawn evenly from from_ (0) to to - 1.

    random_(to) and random_(from_, to); without either, all that the dtype holds exactly.
    """
    if to is None:
        from_, to = 0, most(input.dtype) if from_ is None else from_
    drawn = integers(from_, to, input._array.shape, generator, "random_")
    return refill(input, "random_", drawn)


def most(dtype: dtypes.dtype) -> int:
    """One more than the largest whole number up to which a dtype holds all of them."""
    if dtype.is_floating_point:
        return 2 ** (int(np.finfo(dtype.numpy).nmant) + 1) + 1
    return 2 if dtype is dtypes.bool else int(np.iinfo(dtype.numpy).max)


@method
def bernoulli_(input: Tensor, p: Any = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Fill the tensor with 1 with probability p, a number or a Tensor, otherwise 0."""
    chance = np.broadcast_to(getattr(p, "_array", p), input._array.shape)
    return refill(input, "bernoulli_", bernoulli(make(chance), generator=generator)._array)
