"""What PyTorch promises to authors of Functions. Each test passes with real torch too."""

import traceback
import warnings

import pytest

import engine as torch
from engine.autograd import Function, gradcheck, gradgradcheck
from engine.autograd.function import InplaceFunction, once_differentiable


class Doubled(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


class Same(Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return g


class Mixed(Function):
    """x + n y + x y, with a number between the tensors."""

    @staticmethod
    def forward(ctx, x, n, y):
        ctx.n = n
        ctx.save_for_backward(x, y)
        return x + n * y + x * y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g + g * y, None, g * ctx.n + g * x


class MixedOnce(Mixed):
    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        assert not torch.is_grad_enabled()
        x, y = ctx.saved_tensors
        return g + g * y, None, g * ctx.n + g * x


def described(node):
    """A graph as text: the node's class, and what it leads to."""
    if node is None:
        return "None"
    inside = ", ".join(described(below) for below, _ in node.next_functions)
    return f"{type(node).__name__}({inside})"


def differentiated(function):
    """x, y of shape (3, 3), whose .grad is that of the sum of function(x, 2, y) with a graph."""
    x = torch.randn(3, 3, requires_grad=True)
    y = torch.randn(3, 3, requires_grad=True)
    start = torch.ones((), requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        function.apply(x, 2, y).sum().backward(start, create_graph=True)
    assert torch.allclose(x.grad, y + 1)
    assert torch.allclose(y.grad, x + 2)
    return x, y


# --- basics ---


def test_apply_with_numbers_alone_returns_numbers_and_makes_no_graph():
    class Several(Function):
        @staticmethod
        def forward(ctx, a, b, n):
            return n, a + b, None, True, a * b, "text", a

        @staticmethod
        @once_differentiable
        def backward(ctx, *grads):
            raise AssertionError("no graph")

    assert Several.apply(0.5, 0.25, 3) == (3, 0.75, None, True, 0.125, "text", 0.5)


def test_a_gradient_of_the_wrong_shape_raises():
    class Wrong(Doubled):
        @staticmethod
        def backward(ctx, g):
            return torch.randn(10)

    x = torch.randn(5, 5, requires_grad=True)
    with pytest.raises(RuntimeError, match="expected shape"):
        Wrong.apply(x).sum().backward()


class Failing(Doubled):
    @staticmethod
    def backward(ctx, g):
        raise ValueError("told by the author")


def test_an_exception_from_backward_keeps_its_type_and_the_authors_line():
    x = torch.randn(3, requires_grad=True)
    with pytest.raises(ValueError, match="told by the author") as caught:
        Failing.apply(x * x).sum().backward()
    lines = traceback.format_tb(caught.value.__traceback__)
    assert any('raise ValueError("told by the author")' in line for line in lines)


def test_a_hook_of_a_returned_leaf_sees_only_the_gradient_of_the_output():
    class WithSum(Function):
        @staticmethod
        def forward(ctx, a, b):
            return a, a + b

        @staticmethod
        def backward(ctx, ga, gb):
            return ga + gb, gb

    seen = []
    x = torch.randn(2, 2, requires_grad=True)
    y = torch.randn(2, 2, requires_grad=True)
    same, total = WithSum.apply(x, y)
    same.register_hook(lambda g: seen.append(g.tolist()))
    (same + total + x).sum().backward()
    assert seen == [[[1.0, 1.0], [1.0, 1.0]]]
    assert x.grad.tolist() == [[3.0, 3.0], [3.0, 3.0]]
    assert y.grad.tolist() == [[1.0, 1.0], [1.0, 1.0]]


@pytest.mark.parametrize("shape", [(1,), ()], ids=str)
def test_an_input_returned_unchanged_gets_a_node_of_its_own(shape):
    class Kept(Same):
        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = torch.ones(shape, requires_grad=True)
    y = Kept.apply(x)
    assert y is not x
    assert y.grad_fn.name() == "KeptBackward"
    y.backward()
    assert x.grad.sum().item() == 2.0
    Kept.apply(x.clone()).backward()
    assert x.grad.sum().item() == 4.0


def test_tensors_mix_with_other_inputs_and_outputs():
    class Many(Function):
        @staticmethod
        def forward(ctx, a, b, n, c):
            first, second = a + b * c, a * b + c
            first *= n
            second *= n
            ctx.n = n
            ctx.save_for_backward(a, b, c)
            return n, first, None, True, second, "text", a

        @staticmethod
        @once_differentiable
        def backward(ctx, *grads):
            assert len(grads) == 7
            assert [grads[i] for i in (0, 2, 3, 5)] == [None] * 4
            n, (a, b, c) = ctx.n, ctx.saved_tensors
            ga = grads[1] * n + grads[4] * b * n + grads[6]
            return ga, grads[1] * c * n + grads[4] * a * n, None, grads[1] * b * n + grads[4] * n

    a, b = (torch.rand(4, dtype=torch.double, requires_grad=True) for _ in range(2))
    c = torch.rand(4, dtype=torch.double)
    found = Many.apply(a, b, 3, c)
    assert (found[0], found[2], found[3], found[5]) == (3, None, True, "text")
    torch.autograd.backward([found[i].sum() for i in (1, 4, 6)])
    assert a.grad is not None
    assert b.grad is not None
    assert c.grad is None

    def tensors(a, b, c):
        found = Many.apply(a, b, 3, c)
        return found[1], found[4], found[6]

    assert gradcheck(tensors, (a, b, c))


def test_missing_and_doubled_methods_raise():
    class NoForward(Function):
        @staticmethod
        def backward(ctx, g):
            return g

    class NoBackward(Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

    class Both(Same):
        @staticmethod
        def vjp(ctx, g):
            return g

    x = torch.rand(1, requires_grad=True)
    with pytest.raises(NotImplementedError, match="must implement the forward"):
        NoForward.apply(x)
    with pytest.raises(RuntimeError, match="must implement either the backward"):
        NoBackward.apply(x).sum().backward()
    with pytest.raises(RuntimeError, match="Implementing both 'backward' and 'vjp'"):
        Both.apply(x).sum().backward()


def test_missing_jvp_raises_in_forward_mode():
    x = torch.rand(1, requires_grad=True)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, torch.rand_like(x))
        with pytest.raises(RuntimeError, match="must implement the jvp function"):
            Same.apply(dual)


def test_an_output_returned_twice_is_one_tensor_and_has_the_right_derivatives():
    class Twice(Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            return y, y

        @staticmethod
        def backward(ctx, g, h):
            return g * 2 + h * 2

    def total(x):
        a, b = Twice.apply(x)
        assert a is b
        return a + b

    x = torch.randn(3, 3, dtype=torch.double, requires_grad=True)
    assert gradcheck(total, [x])
    assert gradgradcheck(total, [x])


def test_a_graph_of_a_function_is_described_by_pytorchs_names():
    x, y = differentiated(Mixed)
    assert described(x.grad.grad_fn) == (
        "CopyBackwards(None, AddBackward0(ExpandBackward0(AccumulateGrad()), "
        "MulBackward0(ExpandBackward0(AccumulateGrad()), AccumulateGrad())))"
    )
    assert described(y.grad.grad_fn) == (
        "CopyBackwards(None, AddBackward0(MulBackward0(ExpandBackward0(AccumulateGrad()), None), "
        "MulBackward0(ExpandBackward0(AccumulateGrad()), AccumulateGrad())))"
    )
    x.grad = y.grad = None


def test_a_function_under_no_grad_makes_no_graph():
    x = torch.randn(3, requires_grad=True)
    with torch.no_grad():
        y, same = Doubled.apply(x), Same.apply(x)
    assert not y.requires_grad
    assert same.grad_fn is None
    assert x.requires_grad


def test_a_function_inside_backward_may_call_backward_itself():
    inner = torch.ones(2, requires_grad=True)

    class Nested(Same):
        @staticmethod
        def backward(ctx, g):
            with torch.enable_grad():
                (inner * inner).sum().backward()
            return g

    x = torch.ones(2, requires_grad=True)
    Nested.apply(x).sum().backward()
    assert inner.grad.tolist() == [2.0, 2.0]
    assert x.grad.tolist() == [1.0, 1.0]


# --- ctx, setup_context and misuse ---


def test_calling_an_instance_with_a_forward_that_is_not_static_raises():
    class Old(Function):
        def forward(self, x):
            return x

        def backward(self, g):
            return g

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        instance = Old()
    text = "Legacy autograd function with non-static forward method is deprecated"
    with pytest.raises(RuntimeError, match=text):
        instance(torch.randn(3, 4))


class Square(Function):
    @staticmethod
    def forward(x):
        return x**2

    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2 * x


def test_forward_without_ctx_and_setup_context_give_the_gradient():
    x = torch.tensor(3.0, requires_grad=True)
    assert torch.autograd.grad(Square.apply(x), x)[0].item() == 6.0


def test_setup_context_receives_default_arguments_too():
    class Power(Function):
        @staticmethod
        def forward(x, n=3):
            return x**n

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, ctx.n = inputs
            ctx.save_for_backward(x)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * ctx.n * x ** (ctx.n - 1), None

    x = torch.tensor(2.0, requires_grad=True)
    assert torch.autograd.grad(Power.apply(x), x)[0].item() == 12.0
    assert torch.autograd.grad(Power.apply(x, 2), x)[0].item() == 4.0


def test_setup_context_sees_outputs_that_are_no_tensors():
    class WithNumber(Function):
        @staticmethod
        def forward(x):
            return x**2, x.item() * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            _, ctx.double = output

        @staticmethod
        @once_differentiable
        def backward(ctx, g, _):
            return g * ctx.double

    x = torch.tensor(1.5, requires_grad=True)
    y, double = WithNumber.apply(x)
    assert double == 3.0
    assert torch.autograd.grad(y, x)[0].item() == 3.0


def test_setup_context_with_several_other_inputs_equals_the_combined_style():
    class Apart(Function):
        @staticmethod
        def forward(x, shape, forward, backward):
            return x.reshape(shape) * forward

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, _, _, ctx.factor = inputs
            ctx.shape = x.shape

        @staticmethod
        def backward(ctx, g):
            return g.reshape(ctx.shape) * ctx.factor, None, None, None

    class Together(Function):
        @staticmethod
        def forward(ctx, x, shape, forward, backward):
            ctx.factor, ctx.shape = backward, x.shape
            return x.reshape(shape) * forward

        @staticmethod
        def backward(ctx, g):
            return g.reshape(ctx.shape) * ctx.factor, None, None, None

    for x, shape in ((torch.randn(6), (2, 3)), (torch.randn(2, 3), (6,))):
        x.requires_grad_()
        found = []
        for function in (Apart, Together):
            y = function.apply(x, shape, 7, 11).sum()
            found.append((y.item(), torch.autograd.grad(y, x)[0].tolist()))
        assert found[0] == found[1]


def test_instantiating_a_function_warns_and_calling_the_instance_raises():
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        instance = Same()
    assert isinstance(instance, Same)
    x = torch.zeros(1, requires_grad=True)
    with pytest.raises(RuntimeError, match="non-static forward method is deprecated"):
        instance(x)
    assert Same.apply(x).grad_fn.name() == "SameBackward"


OF_NODES = (
    "_register_hook_dict register_hook next_functions name _sequence_nr _set_sequence_nr "
    "_input_metadata"
).split()


def test_a_bare_instance_has_no_attributes_of_a_node():
    # PyTorch raises the same up to 2.12, and answers since.
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        instance = Same()
    for name in OF_NODES:
        with pytest.raises(RuntimeError, match=f"Attribute '{name}' is invalid"):
            getattr(instance, name)
    with pytest.raises(RuntimeError, match="underlying PyNode has already been deallocated"):
        instance.metadata  # noqa: B018


def test_ctx_is_a_node_inside_forward_and_backward():
    class Looks(Function):
        @staticmethod
        def forward(ctx, x):
            assert isinstance(ctx, torch.autograd.graph.Node)
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            assert isinstance(ctx, torch.autograd.graph.Node)
            return g

    x = torch.ones(2, requires_grad=True)
    y = Looks.apply(x)
    assert isinstance(y.grad_fn, torch.autograd.graph.Node)
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_an_inplace_function_has_its_backward_class_for_a_node():
    class AddInPlace(InplaceFunction):
        @staticmethod
        def forward(ctx, a, b):
            ctx.mark_dirty(a)
            return a.add_(b), b + 2

        @staticmethod
        def backward(ctx, ga, gb):
            return ga, ga + gb

    x, y = torch.randn(2, 2), torch.randn(2, 2, requires_grad=True)
    q, _ = AddInPlace.apply(x, y)
    assert q is x
    assert q.grad_fn.__class__ is AddInPlace._backward_cls
    assert q.requires_grad
    q.sum().backward()
    assert y.grad.tolist() == [[1.0, 1.0], [1.0, 1.0]]


# --- once_differentiable ---


def test_a_backward_differentiable_once_ends_in_an_error_node():
    x, y = differentiated(MixedOnce)
    text = "CopyBackwards(None, Error(AccumulateGrad(), None, AccumulateGrad()))"
    assert described(x.grad.grad_fn) == described(y.grad.grad_fn) == text
    with pytest.raises(RuntimeError, match="once_differentiable"):
        x.grad.sum().backward()
    x.grad = y.grad = None


# --- outputs without a gradient ---


def test_a_boolean_output_does_not_require_grad():
    class Positive(Function):
        @staticmethod
        def forward(ctx, x):
            mask = x > 0
            ctx.mark_non_differentiable(mask)
            return mask

        @staticmethod
        def backward(ctx, g):
            raise AssertionError("nothing leads here")

    x = torch.tensor([-1.0, 2.0], requires_grad=True)
    mask = Positive.apply(x)
    assert not mask.requires_grad
    x.masked_fill(mask, 0).sum().backward()
    assert x.grad.tolist() == [1.0, 0.0]


def test_one_of_two_outputs_may_be_marked_and_gets_zeros():
    class Two(Function):
        @staticmethod
        def forward(ctx, x):
            a, b = x + 1, x + 2
            ctx.mark_non_differentiable(a)
            return a, b

        @staticmethod
        def backward(ctx, ga, gb):
            assert (ga == 0).all()
            assert (gb == 1).all()
            return gb

    x = torch.randn(3, requires_grad=True)
    a, b = Two.apply(x)
    assert not a.requires_grad
    assert b.requires_grad
    b.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 1.0]


def test_the_private_flag_keeps_gradients_of_marked_outputs_none():
    class Two(Function):
        @staticmethod
        def forward(ctx, x):
            a, b = x.clone(), x.clone()
            ctx.mark_non_differentiable(b)
            ctx._materialize_non_diff_grads = False
            return a, b

        @staticmethod
        def backward(ctx, ga, gb):
            assert gb is None
            return ga

    x = torch.tensor(1.0, requires_grad=True)
    Two.apply(x)[0].backward()
    assert x.grad.item() == 1.0


def test_a_marked_output_may_be_used_beside_the_graph():
    class Constant(Function):
        @staticmethod
        def forward(ctx, x):
            y = x.clone()
            ctx.mark_non_differentiable(y)
            return y

        @staticmethod
        def backward(ctx, g):
            return None

    x = torch.tensor([2.0, 3.0], requires_grad=True)
    (Constant.apply(x * x) * x).sum().backward()
    assert x.grad.tolist() == [4.0, 9.0]


def test_the_index_of_a_maximum_may_be_used_in_a_further_expression():
    x = torch.randn(5, 5, requires_grad=True)
    y = torch.randn(5, 5, requires_grad=True)
    a = x + y
    b = torch.max(a, 1, True)[1].repeat(1, 5).double()
    (b + a).sum().backward()
    assert x.grad.tolist() == torch.ones(5, 5).tolist()


def test_a_marked_output_may_be_passed_to_another_function():
    class WithNoise(Function):
        @staticmethod
        def forward(ctx, x):
            noise = torch.randn(x.size())
            ctx.mark_non_differentiable(noise)
            return x, noise

        @staticmethod
        def backward(ctx, g, ignored):
            return g

    class First(Function):
        @staticmethod
        def forward(ctx, x, ignored):
            return x

        @staticmethod
        def backward(ctx, g):
            return g, None

    x = torch.randn(5, requires_grad=True)
    a, b = WithNoise.apply(x)
    b = b + 1
    assert a.requires_grad
    assert not b.requires_grad
    c = First.apply(a, b)
    c.backward(torch.ones(c.size()))
    assert x.grad.tolist() == [1.0] * 5


# --- several outputs ---


def test_a_saved_second_output_keeps_its_output_number():
    class Halves(Function):
        @staticmethod
        def forward(ctx, x):
            return x[:5], x[5:]

        @staticmethod
        def backward(ctx, *grads):
            return torch.cat(grads)

    class Looks(Doubled):
        @staticmethod
        def forward(ctx, b):
            ctx.save_for_backward(b)
            return b * 2

        @staticmethod
        def backward(ctx, g):
            (b,) = ctx.saved_tensors
            assert b.output_nr == 1

    x = torch.randn(10, requires_grad=True)
    _, b = Halves.apply(x)
    assert b.output_nr == 1
    Looks.apply(b).sum().backward()


# --- no gradient ---


def test_backward_that_returns_none_leaves_grad_none():
    class Nothing(Doubled):
        @staticmethod
        def backward(ctx, g):
            return None

    x = torch.ones(1, requires_grad=True)
    Nothing.apply(x).backward()
    Nothing.apply(x**2).backward()
    Nothing.apply(x).sum().backward()
    assert x.grad is None
    assert torch.autograd.grad(Nothing.apply(x), x, allow_unused=True)[0] is None


class NoGradient(Function):
    """Hands on no gradient for its only input."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return None


@pytest.mark.parametrize("materialize", [True, False])
def test_set_materialize_grads_decides_between_zeros_and_none(materialize):
    seen = []

    class Two(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(materialize)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, g, h):
            seen.append(None if h is None else h.tolist())
            return g

    x = torch.ones(1, requires_grad=True)
    a, b = Two.apply(x)
    (a + NoGradient.apply(b)).backward()
    assert seen == [[0.0] if materialize else None]


@pytest.mark.parametrize("materialize", [True, False])
def test_a_function_that_only_undefined_gradients_reach_gets_zeros_or_none(materialize):
    seen = []

    class One(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(materialize)
            return x

        @staticmethod
        def backward(ctx, g):
            seen.append(None if g is None else g.tolist())
            return g

    x = torch.ones(1, requires_grad=True)
    NoGradient.apply(One.apply(x)).backward()
    assert seen == [[0.0] if materialize else None]


def test_trailing_nones_from_backward_are_accepted():
    class Longer(Same):
        @staticmethod
        def backward(ctx, g):
            return g, None, None

    x = torch.randn(3, requires_grad=True)
    Longer.apply(x).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 1.0]


def test_a_hook_is_not_called_where_no_gradient_arrives():
    class Both(Function):
        @staticmethod
        def forward(ctx, x, y):
            assert ctx.needs_input_grad == (True, False)
            return x, y

        @staticmethod
        def backward(ctx, gx, gy):
            return gx, None

    seen = []
    x, y = torch.randn(2, 2, requires_grad=True), torch.randn(2, 2)
    rx, ry = Both.apply(x, y)
    rx.register_hook(lambda g: seen.append(g is not None))
    ry.register_hook(lambda g: seen.append(g is not None))
    sum(rx, ry).sum().backward()
    assert seen
    assert all(seen)


@pytest.mark.parametrize("materialize", [True, False])
def test_an_undefined_gradient_by_pytorchs_private_function(materialize):
    seen = []

    class One(Same):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(materialize)
            return x

        @staticmethod
        def backward(ctx, g):
            seen.append(None if g is None else g.tolist())
            return g

    x = torch.ones(1, requires_grad=True)
    torch._C._functions.UndefinedGrad()(One.apply(x)).backward()
    assert seen == [[0.0] if materialize else None]


def test_the_node_of_a_leaf_is_pytorchs_private_class():
    x = torch.ones(1, requires_grad=True)
    node, number = (x + 5).grad_fn.next_functions[0]
    assert isinstance(node, torch._C._functions.AccumulateGrad)
    assert number == 0


def test_a_delayed_error_is_raised_by_backward_where_it_is_asked_for():
    x, y = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    z = torch._C._functions.DelayedError("Boom!", 1)(y) * x
    assert torch.autograd.grad(z, x, retain_graph=True)[0].tolist() == [1.0]
    with pytest.raises(RuntimeError, match="Boom!"):
        z.backward()


def test_a_weak_reference_to_a_tensor_expires_with_it():
    x = torch.ones(1)
    reference = torch._C._WeakTensorRef(x)
    assert not reference.expired()
    del x
    assert reference.expired()


def test_a_function_for_pytorch_may_say_how_it_takes_batches():
    assert Function.generate_vmap_rule is False
    with pytest.raises(NotImplementedError, match="engine has no vmap"):
        Function.vmap(None, None)


def test_resize_of_pytorchs_own_is_a_node_as_any():
    x = torch.rand(4, requires_grad=True)
    y = torch.autograd._functions.Resize.apply(x, (2, 2))
    edge = torch.autograd.graph.get_gradient_edge(y)
    (g,) = torch.autograd.grad((y * 3).sum(), edge)
    assert g.tolist() == [[3.0, 3.0], [3.0, 3.0]]
    assert torch.autograd.grad(y.sum(), x)[0].shape == (4,)


def test_warnings_are_pythons_whatever_the_switch_of_pytorch_says():
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    assert torch.is_warn_always_enabled()
    torch.set_warn_always(before)
    assert torch.is_warn_always_enabled() is before


def test_autograd_knows_its_package_by_the_name_of_pytorchs():
    assert torch.autograd.torch is torch
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        torch.autograd.nothing  # noqa: B018
