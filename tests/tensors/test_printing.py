"""How tensors print: as torch recorded it, and what a subclass, a Parameter or an f-string adds."""

import json
from pathlib import Path

import pytest
from reference import make_printing

import engine

RECORD = json.loads(Path(make_printing.__file__).with_name("printing.json").read_text())["texts"]


@pytest.mark.parametrize("number", range(len(make_printing.CASES)))
def test_a_tensor_prints_as_in_torch(number):
    options, text = make_printing.CASES[number]
    assert make_printing.printed(engine, options, text) == RECORD[number]


def test_the_dtype_is_called_by_engines_name():
    assert repr(engine.zeros(1, dtype=engine.float64)) == "tensor([0.], dtype=engine.float64)"


def test_the_default_dtype_is_not_printed():
    engine.set_default_dtype(engine.float64)
    try:
        assert repr(engine.zeros(1)) == "tensor([0.])"
        assert repr(engine.zeros(1, dtype=engine.float32)).endswith("dtype=engine.float32)")
    finally:
        engine.set_default_dtype(engine.float32)


def test_what_follows_the_numbers_goes_to_a_line_of_its_own_where_it_does_not_fit():
    x = engine.zeros(1, 8, dtype=engine.float64, requires_grad=True) * 2.0
    assert repr(x).endswith("dtype=engine.float64,\n       grad_fn=<MulBackward0>)")


def test_a_custom_functions_node_is_shown():
    class Twice(engine.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = engine.ones(1, requires_grad=True)
    assert repr(Twice.apply(x)) == "tensor([2.], grad_fn=<TwiceBackward>)"


class Image(engine.Tensor):
    """A subclass of the user's own."""


def test_a_subclass_prints_under_its_name_and_a_parameter_says_so():
    assert repr(engine.ones(1).as_subclass(Image)) == "Image([1.])"
    text = repr(engine.nn.Parameter(engine.ones(1)))
    assert text == "Parameter containing:\ntensor([1.], requires_grad=True)"


def test_an_f_string_formats_a_single_number():
    assert f"{engine.tensor(1.23456):.2f}" == "1.23"
    assert f"{engine.tensor(7):3d}" == "  7"
    assert f"{engine.ones(2)}" == "tensor([1., 1.])"
    with pytest.raises(TypeError, match="format string"):
        f"{engine.ones(2):.2f}"


def test_options_stay_until_they_are_set_again():
    engine.set_printoptions(precision=1)
    try:
        assert repr(engine.tensor([1.25])) == "tensor([1.2])"
        engine.set_printoptions(edgeitems=1)
        assert repr(engine.tensor([1.25])) == "tensor([1.2])"
    finally:
        engine.set_printoptions(profile="default")
    assert repr(engine.tensor([1.25])) == "tensor([1.2500])"
