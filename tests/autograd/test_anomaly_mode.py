"""Anomaly detection: nan and errors in backward name the line that made the node; first_nan."""

import math
import threading
import warnings

import pytest

import engine
from engine import Function, Value, first_nan, modes
from engine.autograd import anomaly_mode, detect_anomaly, grad, set_detect_anomaly

ENABLED = "Anomaly Detection has been enabled"


@pytest.fixture(autouse=True)
def nothing_is_left():
    yield
    assert modes.observers() == ()


def root_of(x):
    return (x.sqrt() * 0.0).sum()  # the line that is looked for


HERE = r'File ".*test_anomaly_mode\.py", line \d+, in root_of\n'
LINE = r"return \(x\.sqrt\(\) \* 0\.0\)\.sum\(\)  # the line that is looked for"


def zeros():
    return engine.zeros(2, requires_grad=True)


def collected(call):
    """The error of a call and its warnings, the one of switching on left out."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(RuntimeError) as raised:
            call()
    texts = [str(w.message) for w in caught]
    return str(raised.value), [text for text in texts if ENABLED not in text]


@pytest.mark.parametrize("leaf", [zeros, lambda: Value(0.0)], ids=["tensor", "value"])
def test_a_nan_in_backward_names_node_output_and_line(leaf):
    def run():
        with detect_anomaly():
            root = root_of(leaf()) if leaf is zeros else leaf().sqrt() * 0.0
            grad(root, root_inputs(root))

    error, found = collected(run)
    assert "Function 'SqrtBackward0' returned nan values in its 0th output." in error
    assert "Error detected in SqrtBackward0. Traceback of forward call" in found[0]
    assert "test_anomaly_mode.py" in found[0]


def root_inputs(root):
    """The leaf below a root."""
    node = root.grad_fn
    while node.next_functions:
        node = node.next_functions[0][0]
    return [node.variable]


def test_the_line_of_the_user_is_shown_and_the_innermost_comes_last():
    import re

    def run():
        with detect_anomaly():
            root_of(zeros()).backward()

    error, found = collected(run)
    for text in (error, found[0]):
        assert re.search(HERE + ".*" + LINE + r"\s*$", text)
    assert "site-packages" in found[0] or "engine/tensors" not in found[0]


def test_a_graph_made_outside_has_no_line():
    root = root_of(zeros())

    def run():
        with detect_anomaly():
            root.backward()

    error, found = collected(run)
    assert error == "Function 'SqrtBackward0' returned nan values in its 0th output."
    assert found == [f"Error detected in SqrtBackward0. {anomaly_mode.NO_PLACE}"]


def test_without_the_mode_a_nan_passes():
    x = zeros()
    root_of(x).backward()
    assert all(math.isnan(g) for g in x.grad.tolist())


def test_check_nan_off_lets_nan_pass_and_still_tells_errors():
    x = zeros()
    with pytest.warns(UserWarning, match=ENABLED):
        mode = detect_anomaly(check_nan=False)
    with mode:
        assert anomaly_mode.is_anomaly_enabled()
        assert not anomaly_mode.is_anomaly_check_nan_enabled()
        root_of(x).backward()
    assert math.isnan(x.grad[0].item())


class Broken(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, g):
        raise RuntimeError("Simulate error on backward pass")


def test_an_error_in_backward_warns_of_the_node_and_passes_through():
    def run():
        with detect_anomaly():
            Broken.apply(zeros()).sum().backward()

    error, found = collected(run)
    assert error == "Simulate error on backward pass"
    assert len(found) == 1
    assert "Error detected in BrokenBackward. Traceback" in found[0]
    assert "Broken.apply(zeros())" in found[0]


def test_where_warnings_are_errors_it_is_printed(capsys):
    with pytest.warns(UserWarning, match=ENABLED):
        mode = detect_anomaly()
    with mode:
        root = Broken.apply(zeros()).sum()
        with warnings.catch_warnings(action="error"), pytest.raises(RuntimeError, match="Simulate"):
            root.backward()
    assert "Error detected in BrokenBackward" in capsys.readouterr().err


class Two(Function):
    """Its backward gives nan to the argument asked for."""

    @staticmethod
    def forward(ctx, a, b, place):
        ctx.place = place
        return a * 1 + b * 1

    @staticmethod
    def backward(ctx, g):
        nan = g * float("nan")
        return (nan, g, None) if ctx.place == 0 else (None, nan, None)


@pytest.mark.parametrize("place", [0, 1])
def test_the_output_is_counted_by_arguments(place):
    x = zeros()

    def run():
        with detect_anomaly():
            Two.apply(x, x, place).sum().backward()

    error, found = collected(run)
    assert f"Function 'TwoBackward' returned nan values in its {place}th output." in error
    assert "Two.apply(x, x, place)" in found[0]


def test_second_derivatives_name_the_backward_that_made_the_node():
    def run():
        with detect_anomaly():
            x = zeros()
            (g,) = grad((x**1.5).sum(), x, create_graph=True)
            (g * 0.0).sum().backward()

    error, found = collected(run)
    assert "'PowBackward1' returned nan" in error
    assert "Error detected in PowBackward1." in found[0]
    assert "Previous calculation was induced by PowBackward0. Traceback" in found[1]
    assert "grad((x**1.5).sum(), x, create_graph=True)" in found[1]


@pytest.mark.parametrize("x", [engine.tensor([-1.0]), Value(-1.0)], ids=["tensor", "value"])
def test_a_nan_in_forward_is_refused_where_asked(x):
    with set_detect_anomaly(True, check_forward=True):
        y = x * float("nan")  # made of a nan, so not the first
        assert y is not None
        with pytest.raises(RuntimeError, match=r"Function 'log' made nan values [\s\S]*x\.log"):
            x.log()
    assert x.log() is not None


def test_a_nan_inside_a_functions_forward_names_the_operation_in_it():
    class Root(Function):
        @staticmethod
        def forward(ctx, x):
            return x.sqrt()

        @staticmethod
        def backward(ctx, g):
            return g

    with (
        set_detect_anomaly(True, check_forward=True),
        pytest.raises(RuntimeError, match=r"'sqrt' made nan[\s\S]*in forward\n +return x\.s"),
    ):
        Root.apply(engine.tensor([-1.0]))


def test_a_changed_in_place_tensor_keeps_the_line_of_its_maker():
    def run():
        with detect_anomaly():
            y = zeros() * 1.0
            y.sqrt_()
            (y * 0.0).sum().backward()

    error, found = collected(run)
    assert "'SqrtBackward0' returned nan" in error
    assert "y.sqrt_()" in found[0]


def test_set_detect_anomaly_switches_for_good_or_for_a_block():
    set_detect_anomaly(True)
    try:
        assert anomaly_mode.is_anomaly_enabled()
        with set_detect_anomaly(False):
            assert not anomaly_mode.is_anomaly_enabled()
        assert anomaly_mode.is_anomaly_check_nan_enabled()
    finally:
        set_detect_anomaly(False)
    assert not anomaly_mode.is_anomaly_enabled()


def test_it_watches_its_own_thread_only():
    found = []
    with set_detect_anomaly(True):
        thread = threading.Thread(target=lambda: found.append(anomaly_mode.is_anomaly_enabled()))
        thread.start()
        thread.join()
    assert found == [False]


def test_gradients_are_the_same_under_the_mode():
    x = engine.tensor([0.5, 2.0], requires_grad=True)
    v = Value(0.5)
    with set_detect_anomaly(True):
        ((x * v).exp() * x).sum().backward()
        (v * v).backward()
    inside = x.grad.tolist(), v.grad
    x.grad, v.grad = None, None
    ((x * v).exp() * x).sum().backward()
    (v * v).backward()
    assert inside == (x.grad.tolist(), v.grad)


def test_first_nan_names_the_operation_its_operands_and_the_line():
    x, zero = Value(2.0), Value(0.0)
    with set_detect_anomaly(True):
        root = (x * 3.0) / zero * 0.0 + 1.0
    origin = first_nan(root)
    assert origin.op == "div"
    assert [o.data for o in origin.operands] == [6.0, 0.0]
    assert origin.value.data == math.inf
    file, number = origin.line
    assert file.endswith("test_anomaly_mode.py")
    assert str(origin) == f"div(6.0, 0.0) = inf, at {file}:{number}"


def test_first_nan_knows_constants_and_leaves():
    x = Value(-3.0)
    assert str(first_nan(2.0 * (x - 5.0).log())) == "log(-8.0) = nan"
    assert str(first_nan(x * 0.0 / 0.0)) == "div(-0.0, 0.0) = nan"
    assert str(first_nan((0.0 * x) ** -1.0)) == "pow_number(-0.0, -1.0) = -inf"
    assert str(first_nan(Value(math.inf) * x)) == "a leaf holds inf"
    assert first_nan(x * 2.0) is None
    assert first_nan(Value(1.0, requires_grad=False)) is None


def test_first_nan_follows_functions_and_nodes_made_by_hand():
    class Root(Function):
        @staticmethod
        def forward(ctx, x):
            return math.nan

        @staticmethod
        def backward(ctx, g):
            return g

    x = Value(1.0)
    assert first_nan(Root.apply(x) * 2.0).op == "RootBackward"
    by_hand = Value(math.inf, (x,), (1.0,))
    assert first_nan(by_hand + 1.0).operands == (x,)
    with pytest.raises(TypeError, match=r"first_nan: needs a Value; got Tensor"):
        first_nan(engine.ones(1))


def test_first_nan_of_a_long_chain_needs_no_stack():
    v = Value(1.0)
    for _ in range(100_000):
        v = v + 0.0
    assert first_nan(v) is None
