"""Activations and norms: torch 2.13's results, first and second derivatives and exceptions."""

import builtins
import json
import math

import pytest
from reference import make_activations

import engine
from engine import nn
from engine.autograd import grad
from engine.nn import functional

TORCH = json.loads(make_activations.FILE.read_text(encoding="utf-8"))
CLOSE = {"float64": 1e-9, "float32": 1e-5, "float16": 1.5e-3}
# torch's second derivatives of these are sums of rounded parts in float16.
FIRST_ONLY = ("silu", "mish", "layer_norm", "batch_norm", "softsign", "gelu", "softm", "glu")


def near(a, b, limit):
    """Whether nested lists of numbers agree, but for the last digits."""
    if isinstance(a, list):
        return len(a) == len(b) and all(near(x, y, limit) for x, y in zip(a, b, strict=True))
    if isinstance(a, (str, bool)):
        return a == b
    return type(a) is type(b) and math.isclose(a, b, rel_tol=limit, abs_tol=limit)


def agrees(torch, found, limit):
    """Whether a result is torch's; an exception may be of a subclass."""
    if isinstance(torch, str) or isinstance(found, str):
        kinds = [getattr(builtins, str(x), None) for x in (found, torch)]
        return None not in kinds and issubclass(*kinds)
    return len(found) >= len(torch) and near(torch, found[: len(torch)], limit)


@pytest.mark.parametrize("dtype", make_activations.DTYPES)
def test_values_derivatives_and_exceptions_are_those_of_torch(dtype):
    wrong = []
    for expression in make_activations.EXPRESSIONS:
        torch = TORCH[f"{expression}, {dtype}"]
        if dtype == "float16" and expression.startswith(FIRST_ONLY):
            torch = torch[:4]
        found = make_activations.evaluate(engine, expression, dtype)
        if not agrees(torch, found, CLOSE.get(dtype, 1e-5)):
            wrong.append(f"{expression}: torch {torch}, engine {found}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("expression", make_activations.IN_PLACE)
def test_an_activation_in_place_returns_its_input(expression):
    x = engine.tensor([-2.0, 0.3, 7.0]) * 1.0
    assert eval(f"functional.{expression}", {"functional": functional, "x": x}) is x


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("relu6(x)", "HardtanhBackward0"),
        ("softshrink(x)", "SoftshrinkBackward0"),
        ("hardshrink(x)", "HardshrinkBackward0"),
        ("threshold(x, 0.0, 1.0)", "ThresholdBackward0"),
    ],
)
def test_nodes_of_straight_lines_are_named_as_those_of_torch(expression, name):
    x = engine.ones(2, requires_grad=True)
    y = eval(f"functional.{expression}", {"functional": functional, "x": x})
    assert y.grad_fn.name() == name


@pytest.mark.parametrize("create_graph", [False, True])
def test_straight_lines_pass_nan_and_stop_inf(create_graph):
    nan, inf = math.nan, math.inf
    x = engine.tensor([nan, 2.0, 0.5, -9.0], requires_grad=True)
    weights = engine.tensor([inf, inf, nan, nan])
    for f in (functional.hardtanh, lambda x: functional.threshold(x, 3.0, 1.0)):
        (g,) = grad(f(x), x, weights, create_graph=create_graph)
        assert g[0].item() == inf
        assert g[1].item() == g[3].item() == 0.0


def test_a_row_of_equal_float16_numbers_has_the_norm_0():
    # 60000 ** 2 is beyond float16; the mean of 3.3 four times is exact in float32.
    x = engine.tensor([[3.3] * 4, [60000.0] * 4, [1.0, 2.0, 3.0, 4.0]], dtype=engine.float16)
    y = functional.layer_norm(x, (4,))
    assert y.dtype is engine.float16
    assert y[:2].tolist() == [[0.0] * 4] * 2
    assert y[2].tolist() == [-1.341796875, -0.447265625, 0.447265625, 1.341796875]
    z = functional.batch_norm(x.t(), None, None, training=True)
    assert z.tolist() == y.t().tolist()


def test_batches_of_float16_move_the_running_numbers():
    norm = nn.BatchNorm1d(2).half()
    y = norm(engine.tensor([[1.0, 60000.0], [3.0, 60000.0]]).half())
    assert y.dtype is norm.running_mean.dtype is engine.float16
    assert norm.running_mean.tolist() == [0.199951171875, 6000.0]


BATCH = engine.ones(2, 3)
THREE, FOUR = engine.ones(3), engine.ones(4)


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: nn.BatchNorm1d(4)(BATCH), r"running_mean should contain 3 elements not 4: input "),
        (lambda: nn.BatchNorm1d(4).eval()(BATCH), r"of shape \(2, 3\) has 3 channels \(dimension"),
        (lambda: nn.BatchNorm2d(1)(engine.ones(2, 3, 5, 5)), r"make the layer with num_features=3"),
        (lambda: functional.batch_norm(BATCH, THREE, FOUR), r"running_var should contain 3 elem"),
        (
            lambda: functional.batch_norm(BATCH, THREE, THREE, FOUR),
            r"batch_norm: weight should co",
        ),
        (lambda: functional.batch_norm(BATCH, THREE, THREE, THREE, FOUR), r"batch_norm: bias shou"),
        (lambda: functional.layer_norm(BATCH, (3,), FOUR), r"layer_norm: weight must be of the "),
        (lambda: functional.layer_norm(BATCH, (3,), None, engine.ones(1)), r"bias .*; got \(1,\)"),
        (
            lambda: functional.prelu(BATCH, THREE.double()),
            r"prelu: .* one dtype; got .*float32 an",
        ),
        (lambda: functional.hardtanh(BATCH > 0), r"hardtanh: Bool inputs not supported: needs num"),
        (
            lambda: functional.gelu(BATCH.long()),
            r"gelu: not implemented for engine\.int64: input ",
        ),
    ],
)
def test_what_does_not_fit_is_refused_with_the_cure(use, message):
    with pytest.raises(RuntimeError, match=message):
        use()


def test_a_batch_without_channels_is_refused_with_the_cure():
    with pytest.raises(IndexError, match=r"got the shape \(3,\): write input\.unsqueeze\(0\)"):
        functional.batch_norm(THREE, None, None, training=True)


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_gradient_of_float64_keeps_its_digits_beside_integers(create_graph):
    x = engine.tensor([1.0, 2.0, 4.0], dtype=engine.float64, requires_grad=True)
    for y in (x.sum() / engine.tensor(3), x.sum() / engine.tensor([True])):
        (g,) = grad(y.sum(), x, create_graph=create_graph)
        assert g.tolist() in ([1 / 3] * 3, [1.0] * 3)
    (g,) = grad(functional.nll_loss(x.reshape(3, 1), engine.zeros(3).long()), x, create_graph=True)
    assert g.tolist() == [-1 / 3] * 3


@pytest.mark.parametrize("loss", ["mse_loss", "smooth_l1_loss", "huber_loss"])
def test_a_target_of_bools_counts_as_0_and_1(loss):
    x, target = engine.tensor([0.5, 2.0]), engine.tensor([False, True])
    found = getattr(functional, loss)(x, target).item()
    assert found == getattr(functional, loss)(x, target.float()).item()
