"""requires_grad, is_leaf, detach, data, access to .grad; threads; pickle, NumPy and numbers."""

import copy
import io
import math
import pickle
import sys
import threading
import warnings
from collections import OrderedDict

import numpy as np
import pytest

import engine as torch


def test_detach_cuts_the_graph():
    x = torch.randn(10, 10, requires_grad=True)
    y = x + 2
    y = y.detach()
    z = y * 4 + 2
    assert not y.requires_grad
    assert not z.requires_grad


def test_only_the_attached_path_has_a_gradient():
    x = torch.randn(10, 10, requires_grad=True)
    y = x * 2
    y = y.detach()
    assert not y.requires_grad
    assert y.grad_fn is None
    z = x + y
    z.sum().backward()
    assert torch.equal(x.grad, torch.ones(10, 10))


def test_detach_in_place_makes_a_leaf_again():
    x = torch.randn(10, 10, requires_grad=True)
    y = x * 2
    assert y.detach_() is y
    assert y.is_leaf
    assert not y.requires_grad
    assert y.grad_fn is None
    (x + y).sum().backward()
    assert torch.equal(x.grad, torch.ones(10, 10))


@pytest.mark.parametrize("stop", ["requires_grad_", "detach_"])
def test_a_leaf_that_stopped_requiring_grad_gets_none_from_an_older_graph(stop):
    w, x, seen = torch.tensor(3.0, requires_grad=True), torch.tensor(1.0, requires_grad=True), []
    w.register_hook(lambda g: seen.append(g.item()))
    y = w * w + x
    w.detach_() if stop == "detach_" else w.requires_grad_(False)
    y.backward(retain_graph=True)
    assert (w.grad, x.grad.item(), seen) == (None, 1.0, [6.0])
    w.requires_grad_()
    y.backward(retain_graph=True)
    w.requires_grad_(False)
    with pytest.warns(UserWarning, match="reference cycle"):
        y.backward(create_graph=True)
    assert (w.grad.item(), x.grad.item()) == (6.0, 3.0)


def test_hooks_of_a_leaf_that_stopped_requiring_grad_are_called_with_what_arrived():
    w, seen = torch.tensor(3.0, requires_grad=True), []
    y = w * w + torch.tensor(1.0, requires_grad=True)
    w.register_post_accumulate_grad_hook(lambda w: seen.append(w.grad))
    leaf = y.grad_fn.next_functions[0][0].next_functions[0][0]
    leaf.register_hook(lambda inputs, outputs: seen.append(outputs[0].item()))
    w.requires_grad_(False)
    y.backward()
    assert seen == [None, 6.0]


def test_a_value_that_stopped_requiring_grad_gets_none_from_an_older_graph():
    for other in (torch.Value(1.0), torch.tensor(1.0, requires_grad=True)):
        w = torch.Value(3.0)
        y = w * w + other
        w.requires_grad_(False)
        y.backward()
        assert (w.grad, w.requires_grad) == (0.0, False)
        assert other.grad == 1.0


def test_detached_tensors_may_change_before_anything_is_saved():
    x = torch.randn(3, requires_grad=True)
    y = x.exp()
    a = (y + 1).detach()
    a.add_(100)
    y.sum().backward()
    assert torch.allclose(x.grad, y.detach())


def test_detaching_one_of_several_outputs_leaves_the_others():
    a, b, c = torch.randn(6, requires_grad=True).chunk(3)
    d = b.detach()
    assert not d.requires_grad
    assert a.requires_grad
    assert c.requires_grad
    a2, b2 = (torch.randn(4, requires_grad=True) * 1).unsafe_chunk(2)
    b2.detach_()
    assert not b2.requires_grad
    assert a2.requires_grad
    a2.sum().backward()


@pytest.mark.parametrize("dtype", [torch.int8, torch.int32, torch.int64, torch.bool], ids=str)
def test_only_floating_tensors_may_require_grad(dtype):
    def property_set():
        torch.ones(1, dtype=dtype).requires_grad = True

    ways = [
        property_set,
        lambda: torch.ones(1, dtype=dtype).requires_grad_(),
        lambda: torch.ones(1, dtype=dtype, requires_grad=True),
    ]
    for way in ways:
        with pytest.raises(RuntimeError, match="floating point"):
            way()
    a = torch.ones(1, dtype=dtype)
    a.requires_grad = False
    assert a.requires_grad_(False) is a


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64], ids=str)
def test_floating_tensors_may_require_grad(dtype):
    assert torch.ones(1, dtype=dtype, requires_grad=True).requires_grad
    assert torch.ones(1, dtype=dtype).requires_grad_().requires_grad


@pytest.mark.parametrize("make", ["ones_like", "zeros_like", "randn_like", "rand_like"])
def test_tensors_made_like_another_take_dtype_and_requires_grad(make):
    x = torch.rand(2, 3)
    y = getattr(torch, make)(x, requires_grad=True, dtype=torch.float64)
    assert y.requires_grad
    assert y.dtype == torch.float64
    assert y.shape == (2, 3)
    assert y.is_leaf
    assert not getattr(torch, make)(x.requires_grad_()).requires_grad


def test_reading_grad_of_an_inner_tensor_warns():
    x = torch.randn(3, requires_grad=True)
    y = x * 2
    with pytest.warns(UserWarning, match="not a leaf Tensor"):
        assert y.grad is None


def test_reading_grad_of_a_leaf_or_a_retaining_tensor_does_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = torch.randn(3, requires_grad=True)
        assert x.grad is None
        y = x * 2
        y.retain_grad()
        assert y.grad is None
        y.sum().backward()
        assert y.grad is not None
        assert torch.randn(2).grad is None


def test_requires_grad_spreads_and_hooks_of_constants_are_not_run():
    x, y = torch.randn(5, 5), torch.randn(5, 5)
    z = torch.randn(5, 5, requires_grad=True)
    a = x + y
    b = a + z
    assert not a.requires_grad
    assert b.requires_grad

    def error(g):
        raise RuntimeError

    for t in (a, x, y):
        t._backward_hooks = OrderedDict(test=error)
    b.backward(torch.ones(5, 5))


def test_requires_grad_comes_with_a_change_in_place():
    b = torch.randn(5, 5, requires_grad=True)
    for a in (torch.randn(5, 5), torch.randn(5, 5) + 0):
        a += b
        assert a.requires_grad


def test_requires_grad_cannot_be_taken_from_a_computed_tensor():
    x = torch.randn(5, 5, requires_grad=True)
    with pytest.raises(RuntimeError, match="requires_grad flags of leaf"):
        (x * 2).requires_grad = False
    with pytest.raises(RuntimeError, match="requires_grad flags of leaf"):
        (x * 2).requires_grad_(False)


def test_shape_and_length():
    x = torch.randn(3, 4)
    assert len(x.shape) == 2
    assert x.shape[0] == 3
    assert x.shape[1] == 4
    assert len(x) == 3
    assert x.size() == x.shape
    assert x.size(1) == 4


def test_assigned_data_keeps_the_identity_of_the_tensor():
    x = torch.randn(5, 5, requires_grad=True)
    before = id(x)
    new = torch.randn(5, 5)
    x.data = new
    assert id(x) == before
    assert torch.equal(x.detach(), new)
    assert x.requires_grad
    new[0, 0] = 7.0
    assert x[0, 0].item() == 7.0


def test_assigned_data_must_be_floating_where_a_gradient_is_wanted():
    a = torch.randn(5, 5, requires_grad=True)
    with pytest.raises(RuntimeError, match="must be floating point"):
        a.data = torch.tensor([1, 2, 3])
    b = torch.randn(5)
    b.data = torch.tensor([1, 2, 3])
    assert b.dtype == torch.int64


def test_volatile_warns_and_is_false():
    x = torch.ones(5, 5)
    with pytest.warns(UserWarning, match="volatile was removed"):
        assert not x.volatile
    with pytest.warns(UserWarning, match="volatile was removed"):
        x.volatile = True


def test_grad_may_be_deleted_and_other_attributes_may_not():
    x = torch.randn(5, 5, requires_grad=True)
    x.sum().backward()
    del x.grad
    assert x.grad is None
    for name in ("data", "requires_grad", "_grad_fn", "_backward_hooks"):
        with pytest.raises(RuntimeError):
            delattr(x, name)
    with pytest.raises(TypeError):
        x.data = None


def test_a_parameter_set_to_less_memory_joins_and_has_its_gradient():
    p = torch.nn.Parameter(torch.randn(5))
    with torch.no_grad():
        p.set_(torch.randn(2))
    torch.cat([p, torch.ones(2)]).sum().backward()
    assert p.grad.tolist() == [1.0, 1.0]


def test_is_leaf_tells_what_a_program_made_itself():
    x = torch.randn(2, requires_grad=True)
    assert x.is_leaf
    assert (x.detach() * 2).is_leaf
    assert not (x * 2).is_leaf


# --- threads ---


def test_ten_threads_add_to_one_leaf_without_losing_anything():
    x = torch.ones(5, 5, requires_grad=True)

    def work():
        for _ in range(10):
            ((x * 3) * (x * 4)).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(10)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert torch.equal(x.grad, torch.full((5, 5), 2400.0))


def test_ten_threads_may_ask_for_gradients_by_grad():
    x = torch.ones(5, 5, requires_grad=True)
    found = []

    def work():
        (g,) = torch.autograd.grad(((x + 3) * (x + 4) * 0.5).sum(), x)
        found.append(g)

    threads = [threading.Thread(target=work) for _ in range(10)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(found) == 10
    assert all(torch.equal(g, torch.full((5, 5), 4.5)) for g in found)
    assert x.grad is None


def test_one_graph_is_walked_by_several_threads_where_it_is_retained():
    x = torch.ones(3, requires_grad=True)
    y = (x * x).sum()
    threads = [threading.Thread(target=lambda: y.backward(retain_graph=True)) for _ in range(5)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert x.grad.tolist() == [10.0, 10.0, 10.0]


def test_the_switch_of_multithreading_is_a_block_and_a_plain_call():
    switch = torch.autograd.set_multithreading_enabled
    enabled = torch.autograd.is_multithreading_enabled
    x = torch.ones(2, requires_grad=True)
    with switch(False):
        assert not enabled()
        (x * 2).sum().backward()
        switch(True)
        assert enabled()
    assert enabled()
    switch(False)
    assert not enabled()
    switch(True)
    (x * 2).sum().backward()
    assert x.grad.tolist() == [4.0, 4.0]


# --- pickle, NumPy and Python numbers ---


def test_numpy_of_a_tensor_that_requires_grad_is_refused_except_under_no_grad():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="Can't call numpy\\(\\) on Tensor that requires grad"):
        x.numpy()
    with pytest.raises(RuntimeError, match="requires grad"):
        np.asarray(x)
    with torch.no_grad():
        assert x.numpy().tolist() == [1.0, 1.0]
    assert x.detach().numpy().tolist() == [1.0, 1.0]


@pytest.mark.parametrize("protocol", [0, 1, 2, 5])
def test_pickles_keep_numbers_and_requires_grad(protocol):
    x = torch.randn(10, 10, requires_grad=True)
    y = torch.randn(10, 10, requires_grad=False)
    for t in (x, y):
        back = pickle.loads(pickle.dumps(t, protocol=protocol))
        assert torch.equal(back, t)
        assert back.requires_grad == t.requires_grad


def test_deep_copies_of_leaves_keep_requires_grad_and_of_results_are_refused():
    x = torch.randn(3, requires_grad=True)
    twin = copy.deepcopy(x)
    assert twin.requires_grad
    assert twin is not x
    assert torch.equal(twin, x)
    with pytest.raises(RuntimeError, match=r"[Oo]nly Tensors created explicitly by the user"):
        copy.deepcopy(x * 2)


def test_a_result_saved_and_loaded_is_a_leaf():
    x = torch.randn(3, requires_grad=True)
    memory = io.BytesIO()
    torch.save(x, memory)
    memory.seek(0)
    back = torch.load(memory)
    assert back.requires_grad
    assert back.is_leaf


def test_an_integer_tensor_of_one_element_is_a_python_number():
    whole = torch.zeros(1, 1, 1, dtype=torch.int64)
    whole[0] = -12345
    assert int(whole) == -12345
    whole[0] = 1234567890123456789
    assert float(whole) == float(1234567890123456789)


def test_a_floating_tensor_of_one_element_is_a_python_number():
    f = torch.randn(1, 1, dtype=torch.float64)
    for number in (-12345.1, math.inf, -math.inf, sys.float_info.max):
        f[0] = number
        assert float(f) == number
    f[0] = math.nan
    assert math.isnan(float(f))


def test_nan_and_inf_have_no_integer():
    f = torch.randn(1, 1, dtype=torch.float64)
    f[0] = math.nan
    with pytest.raises(ValueError, match="cannot convert float NaN to integer"):
        int(f[0])
    for number in (math.inf, -math.inf):
        f[0] = number
        with pytest.raises(OverflowError):
            int(f[0])
    f[0] = sys.float_info.max
    assert int(f) == int(sys.float_info.max)


@pytest.mark.parametrize("number", [0.0, sys.float_info.min, math.nan, math.inf, -2.0])
def test_the_truth_of_a_tensor_of_one_element_is_that_of_its_number(number):
    f = torch.zeros(1, 1, dtype=torch.float64)
    f[0] = number
    assert bool(f) is bool(number)


def test_a_tensor_of_several_elements_has_no_truth_and_no_number():
    t = torch.zeros(2)
    with pytest.raises(RuntimeError, match="ambiguous"):
        bool(t)
    for convert in (int, float):
        with pytest.raises((RuntimeError, ValueError), match="converted to"):
            convert(t)
