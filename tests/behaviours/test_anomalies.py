"""Anomaly detection: a nan in backward, and where its forward was."""

import sys
import warnings

import pytest

import engine as torch

ENABLED = pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled")


class Fails(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        raise RuntimeError("my error")


class NaN(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, in_first):
        ctx.in_first = in_first
        return x.clone(), x.clone()

    @staticmethod
    def backward(ctx, g1, g2):
        return (g1 + g2) * float("nan"), None


@ENABLED
def test_a_nan_in_backward_raises_with_the_node_and_the_output():
    x = torch.rand(10, requires_grad=True)
    with (
        pytest.warns(UserWarning, match="Traceback of forward call"),
        pytest.raises(RuntimeError, match="'NaNBackward' returned nan values in its 0th"),
        torch.autograd.detect_anomaly(),
    ):
        torch.add(*NaN.apply(x, True)).sum().backward()


@ENABLED
def test_the_warning_points_to_the_line_of_the_forward():
    x = torch.rand(10, requires_grad=True)

    def marked_forward():
        return Fails.apply(x)

    with (
        pytest.warns(UserWarning, match="marked_forward") as seen,
        pytest.raises(RuntimeError, match="my error"),
        torch.autograd.detect_anomaly(),
    ):
        marked_forward().sum().backward()
    assert any("Error detected in FailsBackward" in str(w.message) for w in seen)


def test_a_nan_that_is_not_looked_for_does_not_raise():
    x = torch.tensor([0.0], requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autograd.detect_anomaly(check_nan=False):
            (x * float("nan")).sum().backward()
    assert x.grad.isnan().all()


def test_errors_are_raised_also_where_warnings_are_errors():
    x = torch.rand(3, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        guard = torch.autograd.detect_anomaly()
    with guard:
        y = Fails.apply(x).sum()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(RuntimeError, match="my error") as caught:
                y.backward()
    del caught


def test_anomaly_detection_warns_that_it_is_slow():
    slow = pytest.warns(UserWarning, match="Anomaly Detection has been enabled")
    with slow, torch.autograd.detect_anomaly():
        pass


def test_set_detect_anomaly_is_a_block_and_a_plain_call():
    assert not torch.is_anomaly_enabled()
    with torch.autograd.set_detect_anomaly(True):
        assert torch.is_anomaly_enabled()
        assert torch.is_anomaly_check_nan_enabled()
        with torch.autograd.set_detect_anomaly(False):
            assert not torch.is_anomaly_enabled()
    torch.autograd.set_detect_anomaly(True, check_nan=False)
    assert torch.is_anomaly_enabled()
    assert not torch.is_anomaly_check_nan_enabled()
    torch.autograd.set_detect_anomaly(False)
    assert not torch.is_anomaly_enabled()


def test_a_nan_in_a_second_derivative_names_the_parents_of_its_node():
    x = torch.rand(10, requires_grad=True)

    def second_derivative():
        y = (x * 0.0) ** 1.5
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        g.sum().backward()

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with pytest.raises(RuntimeError, match="returned nan"), torch.autograd.detect_anomaly():
            second_derivative()
    text = " ".join(str(w.message) for w in seen)
    assert "PowBackward0" in text
    assert "No forward pass information" not in text


def test_anomaly_mode_leaves_nothing_on_after_an_error():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(KeyError), torch.autograd.detect_anomaly():
            raise KeyError
    assert not torch.is_anomaly_enabled()
    assert sys.exc_info()[0] is None
