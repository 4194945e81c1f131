"""Losses and layers: identities, random ones, and every error by its text."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import engine
from engine import nn
from engine.autograd import gradcheck, gradgradcheck
from engine.nn import functional as F

SIZES = st.integers(1, 5)


def randn(*shape, seed=0):
    numbers = np.random.default_rng(seed).standard_normal(shape)
    return engine.from_numpy(numbers)


@settings(max_examples=30, deadline=None)
@given(n=SIZES, k=SIZES, seed=st.integers(0, 999), scale=st.sampled_from([0.1, 1.0, 300.0]))
def test_cross_entropy_is_the_log_of_softmax_of_the_right_class(n, k, seed, scale):
    logits = (randn(n, k, seed=seed) * scale).requires_grad_()
    labels = engine.from_numpy(np.random.default_rng(seed).integers(0, k, n))
    loss = F.cross_entropy(logits, labels)
    loss.backward()
    z = logits.detach().numpy()
    z = z - z.max(1, keepdims=True)
    p = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    rows = np.arange(n), labels.numpy()
    assert loss.item() == pytest.approx(np.mean(np.log(np.exp(z).sum(1)) - z[rows]), abs=1e-12)
    p[rows] -= 1
    np.testing.assert_allclose(logits.grad.numpy(), p / n, atol=1e-12)


@settings(max_examples=15, deadline=None)
@given(n=SIZES, k=SIZES, seed=st.integers(0, 99))
def test_losses_pass_gradcheck(n, k, seed):
    x = randn(n, k, seed=seed).requires_grad_()
    y = randn(n, k, seed=seed + 1).requires_grad_()
    p = engine.sigmoid(randn(n, k, seed=seed + 2)).detach().requires_grad_()
    labels = engine.from_numpy(np.random.default_rng(seed).integers(0, k, n))
    check = engine.autograd.gradcheck
    assert check(F.mse_loss, (x, y))
    assert check(lambda x: F.cross_entropy(x, labels, label_smoothing=0.1), (x,))
    assert check(F.binary_cross_entropy_with_logits, (x, p))
    assert check(F.binary_cross_entropy, (p, p.detach().clone()))
    assert check(lambda x: F.layer_norm(x, (k,), eps=0.1), (x,))
    assert check(F.gelu, (x,))


@settings(max_examples=15, deadline=None)
@given(n=SIZES, k=SIZES, seed=st.integers(0, 99))
def test_second_derivatives_of_losses_pass_gradgradcheck(n, k, seed):
    x = randn(n, k, seed=seed).requires_grad_()
    p = engine.sigmoid(randn(n, k, seed=seed + 2)).detach().requires_grad_()
    labels = engine.from_numpy(np.random.default_rng(seed).integers(0, k, n))
    check = engine.autograd.gradgradcheck
    assert check(lambda x: F.cross_entropy(x, labels), (x,))
    target = p.detach() * 0.5
    assert check(lambda p: F.binary_cross_entropy(p, target), (p,))
    assert check(lambda x: F.layer_norm(x, (k,), eps=0.1), (x,))


@pytest.mark.parametrize("p", [0.0, 0.25, 0.9, 1.0])
def test_dropout_keeps_the_mean_and_drops_its_share(p):
    engine.manual_seed(3)
    x = engine.ones(40_000, requires_grad=True)
    y = F.dropout(x, p)
    dropped = (y == 0).double().mean().item()
    assert dropped == pytest.approx(p, abs=4 * math.sqrt(p * (1 - p) / 40_000))
    if p < 1:
        kept = y[y != 0]
        np.testing.assert_allclose(kept.detach().numpy(), 1 / (1 - p), rtol=1e-6)
    y.sum().backward()
    assert x.grad.tolist() == y.tolist()


def test_dropout_rests_outside_training_and_can_work_in_place():
    x = engine.ones(8)
    layer = nn.Dropout(0.5, inplace=True)
    assert layer.eval()(x) is x
    engine.manual_seed(1)
    assert layer.train()(x) is x
    assert set(x.tolist()) == {0.0, 2.0}


def test_dropout_draws_anew_each_time_and_the_same_for_one_seed():
    def draw():
        return F.dropout(engine.ones(64)).tolist()

    engine.manual_seed(0)
    first, second = draw(), draw()
    engine.manual_seed(0)
    assert first != second
    assert draw() == first


@pytest.mark.parametrize("p", [-0.1, 1.5, math.nan])
def test_dropout_refuses_what_is_no_probability(p):
    with pytest.raises(ValueError, match="dropout: p, the probability of a zero, must be from 0"):
        F.dropout(engine.ones(1), p)
    with pytest.raises(ValueError, match="Dropout: p"):
        nn.Dropout(p)


def test_relu_and_leaky_relu_work_in_place_on_request():
    for layer in (nn.ReLU(inplace=True), nn.LeakyReLU(0.5, inplace=True)):
        x = engine.tensor([-2.0, 3.0], requires_grad=True)
        y = x * 1.0
        assert layer(y) is y
        y.sum().backward()
        slope = 0.0 if isinstance(layer, nn.ReLU) else 0.5
        assert y.tolist() == [-2.0 * slope, 3.0]
        assert x.grad.tolist() == [slope, 1.0]


def test_softmax_without_dim_takes_torchs_choice_and_warns():
    x = randn(2, 3)
    with pytest.warns(UserWarning, match="softmax: dim is not given; 1 is taken: write dim=1"):
        assert nn.Softmax()(x).tolist() == x.softmax(1).tolist()
    with pytest.warns(UserWarning, match="log_softmax: dim is not given; 0 is taken"):
        F.log_softmax(x[0])
    assert F.softmax(x, 1, dtype=engine.float32).dtype == engine.float32
    assert F.log_softmax(x, 1, dtype=engine.float32).dtype == engine.float32


def test_gelu_refuses_another_approximation():
    with pytest.raises(RuntimeError, match="approximate must be 'none' or 'tanh'; got 'erf'"):
        F.gelu(randn(2), approximate="erf")


def test_the_tanh_form_of_gelu_is_as_close_as_its_page_says():
    x = engine.linspace(-8, 8, 4001, dtype=engine.float64)
    gap = (F.gelu(x) - F.gelu(x, approximate="tanh")).abs().max().item()
    assert 1e-4 < gap < 5e-4


def test_embedding_refuses_rows_that_are_not_there():
    table = nn.Embedding(3, 2)
    with pytest.raises(IndexError, match="embedding: input must hold classes from 0 to 2; got 3"):
        table(engine.tensor([0, 3]))
    with pytest.raises(RuntimeError, match=r"whole numbers \(int64\); got .*float32: write .long"):
        table(engine.tensor([0.0]))
    with pytest.raises(ValueError, match="Embedding: padding_idx must be within the 3 rows"):
        nn.Embedding(3, 2, padding_idx=3)
    with pytest.raises(ValueError, match=r"embedding: padding_idx .* got -4"):
        F.embedding(engine.tensor([0]), table.weight, padding_idx=-4)


def test_embedding_adds_up_the_gradients_of_repeated_rows():
    table = nn.Embedding(4, 2, padding_idx=1)
    assert table.weight[1].tolist() == [0.0, 0.0]
    table(engine.tensor([[0, 0, 1], [2, 0, 1]])).sum().backward()
    assert table.weight.grad.tolist() == [[3.0, 3.0], [0.0, 0.0], [1.0, 1.0], [0.0, 0.0]]


def test_layer_norm_gives_mean_zero_and_variance_one():
    layer = nn.LayerNorm((3, 4)).double()
    y = layer(randn(5, 3, 4) * 7 + 3)
    np.testing.assert_allclose(y.mean((1, 2)).tolist(), 0, atol=1e-12)
    np.testing.assert_allclose((y * y).mean((1, 2)).tolist(), 1, atol=1e-5)
    assert nn.LayerNorm(2, bias=False).bias is None
    assert nn.LayerNorm(2, elementwise_affine=False).weight is None
    layer.weight.data.fill_(4.0)
    layer.reset_parameters()
    assert bool((layer.weight == 1).all())


def test_layer_norm_may_be_changed_in_place_before_backward():
    x = randn(2, 4).requires_grad_()

    def changed(x):
        return F.layer_norm(x, (4,), eps=0.1).mul_(2.0)

    assert gradcheck(changed, x)
    assert gradgradcheck(changed, x)


def test_layer_norm_refuses_an_input_of_other_sizes():
    with pytest.raises(RuntimeError, match=r"must end in the sizes \(4,\) .*; got \(2, 3\)"):
        nn.LayerNorm(4)(engine.ones(2, 3))


def test_linear_starts_within_its_bound_and_takes_a_dtype():
    engine.manual_seed(0)
    layer = nn.Linear(100, 50, dtype=engine.float64)
    assert layer.weight.dtype == layer.bias.dtype == engine.float64
    for tensor in (layer.weight, layer.bias):
        assert tensor.abs().max().item() <= 0.1
        assert tensor.abs().max().item() > 0.09
    with pytest.warns(UserWarning, match="zero-element"):
        assert nn.Linear(0, 2).bias.tolist() == [0.0, 0.0]


def test_linear_refuses_an_input_of_another_size():
    with pytest.raises(RuntimeError, match=r"3.*4|4.*3"):
        nn.Linear(3, 2)(engine.ones(2, 4))


def test_identity_ignores_arguments_and_gives_its_input():
    x = engine.ones(1)
    assert nn.Identity(3, unused=4)(x) is x


def test_one_hot_refuses_classes_out_of_range():
    assert F.one_hot(engine.tensor([1])).tolist() == [[0, 1]]
    with pytest.raises(RuntimeError, match="one_hot: tensor must hold classes from 0 to 1; got 2"):
        F.one_hot(engine.tensor([2]), 2)
    with pytest.raises(RuntimeError, match=r"one_hot: .*got -1"):
        F.one_hot(engine.tensor([-1, 2]))
    with pytest.raises(RuntimeError, match="num_classes must be given for an empty tensor"):
        F.one_hot(engine.zeros(0, dtype=engine.int64))
    assert F.one_hot(engine.zeros(0, dtype=engine.int64), 3).shape == (0, 3)


def test_mse_loss_warns_where_shapes_broadcast():
    with pytest.warns(UserWarning, match=r"input \(3, 1\) and target \(3,\) differ in shape"):
        F.mse_loss(engine.ones(3, 1), engine.ones(3))


def test_cross_entropy_needs_one_class_per_row():
    with pytest.raises(ValueError, match=r"got input \(2, 3\) and target \(1,\)"):
        F.cross_entropy(engine.zeros(2, 3), engine.tensor([0]))
    with pytest.raises(ValueError, match=r"nll_loss: .*got input \(\) and target \(\)"):
        F.nll_loss(engine.zeros(()), engine.tensor(0))


@pytest.mark.parametrize("label", [-1, 3])
def test_cross_entropy_refuses_a_class_out_of_bounds(label):
    with pytest.raises(IndexError, match=f"cross_entropy: target .* 0 to 2; got {label}, which"):
        F.cross_entropy(engine.zeros(2, 3), engine.tensor([0, label]))


def test_cross_entropy_refuses_classes_given_as_floats():
    with pytest.raises(RuntimeError, match=r"are probabilities .*got \(2,\): .*write .long\(\)"):
        F.cross_entropy(engine.zeros(2, 3), engine.tensor([0.0, 1.0]))


def test_cross_entropy_of_rows_that_are_all_ignored_is_nan():
    loss = F.cross_entropy(engine.zeros(2, 3), engine.tensor([-100, -100]))
    assert math.isnan(loss.item())


def test_an_ignored_row_passes_no_gradient_even_when_it_is_infinite():
    x = engine.tensor([[0.0, 1.0], [-math.inf, 0.0]], requires_grad=True)
    F.nll_loss(x, engine.tensor([0, -100])).backward()
    assert x.grad.tolist() == [[-1.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize("share", [-0.1, 1.1])
def test_cross_entropy_refuses_a_smoothing_out_of_range(share):
    with pytest.raises(RuntimeError, match=f"label_smoothing must be from 0 to 1; got {share}"):
        F.cross_entropy(engine.zeros(2, 3), engine.tensor([0, 1]), label_smoothing=share)


@pytest.mark.parametrize("loss", [F.binary_cross_entropy, F.binary_cross_entropy_with_logits])
def test_binary_losses_need_equal_shapes(loss):
    with pytest.raises(ValueError, match=rf"{loss.__name__}: target must have the shape of input"):
        loss(engine.zeros(2), engine.zeros(3))


def test_binary_cross_entropy_refuses_scores():
    with pytest.raises(RuntimeError, match="between 0 and 1; for scores use binary_cross"):
        F.binary_cross_entropy(engine.tensor([1.5]), engine.tensor([1.0]))


@pytest.mark.parametrize(
    "loss",
    [
        lambda **options: F.mse_loss(engine.ones(2), engine.ones(2), **options),
        lambda **options: F.cross_entropy(engine.ones(2, 2), engine.tensor([0, 1]), **options),
        lambda **options: F.nll_loss(engine.ones(2, 2), engine.tensor([0, 1]), **options),
        lambda **options: F.binary_cross_entropy(engine.ones(2), engine.ones(2), **options),
    ],
    ids=["mse", "cross_entropy", "nll", "binary_cross_entropy"],
)
def test_an_unknown_reduction_is_refused(loss):
    with pytest.raises(ValueError, match="reduction must be 'mean', 'sum' or 'none'; got 'max'"):
        loss(reduction="max")


def test_softshrink_keeps_double_precision():
    x = engine.tensor([1.0, -1.0, 0.1], dtype=engine.float64)
    y = F.softshrink(x, 0.3)
    assert (y.dtype, y.tolist()) == (engine.float64, [0.7, -0.7, 0.0])


def test_celu_of_a_negative_alpha_is_its_formula():
    y = F.celu(engine.tensor([1.0, -1.0], dtype=engine.float64), -2.0)
    assert y.tolist() == pytest.approx([1.0, -2.0 * np.expm1(0.5)], rel=1e-12)


def test_huber_loss_has_a_finite_slope_at_infinite_differences():
    x = engine.tensor([np.inf, -np.inf, 3.0, 0.5], requires_grad=True)
    F.huber_loss(x, engine.zeros(4), reduction="none").backward(engine.ones(4))
    assert x.grad.tolist() == [1.0, -1.0, 1.0, 0.5]


@pytest.mark.parametrize("beta", [0.5, 1.0, 4.0])
def test_the_second_derivative_of_a_smooth_loss_is_that_of_its_square_where_it_is_0(beta):
    x = engine.tensor([0.0, 0.25, -0.25, 9.0], dtype=engine.float64, requires_grad=True)
    for loss, curvature in (
        (F.smooth_l1_loss(x, engine.zeros(4), "sum", beta), 1.0 / beta),
        (F.huber_loss(x, engine.zeros(4), "sum", beta), 1.0),
    ):
        (slope,) = engine.autograd.grad(loss, x, create_graph=True)
        (second,) = engine.autograd.grad(slope.sum(), x)
        assert second.tolist() == [curvature, curvature, curvature, 0.0]


def test_cosine_similarity_takes_lengths_of_what_was_broadcast():
    assert F.cosine_similarity(engine.ones(1), engine.ones(4), dim=0).item() == 1.0
    assert F.cosine_similarity(engine.ones(3, 1), engine.ones(4), dim=1).tolist() == [1.0] * 3
    x = randn(1, 4, seed=1).requires_grad_()
    y = randn(3, 1, seed=2).requires_grad_()
    assert engine.autograd.gradcheck(F.cosine_similarity, (x, y))


def test_cosine_similarity_promotes_integers_beside_floats():
    whole = engine.tensor([3, 4])
    for kind in (engine.float32, engine.float64):
        y = F.cosine_similarity(whole, engine.tensor([1.0, 0.0], dtype=kind), dim=0)
        assert (y.dtype, y.item()) == (kind, pytest.approx(0.6))
    with pytest.raises(RuntimeError, match="dtype must be a floating point dtype"):
        F.cosine_similarity(whole, whole, dim=0)


def test_cross_entropy_of_probabilities_has_no_class_to_ignore():
    p = engine.full((2, 3), 1 / 3)
    with pytest.raises(RuntimeError, match=r"floating point target.*got ignore_index=1.*int64"):
        F.cross_entropy(engine.zeros(2, 3), p, ignore_index=1)
    assert F.cross_entropy(engine.zeros(2, 3), p, ignore_index=-1).item() > 1.0


@pytest.mark.parametrize("share", [0.0, 0.1])
def test_cross_entropy_of_probabilities_of_no_classes_is_nan(share):
    of = engine.zeros(2, 0), engine.zeros(2, 0)
    assert math.isnan(F.cross_entropy(*of, label_smoothing=share).item())
    assert F.cross_entropy(*of, label_smoothing=share, reduction="sum").item() == 0.0


def test_numbers_without_a_dimension_have_their_losses_and_errors():
    loss = F.kl_div(engine.tensor(-0.5), engine.tensor(1.0), reduction="batchmean")
    assert (loss.shape, loss.item()) == ((), 0.5)
    assert F.prelu(engine.tensor(-2.0), engine.tensor([0.25])).shape == ()
    with pytest.raises(RuntimeError, match="glu: input needs a dimension"):
        F.glu(engine.tensor(1.0))


def test_an_empty_batch_leaves_the_running_moments():
    norm = nn.BatchNorm1d(3)
    assert norm(engine.zeros(0, 3)).shape == (0, 3)
    assert (norm.running_mean.tolist(), norm.running_var.tolist()) == ([0.0] * 3, [1.0] * 3)


def test_a_net_learns_exclusive_or():
    engine.manual_seed(0)
    x = engine.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y = engine.tensor([0, 1, 1, 0])
    net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 2))
    optimizer = engine.optim.Adam(net.parameters(), lr=0.05)
    for _ in range(200):
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()
    assert net(x).argmax(1).tolist() == [0, 1, 1, 0]
