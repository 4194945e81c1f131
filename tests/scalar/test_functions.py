"""Function and ctx on Values: derivatives of any order, once_differentiable, what is refused."""

import math
import warnings

import numpy as np
import pytest

import engine
from engine import Function, Value, once_differentiable
from engine.autograd import grad


class Cube(Function):
    """Differentiable to any order: its backward is made of saved Values."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x * x * g


class Sine(Function):
    """Leaves the graph on the way, forward and backward, and says so."""

    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return math.sin(x.data) * scale

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g.data * ctx.scale * math.cos(x.data), None


class RawSine(Function):
    """Leaves the graph too, and does not say so."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return math.sin(x.data)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g.data * math.cos(x.data)


class SumAndProduct(Function):
    """Two outputs."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a + b, a * b

    @staticmethod
    def backward(ctx, g, h):
        a, b = ctx.saved_tensors
        return g + h * b, g + h * a


def function(**methods):
    """A Function of these methods, called Mine."""
    return type("Mine", (Function,), {name: staticmethod(f) for name, f in methods.items()})


def returning(*given):
    """A Function of one Value whose backward returns just this."""
    given = given[0] if len(given) == 1 else given
    return function(forward=lambda ctx, x: x * 2, backward=lambda ctx, g: given)


def kind(x):
    return type(x).__name__


# --- forward ---


def test_the_result_of_a_function_on_values_is_a_value():
    x = Value(2.0)
    y = Cube.apply(x)
    assert (type(y), type(y.data), y.data, y.is_leaf) == (Value, float, 8.0, False)
    (y * 2).backward()
    assert (x.grad, y.grad) == (24.0, 2.0)


def test_the_ctx_is_the_node():
    kept = []

    class Keeps(Function):
        @staticmethod
        def forward(ctx, x, k):
            kept.append(ctx)
            return x * k

        @staticmethod
        def backward(ctx, g):
            return g * 5.0, None

    x = Value(2.0)
    y = Keeps.apply(x * 1.0, 5.0)
    assert y.grad_fn is kept[0]
    assert type(y.grad_fn).__name__ == y.grad_fn.name() == "KeepsBackward"
    assert y.grad_fn.needs_input_grad == (True, False)
    assert y.grad_fn.next_functions[0][0].name() == "MulBackward0"
    assert y.grad_fn.next_functions[1] == (None, 0)
    assert y.grad_fn.metadata == {}


def test_a_number_or_a_numpy_number_from_forward_becomes_a_value():
    for number in (2, 2.0, np.float64(2.0), np.float32(2.0), True):
        F = function(forward=lambda ctx, x, n=number: n, backward=lambda ctx, g, n=None: g)
        y = F.apply(Value(1.0))
        assert (type(y), type(y.data)) == (Value, float)


def test_saved_inputs_and_incoming_gradients_are_values():
    kinds = []

    class Looks(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, None)
            return x * 2.0

        @staticmethod
        def backward(ctx, g):
            x, nothing = ctx.saved_tensors
            kinds.extend([type(g), type(x), nothing])
            return g * 2.0

    x = Value(3.0)
    Looks.apply(x).backward()
    assert (kinds, x.grad) == ([Value, Value, None], 2.0)


def test_forward_runs_outside_the_graph():
    modes = []
    F = function(
        forward=lambda ctx, x: modes.append(engine.is_grad_enabled()) or x * 2,
        backward=lambda ctx, g: modes.append(engine.is_grad_enabled()) or g * 2,
    )
    F.apply(Value(1.0)).backward()
    assert modes == [False, False]
    assert engine.is_grad_enabled()


def test_an_input_that_forward_returns_is_a_new_value_of_its_own_node():
    F = function(forward=lambda ctx, x: x, backward=lambda ctx, g: -g)
    x = Value(1.0)
    y = F.apply(x)
    y.backward()
    assert y is not x
    assert (x.grad, x.is_leaf, x.requires_grad) == (-1.0, True, True)


def test_numbers_alone_make_no_graph():
    F = function(forward=lambda ctx, a, b: a * b, backward=lambda ctx, g: (g, g))
    assert F.apply(2.0, 3.0) == 6.0
    assert type(F.apply(2.0, 3.0)) is float
    assert not F.apply(Value(2.0, requires_grad=False), 3.0).requires_grad


def test_several_outputs_share_one_node():
    a, b = Value(2.0), Value(5.0)
    total, product = SumAndProduct.apply(a, b)
    assert total.grad_fn is product.grad_fn
    (total * 10 + product).backward()
    assert (a.grad, b.grad) == (15.0, 12.0)


def test_an_output_that_is_not_used_hands_back_zero():
    a, b = Value(2.0), Value(5.0)
    SumAndProduct.apply(a, b)[1].backward()
    assert (a.grad, b.grad) == (5.0, 2.0)


def test_without_materialized_grads_an_unused_output_hands_back_none():
    seen = []

    class Two(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 1, x * 2

        @staticmethod
        def backward(ctx, g, h):
            seen.append(g)
            return h * 2

    x = Value(1.0)
    Two.apply(x)[1].backward()
    assert (seen, x.grad) == ([None], 2.0)


def test_one_input_given_twice_gets_both_gradients():
    x = Value(3.0)
    SumAndProduct.apply(x, x)[1].backward()
    assert x.grad == 6.0


def test_what_is_neither_a_value_nor_needed_is_passed_through():
    class Mixed(Function):
        @staticmethod
        def forward(ctx, x, mode, options):
            ctx.save_for_backward(x)
            assert (mode, options) == ("twice", {"k": 1})
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2, None, None

    x = Value(3.0)
    Mixed.apply(x, "twice", {"k": 1}).backward()
    assert x.grad == 2.0


def test_the_two_step_style_works_on_values():
    class Cube2(Function):
        @staticmethod
        def forward(x, power=3):
            return x**power

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, ctx.power = inputs
            ctx.save_for_backward(x)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * ctx.power * x ** (ctx.power - 1), None

    x = Value(2.0)
    (first,) = grad(Cube2.apply(x), x, create_graph=True)
    (second,) = grad(first, x)
    assert (first.data, second.data) == (12.0, 12.0)
    Cube2.apply(x, power=2).backward()
    assert x.grad == 4.0


# --- derivatives of derivatives ---


def test_a_function_made_of_values_has_derivatives_of_any_order():
    x = Value(2.0)
    found = []
    y = Cube.apply(x)
    for _ in range(3):
        (y,) = grad(y, x, create_graph=True)
        found.append(y.data)
    assert found == [12.0, 12.0, 6.0]


def test_a_saved_output_has_its_place_in_the_graph():
    class Exp(Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            (y,) = ctx.saved_tensors
            return g * y

    x = Value(0.5)
    y = Exp.apply(x)
    for _ in range(4):
        (y,) = grad(y, x, create_graph=True)
        assert y.data == math.exp(0.5)


def test_a_once_differentiable_function_is_refused_when_a_derivative_is_taken_through_it():
    x, w = Value(2.0), Value(3.0)
    y = Sine.apply(x, 3.0) * w
    assert y.grad_fn is not None
    (first,) = grad(y, x, create_graph=True)
    assert first.data == 9 * math.cos(2.0)
    with pytest.raises(RuntimeError, match=r"Sine.*: backward is marked once_differentiable"):
        grad(first, x)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        grad(first, w)


def test_a_derivative_beside_the_once_differentiable_one_stays_legal():
    x, w = Value(2.0), Value(3.0)
    (first,) = grad(Sine.apply(x, 3.0), x, create_graph=True)
    (beside,) = grad(first * w, w)
    assert beside.data == 3 * math.cos(2.0)


def test_the_mark_is_readable_on_the_node():
    x = Value(2.0)
    assert Sine.apply(x, 3.0).grad_fn.once_differentiable is True
    assert Cube.apply(x).grad_fn.once_differentiable is False


def test_a_backward_that_returns_raw_numbers_is_refused_at_second_order():
    x = Value(2.0)
    RawSine.apply(x).backward()
    assert x.grad == math.cos(2.0)
    (first,) = grad(RawSine.apply(x), x, create_graph=True)
    with pytest.raises(RuntimeError, match=r"RawSine.*: backward returned numbers made outside"):
        grad(first, x)


# --- backward: what is taken and what is refused ---


NUMBERS = [2, 2.0, np.float64(2.0), np.float32(2.0), np.array(2.0)]


@pytest.mark.parametrize("number", NUMBERS, ids=kind)
def test_a_number_is_taken_for_the_gradient_of_a_value(number):
    x = Value(1.0)
    returning(number).apply(x).backward()
    assert (x.grad, type(x.grad)) == (2.0, float)


def test_a_0d_tensor_is_taken_for_the_gradient_of_a_value():
    x = Value(1.0)
    returning(engine.tensor(2.0)).apply(x).backward()
    assert x.grad == 2.0


def test_none_for_a_value_leaves_its_gradient_alone():
    x = Value(1.0)
    returning(None).apply(x).backward()
    assert x.grad == 0.0
    assert grad(returning(None).apply(x), x, allow_unused=True) == (None,)


def test_too_few_gradients_are_refused_with_the_names_of_the_inputs():
    F = function(forward=lambda ctx, x, scale: x * scale, backward=lambda ctx, g: g)
    with pytest.raises(RuntimeError, match=r"MineBackward.*expected 2, got 1.*\(x, scale\)"):
        F.apply(Value(1.0), 2.0).backward()


def test_too_many_gradients_are_refused_unless_the_rest_are_none():
    with pytest.raises(RuntimeError, match="expected 1, got 2"):
        returning(1.0, 2.0).apply(Value(1.0)).backward()
    x = Value(1.0)
    returning(3.0, None, None).apply(x).backward()
    assert x.grad == 3.0


@pytest.mark.parametrize("x", [Value(1.0), engine.ones(2, requires_grad=True)], ids=kind)
@pytest.mark.parametrize("other", [2.0, None, "text", np.ones(2)], ids=kind)
def test_a_gradient_for_what_is_neither_value_nor_tensor_is_refused(x, other):
    F = function(forward=lambda ctx, x, other: x * 2.0, backward=lambda ctx, g: (g * 2.0, g * 0.0))
    text = r"MineBackward returned a gradient different than None at position 2.*other is neither"
    with pytest.raises(RuntimeError, match=text):
        F.apply(x, other).backward(None if isinstance(x, Value) else engine.ones(2))


def test_a_gradient_for_a_constant_of_the_graph_is_taken_and_dropped():
    F = function(forward=lambda ctx, x, c: x * c, backward=lambda ctx, g: (g * 3.0, g))
    x, constant = Value(1.0), Value(3.0, requires_grad=False)
    F.apply(x, constant).backward()
    assert (x.grad, constant.grad) == (3.0, 0.0)


def test_a_gradient_of_a_shape_is_refused_for_a_value():
    with pytest.raises(RuntimeError, match=r"MineBackward.*got \(3,\) but.*\(\).*for x"):
        returning(engine.ones(3)).apply(Value(1.0)).backward()


@pytest.mark.parametrize("wrong", ["text", np.ones(2), object(), {}], ids=kind)
def test_a_gradient_of_a_wrong_type_is_refused(wrong):
    with pytest.raises(TypeError, match=r"MineBackward.*x needs to be a Value or a number; got"):
        returning(wrong).apply(Value(1.0)).backward()


def test_a_result_that_is_no_number_is_refused_where_it_is_the_only_one():
    for wrong in (None, "text", object()):
        F = function(forward=lambda ctx, x, w=wrong: w, backward=lambda ctx, g: g)
        with pytest.raises(TypeError, match="Mine: forward needs to return"):
            F.apply(Value(1.0))


# --- misuse ---


def test_values_hidden_in_a_list_are_noticed():
    F = function(forward=lambda ctx, vs: vs[0] * vs[1], backward=lambda ctx, g: None)
    with pytest.warns(UserWarning, match=r"Mine.*inside vs are not seen.*separate arguments"):
        y = F.apply([Value(2.0), Value(3.0)])
    assert (y.data, y.requires_grad) == (6.0, False)


def test_a_function_is_not_called_itself():
    with pytest.raises(TypeError, match=r"Cube\(...\): a Function is not called itself; write"):
        Cube(Value(2.0))


def test_a_wrong_number_of_arguments_names_the_function():
    with pytest.raises(TypeError, match=r"Cube.apply: too many positional arguments"):
        Cube.apply(Value(1.0), Value(2.0))
    with pytest.raises(TypeError, match=r"Sine.apply: missing a required argument: 'scale'"):
        Sine.apply(Value(1.0))


def test_a_function_without_forward_or_backward_says_which_is_missing():
    with pytest.raises(NotImplementedError, match="forward"):
        function(backward=lambda ctx, g: g).apply(Value(1.0))
    y = function(forward=lambda ctx, x: x * 2).apply(Value(1.0))
    with pytest.raises(NotImplementedError, match="backward"):
        y.backward()


def test_save_for_backward_takes_no_plain_numbers_and_says_where_they_go():
    def forward(ctx, x):
        ctx.save_for_backward(x, 3.0)
        return x

    with pytest.raises(TypeError, match=r"Mine: save_for_backward takes.*ctx\.name = "):
        function(forward=forward).apply(Value(1.0))


def test_a_value_cannot_be_marked_as_changed_in_place():
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x

    with pytest.raises(TypeError, match=r"Mine: mark_dirty takes Tensors; .* return a new Value"):
        function(forward=forward).apply(Value(1.0) * 1)


def test_save_for_backward_may_be_called_once():
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.save_for_backward(x)
        return x

    with pytest.raises(RuntimeError, match="Mine: save_for_backward may be called once"):
        function(forward=forward).apply(Value(1.0))


def test_what_was_saved_is_freed_by_backward_unless_it_is_retained():
    x = Value(2.0)
    y = Cube.apply(x)
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad == 24.0
    with pytest.raises(RuntimeError, match=r"Cube.*second time.*retain_graph=True"):
        y.backward()
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        _ = y.grad_fn.saved_tensors


def test_a_function_that_saves_nothing_can_be_walked_again():
    F = function(forward=lambda ctx, x: x * 2, backward=lambda ctx, g: g * 2)
    x = Value(2.0)
    y = F.apply(x)
    y.backward()
    y.backward()
    assert x.grad == 4.0


def test_an_exception_in_forward_leaves_the_modes_as_they_were():
    def forward(ctx, x):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        function(forward=forward).apply(Value(1.0))
    assert engine.is_grad_enabled()


def test_an_exception_in_backward_keeps_the_users_own_traceback():
    def backward(ctx, g):
        return g.no_such_attribute

    y = function(forward=lambda ctx, x: x * 2, backward=backward).apply(Value(1.0))
    with pytest.raises(AttributeError, match="no_such_attribute") as caught:
        y.backward()
    assert "backward" in [entry.name for entry in caught.traceback]


def test_a_backward_inside_a_backward_works():
    class Inner(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            with engine.enable_grad():
                w = Value(x.data)
                (w * w).backward()
            return g * w.grad

    x = Value(3.0)
    (Inner.apply(x) * x).backward()
    assert x.grad == 27.0


def test_ctx_y_is_y_makes_no_cycle():
    import gc
    import weakref

    class Mark:
        pass

    class Keeps(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark = Mark()
            ghosts.append(weakref.ref(ctx.mark))
            ctx.y = x * 2
            return ctx.y

        @staticmethod
        def backward(ctx, g):
            return g * 2

    ghosts = []
    gc.disable()
    try:
        y = Keeps.apply(Value(1.0))
        y.backward()
        del y
        assert ghosts[0]() is None
    finally:
        gc.enable()


# --- checks, and both kinds of node in one graph ---


def test_gradcheck_and_gradgradcheck_pass_on_values():
    assert engine.autograd.gradcheck(Cube.apply, (Value(1.5),)) is True
    assert engine.autograd.gradgradcheck(Cube.apply, (Value(1.5),)) is True
    assert engine.autograd.gradcheck(lambda a, b: a * b.exp(), (Value(1.5), Value(0.5))) is True


def test_gradcheck_finds_a_wrong_backward_on_values():
    wrong = returning(1.0)
    assert not engine.autograd.gradcheck(wrong.apply, (Value(0.5),), raise_exception=False)
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        engine.autograd.gradcheck(wrong.apply, (Value(0.5),))


def test_one_graph_holds_values_and_tensors():
    scale, shift = Value(0.5), Value(2.0)
    batch = engine.tensor([1.0, 2.0], dtype=engine.float64, requires_grad=True)
    total = (Cube.apply(batch) * scale + shift).sum()
    total.backward()
    assert batch.grad.tolist() == [1.5, 6.0]
    assert (scale.grad, shift.grad) == (9.0, 2.0)


def test_stack_and_unstack_go_between_values_and_a_batch():
    x, w = Value(2.0), Value(0.5)
    row = engine.stack([x, w])
    assert (row.dtype, row.tolist()) == (engine.float64, [2.0, 0.5])
    first, second = engine.unstack(row * row)
    assert (type(first), first.data) == (Value, 4.0)
    (first * second).backward()
    assert (x.grad, w.grad) == (1.0, 4.0)


def test_a_value_never_widens_a_tensor():
    batch = engine.ones(3)
    assert (batch * Value(2.0)).dtype == engine.float32


def test_no_warning_is_given_on_the_way():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = Value(2.0)
        (Sine.apply(Cube.apply(x), 3.0) * x).backward()
