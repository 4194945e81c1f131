"""How results lie in memory, as PyTorch's do: row by row, or as their input lies.

The two lists are recorded from torch 2.13 on these layouts; what works with view(-1) there works
here.
"""

import pytest

import engine
from engine import arange, tensor
from engine.nn import functional as F

LAYOUTS = {
    "turned": lambda: arange(6.0).view(2, 3).t(),
    "first two turned": lambda: arange(24.0).view(2, 3, 4).transpose(0, 1),
    "last two turned": lambda: arange(24.0).view(2, 3, 4).transpose(1, 2),
    "last in front": lambda: arange(24.0).view(2, 3, 4).permute(2, 0, 1),
    "backwards": lambda: arange(24.0).view(2, 3, 4).permute(2, 1, 0),
    "of four": lambda: arange(120.0).view(2, 3, 4, 5).permute(0, 2, 3, 1),
}


def along(name, of):
    """An operation of a tensor and a dimension, along each of three."""
    return {f"{name}({dim})": lambda x, dim=dim: of(x, dim) for dim in (0, 1, -1)}


def reduced(name, **options):
    """A method that reduces dimensions, with and without keepdim."""
    plain = along(name, lambda x, dim: getattr(x, name)(dim=dim, **options))
    kept = along(f"{name} kept", lambda x, dim: getattr(x, name)(dim=dim, keepdim=True, **options))
    return plain | kept


REDUCTIONS = "sum nansum mean var std norm prod amax amin all any logsumexp argmax".split()
ROW_BY_ROW = {
    **{name: f for method in REDUCTIONS for name, f in reduced(method).items()},
    **along("norm of 0", lambda x, dim: x.norm(0, dim)),
    **along("norm of 3", lambda x, dim: x.norm(3, dim)),
    **along("norm of inf", lambda x, dim: x.norm(float("inf"), dim)),
    **along("mean in half", lambda x, dim: x.half().mean(dim)),
    **along("sum in half", lambda x, dim: x.half().sum(dim)),
    **along("sum of integers", lambda x, dim: x.long().sum(dim)),
    **along("count_nonzero", lambda x, dim: x.count_nonzero(dim)),
    **along("var_mean", lambda x, dim: engine.var_mean(x, dim)[1]),
    **along("max", lambda x, dim: x.max(dim).values),
    **along("median", lambda x, dim: x.median(dim).values),
    **along("place of the median", lambda x, dim: x.median(dim).indices),
    **along("kthvalue", lambda x, dim: x.kthvalue(2, dim).values),
    **along("place of the kthvalue", lambda x, dim: x.kthvalue(2, dim).indices),
    **along("softmax", lambda x, dim: x.softmax(dim)),
    **along("softmax in half", lambda x, dim: x.half().softmax(dim)),
    **along("log_softmax", lambda x, dim: x.log_softmax(dim)),
    **along("cumsum", lambda x, dim: x.cumsum(dim)),
    **along("cumprod", lambda x, dim: x.cumprod(dim)),
    **along("cat", lambda x, dim: engine.cat((x, x), dim)),
    **along("cat of one", lambda x, dim: engine.cat((x,), dim)),
    **along("cat of two orders", lambda x, dim: engine.cat((x, x.contiguous()), dim)),
    **along("stack", lambda x, dim: engine.stack((x, x), dim)),
    **along("roll", lambda x, dim: x.roll(1, dim)),
    **along("index_select", lambda x, dim: x.index_select(dim, tensor([0, 1]))),
    **along("gather", lambda x, dim: x.gather(dim, x.long() * 0)),
    **along("cosine_similarity", lambda x, dim: F.cosine_similarity(x, x, dim)),
    "roll of all": lambda x: x.roll(1),
    "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "layer_norm of all": lambda x: F.layer_norm(x, x.shape),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
    "one_hot": lambda x: F.one_hot(x.long()),
    "repeat": lambda x: x.repeat(*[2] * x.ndim),
    "flatten": lambda x: x.flatten(),
}
AS_THEIR_INPUT = {
    "exp": lambda x: x.exp(),
    "relu": lambda x: x.relu(),
    "neg": lambda x: -x,
    "a sum": lambda x: x + x,
    "a sum with a number": lambda x: x + 1,
    "a sum with a row": lambda x: x + x[(0,) * (x.ndim - 1)],
    "a comparison": lambda x: x > 1,
    "clamp": lambda x: x.clamp(0, 2),
    "where": lambda x: engine.where(x > 1, x, x),
    "gelu": lambda x: F.gelu(x),
    "clone": lambda x: x.clone(),
    "double": lambda x: x.double(),
    "zeros_like": lambda x: engine.zeros_like(x),
    **along("index_fill", lambda x, dim: x.index_fill(dim, tensor([0]), 2.0)),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ROW_BY_ROW)
def test_a_result_lies_row_by_row_whatever_its_input_lies_like(name, layout):
    y = ROW_BY_ROW[name](LAYOUTS[layout]())
    assert y.is_contiguous(), (tuple(y.shape), y.stride())
    assert y.flatten().data_ptr() == y.data_ptr()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", AS_THEIR_INPUT)
def test_an_elementwise_result_lies_as_its_input(name, layout):
    x = LAYOUTS[layout]()
    assert AS_THEIR_INPUT[name](x).stride() == x.stride()


def test_a_softmax_of_a_turned_tensor_can_be_viewed_as_a_row():
    x = arange(6.0).view(2, 3).t().requires_grad_()
    x.softmax(0).view(-1)[::2].sum().backward()
    assert x.grad.shape == (3, 2)
    assert x.grad.sum().item() == pytest.approx(0.0, abs=1e-6)
