"""Making tensors: torch's numbers, dtypes and kinds of error; what is copied and what is shared."""

from collections import deque
from fractions import Fraction

import numpy as np
import pytest
from reference import expressions, make_creation

import engine
from engine import Value

RECORD = expressions.recorded("creation")
GROUPS = expressions.by_function(RECORD)


def test_every_recorded_case_still_stands_in_the_program_that_made_it():
    assert list(RECORD) == list(dict.fromkeys(make_creation.EXPRESSIONS))


@pytest.mark.parametrize("function", GROUPS)
def test_values_derivatives_and_kinds_of_error_are_those_of_torch(function):
    for text in GROUPS[function]:
        assert not expressions.differences(engine, text, RECORD[text], make_creation.INPUTS)


def test_tensor_copies_an_array_and_keeps_its_dtype():
    array = np.array([1.0, 2.0])
    t = engine.tensor(array)
    array[0] = 9.0
    assert t.tolist() == [1.0, 2.0]
    assert t.dtype is engine.float64


def test_from_numpy_shares_memory_both_ways():
    array = np.zeros(2, np.float32)
    t = engine.from_numpy(array)
    array[0] = 1.0
    t[1] = 2.0
    assert t.tolist() == [1.0, 2.0]
    assert array.tolist() == [1.0, 2.0]


def test_as_tensor_shares_what_it_can():
    array, t = np.zeros(2), engine.zeros(2)
    engine.as_tensor(array)[0] = 1.0
    assert array.tolist() == [1.0, 0.0]
    assert engine.as_tensor(t) is t
    assert engine.as_tensor(array, dtype=engine.float32).dtype is engine.float32


@pytest.mark.parametrize("make", [engine.tensor, engine.from_numpy, engine.as_tensor])
@pytest.mark.parametrize("kind", [">f8", ">f4", ">i4", ">i2"])
def test_numbers_of_another_byte_order_become_native(make, kind):
    t = make(np.array([1, 258], dtype=kind))
    assert t.tolist() == [1, 258]
    assert t.numpy().dtype.isnative


@pytest.mark.parametrize("kind", ["U1", "c16", "O", "M8[s]", "u4", "g"])
def test_an_array_of_another_kind_is_refused_with_the_cure(kind):
    for make in (engine.tensor, engine.from_numpy, engine.as_tensor):
        with pytest.raises(TypeError, match=r"floats, integers or booleans; got dtype.*astype"):
            make(np.zeros(1, dtype=kind))


def test_numpys_numbers_keep_their_dtype():
    assert engine.tensor(np.float64(1)).dtype is engine.float64
    assert engine.tensor([np.float32(1), 2.0]).dtype is engine.float32
    assert engine.tensor([np.float64(1), 2.0]).dtype is engine.float64
    assert engine.tensor([np.int32(1)]).dtype is engine.int32
    assert engine.tensor([np.array([1.0, 2.0])]).tolist() == [[1.0, 2.0]]


def test_other_sequences_are_lists():
    assert engine.tensor(deque([1, 2])).tolist() == [1, 2]
    assert engine.tensor(range(2, 5)).tolist() == [2, 3, 4]


@pytest.mark.parametrize("data", [Value(1.0), [Value(1.0), 2.0], [[Value(1.0)]]])
def test_values_are_refused_and_stack_is_named(data):
    for make in (engine.tensor, engine.as_tensor):
        with pytest.raises(TypeError, match=r"got a Value.*engine\.stack\(values\)"):
            make(data)
    with pytest.raises(TypeError, match=r"full: .*engine\.stack"):
        engine.full((2,), Value(1.0))


@pytest.mark.parametrize(
    ("data", "error", "text"),
    [
        ("3", TypeError, r"tensor: needs numbers; got the text '3'.*float"),
        (["3"], TypeError, r"got the text '3'"),
        (1j, TypeError, r"real numbers; got 1j"),
        (None, RuntimeError, r"Could not infer dtype of NoneType"),
        ([[1, 2], [3]], ValueError, r"nested lists need equal lengths"),
        ([1, [2]], TypeError, r"nested lists need equal depth"),
        (2**70, ValueError, r"int64 without overflow.*wider dtype"),
    ],
)
def test_what_is_not_a_batch_of_numbers_is_refused(data, error, text):
    with pytest.raises(error, match=text):
        engine.tensor(data)


@pytest.mark.parametrize("dtype", [engine.float32, engine.int64, engine.bool], ids=str)
@pytest.mark.parametrize(
    ("data", "text"),
    [
        (None, "needs numbers.*got NoneType"),
        ("1.5", r"got the text '1.5'.*float"),
        ("a", r"got the text 'a'"),
        (b"12", r"got the text b'12'"),
        ({}, "got dict"),
        (Value(1.0), r"got a Value.*engine\.stack"),
    ],
    ids=repr,
)
def test_a_dtype_makes_no_number_of_what_is_none(data, text, dtype):
    with pytest.raises(TypeError, match=text):
        engine.tensor(data, dtype=dtype)


def test_a_dtype_takes_what_calls_itself_a_number():
    assert engine.tensor(Fraction(1, 4), dtype=engine.float32).item() == 0.25
    assert engine.tensor(True, dtype=engine.float64).item() == 1.0


def test_a_number_that_does_not_fit_names_the_dtype():
    with pytest.raises(RuntimeError, match=r"cannot be converted to type int8 without overflow"):
        engine.tensor([300], dtype=engine.int8)
    with pytest.raises(RuntimeError, match=r"cannot be converted to type int64 without overflow"):
        engine.tensor([float("nan")], dtype=engine.int64)


def test_tensors_in_a_list_lose_their_graph_with_a_warning_that_names_stack():
    x = engine.tensor(1.0, requires_grad=True)
    with pytest.warns(UserWarning, match=r"loses its graph; engine\.stack"):
        t = engine.tensor([x, 2.0])
    assert t.tolist() == [1.0, 2.0]
    assert not t.requires_grad
    with pytest.raises(ValueError, match=r"only one element tensors .*shape \(2,\).*engine\.stack"):
        engine.tensor([engine.zeros(2)])


def test_a_copy_of_a_tensor_warns_and_names_clone():
    x = engine.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match=r"t\.detach\(\)\.clone\(\)"):
        t = engine.tensor(x)
    t[0] = 5.0
    assert x.tolist() == [1.0, 1.0]
    assert not t.requires_grad


def test_a_read_only_array_is_shared_with_a_warning():
    array = np.broadcast_to(np.float64(1.5), (2,))
    with pytest.warns(UserWarning, match=r"not writeable.*engine\.tensor\(array\)"):
        t = engine.from_numpy(array)
    assert t.tolist() == [1.5, 1.5]


def test_only_floats_can_require_grad():
    for make in (engine.tensor, engine.full):
        with pytest.raises(RuntimeError, match=r"floating point .*\.float\(\) or \.double\(\)"):
            make([2], 3, requires_grad=True) if make is engine.full else make(
                [2], requires_grad=True
            )
    assert engine.zeros(2, requires_grad=True).is_leaf


def test_sizes_are_numbers_or_one_tuple_of_them():
    shapes = [engine.zeros(*args).shape for args in ((2, 3), ((2, 3),), ([2, 3],))]
    assert shapes == [(2, 3)] * 3
    assert engine.zeros(np.int64(2), engine.tensor(3)).shape == (2, 3)
    with pytest.raises(TypeError, match=r"zeros\(\): argument 'size' must be whole numbers"):
        engine.zeros(2.0)
    with pytest.raises(RuntimeError, match=r"zeros: argument 'size' must be non-negative; got -1"):
        engine.zeros(2, -1)
    with pytest.raises(TypeError, match=r"full\(\): argument 'size' must be tuple.*full\(\(3,\)"):
        engine.full(3, 1.0)


def test_tensors_class_takes_sizes_or_data():
    assert engine.Tensor(2, 3).shape == (2, 3)
    assert engine.Tensor(engine.Size([2, 3])).shape == (2, 3)
    assert engine.Tensor([1, 2]).dtype is engine.float32
    assert engine.Tensor().shape == (0,)
    with pytest.raises(TypeError, match=r"data must be a sequence \(got float\); engine\.tensor"):
        engine.Tensor(2.5)


def test_the_classes_by_dtype_make_and_recognise_tensors():
    assert engine.DoubleTensor([1, 2]).dtype is engine.float64
    assert engine.LongTensor(2, 3).shape == (2, 3)
    assert isinstance(engine.zeros(2), engine.FloatTensor)
    assert not isinstance(engine.zeros(2), engine.DoubleTensor)
    assert not isinstance(np.zeros(2), engine.DoubleTensor)
    assert repr(engine.FloatTensor) == "<class 'engine.FloatTensor'>"


class Image(engine.Tensor):
    """A subclass of the user's own."""

    def brightness(self):
        return self.mean().item()


def test_a_subclass_is_made_as_a_tensor_is():
    image = Image([[1.0, 3.0]])
    assert type(image) is Image
    assert image.brightness() == 2.0
    assert type(engine.ones(2).as_subclass(Image)) is Image
    assert type(Image._make_subclass(Image, engine.ones(2), True)) is Image


def test_as_subclass_stays_in_the_graph():
    x = engine.ones(2, requires_grad=True)
    (x.as_subclass(Image) * 3.0).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    with pytest.raises(RuntimeError, match=r"as_subclass: needs a subclass of Tensor"):
        x.as_subclass(int)


def test_new_tensors_take_the_dtype_of_the_one_at_hand():
    x = engine.zeros(1, dtype=engine.float64)
    assert x.new_tensor([1, 2]).dtype is engine.float64
    assert x.new_zeros(2, 3).shape == (2, 3)
    assert x.new_empty((2,)).dtype is engine.float64
    assert x.new_ones(2, dtype=engine.int64).dtype is engine.int64
    assert x.new_full((2,), 7).tolist() == [7.0, 7.0]
    assert x.new(2, 3).shape == (2, 3)


def test_like_functions_keep_the_order_of_memory():
    x = engine.zeros(2, 3).t()
    assert engine.zeros_like(x).numpy().strides == x.numpy().strides
    assert engine.empty_like(x).shape == (3, 2)


def test_the_default_dtype_decides_what_floats_become():
    engine.set_default_dtype(engine.float64)
    try:
        made = [engine.tensor(1.0), engine.zeros(1), engine.rand(1), engine.arange(1.0)]
        assert [t.dtype for t in made] == [engine.float64] * 4
        assert engine.get_default_dtype() is engine.float64
    finally:
        engine.set_default_dtype(engine.float32)
    with pytest.raises(TypeError, match=r"only floating-point types"):
        engine.set_default_dtype(engine.int64)


def test_set_default_tensor_type_takes_a_class_or_its_name():
    try:
        engine.set_default_tensor_type("torch.DoubleTensor")
        assert engine.zeros(1).dtype is engine.float64
    finally:
        engine.set_default_tensor_type(engine.FloatTensor)


CUDA = r"computes on the CPU only.*engine\.device\('cpu'\)"


def test_other_devices_are_refused_in_one_sentence():
    assert engine.cuda.is_available() is False
    assert engine.cuda.device_count() == 0
    for call in (
        lambda: engine.device("cuda"),
        lambda: engine.device("cuda", 0),
        lambda: engine.zeros(2, device="cuda:0"),
        lambda: engine.tensor(1.0, device="mps"),
        lambda: engine.zeros(2).cuda(),
        lambda: engine.zeros(2).to("cuda"),
        lambda: engine.randn(2, device="cuda"),
        engine.cuda.synchronize,
    ):
        with pytest.raises(RuntimeError, match=CUDA):
            call()


def test_the_cpu_is_a_device():
    cpu = engine.device("cuda" if engine.cuda.is_available() else "cpu")
    assert engine.zeros(2, device=cpu).device == cpu
    assert (str(cpu), repr(cpu)) == ("cpu", "device(type='cpu')")
    assert repr(engine.device("cpu:1")) == "device(type='cpu', index=1)"
    assert str(engine.device("cpu", 0)) == "cpu:0"
    assert engine.device("cpu") != engine.device("cpu", 0)
    assert len({cpu, engine.device("cpu")}) == 1


def test_what_is_not_a_tensor_is_told_apart():
    assert engine.is_tensor(engine.zeros(1))
    assert not engine.is_tensor(np.zeros(1))
    with pytest.raises(TypeError, match=r"zeros_like\(\): argument 'input' .*not list"):
        engine.zeros_like([1.0])
    with pytest.raises(TypeError, match=r"from_numpy: expected np.ndarray \(got list\)"):
        engine.from_numpy([1.0])
