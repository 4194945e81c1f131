"""Parameter: a leaf tensor that is listed, printed, copied and pickled."""

import copy
import pickle

import pytest

import engine
from engine import nn


def test_a_parameter_is_a_leaf_tensor_that_requires_a_gradient():
    p = nn.Parameter(engine.ones(2, requires_grad=True) * 2)
    assert isinstance(p, engine.Tensor)
    assert p.is_leaf
    assert p.requires_grad
    assert p.tolist() == [2.0, 2.0]
    assert not nn.Parameter(engine.ones(1), requires_grad=False).requires_grad


def test_a_parameter_shares_the_memory_of_its_tensor():
    t = engine.zeros(2)
    p = nn.Parameter(t)
    t[0] = 5.0
    assert p.tolist() == [5.0, 0.0]


def test_arithmetic_with_a_parameter_gives_plain_tensors():
    p = nn.Parameter(engine.ones(2))
    assert type(p * 2) is engine.Tensor
    assert type(p.detach()) is engine.Tensor
    (p * 3).sum().backward()
    assert type(p.grad) is engine.Tensor
    assert p.grad.tolist() == [3.0, 3.0]


def test_a_parameter_made_of_nothing_is_empty():
    assert nn.Parameter().shape == (0,)


def test_a_parameter_made_of_a_value_holds_its_number():
    p = nn.Parameter(engine.Value(3.0))
    assert p.shape == ()
    assert p.dtype == engine.float64
    assert p.item() == 3.0


@pytest.mark.parametrize("data", [3.0, [1.0], "x"])
def test_what_is_no_tensor_is_refused(data):
    with pytest.raises(
        TypeError, match=rf"Parameter: data must be a Tensor; got .*{type(data).__name__}"
    ):
        nn.Parameter(data)


def test_whole_numbers_cannot_require_a_gradient():
    with pytest.raises(RuntimeError, match="floating"):
        nn.Parameter(engine.tensor([1, 2]))
    assert nn.Parameter(engine.tensor([1, 2]), requires_grad=False).tolist() == [1, 2]


def test_the_text_of_a_parameter_says_so():
    text = repr(nn.Parameter(engine.ones(2)))
    assert text == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"


def test_copies_and_pickles_keep_the_numbers_and_start_without_a_gradient():
    p = nn.Parameter(engine.ones(2))
    (p * p).sum().backward()
    for twin in (copy.deepcopy(p), pickle.loads(pickle.dumps(p))):
        assert type(twin) is nn.Parameter
        assert twin.requires_grad
        assert twin.grad is None
        twin.data.fill_(3.0)
        assert p.tolist() == [1.0, 1.0]


def test_one_parameter_twice_in_a_list_is_one_in_its_copy():
    p = nn.Parameter(engine.ones(2))
    first, second = copy.deepcopy([p, p])
    assert first is second
