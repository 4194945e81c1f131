"""Changes in place, of tensors and of views of them. Each test also passes with real torch as
`torch`."""

import warnings

import pytest

import engine as torch
from engine.autograd import Function, gradcheck, gradgradcheck
from engine.autograd.function import InplaceFunction

MULTI = "This view is the output of a function that returns multiple views"
CUSTOM = "This view was created inside a custom Function"
NO_GRAD = "A view was created in no_grad mode and is being modified inplace"


class AddInPlace(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.mark_dirty(a)
        a.add_(b)
        return a

    @staticmethod
    def backward(ctx, g):
        return g, g


class AddInPlaceAndSum(Function):
    """a += b, and a second output."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.mark_dirty(a)
        a.add_(b)
        return a, a + b

    @staticmethod
    def backward(ctx, g, h):
        return g + h, g + 2 * h


class Viewed(Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return g


def leaf(*shape):
    return torch.randn(*shape, dtype=torch.double, requires_grad=True)


def checked(f, *inputs):
    """f's first and second derivatives agree with differences."""
    assert gradcheck(f, inputs)
    assert gradgradcheck(f, inputs)


# --- of tensors, and mark_dirty ---


def test_a_function_changes_an_input_that_needs_no_gradient():
    x, y = torch.randn(2, 2), torch.randn(2, 2, requires_grad=True)
    before = y.detach() + x
    z = AddInPlace.apply(x, y)
    assert z is x
    assert z.tolist() == before.tolist()
    assert z.grad_fn.name() == "AddInPlaceBackward"
    assert z.requires_grad
    z.sum().backward()
    assert y.grad.tolist() == [[1.0, 1.0], [1.0, 1.0]]


@pytest.mark.parametrize("requires_grad", [True, False])
def test_what_was_marked_dirty_is_returned_as_it_is(requires_grad):
    class Doubled(Function):
        @staticmethod
        def forward(ctx, x):
            y = x.mul_(2)
            ctx.mark_dirty(y)
            return y

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = torch.tensor(1.5, requires_grad=requires_grad).clone()
    y = Doubled.apply(x)
    assert y is x
    assert x.item() == 3.0


def test_a_further_change_in_place_calls_backward_once():
    called = []

    class Noting(AddInPlace):
        @staticmethod
        def backward(ctx, g):
            called.append(1)
            return g, g

    a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    c = Noting.apply(a.clone(), b)
    c += 2
    c.sum().backward()
    assert called == [1]
    Noting.apply(a.clone().view_as(a), b).sum().backward()
    assert called == [1, 1]
    assert a.grad.tolist() == b.grad.tolist() == [2.0, 2.0]


def test_one_of_two_outputs_may_be_changed_in_place_by_the_function_and_later():
    a, b = leaf(2), leaf(2)

    def product(a, b):
        c, d = AddInPlaceAndSum.apply(a.clone(), b)
        return c * d

    def changed(a, b):
        c, d = AddInPlaceAndSum.apply(a.clone(), b)
        c += 2
        return c * d

    checked(product, a, b)
    checked(changed, a, b)


def test_a_changed_input_returned_twice_is_one_tensor():
    class Twice(Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x, x

        @staticmethod
        def backward(ctx, g, h):
            return g * 2 + h * 2

    def total(x):
        a, b = Twice.apply(x.clone())
        assert a is b
        return a + b

    x = leaf(3, 3)
    checked(total, x)
    with pytest.raises(RuntimeError):
        InplaceFunction.apply(x)
    with pytest.raises(RuntimeError):
        Twice.apply(x.clone()[0])


def test_rows_taken_from_tensors_with_gradients_give_a_plain_tensor_a_history():
    x = torch.randn(3, 3)
    y, z = torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True)
    x[0] = y
    x[1] = 2 * z
    assert x.requires_grad
    assert x.grad_fn is not None
    x.sum().backward()
    assert y.grad.tolist() == [1.0, 1.0, 1.0]
    assert z.grad.tolist() == [2.0, 2.0, 2.0]


def test_an_assignment_under_no_grad_keeps_a_leaf_a_leaf():
    x = torch.randn(2, 2, requires_grad=True)
    with torch.no_grad():
        x[0] = torch.randn(2)
    assert x.requires_grad
    assert x.grad_fn is None


def test_changes_in_place_before_requires_grad_are_fine():
    a = torch.randn(2, 3)
    a.add_(5)
    view = a[:]
    view.add_(5)
    a.requires_grad = True
    a.sum().backward()
    assert a.grad.tolist() == [[1.0] * 3] * 2


def test_a_leaf_that_requires_grad_and_its_views_may_not_be_changed():
    a = torch.randn(2, 3)
    view = a[:]
    a.requires_grad = True
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        a.add_(5)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        view.add_(5)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        a[0] = 1.0


def test_a_function_may_not_change_a_leaf_that_requires_grad():
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        AddInPlace.apply(torch.ones(2, requires_grad=True), torch.ones(2))
    view = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        AddInPlace.apply(view.view_as(view), torch.ones(2))


def test_a_plain_tensor_changed_by_one_with_a_gradient_requires_grad():
    for a in (torch.randn(2, 2), torch.randn(2, 2) + 0):
        a += torch.randn(2, 2, requires_grad=True)
        assert a.requires_grad


def test_what_is_marked_dirty_but_is_no_input_warns():
    class Bad(Function):
        @staticmethod
        def forward(ctx, a, b):
            c = 3 * a
            c.add_(b)
            ctx.mark_dirty(c)
            return c

        @staticmethod
        def backward(ctx, g):
            return 3 * g, g

    a = torch.ones(2, requires_grad=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Bad.apply(a.clone(), torch.ones(2, requires_grad=True))
    assert len(caught) == 1


def test_a_view_of_an_intermediate_may_not_be_marked_dirty():
    class Bad(Function):
        @staticmethod
        def forward(ctx, x):
            y = x.clone().view_as(x)
            ctx.mark_dirty(y)
            return y

        @staticmethod
        def backward(ctx, g):
            return g

    with pytest.raises(RuntimeError, match="received a tensor that was not an input"):
        Bad.apply(torch.tensor([1.0], requires_grad=True).clone())


def test_what_was_marked_dirty_must_be_returned():
    class Bad(Function):
        @staticmethod
        def forward(ctx, a, b):
            a.add_(b)
            ctx.mark_dirty(a)
            return a.clone(), a + b

        @staticmethod
        def backward(ctx, g, h):
            return g + h, g + 2 * h

    a = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="Some elements marked as dirty during the forward"):
        Bad.apply(a.clone().view_as(a), torch.ones(2, requires_grad=True))


def test_out_refuses_inputs_and_outputs_that_require_grad():
    plain, x = torch.rand(2), torch.rand(2, requires_grad=True)
    text = "functions with out=... arguments don't support automatic differentiation"
    for a, b, out in ((x, plain, plain), (plain, x, plain), (plain, plain, x)):
        with pytest.raises(RuntimeError, match=text):
            torch.add(a, b, out=out)
        with torch.no_grad():
            torch.add(a, b, out=out)
    assert torch.add(plain, plain, out=plain) is plain


# --- of views ---


def test_a_change_of_a_view_reaches_the_base():
    root = torch.randn(2, 2, requires_grad=True)
    x = root.clone()
    x.narrow(0, 0, 1).mul_(2)
    x.sum().backward()
    assert root.grad.tolist() == [[2.0, 2.0], [1.0, 1.0]]


def test_a_change_of_a_view_reaches_a_second_view_that_overlaps():
    root = torch.randn(2, 2, requires_grad=True)
    x = root.clone()
    first, second = x.narrow(0, 0, 1), x.narrow(0, 0, 1)
    first.mul_(2)
    second.sum().backward()
    assert root.grad.tolist() == [[2.0, 2.0], [0.0, 0.0]]


def test_a_change_of_a_view_of_a_view_reaches_the_base():
    root = torch.randn(2, 2, requires_grad=True)
    x = root.clone()
    x.narrow(0, 0, 1).narrow(1, 1, 1).mul_(2)
    x.sum().backward()
    assert root.grad.tolist() == [[1.0, 2.0], [1.0, 1.0]]


def test_a_change_of_a_view_of_a_base_that_is_not_contiguous_reaches_it():
    root = torch.ones(2, 3, 2).select(2, 1).t().requires_grad_(True)
    x = root.clone()
    x.narrow(0, 0, 1).narrow(1, 1, 1).mul_(2)
    x.sum().backward()
    assert root.grad.tolist() == [[1.0, 2.0], [1.0, 1.0], [1.0, 1.0]]


def test_a_node_made_anew_under_no_grad_gives_the_right_gradient():
    a = torch.ones(3, 1, dtype=torch.double, requires_grad=True)
    b = a * 2
    c = b.view_as(b)
    c[0][0] = 3
    with torch.no_grad():
        c.grad_fn  # noqa: B018
    c.sum().backward()
    assert a.grad.tolist() == [[0.0], [2.0], [2.0]]


def test_two_blocks_changed_in_place_have_the_right_derivatives():
    def blocks(root, b):
        x = root.clone()
        x.narrow(1, 2, 2).narrow(0, 1, 2).mul_(b)
        x.narrow(1, 0, 2).narrow(0, 1, 2).mul_(b)
        return x

    checked(blocks, leaf(4, 4), leaf(2, 2))


def test_a_base_without_gradient_requires_grad_after_a_change_of_its_view():
    def changed(root, b):
        x = root.clone()
        assert not x.requires_grad
        x.narrow(1, 2, 2).mul_(b)
        assert x.requires_grad
        return x

    checked(changed, torch.randn(4, 4, dtype=torch.double), leaf(4, 2))


def test_a_view_of_a_plain_tensor_changed_by_one_with_a_gradient_has_it():
    a = torch.tensor([2.0, 5.0])
    b = torch.tensor([3.0], requires_grad=True)
    a.narrow(0, 1, 1).mul_(b).sum().backward()
    assert b.grad.tolist() == [5.0]
    with pytest.warns(UserWarning, match="not a leaf Tensor"):
        assert a.grad is None


def test_a_view_made_earlier_sees_a_change_of_its_base():
    def changed(r):
        x = torch.ones(5, dtype=torch.double)
        view = x.select(0, 1)
        assert not view.requires_grad
        assert view.grad_fn is None
        x.add_(r)
        assert view.requires_grad
        return view

    checked(changed, torch.ones(1, dtype=torch.double, requires_grad=True))


def test_a_function_that_changes_views_has_the_right_derivatives():
    def blocks(root, b):
        x = root.clone()
        AddInPlace.apply(x.narrow(1, 2, 2).narrow(0, 1, 2), b)
        AddInPlace.apply(x.narrow(1, 0, 2).narrow(0, 1, 2), b)
        return x

    checked(blocks, leaf(4, 4), leaf(2, 2))


def test_detaching_a_base_in_place_leaves_its_view_attached():
    x = torch.randn(10, 10, requires_grad=True)
    view = x.narrow(0, 1, 4)
    x.detach_()
    assert not x.requires_grad
    assert view.requires_grad
    assert view.grad_fn is not None
    assert view._base is x


def test_a_view_may_not_be_detached_in_place():
    view = torch.randn(4, 4, requires_grad=True).narrow(0, 1, 2)
    with pytest.raises(RuntimeError, match="view"):
        view.detach_()


def test_a_changed_view_keeps_its_gradient_after_its_tensor_died():
    root = torch.ones(4, requires_grad=True)
    view = root.clone()[1:]
    view.mul_(3)
    view.sum().backward()
    assert root.grad.tolist() == [0.0, 3.0, 3.0, 3.0]


def test_a_change_of_a_view_of_a_leaf_is_refused_at_once():
    x = torch.zeros(3, requires_grad=True)
    view = x.view(3)[:2]
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        view.add_(1)
    assert x.tolist() == [0.0, 0.0, 0.0]


def test_an_output_of_unbind_may_not_be_changed():
    root = torch.arange(9.0, dtype=torch.double).reshape(3, 3).requires_grad_()
    parts = root.clone().unbind()
    with pytest.raises(RuntimeError, match=MULTI):
        parts[0].mul_(2)


def test_a_view_of_an_output_of_unbind_may_not_be_changed():
    part = leaf(10).clone().unbind(0)[0]
    with pytest.raises(RuntimeError, match=MULTI):
        part.view_as(part).mul_(2)


def test_an_output_of_unbind_of_a_view_may_not_be_changed():
    a = leaf(10).clone()
    with pytest.raises(RuntimeError, match=MULTI):
        a.view_as(a).unbind(0)[0].mul_(2)


@pytest.mark.parametrize(
    "split",
    [lambda t: t.split(1), lambda t: t.split_with_sizes((1, 1, 1)), lambda t: t.chunk(3)],
    ids=["split", "split_with_sizes", "chunk"],
)
def test_an_output_of_split_or_chunk_may_not_be_changed(split):
    a = torch.randn(3, 3, requires_grad=True)
    first, second, _ = split(a + a)
    with pytest.raises(RuntimeError, match=MULTI):
        first.mul_(second)


@pytest.mark.parametrize(
    "split",
    [
        lambda t: t.unsafe_split(1),
        lambda t: t.unsafe_split_with_sizes((1, 1, 1)),
        lambda t: t.unsafe_chunk(3),
    ],
    ids=["unsafe_split", "unsafe_split_with_sizes", "unsafe_chunk"],
)
def test_an_output_of_unsafe_split_may_be_changed(split):
    a = torch.ones(3, 3, requires_grad=True)
    first, second, _ = split(a + a)
    first.mul_(second)
    first.sum().backward()
    assert a.grad.tolist() == [[4.0] * 3, [4.0] * 3, [0.0] * 3]


def test_a_function_that_changes_one_of_several_views_is_refused():
    part = torch.tensor([1.0, 2.0], requires_grad=True).clone().split_with_sizes([1, 1])[0]
    with pytest.raises(RuntimeError, match="output of a function that returns multiple view"):
        AddInPlace.apply(part, torch.ones(1))


def test_a_function_that_changes_a_view_must_have_one_output():
    a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    with pytest.raises(
        RuntimeError, match="your Function modifies inplace an input that is a view of another"
    ):
        AddInPlaceAndSum.apply(a.clone().view_as(a), b)


def test_a_function_that_changes_a_view_may_have_no_gradient_for_another_input():
    class Doubled(Function):
        @staticmethod
        def forward(ctx, x, other):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, g):
            return g * 2, None

    a, b = torch.tensor([1.0], requires_grad=True), torch.tensor(1.0, requires_grad=True)
    Doubled.apply(a.clone()[:], b).backward()
    assert b.grad is None
    assert a.grad.tolist() == [2.0]


def attempted(change, error):
    """Make the change; it raises the error, or nothing where that is None."""
    if error is None:
        change()
        return
    with pytest.raises(RuntimeError, match=error):
        change()


@pytest.mark.parametrize("requires_grad", [True, False])
@pytest.mark.parametrize("grad_mode", [True, False])
def test_the_error_of_a_change_tells_the_kind_of_view(grad_mode, requires_grad):
    whole = torch.rand(2, requires_grad=requires_grad).clone()
    split = torch.rand(2, requires_grad=requires_grad).clone()
    with torch.set_grad_enabled(grad_mode):
        view, parts = whole.view_as(whole), split.unbind()
    for t in (view, *parts):
        assert t._is_view()
    if grad_mode and requires_grad:
        errors = [None, "Output 0 of Unbind", "Output 1 of Unbind"]
    else:
        errors = [NO_GRAD if requires_grad else None] * 3
    for t, error in zip((view, *parts), errors, strict=True):
        attempted(lambda: t.add_(1), error)  # noqa: B023


CHANGES_OF_SHAPE = {
    "as_strided_": lambda v: v.as_strided_((1, 0), (2, 2)),
    "transpose_": lambda v: v.transpose_(0, 0),
    "t_": lambda v: v.t_(),
    "squeeze_": lambda v: v.squeeze_(0),
    "unsqueeze_": lambda v: v.unsqueeze_(0),
    "swapdims_": lambda v: v.swapdims_(0, 0),
    "swapaxes_": lambda v: v.swapaxes_(0, 0),
}
VIEWS = {
    "normal": lambda base: base.view_as(base),
    "multi": lambda base: base.unbind()[0],
    "custom": Viewed.apply,
}


def errors_of(kind, view_mode, change_mode, requires_grad):
    """What a change of shape in place of a view raises, and what one of numbers after it."""
    if not requires_grad:
        return None, None
    custom = "view was created inside a custom Function"
    multi = "function that returns multiple views"
    view = {"normal": None, "multi": multi, "custom": custom}[kind]
    error = view if view_mode else "A view was created in no_grad mode"
    return (error, None) if change_mode else (None, error)


@pytest.mark.parametrize("change", CHANGES_OF_SHAPE)
@pytest.mark.parametrize("kind", VIEWS)
def test_changes_of_shape_in_place_follow_the_rules_of_views(kind, change):
    for number in range(8):
        modes = [bool(number & bit) for bit in (1, 2, 4)]
        view_mode, change_mode, requires_grad = modes
        base = torch.rand(2, 3, requires_grad=requires_grad).clone()
        with torch.set_grad_enabled(view_mode):
            view = VIEWS[kind](base)
        first, second = errors_of(kind, view_mode, change_mode, requires_grad)
        with torch.set_grad_enabled(change_mode):
            attempted(lambda: CHANGES_OF_SHAPE[change](view), first)  # noqa: B023
        if first is None:
            attempted(lambda: view.add_(1), second)  # noqa: B023


def test_views_of_a_plain_tensor_may_be_changed_by_one_with_a_gradient_or_not_at_all():
    b = torch.rand(1, requires_grad=True)
    view = Viewed.apply(torch.rand(1, 2))
    with pytest.raises(RuntimeError, match=CUSTOM):
        view += b
    with pytest.raises(RuntimeError, match=CUSTOM):
        Viewed.apply(torch.rand(1, 2)).copy_(b)
    with pytest.raises(RuntimeError, match=MULTI):
        torch.rand(1, 2).unbind()[0].copy_(b)
    torch.rand(1, 2).select(1, 0).copy_(b)


def test_a_local_view_may_be_changed_inside_forward():
    class Part(Function):
        @staticmethod
        def forward(ctx, x, change):
            view = x.clone()[:3]
            if change:
                view += 2
            return view

        @staticmethod
        def backward(ctx, g):
            return g, None

    base = torch.rand(10, requires_grad=True)
    for change in (False, True):
        assert Part.apply(base, change).grad_fn.__class__.__name__ == "PartBackward"


def test_a_view_of_a_view_made_under_no_grad_may_not_be_changed():
    with torch.no_grad():
        y = torch.zeros(2).view(2)
    y.requires_grad_(True)
    with pytest.raises(
        RuntimeError, match=r"a view of a view .* is being .* inside the no_grad block"
    ):
        y.view(2).div_(2)


def test_a_function_that_returns_a_view_under_no_grad_returns_a_plain_view():
    class Whole(Function):
        @staticmethod
        def forward(ctx, x):
            return x[:]

        @staticmethod
        def backward(ctx, g):
            return g

    x = torch.rand(2, requires_grad=True)
    with torch.no_grad():
        y, plain = Whole.apply(x), x[:]
    assert y.requires_grad == plain.requires_grad
    with pytest.raises(RuntimeError, match=NO_GRAD):
        y.zero_()


class Returns(Function):
    """One output, the input itself narrowed or a copy."""

    @staticmethod
    def forward(ctx, a, view):
        return a.narrow(0, 0, 2) if view else a.clone()

    @staticmethod
    def backward(ctx, g):
        return g, None


class ReturnsTwo(Function):
    @staticmethod
    def forward(ctx, a, b, view):
        a = a.narrow(0, 0, 2) if view else a.clone()
        return a, a + b

    @staticmethod
    def backward(ctx, g, h):
        return g + h, h, None


class ReturnsViewOfTemporary(Function):
    @staticmethod
    def forward(ctx, a, view):
        ctx.save_for_backward(a)
        return (a.narrow(0, 0, 2) if view else a.clone()).clone().select(0, 0)

    @staticmethod
    def backward(ctx, g):
        (a,) = ctx.saved_tensors
        whole = torch.zeros_like(a)
        whole.select(0, 0).copy_(g)
        return whole, None


def of_one(a, b, view, change):
    out = Returns.apply(a.clone(), view)
    out = out.add_(3) if change else out + 3
    return out.sum()


def of_two(a, b, view, change):
    c, d = ReturnsTwo.apply(a.clone(), b.clone(), view)
    c, d = (c.add_(3), d.add_(3)) if change else (c + 3, d + 3)
    return (c * d).sum()


def of_temporary(a, b, view, change):
    out = ReturnsViewOfTemporary.apply(a + b, view)
    out = out.add_(3) if change else out + 3
    return out.sum()


@pytest.mark.parametrize("change", [True, False])
@pytest.mark.parametrize("view", [True, False])
@pytest.mark.parametrize("function", [of_one, of_two, of_temporary])
def test_a_view_that_a_function_returned_may_not_be_changed(function, view, change):
    a, b = torch.ones(2, dtype=torch.double, requires_grad=True), leaf(2)
    name, why = {
        of_one: ("Returns", CUSTOM),
        of_two: ("ReturnsTwo", MULTI),
        of_temporary: ("ReturnsViewOfTemporary", CUSTOM),
    }[function]
    if change and (view or function is of_temporary):
        text = f"Output 0 of {name}(Backward)? is a view and is being modified inplace. {why}"
        with pytest.raises(RuntimeError, match=text):
            function(a, b, view, change)
    else:

        def f(a, b):
            return function(a, b, view, change)

        assert gradcheck(f, (a, b), check_batched_grad=False)


class Explodes(Function):
    """The identity, whose backward raises."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        raise RuntimeError("Boom!")


def changed_view(x, y):
    out = x.clone().view(-1)
    out += y
    return out


def used_before_the_change(x, y):
    out = x.clone().view(-1)
    b = out * 2
    out += y
    return out + b


@pytest.mark.parametrize("function", [changed_view, used_before_the_change])
def test_only_the_halves_of_a_changed_view_that_are_asked_for_run(function):
    x, y = torch.rand(2, requires_grad=True), torch.rand(2, requires_grad=True)
    bad = Explodes.apply(y)
    with pytest.raises(RuntimeError, match="Boom!"):
        function(x, bad).sum().backward()
    with pytest.raises(RuntimeError, match="Boom!"):
        torch.autograd.grad(function(x, bad).sum(), y)
    torch.autograd.grad(function(x, bad).sum(), x)
    torch.autograd.grad(function(x, bad).sum(), bad)
    torch.autograd.grad(function(x, bad).sum(), (x, bad))


def test_the_node_of_a_view_before_a_change_does_not_run_when_not_asked_for():
    def never(g):
        raise AssertionError("not asked for")

    x, y = torch.rand(2, requires_grad=True), torch.rand(2, requires_grad=True)
    bad = Explodes.apply(y)
    out = x.clone().view(-1)
    out.register_hook(never)
    b = out + bad
    out += bad
    torch.autograd.grad((out + b).sum(), (b, bad))


def test_a_relu_in_place_of_a_view_has_the_right_gradient():
    x = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
    y = x.clone()
    torch.nn.functional.relu(y[:2], inplace=True)
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 0.0, 1.0]


class PureView(Function):
    """The first two numbers as a view, or a view of something else."""

    @staticmethod
    def forward(ctx, x, of_input):
        ctx._is_pure_view = True
        return x.narrow(0, 0, 2) if of_input else x.clone().narrow(0, 0, 2)

    @staticmethod
    def backward(ctx, g):
        raise RuntimeError("the view is followed instead")


def test_a_change_of_a_view_that_a_function_calls_pure_follows_the_view():
    x = torch.ones(3, requires_grad=True)
    base = x.clone()
    view = PureView.apply(base, True)
    view *= 3
    assert base.tolist() == [3.0, 3.0, 1.0]
    view.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0, 0.0]


def test_a_pure_view_of_what_forward_made_is_a_view_of_a_leaf():
    view = PureView.apply(torch.ones(3, requires_grad=True).clone(), False)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        view += 1


def test_a_pure_view_has_one_tensor_in_and_one_out():
    class TwoOut(Function):
        @staticmethod
        def forward(ctx, x):
            ctx._is_pure_view = True
            return x.clone(), x.clone()

    with pytest.raises(RuntimeError, match="Pure view custom Function can only have one input"):
        TwoOut.apply(torch.ones(3, requires_grad=True))


def turned(change):
    """A leaf of shape (2, 3) changed under no_grad, and three times its sum as it was before."""
    x = torch.ones(2, 3, requires_grad=True)
    y = (x * 3).sum()
    with torch.no_grad():
        change(x)
    return x, y


def test_a_leaf_that_got_another_dimension_in_place_gets_the_gradients_of_before():
    x, y = turned(lambda x: x.unsqueeze_(0))
    y.backward()
    assert x.grad.tolist() == [[[3.0] * 3] * 2]
    (x * 2).sum().backward()
    assert x.grad.tolist() == [[[5.0] * 3] * 2]


@pytest.mark.parametrize("change", ["t_", "as_strided_"])
def test_a_leaf_whose_new_shape_does_not_fit_refuses_the_gradients_of_before(change):
    change = {"t_": lambda x: x.t_(), "as_strided_": lambda x: x.as_strided_((3,), (1,))}[change]
    _, y = turned(change)
    with pytest.raises(RuntimeError, match=r"size|shape"):
        y.backward()


def gradient(view, x):
    """The gradient of the view's sum, None where there is no path."""
    assert view.requires_grad
    (g,) = torch.autograd.grad(view.sum(), x, allow_unused=True)
    return g if g is None else g.tolist()


def detached(steps):
    """A leaf, and a view of a tensor made of it that goes through the steps."""
    x = torch.ones(3, requires_grad=True)
    base = x * 2
    view = base[:2]
    for step in steps:
        step(base, view)
    return view, x


def change_base(base, view):
    base.mul_(3)


def change_view(base, view):
    view.mul_(3)


def look(base, view):
    view.grad_fn  # noqa: B018


def detach(base, view):
    base.detach_()


STEPS = {
    "nothing": ((detach,), [2.0, 2.0, 0.0]),
    "view changed": ((change_view, detach), [6.0, 6.0, 0.0]),
    "view changed twice": ((change_view, change_view, detach), [18.0, 18.0, 0.0]),
    "base changed, view looked at": ((change_base, look, detach), [6.0, 6.0, 0.0]),
    "base changed": ((change_base, detach), None),
    "base changed after": ((detach, change_base), None),
    "both changed": ((change_view, change_base, detach), None),
}


@pytest.mark.parametrize("steps", STEPS)
def test_a_view_of_a_base_detached_in_place_has_the_gradient_of_its_last_place(steps):
    steps, wanted = STEPS[steps]
    assert gradient(*detached(steps)) == wanted


def test_a_view_made_a_leaf_stays_one_when_its_numbers_change():
    whole = torch.zeros(4)
    part = whole[:2].requires_grad_()
    with torch.no_grad():
        part += 1
        whole += 1
    assert part.is_leaf
    (part * 2).sum().backward()
    assert part.grad.tolist() == [2.0, 2.0]
