"""The same seed gives the same bits: from one run to the next, and on any number of threads."""

import hashlib

import numpy as np
import pytest
from fresh import printed
from together import THREADS, in_threads, switching_often  # noqa: F401  a fixture

import engine
from engine import Value, nn

BLAS_THREADS = (1, 2, 4)


def digest(*tensors):
    """One short text for the bits of tensors, in order."""
    text = hashlib.sha256()
    for t in tensors:
        text.update(np.ascontiguousarray(t.detach().numpy()).tobytes())
    return text.hexdigest()[:16]


def values(steps, seed=0):
    """A net of Values, trained; its weights."""
    draw = np.random.default_rng(seed)
    w = [Value(x) for x in draw.normal(0.0, 0.3, 9)]
    optimizer = engine.optim.Adam(w, lr=0.01)
    for _ in range(steps):
        x = draw.normal()
        hidden = [(w[k] * x + w[k + 3]).tanh() for k in range(3)]
        y = engine.dot(hidden, w[6:]) + engine.logsumexp(hidden) * 0.1
        optimizer.zero_grad()
        ((y - x * x) ** 2).backward()
        optimizer.step()
    return digest(engine.stack(w))


def train(sizes, rows, steps, seed):
    """A net on Tensors, with dropout and weights that follow from the seed; its weights."""
    g = engine.Generator().manual_seed(seed)
    draw = {"generator": g, "dtype": engine.float32}
    w = [engine.randn(n, m, **draw).div_(n**0.5).requires_grad_() for n, m in sizes]
    optimizer = engine.optim.SGD(w, lr=0.01, momentum=0.9)
    for _ in range(steps):
        x = y = engine.randn(rows, sizes[0][0], **draw)
        for a in w:
            y = (y @ a).tanh() * (engine.rand(a.shape[1], generator=g) > 0.1)
        optimizer.zero_grad()
        nn.functional.mse_loss(y, x[:, : y.shape[1]].sin()).backward()
        optimizer.step()
    return digest(*w)


def small(steps, seed=0):
    """No product of more than 8,192 multiplications."""
    return train([(16, 16), (16, 4)], 32, steps, seed)


def large(steps, seed=0):
    """Products of up to 64 x 1,000 x 100."""
    return train([(1000, 100), (100, 10)], 64, steps, seed)


def everything_else(steps, seed=0):
    """Large Tensors in operations that are no products of matrices, and their gradients."""
    g = engine.Generator().manual_seed(seed)
    found = []
    for _ in range(steps):
        x = engine.randn(300, 1000, generator=g).requires_grad_()
        y = (x.exp() + x.sin() * x).cumsum(1).softmax(0).sort(1).values
        y = y.var(0) + x.logsumexp(0) + x.norm() + x[engine.randint(300, (50,), generator=g)].sum()
        y.sum().backward()
        found += [y, x.grad]
    return digest(*found)


KINDS = {
    "Values": (values, 50, 5_000),
    "Tensors, small products": (small, 30, 2_000),
    "Tensors, no products": (everything_else, 1, 20),
    "Tensors, large products": (large, 5, 100),
}
RUN = """
import sys
from reliability.test_same_bits import KINDS
for kind, steps in zip(sys.argv[1::2], sys.argv[2::2]):
    print(KINDS[kind][0](int(steps)))
"""


def digests(kinds, long, threads):
    """What a process whose BLAS may use so many threads makes of each kind."""
    steps = [x for kind in kinds for x in (kind, long(*KINDS[kind][1:]))]
    return printed(RUN, *steps, threads=threads).split()


def test_training_gives_the_same_bits_on_any_number_of_blas_threads(long, figure):
    kinds = [kind for kind in KINDS if kind != "Tensors, large products"]
    found = [digests(kinds, long, threads) for threads in BLAS_THREADS]
    assert len(set(found[0])) == len(kinds)
    assert found == [found[0]] * len(BLAS_THREADS)
    figure("trainings of the same bits with 1, 2 and 4 BLAS threads", len(kinds))


@pytest.mark.parametrize("threads", BLAS_THREADS)
def test_large_products_give_the_same_bits_again_on_as_many_threads(threads, long, figure):
    first, again = (digests(["Tensors, large products"], long, threads) for _ in range(2))
    assert first == again
    figure(f"trainings of the same bits again on {threads} BLAS threads", 1)


@pytest.mark.usefixtures("switching_often")
@pytest.mark.parametrize("kind", KINDS)
def test_training_in_eight_python_threads_at_once_gives_the_bits_of_one(kind, long, figure):
    f, few, many = KINDS[kind]
    steps = long(few, many) // 5 + 1
    alone = [f(steps, seed) for seed in range(THREADS)]
    assert len({*alone}) == THREADS
    assert in_threads(lambda i: f(steps, i)) == alone
    figure("trainings of the same bits in 8 Python threads", THREADS)
