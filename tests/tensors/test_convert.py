"""Conversions between dtypes, functions with steps, remainders, comparisons and blends."""

import numpy as np
import pytest

import engine
from engine.autograd import grad, gradcheck, gradgradcheck

FLOATS = [engine.float64, engine.float32, engine.float16]
KINDS = [*FLOATS, engine.int64, engine.int32, engine.int16, engine.int8, engine.uint8, engine.bool]


def leaf(numbers, dtype=engine.float64):
    return engine.tensor(numbers, dtype=dtype, requires_grad=True)


@pytest.mark.parametrize("dtype", FLOATS, ids=repr)
def test_a_cast_passes_the_gradient_on_in_the_dtype_of_its_input(dtype):
    x = leaf([1.0, 2.0])
    y = x.to(dtype)
    (y * y).sum().backward()
    assert y.grad_fn is None or y is x or y.grad_fn.name() == "ToCopyBackward0"
    assert x.grad.dtype is engine.float64
    assert x.grad.tolist() == [2.0, 4.0]


def test_a_cast_has_derivatives_of_any_order():
    x = leaf([1.0, 2.0])
    (first,) = grad((x.float() ** 3).sum(), x, create_graph=True)
    (second,) = grad(first.sum(), x)
    assert second.tolist() == [6.0, 12.0]


def test_whole_numbers_leave_the_graph():
    assert not leaf([1.5]).long().requires_grad
    assert not leaf([1.5]).bool().requires_grad


def test_to_returns_the_tensor_itself_where_nothing_changes():
    x = engine.zeros(2)
    assert x.to(engine.float32) is x
    assert x.to("cpu") is x
    assert x.cpu() is x
    assert x.float() is x
    copied = x.to(engine.float32, copy=True)
    copied[0] = 1.0
    assert x.tolist() == [0.0, 0.0]


def test_type_names_the_class_and_takes_it():
    x = engine.zeros(2)
    assert x.type() == "engine.FloatTensor"
    assert [engine.zeros(1, dtype=d).type() for d in KINDS[3:]] == [
        f"engine.{n}Tensor" for n in ("Long", "Int", "Short", "Char", "Byte", "Bool")
    ]
    for wanted in (engine.DoubleTensor, "engine.DoubleTensor", "torch.DoubleTensor", engine.double):
        assert x.type(wanted).dtype is engine.float64
    with pytest.raises(ValueError, match=r"invalid type: 'nonsense'.*engine\.DoubleTensor"):
        x.type("nonsense")


@pytest.mark.parametrize("dtype", KINDS, ids=repr)
def test_a_tensor_answers_for_its_dtype(dtype):
    x = engine.zeros(3, dtype=dtype)
    assert x.is_floating_point() == dtype.is_floating_point == engine.is_floating_point(x)
    assert x.element_size() == x.itemsize == dtype.itemsize
    assert x.nbytes == 3 * dtype.itemsize
    assert x.is_signed() == dtype.is_signed
    assert not x.is_complex()
    assert (x.is_cpu, x.is_cuda, x.is_sparse, x.get_device()) == (True, False, False, -1)


def test_dtypes_know_what_fits_into_what():
    assert engine.can_cast(engine.int64, engine.float16)
    assert not engine.can_cast(engine.float32, engine.int64)
    assert engine.promote_types(engine.float32, engine.int64) is engine.float32
    assert engine.promote_types(engine.uint8, engine.int8) is engine.int16
    assert engine.promote_types(engine.float64, engine.float16) is engine.float64
    assert repr(engine.half) == "engine.float16"


STEPS = ["floor", "ceil", "trunc", "fix", "round", "sign", "sgn"]


@pytest.mark.parametrize("name", STEPS)
def test_the_slope_of_a_step_is_0_in_the_graph(name):
    x = leaf([-1.5, 0.0, 2.5])
    y = getattr(engine, name)(x)
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("name", ["floor", "ceil", "trunc", "round", "sign", "frac"])
def test_forms_in_place_give_the_same_and_have_the_same_slope(name):
    x = leaf([-1.5, 0.25, 2.5])
    y = x * 1.0
    assert getattr(y, f"{name}_")() is y
    assert y.tolist() == getattr(x, name)().tolist()
    y.sum().backward()
    assert x.grad.tolist() == ([1.0] * 3 if name == "frac" else [0.0] * 3)


def test_forms_in_place_are_refused_on_leaves_and_name_themselves():
    for call in (
        lambda x: x.floor_(),
        lambda x: x.lerp_(x.detach(), 0.5),
        lambda x: x.remainder_(2),
        lambda x: x.nan_to_num_(),
    ):
        with pytest.raises(RuntimeError, match=r"(floor|lerp|remainder|nan_to_num)_: a leaf"):
            call(leaf([1.0]))


def random(rng, *shape):
    return engine.tensor(rng.normal(size=shape) + 0.1, requires_grad=True)


BLENDS = {
    "remainder": lambda a, b, c: a % b,
    "fmod": lambda a, b, c: engine.fmod(a, b),
    "lerp": lambda a, b, c: engine.lerp(a, b, c),
    "addcmul": lambda a, b, c: engine.addcmul(a, b, c, value=0.7),
    "addcdiv": lambda a, b, c: engine.addcdiv(a, b, c, value=-1.3),
    "frac": lambda a, b, c: a.frac() * b,
    "nan_to_num": lambda a, b, c: a.nan_to_num() * b,
    "lerp in place": lambda a, b, c: (a * 1.0).lerp_(b, c),
    "addcmul in place": lambda a, b, c: (a * 1.0).addcmul_(b, c),
    "remainder in place": lambda a, b, c: (a * 1.0).remainder_(b),
    "float and back": lambda a, b, c: a.double() * b,
}
SHAPES = [((2, 3), (2, 3), (2, 3)), ((2, 3), (3,), (2, 1)), ((2, 3), (), (1,)), ((0, 3), (3,), ())]


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("name", BLENDS)
def test_first_and_second_derivatives_agree_with_differences(name, shapes, rng):
    inputs = tuple(random(rng, *shape) for shape in shapes)
    assert gradcheck(BLENDS[name], inputs)
    assert gradgradcheck(BLENDS[name], inputs)


@pytest.mark.parametrize("name", BLENDS)
def test_derivatives_are_right_on_other_orders_of_memory(name, rng):
    a, b = (random(rng, 3, 2).detach().t().requires_grad_() for _ in range(2))
    c = random(rng, 2, 6).detach()[:, ::2].requires_grad_()
    assert gradcheck(BLENDS[name], (a, b, c))
    assert gradgradcheck(BLENDS[name], (a, b, c))


def test_nan_to_num_stops_the_gradient_of_what_it_replaces():
    x = leaf([float("nan"), float("inf"), 2.0])
    y = engine.nan_to_num(x, nan=7.0, posinf=8.0)
    y.sum().backward()
    assert y.tolist() == [7.0, 8.0, 2.0]
    assert x.grad.tolist() == [0.0, 0.0, 1.0]


def test_whole_numbers_by_zero_are_refused():
    for call in (lambda i: i % 0, lambda i: i // 0, lambda i: engine.fmod(i, 0)):
        with pytest.raises(RuntimeError, match=r"ZeroDivisionError"):
            call(engine.tensor([1, 2]))
    assert (engine.tensor([1.0]) % 0.0).isnan().item()


def test_shapes_that_do_not_broadcast_are_named():
    for call in (lambda a, b: a % b, lambda a, b: a.isclose(b), lambda a, b: engine.fmod(a, b)):
        with pytest.raises(RuntimeError, match=r"size of tensor a \(2\) must match .* b \(3\)"):
            call(engine.ones(2), engine.ones(3))


def test_closeness_needs_one_dtype():
    x = engine.ones(2)
    assert engine.allclose(x, x + 1e-9)
    assert not engine.allclose(x, x + 1.0)
    with pytest.raises(RuntimeError, match=r"float32 and engine\.float64: Float did not match Dou"):
        engine.isclose(x, x.double())
    with pytest.raises(TypeError, match=r"isclose: needs two tensors; got float"):
        engine.isclose(x, 1.0)


def test_equal_is_one_answer_for_the_whole_tensor():
    x = engine.tensor([1.0, 2.0])
    assert engine.equal(x, x.clone())
    assert not engine.equal(x, engine.tensor([[1.0, 2.0]]))
    assert not engine.equal(x, engine.tensor([1.0, 3.0]))
    with pytest.raises(TypeError, match=r"equal: needs two tensors"):
        engine.equal(x, [1.0, 2.0])


def test_masks_are_combined_by_operators():
    x = engine.tensor([-1.0, 0.5, 2.0])
    assert ((x > 0) & (x < 1)).tolist() == [False, True, False]
    assert ((x < 0) | (x > 1)).tolist() == [True, False, True]
    assert (~(x > 0)).tolist() == [True, False, False]
    assert ((x > 0) ^ True).tolist() == [True, False, False]
    mask = x > 0
    mask &= x < 1
    assert mask.tolist() == [False, True, False]
    assert (True | (x > 0)).tolist() == [True] * 3


def test_bitwise_operators_are_refused_on_floats_with_the_cure():
    x = engine.ones(2)
    with pytest.raises(NotImplementedError, match=r"bitwise_and: .*compare first, as \(x > 0\)"):
        x & x
    with pytest.raises(TypeError, match=r"~: needs .*use -x"):
        ~x  # noqa: B018
    with pytest.raises(TypeError, match=r"unsupported operand"):
        (x > 0) & "a"


def test_a_missing_method_names_the_one_in_place():
    with pytest.raises(AttributeError, match=r"no attribute 'uniform'; .*in place: uniform_"):
        engine.zeros(2).uniform(-0.1, 0.1)
    with pytest.raises(AttributeError, match=r"no attribute 'nonsense'$"):
        engine.zeros(2).nonsense  # noqa: B018


@pytest.mark.parametrize("whole", [False, True], ids=["number", "tensor"])
@pytest.mark.parametrize(
    ("start", "end", "weight", "right"),
    [
        (np.inf, 1.5, 0.5, np.inf),
        (np.inf, 1.5, 0.4, np.nan),
        (1.5, np.inf, 0.5, np.nan),
        (1.5, np.inf, 0.4, np.inf),
        (np.inf, 1.5, -0.5, np.inf),
        (1e30, 1.0, 1.0, 1.0),
        (1.0, 3.0, 0.25, 1.5),
        (1.0, 3.0, 2.0, 5.0),
    ],
)
def test_lerp_starts_from_the_nearer_end(start, end, weight, right, whole):
    x, y, w = (engine.tensor(n, requires_grad=True) for n in (start, end, weight))
    z = x.lerp(y, w if whole else weight)
    assert z.item() == pytest.approx(right, nan_ok=True)
    assert grad(z, (x, y))[0].item() == pytest.approx(1.0 - weight)
    assert grad(x.lerp(y, weight), y)[0].item() == pytest.approx(weight)


def test_lerp_takes_each_element_from_its_nearer_end():
    w = engine.tensor([0.4, 0.5])
    x, y = engine.tensor([1.5, np.inf]), engine.tensor([np.inf, 1.5])
    assert x.lerp(y, w).tolist() == [np.inf, np.inf]


def test_values_take_part_in_remainders_and_blends():
    v, x = engine.Value(0.7), leaf([1.0, 2.0])
    engine.lerp(x, x * 3.0, v).sum().backward()
    assert v.grad == pytest.approx(6.0)
    v.zero_grad()
    (x % v).sum().backward()
    assert v.grad == pytest.approx(-(1 + 2))


def test_the_numbers_of_a_float16_are_stored_and_computed_by_numpy():
    x = engine.tensor([0.1], dtype=engine.float16)
    assert x.item() == float(np.float16(0.1))
    assert (x * 3).item() == float(np.float16(0.1) * np.float16(3))


def test_a_view_that_may_not_be_followed_any_more_has_whole_numbers():
    x = engine.arange(4.0, requires_grad=True) * 1.0
    view = x.chunk(2)[0]
    x.mul_(2.0)
    assert view.bool().tolist() == [False, True]
    assert view.to(engine.int64).tolist() == [0, 2]
    with pytest.raises(RuntimeError, match="is a view and its base"):
        view.double()
