"""Starting numbers: bounds, spreads, old spellings, and what is refused."""

import math

import pytest

import engine
from engine import nn

SHAPE = (60, 50)


@pytest.fixture(autouse=True)
def seed():
    engine.manual_seed(0)


@pytest.mark.parametrize(
    ("fill", "bound"),
    [
        (lambda t: nn.init.uniform_(t, -2.0, 2.0), 2.0),
        (nn.init.xavier_uniform_, math.sqrt(6 / 110)),
        (lambda t: nn.init.xavier_uniform_(t, gain=3.0), 3 * math.sqrt(6 / 110)),
        (nn.init.kaiming_uniform_, math.sqrt(6 / 50)),
        (lambda t: nn.init.kaiming_uniform_(t, a=math.sqrt(5)), 1 / math.sqrt(50)),
        (lambda t: nn.init.kaiming_uniform_(t, mode="fan_out"), math.sqrt(6 / 60)),
    ],
    ids=["uniform", "xavier", "xavier with gain", "kaiming", "kaiming with a", "kaiming fan_out"],
)
def test_uniform_numbers_fill_their_range(fill, bound):
    t = engine.zeros(*SHAPE)
    assert fill(t) is t
    assert 0.995 * bound < t.abs().max().item() <= bound * (1 + 1e-6)
    assert t.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.05)


@pytest.mark.parametrize(
    ("fill", "mean", "std"),
    [
        (lambda t: nn.init.normal_(t, 3.0, 2.0), 3.0, 2.0),
        (nn.init.xavier_normal_, 0.0, math.sqrt(2 / 110)),
        (nn.init.kaiming_normal_, 0.0, math.sqrt(2 / 50)),
        (
            lambda t: nn.init.kaiming_normal_(t, mode="fan_out", nonlinearity="tanh"),
            0.0,
            5 / 3 / math.sqrt(60),
        ),
    ],
    ids=["normal", "xavier", "kaiming", "kaiming fan_out"],
)
def test_normal_numbers_have_their_mean_and_deviation(fill, mean, std):
    t = engine.zeros(*SHAPE)
    assert fill(t) is t
    assert t.mean().item() == pytest.approx(mean, abs=4 * std / math.sqrt(3000))
    assert t.std().item() == pytest.approx(std, rel=0.06)


def test_constants_fill_parameters_without_a_graph():
    p = nn.Parameter(engine.empty(2, 2))
    for fill, number in ((nn.init.zeros_, 0.0), (nn.init.ones_, 1.0)):
        assert fill(p) is p
        assert p.is_leaf
        assert p.requires_grad
        assert p.flatten().tolist() == [number] * 4
    assert nn.init.constant_(p, 0.25).flatten().tolist() == [0.25] * 4


def test_fans_count_the_later_dimensions():
    t = engine.zeros(20, 30, 7, 5)
    nn.init.xavier_uniform_(t)
    bound = math.sqrt(6 / (50 * 35))
    assert 0.99 * bound < t.abs().max().item() <= bound * (1 + 1e-6)


def test_a_generator_of_ones_own_gives_the_same_numbers():
    def draw(fill):
        generator = engine.Generator().manual_seed(42)
        return fill(engine.zeros(3, 4), generator=generator).tolist()

    for name in ("uniform_", "normal_", "xavier_uniform_", "kaiming_normal_"):
        fill = getattr(nn.init, name)
        assert draw(fill) == draw(fill)


@pytest.mark.parametrize(
    ("name", "gain"),
    [
        ("linear", 1.0),
        ("conv2d", 1.0),
        ("sigmoid", 1.0),
        ("tanh", 5 / 3),
        ("relu", math.sqrt(2)),
        ("selu", 0.75),
        ("leaky_relu", math.sqrt(2 / (1 + 0.01**2))),
    ],
)
def test_gains_are_those_of_torch(name, gain):
    assert nn.init.calculate_gain(name) == pytest.approx(gain, rel=1e-15)


def test_gains_of_unknown_names_and_slopes_are_refused():
    assert nn.init.calculate_gain("leaky_relu", 3) == pytest.approx(math.sqrt(0.2))
    with pytest.raises(ValueError, match="Unsupported nonlinearity swish; known are leaky_relu,"):
        nn.init.calculate_gain("swish")
    with pytest.raises(ValueError, match="negative_slope True not a valid number"):
        nn.init.calculate_gain("leaky_relu", True)


@pytest.mark.parametrize(
    "name", ["xavier_uniform_", "xavier_normal_", "kaiming_uniform_", "kaiming_normal_"]
)
def test_a_bias_has_no_fans(name):
    with pytest.raises(ValueError, match=rf"{name}: .*at least 2 dimensions .*\(3,\).*uniform_"):
        getattr(nn.init, name)(engine.zeros(3))


def test_an_unknown_fan_is_refused():
    with pytest.raises(ValueError, match="mode must be 'fan_in' or 'fan_out'; got 'fan'"):
        nn.init.kaiming_normal_(engine.zeros(2, 2), mode="fan")


@pytest.mark.parametrize("name", ["kaiming_uniform_", "kaiming_normal_"])
def test_an_empty_tensor_is_left_alone_with_a_warning(name):
    t = engine.zeros(0, 3)
    with pytest.warns(UserWarning, match=f"{name}: initializing zero-element tensors is a no-op"):
        assert getattr(nn.init, name)(t) is t


@pytest.mark.parametrize(
    "old",
    [
        "uniform",
        "normal",
        "constant",
        "xavier_uniform",
        "xavier_normal",
        "kaiming_uniform",
        "kaiming_normal",
    ],
)
def test_old_spellings_warn_and_do_the_same(old):
    arguments = (0.5,) if old == "constant" else ()
    engine.manual_seed(7)
    expected = getattr(nn.init, old + "_")(engine.zeros(3, 4), *arguments).tolist()
    engine.manual_seed(7)
    with pytest.warns(FutureWarning, match=f"nn.init.{old} is now deprecated in favor of nn.init"):
        filled = getattr(nn.init, old)(engine.zeros(3, 4), *arguments)
    assert filled.tolist() == expected
    assert getattr(nn.init, old).__name__ == old
