"""Views and changes in place: gradients stay right, and what would be wrong is refused."""

import gc
import weakref

import numpy as np
import pytest

import engine
from engine.autograd import grad, gradcheck, gradgradcheck


def random(rng, *shape):
    return engine.tensor(rng.normal(size=shape), requires_grad=True)


def inner(*numbers):
    """A double tensor in a graph that may be changed in place, and the leaf it was made of."""
    leaf = engine.tensor(numbers, dtype=engine.float64, requires_grad=True)
    return leaf, leaf.clone()


def checked(f, *inputs):
    assert gradcheck(f, inputs)
    assert gradgradcheck(f, inputs)


def value(text, **names):
    """What the text means with these names; a text names a case of a test too."""
    return eval(text, {"engine": engine, "Doubled": Doubled, **names})


class Doubled(engine.Function):
    """Doubles its input in place."""

    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, g):
        return g * 2


# --- versions and flags ---


def test_a_view_shares_its_bases_version_and_a_copy_does_not():
    base = engine.zeros(3)
    view, copy, detached = base[1:], base.clone(), base.detach()
    view.add_(1)
    detached.mul_(2)
    assert base._version == view._version == detached._version == 2
    assert copy._version == 0
    assert base.tolist() == [0.0, 2.0, 2.0]


def test_setting_data_keeps_the_version():
    x = engine.zeros(2)
    x.add_(1)
    x.data = engine.ones(2)
    assert x._version == 1


def test_the_base_of_a_view_of_a_view_is_the_first_tensor():
    x = engine.zeros(2, 3)
    view = x[0].unsqueeze(0).t()
    assert view._base is x
    assert view._is_view()
    assert not x._is_view()
    assert x._base is None
    assert x.detach()._base is None


def test_a_view_requires_grad_when_its_base_does():
    x = engine.zeros(3)
    view = x[1:]
    assert not view.requires_grad
    x.requires_grad_()
    assert view.requires_grad


def test_a_copy_of_a_view_has_no_base():
    x = engine.zeros(2, 3)
    for copy in (x[0].clone(), x[[0]], x.t().contiguous(), x.t().reshape(-1), x.flip(0)):
        assert not copy._is_view()


# --- refusals ---


def test_a_leaf_that_requires_grad_is_not_changed_in_place():
    x = engine.ones(2, requires_grad=True)
    for change in ("x.zero_()", "x.add_(1)", "x.fill_(2)", "x.masked_fill_(x > 0, 1)"):
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used"):
            value(change, x=x)
    assert x.tolist() == [1.0, 1.0]
    with engine.no_grad():
        x.add_(1)
    assert x.tolist() == [2.0, 2.0]


def test_a_view_of_a_leaf_that_requires_grad_is_not_changed_in_place():
    x = engine.zeros(3, requires_grad=True)
    for view in (x.view_as(x), x[:1], x.narrow(0, 0, 2).unsqueeze(0)):
        with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad is"):
            view.add_(1)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
        x[0] = 1.0
    with pytest.raises(RuntimeError, match="a leaf Variable"):
        x[[0]] = 1.0
    assert x.tolist() == [0.0, 0.0, 0.0]


def test_a_leaf_may_be_changed_before_it_requires_grad():
    x = engine.zeros(2)
    x.add_(3)
    x.requires_grad_()
    (x * x).sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        ("x.unbind()", "UnbindBackward0"),
        ("x.split(1)", "SplitBackward0"),
        ("x.split([1, 2])", "SplitWithSizesBackward0"),
        ("x.chunk(2)", "SplitBackward0"),
        ("x.view(3, 1).unbind()", "UnbindBackward0"),
        ("tuple(x)", "UnbindBackward0"),
    ],
)
def test_one_of_several_views_is_not_changed_in_place(parts, name):
    _, x = inner(1.0, 2.0, 3.0)
    made = value(parts, x=x)
    text = rf"Output 1 of {name} is a view and is being modified inplace\. This view is the output"
    with pytest.raises(RuntimeError, match=text):
        made[1].add_(1)
    with pytest.raises(RuntimeError, match="function that returns multiple views"):
        made[1].view(-1).mul_(2)
    assert x.tolist() == [1.0, 2.0, 3.0]
    x.mul_(2)
    with pytest.raises(RuntimeError, match="its base or another view of its base has been"):
        assert made[1].grad_fn


def test_one_of_several_views_may_be_changed_where_no_gradient_is_wanted():
    x = engine.zeros(3)
    x.unbind()[1].add_(1)
    x.split(1)[2].add_(2)
    assert x.tolist() == [0.0, 1.0, 2.0]
    with pytest.raises(RuntimeError, match="A view is being modified inplace"):
        x.unbind()[0].mul_(engine.ones((), requires_grad=True))


def test_parts_that_are_not_followed_as_views_may_be_changed_in_place(rng):
    def changed(x):
        a, b = x.clone().unsafe_split(2)
        a.mul_(3)
        return a * b, x.clone().unsafe_chunk(2)[0].exp_(), x.tensor_split(2)[0] * 2

    checked(changed, random(rng, 4))
    first, *_ = random(rng, 4).clone().unsafe_split_with_sizes([1, 3])
    assert not first._is_view()


def test_a_view_taken_under_no_grad_is_not_changed_outside():
    _, x = inner(1.0, 2.0)
    with engine.no_grad():
        view = x[:1]
        view.mul_(2)
        parts = x.unbind()
    for changed in (view, *parts):
        with pytest.raises(RuntimeError, match="A view was created in no_grad mode and is being"):
            changed.add_(1)
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode and its base or"):
        assert view.grad_fn


def test_a_view_of_a_view_taken_under_no_grad_is_not_changed_outside():
    _, x = inner(1.0, 2.0)
    with engine.no_grad():
        first = x[:1]
    second = first.view(-1)
    text = "Output 0 of ViewBackward0 is a view of a view which was created in no_grad mode and is"
    with pytest.raises(RuntimeError, match=text):
        second.add_(1)


def test_views_and_changes_inside_no_grad_are_free():
    leaf = engine.ones(4, requires_grad=True)
    with engine.no_grad():
        leaf[1:].mul_(3)
        leaf[0] = 7.0
        leaf.unbind()[3].zero_()
    assert leaf.tolist() == [7.0, 3.0, 3.0, 0.0]
    assert leaf.is_leaf


@pytest.mark.parametrize(
    "spread",
    [
        "x.expand(2, 3)",
        "x[:1].expand(3)",
        "x.as_strided((2, 2), (1, 1))",
        "x.unfold(0, 2, 1)",
        "x.expand(2, 3).t()",
    ],
)
def test_elements_that_share_memory_are_not_changed_in_place(spread):
    x = engine.ones(3)
    for base in (x, inner(1.0, 1.0, 1.0)[1]):
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
            value(spread, x=base).add_(1)
        with pytest.raises(RuntimeError, match="clone"):
            value(spread, x=base).zero_()
    assert x.tolist() == [1.0, 1.0, 1.0]


def test_a_view_is_not_detached_in_place():
    x = engine.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="Can't detach views in-place"):
        x[:1].detach_()


def test_detach_in_place_cuts_the_graph_and_leaves_views_attached():
    x = engine.ones(3, requires_grad=True)
    y = x * 2
    total = (y * 3).sum()
    y.detach_()
    assert y.is_leaf
    assert not y.requires_grad
    total.backward()
    assert x.grad.tolist() == [6.0, 6.0, 6.0]
    view = x.narrow(0, 1, 2)
    x.detach_()
    assert not x.requires_grad
    assert view.requires_grad
    assert view.grad_fn is not None
    assert view._base is x


# --- gradients through changes in place ---


def test_a_change_of_a_view_reaches_its_base(rng):
    def changed(x):
        x = x.clone()
        x[:, 1:].mul_(3)
        return x * x

    checked(changed, random(rng, 2, 3))


def test_a_change_of_a_view_of_a_view_reaches_the_base(rng):
    def changed(x, y):
        x = x.clone()
        x.view(-1)[1:5].view(2, 2).t().mul_(y)
        return x * x

    checked(changed, random(rng, 2, 3), random(rng, 2, 2))


def test_a_change_of_one_view_is_seen_by_another_that_overlaps(rng):
    def changed(x, y):
        x = x.clone()
        first, second = x[:2], x[1:]
        before = (second * 3).sum()
        first.mul_(y)
        return second * second, before

    checked(changed, random(rng, 3), random(rng, 2))


def test_a_view_taken_earlier_sees_a_change_of_its_base(rng):
    def changed(y):
        x = engine.ones(5, dtype=engine.float64)
        view = x.select(0, 1)
        assert not view.requires_grad
        assert view.grad_fn is None
        x.add_(y)
        assert view.requires_grad
        return view

    checked(changed, random(rng, 1))


def test_a_plain_tensor_changed_through_a_view_gets_a_history(rng):
    def changed(y):
        x = engine.ones(2, 4, dtype=engine.float64)
        x.narrow(1, 1, 2).mul_(y)
        assert x.requires_grad
        return x * x

    checked(changed, random(rng, 2, 2))


def test_two_changes_of_sub_blocks(rng):
    def changed(x, a, b):
        x = x.clone()
        x[:2, :2].mul_(a)
        x[1:, 1:].mul_(b)
        return x

    checked(changed, random(rng, 3, 3), random(rng, 2, 2), random(rng, 2, 2))


ROWS, COLUMNS = "x.clone()", "x.t().contiguous().t() * 1"  # how a matrix lies in memory
VIEWS = {
    ROWS: [
        "x.view(-1)",
        "x.view(-1)[1:5]",
        "x.as_strided((2, 2), (1, 3), 1)",
        "x[1].as_strided((2,), (2,))",
        "x.expand(2, 3).view(3, 2)",
        "x.movedim(0, 1).mT.ravel()",
    ],
    COLUMNS: [
        "x.t().view(-1)",
        "x.as_strided((2, 2), (2, 1), 1)",
        "x.swapaxes(0, 1).reshape(2, 3)",
        "x.mT.unfold(1, 2, 2)",
        "x.permute(1, 0).ravel()[::2]",
    ],
}
ANYWAY = [
    "x.t()",
    "x.t()[0]",
    "x.diagonal()",
    "x.diagonal(1)",
    "x.unfold(1, 1, 2)",
    "x.unsqueeze(0).squeeze()",
    "x[None, ..., 1:, None]",
    "x.unflatten(1, (3, 1)).select(1, 2)",
]


@pytest.mark.parametrize(
    ("layout", "view"),
    [(layout, view) for layout in VIEWS for view in VIEWS[layout] + ANYWAY],
)
def test_a_change_of_any_view_in_any_layout(layout, view, rng):
    def changed(x, y):
        x = value(layout, x=x)
        part = value(view, x=x)
        part.mul_(y)
        other = value(view, x=x)
        assert other.grad_fn is not None
        return x, part * other

    shape = value(view, x=value(layout, x=engine.zeros(2, 3))).shape
    checked(changed, random(rng, 2, 3), random(rng, *shape))


@pytest.mark.parametrize(
    "change",
    [
        "v.mul_(y)",
        "v.add_(y)",
        "v.copy_(y)",
        "v.fill_(y[0])",
        "v.zero_()",
        "v.exp_()",
        "v.sigmoid_()",
        "v.mul_(y).tanh_()",
        "v.pow_(2)",
        "v.div_(y * y + 1)",
        "v.sub_(v + y)",
        "v.masked_fill_(y > 0, y.sum())",
        "v.index_add_(0, engine.tensor([1, 1]), y)",
        "v.scatter_(0, engine.tensor([1]), y)",
        "v.index_put_((engine.tensor([0]),), y[:1])",
        "v.__setitem__(0, y[1])",
        "Doubled.apply(v)",
        "v.mul_(y)[:1].mul_(3)",
        "v[1:].add_(v[:1])",
    ],
)
@pytest.mark.parametrize(
    ("size", "part"), [(2, "x"), (4, "x[1:3]"), (4, "x.view(2, 2).t()[1]")]
)
def test_any_change_in_place_of_a_tensor_or_a_part_of_it(change, size, part, rng):
    def changed(x, y):
        x = x.clone()
        view = value(part, x=x)
        value(change, v=view, y=y)
        return x, view * view, x.sin()

    checked(changed, random(rng, size), random(rng, 2))


def test_a_chain_of_changes_of_views(rng):
    def changed(x, y):
        x = x.clone()
        for i in range(3):
            x[i] = x[i - 1] + y
        return x

    checked(changed, random(rng, 3), random(rng))


def test_a_change_of_a_view_whose_own_tensor_died():
    leaf = engine.arange(4.0).requires_grad_()
    part = leaf.narrow(0, 0, 2).clone().view(-1)
    part.relu_()
    copy = part.clone()
    del part
    gc.collect()
    copy.sum().backward()
    assert leaf.grad.tolist() == [0.0, 1.0, 0.0, 0.0]


def test_a_place_in_the_graph_looked_up_under_no_grad_is_right():
    leaf = engine.ones(3, 1, requires_grad=True)
    base = leaf * 2
    view = base.view_as(base)
    view[0][0] = 3
    with engine.no_grad():
        assert view.grad_fn is not None
    view.sum().backward()
    assert leaf.grad.tolist() == [[0.0], [2.0], [2.0]]


def test_what_backward_needs_is_not_changed_through_a_view():
    _, x = inner(1.0, 2.0)
    y = x * x
    x[:1].add_(1)
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation.*is at version 1"):
        y.sum().backward()
    x[1:].mul_(x[1:])
    with pytest.raises(RuntimeError, match="MulBackward0 saved is at version 2; expected"):
        x.sum().backward()


def test_a_second_backward_through_a_changed_view_needs_retain_graph():
    leaf, x = inner(1.0, 2.0)
    x[:1].mul_(3)
    x.sum().backward(retain_graph=True)
    x.sum().backward()
    assert leaf.grad.tolist() == [6.0, 2.0]
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        x.sum().backward()


def test_only_the_half_that_is_asked_for_is_run():
    class Failing(engine.Function):
        @staticmethod
        def forward(ctx, y):
            return y.clone()

        @staticmethod
        def backward(ctx, g):
            raise ValueError("this branch was not asked for")

    x, y = engine.ones(2, requires_grad=True), engine.ones(2, requires_grad=True)

    def changed():
        out = x.clone().view(-1)
        before = out * 2
        failing = Failing.apply(y)
        out += failing
        return failing, out + before

    failing, out = changed()
    assert grad(out.sum(), x)[0].tolist() == [3.0, 3.0]
    failing, out = changed()
    assert grad(out.sum(), failing)[0].tolist() == [1.0, 1.0]
    failing, out = changed()
    with pytest.raises(ValueError, match="not asked for"):
        grad(out.sum(), y)


def test_an_absent_gradient_stays_absent_through_a_changed_view():
    class Doubled(engine.Function):
        @staticmethod
        def forward(ctx, x, other):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, g):
            return g * 2, None

    a, b = engine.ones(1, requires_grad=True), engine.ones((), requires_grad=True)
    Doubled.apply(a.clone()[:], b).backward()
    assert b.grad is None
    assert a.grad.tolist() == [2.0]


# --- nodes and hooks ---


def test_the_base_of_a_changed_view_is_the_result_of_a_node_of_its_own():
    _, base = inner(1.0, 2.0)
    w = engine.ones(1, dtype=engine.float64, requires_grad=True)
    before = base.grad_fn
    view = base[:1]
    view.mul_(w)
    assert type(base.grad_fn).__name__ == "CopySlices"
    (first, _), (second, _) = base.grad_fn.next_functions
    assert first is before
    assert type(second).__name__ == "AccumulateGrad"
    assert type(view.grad_fn).__name__ == "SliceBackward0"
    assert view.grad_fn.next_functions[0][0] is base.grad_fn


def test_hooks_stay_with_the_node_of_the_value_before_the_change():
    _, x = inner(1.0, 2.0)
    seen = []
    x.register_hook(lambda g: seen.append(("old", g.tolist())))
    x.mul_(2)
    x.register_hook(lambda g: seen.append(("new", g.tolist())))
    (x * 3).sum().backward()
    assert seen == [("new", [3.0, 3.0]), ("old", [6.0, 6.0])]


def test_hooks_of_a_view_do_not_run_for_its_node_before_the_change():
    leaf, x = inner(1.0, 2.0)
    view, other, seen = x[:1], x[:1], []
    view.register_hook(seen.append)
    other.register_hook(seen.append)
    view.mul_(2)
    x.sum().backward(retain_graph=True)
    assert seen == []
    assert leaf.grad.tolist() == [2.0, 1.0]
    view.register_hook(lambda g: seen.append(g.tolist()))
    (view * 5).sum().backward(inputs=[x])
    assert seen == [[5.0]]


def test_retained_gradients_are_those_of_the_value_after_the_change():
    leaf, x = inner(1.0)
    x.retain_grad()
    x.mul_(3)
    (x * 5).sum().backward()
    assert x.grad.tolist() == [5.0]
    assert leaf.grad.tolist() == [15.0]


def test_retained_gradients_of_views_follow_them():
    _, base = inner(1.0)
    view, other = base[:], base[:]
    for t in (base, view, other):
        t.retain_grad()
    view.mul_(2)
    (view + other).sum().backward()
    assert view.grad.tolist() == other.grad.tolist() == [1.0]
    assert base.grad.tolist() == [2.0]


def test_retained_gradient_of_a_view_after_a_change_of_its_base():
    _, base = inner(1.0, 2.0)
    view = base[1:]
    view.retain_grad()
    base.mul_(4)
    (view * 7).sum().backward()
    assert view.grad.tolist() == [7.0]


def test_changed_views_and_their_nodes_are_freed_by_reference_counts():
    class Marked(engine.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return g

    gc.disable()
    try:
        leaf = engine.ones(3, requires_grad=True)
        x = Marked.apply(leaf)
        node = weakref.ref(x.grad_fn)
        view = x[1:]
        view.mul_(2)
        view.exp_()
        x.sum().backward()
        del x, view
        assert node() is None
    finally:
        gc.enable()


def test_ten_thousand_views_of_views_are_taken_again_without_recursion():
    leaf, base = inner(1.0, 2.0)
    view = base
    for _ in range(10_000):
        view = view.view(2)
    base.mul_(3)
    view.sum().backward()
    assert leaf.grad.tolist() == [3.0, 3.0]


# --- custom Functions ---


class Part(engine.Function):
    """A view, with a backward of its own."""

    @staticmethod
    def forward(ctx, x):
        return x.view(-1)

    @staticmethod
    def backward(ctx, g):
        return g.view(3, 1) * 5


class Same(engine.Function):
    """The input as it is, with a backward of its own."""

    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 5


class Local(engine.Function):
    """A view of something made inside, and changed there."""

    @staticmethod
    def forward(ctx, x):
        part = x.clone().view(-1)[:2]
        part += 2
        return part

    @staticmethod
    def backward(ctx, g):
        return engine.cat([g * 5, engine.zeros(1)]).view(3, 1)


@pytest.mark.parametrize("function", [Part, Same, Local])
def test_a_view_that_a_function_returned_has_the_functions_gradient_and_is_not_changed(function):
    leaf = engine.ones(3, 1, requires_grad=True)
    out = function.apply(leaf.clone())
    assert out._is_view()
    out.sum().backward()
    assert leaf.grad.sum().item() in (15.0, 10.0)
    out = function.apply(leaf.clone())
    name = f"Output 0 of {function.__name__}Backward is a view and is being modified inplace"
    with pytest.raises(RuntimeError, match=name):
        out.add_(1)


@pytest.mark.parametrize("function", [Part, Same])
def test_a_function_is_not_passed_by_when_the_base_of_its_view_is_changed(function):
    x = engine.ones(3, 1, requires_grad=True).clone()
    out = function.apply(x)
    x.add_(1)
    with pytest.raises(RuntimeError, match="its base or another view of its base has been"):
        assert out.grad_fn


def test_one_of_several_views_that_a_function_returned_is_not_changed():
    class Halves(engine.Function):
        @staticmethod
        def forward(ctx, x):
            return x[:1], x[1:]

        @staticmethod
        def backward(ctx, g, h):
            return engine.cat([g, h])

    _, second = Halves.apply(inner(1.0, 2.0)[1])
    with pytest.raises(RuntimeError, match=r"Output 1 of HalvesBackward.*returns multiple views"):
        second.add_(1)


def test_a_function_that_changes_its_input_returns_the_same_object():
    leaf, x = inner(1.0, 2.0)
    before = x.grad_fn
    out = Doubled.apply(x)
    assert out is x
    assert x._version == 2  # mul_, and mark_dirty
    assert x.grad_fn is not before
    assert type(x.grad_fn).__name__ == "DoubledBackward"
    x.sum().backward()
    assert leaf.grad.tolist() == [2.0, 2.0]


def test_a_function_returns_what_it_changes_in_place():
    class Forgotten(engine.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2).clone()

        @staticmethod
        def backward(ctx, g):
            return g * 2

    with pytest.raises(RuntimeError, match="marked as dirty during the forward method were not re"):
        Forgotten.apply(inner(1.0)[1])


def test_a_function_may_change_an_input_that_needs_no_gradient():
    class Added(engine.autograd.function.InplaceFunction):
        @staticmethod
        def forward(ctx, x, y):
            ctx.mark_dirty(x)
            x.add_(y)
            return x

        @staticmethod
        def backward(ctx, g):
            return g, g

    x, y = engine.zeros(2), engine.ones(2, requires_grad=True)
    out = Added.apply(x, y)
    assert out is x
    assert x.requires_grad
    assert x.grad_fn.next_functions[0][0] is None
    x.sum().backward()
    assert y.grad.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("part", ["x", "x[:1]"])
def test_a_function_does_not_change_a_leaf_that_requires_grad(part):
    leaf = engine.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"a (view of a )?leaf Variable that requires grad"):
        Doubled.apply(value(part, x=leaf))


def test_a_function_in_place_on_a_view(rng):
    def changed(x):
        x = x.clone()
        Doubled.apply(x[1:])
        return x * x

    checked(changed, random(rng, 3))


def test_a_function_in_place_on_a_view_has_one_output():
    class Two(engine.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2), x + 1

        @staticmethod
        def backward(ctx, g, h):
            return g * 2 + h * 2

    with pytest.raises(RuntimeError, match="cannot return more than one Tensor"):
        Two.apply(inner(1.0, 2.0)[1][:1])


def test_a_change_in_place_of_one_of_two_outputs(rng):
    class Two(engine.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, g, h):
            return g * 2 + h * 3

    leaf = engine.tensor(2.0, requires_grad=True)
    first, second = Two.apply(leaf)
    second.retain_grad()
    second.mul_(5)
    first.retain_grad()
    (first * second).backward()
    assert first.grad.item() == 30.0
    assert second.grad.item() == 4.0
    assert leaf.grad.item() == 2 * 30.0 + 3 * 5 * 4.0


# --- plain numbers that hold even if every helper were broken ---


def test_a_gradient_through_assignments_by_hand():
    x = engine.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = engine.zeros(3)
    y[0] = x[1] * 2
    y[1:] = x[:2]
    y[2] *= 10
    (y * engine.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert y.tolist() == [4.0, 1.0, 20.0]
    assert x.grad.tolist() == [10.0, 2.0 + 1000.0, 0.0]


def test_numpy_memory_is_shared_with_views():
    array = np.arange(6.0).reshape(2, 3)
    engine.from_numpy(array).t()[0].zero_()
    assert array.tolist() == [[0.0, 1.0, 2.0], [0.0, 4.0, 5.0]]
