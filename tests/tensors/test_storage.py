"""The memory of tensors: where it lies, how it is laid out, what of it may be changed in place."""

import numpy as np
import pytest

import engine
from engine.autograd import gradcheck


def test_one_part_of_an_expanded_tensor_may_be_changed_in_place():
    x = engine.ones(1).expand(3)
    x[1] = 5
    assert x.tolist() == [5.0, 5.0, 5.0]
    y = engine.zeros(1, 2).expand(3, 2)
    y[0].add_(engine.tensor([1.0, 2.0]))
    assert y.tolist() == [[1.0, 2.0]] * 3
    with pytest.raises(RuntimeError, match=r"add_: .*more than one element .*clone\(\)"):
        x.add_(1)


def test_a_part_of_an_expanded_tensor_has_its_gradient():
    def f(x):
        y = (x * 2.0).expand(3, 2)[:, :1]
        y[0].mul_(3.0)
        return y[0] * x

    assert gradcheck(f, engine.tensor([2.0], dtype=engine.float64, requires_grad=True))


def test_memory_that_is_not_writable_stays_as_it_is():
    array = np.arange(3.0)
    array.flags.writeable = False
    with pytest.warns(UserWarning, match="not writeable"):
        x = engine.from_numpy(array)
    with pytest.raises(RuntimeError, match="read-only"):
        x[0] = 1.0


def test_views_share_a_storage_and_tell_where_they_stand_in_it():
    x = engine.arange(6.0)
    view = x[2:4]
    assert view.storage().data_ptr() == x.data_ptr() == x.storage().data_ptr()
    assert view.data_ptr() == x.data_ptr() + 2 * x.element_size()
    storage = view.storage()
    assert (len(storage), storage.size(), storage.nbytes()) == (6, 6, 24)
    assert storage.tolist() == x.tolist()
    assert (storage[5], storage.element_size()) == (5.0, 4)
    assert x.clone().data_ptr() != x.data_ptr()


def test_every_tensor_is_strided():
    assert engine.ones(2).layout is engine.strided
    assert repr(engine.strided) == "engine.strided"


def test_empty_strided_lays_the_dimensions_out_as_it_is_told():
    x = engine.empty_strided((2, 3), (1, 4), dtype=engine.float64, requires_grad=True)
    assert (x.shape, x.stride(), x.dtype) == ((2, 3), (1, 4), engine.float64)
    assert (x.is_leaf, x.requires_grad, len(x.storage())) == (True, True, 10)
    x.sum().backward()
    assert x.grad.stride() == (3, 1)
    assert engine.empty_strided((0, 2), (2, 1)).shape == (0, 2)
    with pytest.raises(ValueError, match=r"one stride of 0 or more .*\[2\] and strides \[1, 1\]"):
        engine.empty_strided((2,), (1, 1))


def test_resize_keeps_the_numbers_that_there_are_and_counts_as_a_change():
    x = engine.arange(6.0)
    assert x.resize_(2, 2).tolist() == [[0.0, 1.0], [2.0, 3.0]]
    assert x._version == 1
    assert x.resize_((6,)).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert x.resize_(4, 2)[:3].tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    before = x._version
    assert x.resize_as_(engine.ones(4, 2)) is x
    assert x._version == before
    with pytest.raises(RuntimeError, match=r"cannot resize variables that require grad"):
        x.requires_grad_().resize_(1)


def test_backward_refuses_what_it_saved_of_a_tensor_that_was_resized_since():
    w, x = engine.ones(2, requires_grad=True), engine.ones(2)
    y = (w * x).sum()
    x.resize_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_versions_can_be_kept_over_changes_that_backward_shall_not_notice():
    x = engine.ones(2)
    with engine.autograd._unsafe_preserve_version_counter(x):
        x.mul_(2)
    assert (x._version, x.tolist()) == (0, [2.0, 2.0])
    engine._C._autograd._unsafe_set_version_counter((x,), (7,))
    assert x._version == 7
    with pytest.raises(RuntimeError, match="Cannot set the version counter of a tensor to -1"):
        engine._C._autograd._unsafe_set_version_counter((x,), (-1,))
