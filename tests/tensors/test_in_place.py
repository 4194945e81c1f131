"""Operations in place that are copied back: numbers, gradients, versions and dtypes."""

import pytest

import engine
from engine.autograd import grad, gradcheck

CASES = {
    "cumsum": (0,),
    "cumprod": (1,),
    "tril": (),
    "triu": (1,),
    "addmm": (engine.ones(2, 2).double(), engine.tensor([[1.0, 2.0], [3.0, 4.0]]).double()),
}


@pytest.mark.parametrize("name", CASES)
def test_an_operation_in_place_has_the_numbers_and_the_gradient_of_the_other(name):
    x = engine.tensor([[1.0, -2.0], [0.5, 3.0]], dtype=engine.float64, requires_grad=True)
    y = x * 1.0
    expected = getattr(x, name)(*CASES[name])
    assert getattr(y, f"{name}_")(*CASES[name]) is y
    assert (y.tolist(), y._version) == (expected.tolist(), 1)
    assert gradcheck(lambda x: getattr(x * 2.0, f"{name}_")(*CASES[name]), x)


@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor"])
def test_logic_in_place_keeps_the_dtype(name):
    x, other = engine.tensor([0.0, 2.0]), engine.tensor([3.0, 4.0])
    expected = getattr(x, name)(other).float()
    assert getattr(x, f"{name}_")(other).tolist() == expected.tolist()
    assert x.dtype == engine.float32


@pytest.mark.parametrize("wider", ["tensor", "number"])
def test_a_gradient_has_the_dtype_of_what_a_wider_operand_changed(wider):
    x = engine.tensor([2.0] if wider == "tensor" else 2.0, requires_grad=True)
    p = engine.tensor([3.0] if wider == "tensor" else 3.0, dtype=engine.float64, requires_grad=True)
    for change in ("mul_", "add_"):
        y, seen = x * 1.0, []
        getattr(y, change)(p)
        y.register_hook(lambda g, seen=seen: seen.append(g.dtype))
        of_y, of_p = grad(y.sum(), (y, p))
        assert (y.dtype, of_y.dtype, seen) == (engine.float32, engine.float32, [engine.float32])
        assert (of_p.dtype, of_p.sum().item()) == (engine.float64, 2.0 if change == "mul_" else 1.0)


def test_bits_are_changed_in_place():
    x = engine.tensor([1, 2, 3])
    assert x.bitwise_and_(engine.tensor([1, 3, 1])).tolist() == [1, 2, 1]
    assert x.bitwise_not_().tolist() == [-2, -3, -2]


def test_add_and_sub_in_place_take_alpha():
    leaf = engine.ones(2, requires_grad=True)
    x = engine.zeros(2)
    assert x.add_(leaf, alpha=3) is x
    x.sub_(leaf * leaf, alpha=2)
    assert x.tolist() == [1.0, 1.0]
    (g,) = engine.autograd.grad(x.sum(), leaf)
    assert g.tolist() == [-1.0, -1.0]
    assert x.subtract_(1.0).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("name", "other"),
    [("absolute_", "abs_"), ("multiply_", "mul_"), ("divide_", "div_"), ("negative_", "neg_")],
)
def test_longer_names_in_place_are_the_same(name, other):
    assert getattr(engine.Tensor, name) is getattr(engine.Tensor, other)


def test_clamp_in_place_needs_a_limit():
    with pytest.raises(RuntimeError, match="clamp_: at least one of 'min' or 'max'"):
        engine.ones(2).clamp_()
    assert engine.tensor([-1.0, 2.0]).clip_(0, 1).tolist() == [0.0, 1.0]


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
@pytest.mark.parametrize("other", ["tensor", "number", "itself turned", "a row", "double"])
def test_arithmetic_in_place_has_the_numbers_of_the_other_form(name, other, rng):
    x = engine.tensor(rng.standard_normal((4, 4)), dtype=engine.float32)
    others = {"tensor": engine.tensor(rng.standard_normal((4, 4)), dtype=engine.float32)}
    others |= {"number": 0.3, "itself turned": x.t(), "a row": others["tensor"][0]}
    y = others.get(other, others["tensor"].double())
    expected, memory, version = getattr(x, name)(y).float(), x.data_ptr(), x._version
    assert getattr(x, f"{name}_")(y) is x
    assert x.tolist() == expected.tolist()
    assert (x.data_ptr(), x._version, x.dtype) == (memory, version + 1, engine.float32)


@pytest.mark.parametrize("name", ["mul", "div", "mul_", "pow_number", "div_"])
@pytest.mark.parametrize("others", [(), (2.0, 3.0)], ids=len)
def test_an_operation_takes_as_many_operands_as_it_has(name, others):
    got = rf"needs, beside the tensor itself, [bk]; got {len(others)} operands"
    with pytest.raises(TypeError, match=got):
        getattr(engine.ones(2), name)(*others)


def test_an_operation_of_one_operand_takes_no_other():
    with pytest.raises(TypeError, match="exp: takes the tensor alone; got 1 more operands"):
        engine.ones(2).exp(2.0)


def test_what_is_changed_in_place_needs_to_be_a_tensor():
    with pytest.raises(TypeError, match="what it changes needs to be a Tensor; got None"):
        engine.zero_(None)
