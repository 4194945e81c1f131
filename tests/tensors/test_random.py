"""Random tensors: reproducible, of the distributions they name, in place and out of place."""

import numpy as np
import pytest

import engine
from engine import Generator

DRAWS = {
    "rand": lambda g: engine.rand(3, 2, generator=g),
    "rand half": lambda g: engine.rand(3, dtype=engine.float16, generator=g),
    "randn": lambda g: engine.randn(size=(3, 2), generator=g),
    "randn double": lambda g: engine.randn(3, dtype=engine.float64, generator=g),
    "randint": lambda g: engine.randint(10, (3, 2), generator=g),
    "randint between": lambda g: engine.randint(-5, 5, size=(6,), generator=g),
    "randperm": lambda g: engine.randperm(8, generator=g),
    "normal": lambda g: engine.normal(engine.zeros(3), 2.0, generator=g),
    "bernoulli": lambda g: engine.bernoulli(engine.full((9,), 0.5), generator=g),
    "multinomial": lambda g: engine.multinomial(engine.ones(9), 4, generator=g),
    "uniform_": lambda g: engine.zeros(3).uniform_(-1, 1, generator=g),
    "normal_": lambda g: engine.zeros(3).normal_(1, 2, generator=g),
    "random_": lambda g: engine.zeros(6).random_(100, generator=g),
    "bernoulli_": lambda g: engine.zeros(9).bernoulli_(0.5, generator=g),
}


@pytest.mark.parametrize("name", DRAWS)
def test_a_seed_repeats_the_numbers_of_a_generator(name):
    first, again = (DRAWS[name](Generator().manual_seed(42)) for _ in range(2))
    other = DRAWS[name](Generator().manual_seed(43))
    assert first.tolist() == again.tolist()
    assert first.tolist() != other.tolist()


@pytest.mark.parametrize("name", DRAWS)
def test_manual_seed_repeats_the_numbers_of_the_default_generator(name):
    engine.manual_seed(7)
    first = DRAWS[name](None)
    engine.manual_seed(7)
    assert DRAWS[name](None).tolist() == first.tolist()


def test_a_generator_of_ones_own_leaves_the_default_one_alone():
    engine.manual_seed(7)
    first = engine.rand(2).tolist()
    engine.manual_seed(7)
    engine.rand(5, generator=Generator().manual_seed(1))
    assert engine.rand(2).tolist() == first


def test_seeds_can_be_read_and_states_put_back():
    assert engine.manual_seed(11).initial_seed() == 11 == engine.initial_seed()
    assert Generator().manual_seed(-1).initial_seed() == 2**64 - 1
    state = engine.get_rng_state()
    first = engine.rand(3).tolist()
    engine.set_rng_state(state)
    assert engine.rand(3).tolist() == first
    assert engine.seed() == engine.initial_seed()
    assert Generator("cpu").device == engine.device("cpu")


def test_a_new_generator_starts_from_a_fixed_seed():
    assert (
        engine.rand(2, generator=Generator()).tolist()
        == engine.rand(2, generator=Generator()).tolist()
    )


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: engine.manual_seed(1.5), TypeError, r"needs a whole number; got float"),
        (lambda: engine.manual_seed(2**64), RuntimeError, r"exceeds 64 bits"),
        (lambda: engine.rand(2, generator=3), TypeError, r"rand: generator .* got int"),
        (lambda: engine.rand(2, dtype=engine.int64), RuntimeError, r"rand: needs a floating dtype"),
        (lambda: engine.randint(3, 3, (2,)), RuntimeError, r"to be less than 'to'; got 3 >= 3"),
        (lambda: engine.randint(3), TypeError, r"randint\(high, size\)"),
        (lambda: engine.randperm(-1), RuntimeError, r"randperm: argument 'n' must be non-negative"),
        (lambda: engine.normal(0.0, -1.0, (2,)), RuntimeError, r"std >= 0\.0; got -1\.0"),
        (lambda: engine.normal(0.0, 1.0), TypeError, r"normal: .*need a size"),
        (lambda: engine.bernoulli(engine.tensor([2.0])), RuntimeError, r"Expected p_in"),
        (lambda: engine.multinomial(engine.zeros(3), 1), RuntimeError, r"weights is all 0"),
        (lambda: engine.multinomial(engine.eye(2), 2), RuntimeError, r"as many weights"),
        (lambda: engine.multinomial(-engine.ones(1), 1), RuntimeError, r"`inf`, `nan` or < 0"),
        (lambda: engine.multinomial(engine.ones(3), 0), RuntimeError, r"n_sample <= 0"),
        (lambda: engine.multinomial(engine.ones(1, 1, 1), 1), RuntimeError, r"or two dimensions"),
        (lambda: engine.zeros(2).uniform_(1, 0), RuntimeError, r"from_ <= to"),
        (lambda: engine.zeros(2).normal_(0, -1), RuntimeError, r"normal_: .* std >= 0"),
    ],
)
def test_misuse_is_refused_with_a_sentence(call, error, text):
    with pytest.raises(error, match=text):
        call()


def moments(t):
    return t.double().mean().item(), t.double().std().item()


def test_the_distributions_have_their_mean_and_spread():
    g, n = Generator().manual_seed(5), 40_000  # errors of the mean below 0.02 at four sigma
    assert moments(engine.rand(n, generator=g)) == pytest.approx((0.5, 12**-0.5), abs=0.02)
    assert moments(engine.randn(n, generator=g)) == pytest.approx((0.0, 1.0), abs=0.02)
    t = engine.normal(2.0, 0.5, (n,), generator=g)
    assert moments(t) == pytest.approx((2.0, 0.5), abs=0.02)
    t = engine.zeros(n).uniform_(-1, 3, generator=g)
    assert moments(t) == pytest.approx((1.0, 4 * 12**-0.5), abs=0.03)
    t = engine.zeros(n).bernoulli_(0.3, generator=g)
    assert t.mean().item() == pytest.approx(0.3, abs=0.02)
    drawn = engine.randint(0, 5, (n,), generator=g)
    assert np.bincount(drawn.numpy()) / n == pytest.approx([0.2] * 5, abs=0.02)


def test_multinomial_draws_by_weight_with_and_without_replacement():
    g = Generator().manual_seed(6)
    drawn = engine.multinomial(engine.tensor([1.0, 0.0, 3.0]), 20_000, True, generator=g)
    parts = np.bincount(drawn.numpy(), minlength=3) / 20_000
    assert parts == pytest.approx([0.25, 0, 0.75], abs=0.02)
    rows = engine.multinomial(engine.ones(4, 5), 5, generator=g)
    assert rows.shape == (4, 5)
    assert [sorted(row) for row in rows.tolist()] == [[0, 1, 2, 3, 4]] * 4


def test_randperm_holds_every_number_once():
    assert sorted(engine.randperm(50).tolist()) == list(range(50))
    assert engine.randperm(3, dtype=engine.float32).dtype is engine.float32


def test_like_functions_take_shape_and_dtype():
    x = engine.zeros(2, 3, dtype=engine.float64)
    for t in (engine.rand_like(x), engine.randn_like(x), engine.randint_like(x, 5)):
        assert t.shape == (2, 3)
        assert t.dtype is engine.float64
    assert engine.rand_like(x, dtype=engine.float32, requires_grad=True).requires_grad


def test_randint_takes_its_bounds_by_name():
    assert engine.randint(low=3, high=4, size=(2,)).tolist() == [3, 3]
    assert engine.randint(high=1, size=(2,)).tolist() == [0, 0]
    assert engine.randint(1, (2,), dtype=engine.float32).dtype is engine.float32


def test_means_and_spreads_may_be_tensors_and_get_no_gradient():
    mean = engine.tensor([0.0, 100.0], requires_grad=True)
    t = engine.normal(mean, engine.tensor([0.0, 1.0]))
    assert t[0].item() == 0.0
    assert 90 < t[1].item() < 110
    assert not t.requires_grad


def test_random_fills_with_every_number_that_the_dtype_holds_exactly():
    assert engine.zeros(100, dtype=engine.uint8).random_().max().item() > 100
    assert set(engine.zeros(100, dtype=engine.bool).random_().tolist()) == {True, False}
    assert set(engine.zeros(100).random_(2, 5).tolist()) == {2.0, 3.0, 4.0}
    assert engine.zeros(100).random_(3).max().item() == 2.0


@pytest.mark.parametrize("name", ["uniform_", "normal_", "random_", "bernoulli_"])
def test_new_numbers_in_place_cut_the_graph_and_count_as_a_change(name):
    x = engine.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=rf"{name}: a leaf Variable"):
        getattr(x, name)()
    y = x * 2.0
    before = y._version
    assert getattr(y, name)() is y
    assert y._version == before + 1
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]
    with engine.no_grad():
        getattr(x, name)()
    assert x.requires_grad


def test_random_leaves_can_require_grad():
    for t in (engine.rand(2, requires_grad=True), engine.randn(2, requires_grad=True)):
        assert t.is_leaf
        assert t.requires_grad
