"""Cross-entropy and negative log-likelihood in one step, against softmax and picking by hand."""

import numpy as np
import pytest

import engine
from engine.autograd import grad, gradcheck, gradgradcheck
from engine.ops.losses import CrossEntropy, NllLoss

IGNORED = -100


def used(classes):
    """Which classes count, as a loss takes it: None where all do."""
    counts = classes != IGNORED
    return None if counts.all() else counts
SHAPES = {"rows": ((4, 3), (4,), 1), "one row": ((3,), (), 0), "planes": ((2, 3, 2), (2, 2), 1)}


def inputs_for(shape, classes, rng):
    scores = engine.tensor(3.0 * rng.normal(size=shape), requires_grad=True)
    return scores, engine.tensor(rng.integers(0, 3, classes))


def by_hand(scores, classes, dim):
    """Minus the logarithm of each right class's softmax, 0 for the ignored."""
    kept = (classes != IGNORED).to(scores.dtype)
    places = (classes * (classes != IGNORED)).unsqueeze(dim)
    return -scores.log_softmax(dim).gather(dim, places).squeeze(dim) * kept


@pytest.mark.parametrize("ignore", [False, True])
@pytest.mark.parametrize("name", SHAPES)
def test_value_and_derivatives_up_to_the_third_are_those_of_log_softmax(name, ignore, rng):
    shape, classes, dim = SHAPES[name]
    x, t = inputs_for(shape, classes, rng)
    if ignore:
        t.numpy().flat[0] = IGNORED
    w = engine.tensor(rng.normal(size=classes))
    ours, theirs = CrossEntropy.apply(x, t, used(t), dim), by_hand(x, t, dim)
    assert ours.shape == theirs.shape
    for _ in range(4):
        np.testing.assert_allclose(
            ours.numpy(force=True), theirs.numpy(force=True), rtol=1e-9, atol=1e-12
        )
        if not ours.requires_grad:
            break
        w = engine.tensor(rng.normal(size=ours.shape))
        (ours,) = grad((ours * w).sum(), x, create_graph=True)
        (theirs,) = grad((theirs * w).sum(), x, create_graph=True)


@pytest.mark.parametrize("name", SHAPES)
def test_first_and_second_derivatives_match_differences(name, rng):
    shape, classes, dim = SHAPES[name]
    x, t = inputs_for(shape, classes, rng)
    for loss in (CrossEntropy, NllLoss):
        assert gradcheck(lambda x, loss=loss: loss.apply(x, t, used(t), dim), x)
        assert gradgradcheck(lambda x, loss=loss: loss.apply(x, t, used(t), dim), x)


def test_the_gradient_is_softmax_less_one_hot():
    x = engine.tensor([[0.0, 0.0]], dtype=engine.float64, requires_grad=True)
    CrossEntropy.apply(x, engine.tensor([1]), None, 1).sum().backward()
    assert x.grad.tolist() == [[0.5, -0.5]]


def test_huge_scores_give_finite_losses_and_slopes():
    x = engine.tensor([[1e4, 0.0, -1e4]], dtype=engine.float64, requires_grad=True)
    y = CrossEntropy.apply(x, engine.tensor([2]), None, 1)
    assert y.item() == 2e4
    assert grad(y.sum(), x)[0].tolist() == [[1.0, 0.0, -1.0]]


def test_an_ignored_row_gets_loss_and_slope_0_whatever_its_scores():
    nan = float("nan")
    x = engine.tensor([[nan, 1.0], [0.0, 0.0]], requires_grad=True)
    t = engine.tensor([IGNORED, 0])
    for loss in (CrossEntropy, NllLoss):
        y = loss.apply(x, t, used(t), 1)
        assert y[0].item() == 0.0
        assert grad(y.sum(), x)[0][0].tolist() == [0.0, 0.0]


def test_no_rows_give_no_losses():
    x = engine.zeros(0, 3, requires_grad=True)
    for loss in (CrossEntropy, NllLoss):
        y = loss.apply(x, engine.zeros(0, dtype=engine.int64), None, 1)
        assert y.shape == (0,)
        y.sum().backward()
    assert x.grad.shape == (0, 3)


def test_dtypes_stay():
    for dtype in (engine.float16, engine.float32, engine.float64):
        x = engine.ones(2, 3, dtype=dtype, requires_grad=True)
        y = CrossEntropy.apply(x * 1.0, engine.tensor([0, 1]), None, 1)
        assert y.dtype is dtype
        assert grad(y.sum(), x)[0].dtype is dtype


def test_scores_changed_after_the_loss_leave_its_derivatives_as_they_were(rng):
    x, t = inputs_for((4, 3), (4,), rng)

    def after_a_change(x):
        scores = x * 1.0
        y = CrossEntropy.apply(scores, t, None, 1)
        scores.mul_(2.0)
        return y

    (expected,) = grad(CrossEntropy.apply(x, t, None, 1).sum(), x)
    assert grad(after_a_change(x).sum(), x)[0].tolist() == expected.tolist()
    assert gradcheck(after_a_change, x)
    assert gradgradcheck(after_a_change, x)
