"""Changes of shape in place: t_, transpose_, squeeze_, unsqueeze_, as_strided_, other names."""

import pytest

import engine
from engine.autograd import gradcheck, gradgradcheck

TURNS = {
    "t_": lambda x: x.t_(),
    "transpose_": lambda x: x.transpose_(0, 1),
    "swapdims_": lambda x: x.swapdims_(0, 1),
    "swapaxes_": lambda x: x.swapaxes_(0, 1),
    "unsqueeze_": lambda x: x.unsqueeze_(1),
    "squeeze_": lambda x: x.squeeze_(),
    "as_strided_": lambda x: x.as_strided_((2, 2), (1, 2)),
}


def whole(root, turn):
    x = root.clone()
    assert turn(x) is x
    x[0].mul_(2)
    return x * x


def part(root, turn):
    x = root.clone()
    view = x[:2]
    turn(view)
    view.mul_(3)
    return x * x


@pytest.mark.parametrize("how", [whole, part])
@pytest.mark.parametrize("name", TURNS)
def test_derivatives_follow_a_turn(name, how, rng):
    root = engine.tensor(rng.normal(size=(3, 2)), requires_grad=True)
    assert gradcheck(lambda x: how(x, TURNS[name]), (root,))
    assert gradgradcheck(lambda x: how(x, TURNS[name]), (root,))


@pytest.mark.parametrize("name", TURNS)
def test_a_turn_is_the_view_in_place(name):
    x = engine.arange(6).reshape(3, 2)
    y = x.clone()
    result = TURNS[name](y)
    options = {"unsqueeze_": (1,), "t_": (), "squeeze_": (), "as_strided_": ((2, 2), (1, 2))}
    expected = getattr(x, name[:-1])(*options.get(name, (0, 1)))
    assert result is y
    assert y.tolist() == expected.tolist()


def test_a_leaf_that_requires_grad_is_turned_under_no_grad_only():
    x = engine.ones(2, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match="t_: a leaf Variable that requires grad"):
        x.t_()
    with engine.no_grad():
        x.t_()
    x.sum().backward()
    assert x.is_leaf
    assert x.grad.shape == (3, 2)


def test_a_view_taken_before_its_base_was_turned_is_refused_once_numbers_change():
    for change in (lambda base, view: base.mul_(2), lambda base, view: view.mul_(2)):
        base = engine.ones(2, 3, requires_grad=True).clone()
        view = base[0]
        base.t_()
        with pytest.raises(RuntimeError, match="got another shape in place"):  # noqa: PT012
            change(base, view)
            view.grad_fn  # noqa: B018


@pytest.mark.parametrize(
    "turn",
    [
        lambda x: x.t_(),
        lambda x: x.transpose_(0, 1),
        lambda x: x.squeeze_(),
        lambda x: x.unsqueeze_(0),
        lambda x: x.as_strided_((4,), (1,)),
    ],
    ids=["t_", "transpose_", "squeeze_", "unsqueeze_", "as_strided_"],
)
def test_backward_refuses_what_it_saved_of_a_tensor_that_was_turned_since(turn):
    w = engine.ones(2, 2, requires_grad=True)
    x = engine.tensor([[1.0, 2.0], [3.0, 4.0]])
    y = (x * w).sum()
    turn(x)
    assert x._version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_a_view_stays_where_it_is_in_the_graph_when_its_base_is_turned():
    leaf = engine.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    x = leaf * 1.0
    row, node = x[0], x[0].grad_fn.name()
    x.t_()
    x.t_()
    assert row.grad_fn.name() == node
    (g,) = engine.autograd.grad(row.sum() + x[0].sum(), leaf)
    assert g.tolist() == [[2.0, 2.0], [0.0, 0.0]]


def test_a_view_that_its_turned_base_no_longer_has_is_refused():
    x = engine.ones(2, 3, requires_grad=True) * 1.0
    view = x.permute(1, 0)
    view.unsqueeze_(0)
    x.unsqueeze_(0)
    with pytest.raises(RuntimeError, match="whose base got another shape in place"):
        view.grad_fn  # noqa: B018


def test_an_expanded_tensor_may_be_turned_since_nothing_is_written():
    x = engine.ones(1, 2).expand(3, 2)
    assert x.t_().shape == (2, 3)
    assert x.unsqueeze_(0).squeeze_().shape == (2, 3)
