"""examples/seeds.py: each slip of the tutorials gets a message that says what to write."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[1] / "examples" / "seeds.py"

# What was written, and words of what comes of it.
SLIPS = {
    "MyReLU(x)": "TypeError: MyReLU(...): a Function is not called itself; write MyReLU.apply(...)",
    "MyReLU.apply(x.mm(w1)).mm(w2).backward()": "shape (64, 10); reduce it, .sum().backward()",
    "w1 -= 1e-5 * w1.grad": "change it under engine.no_grad()",
    "gradcheck(LinearFunction, (x, w, b))": "TypeError: LinearFunction(...): a Function is not",
    "LinearFunction.apply((x, w, b))": "to pass the items of a tuple write apply(*args)",
    "Squeezed.apply(x, w, b).sum().backward()": "got () but expected shape compatible with (1,)",
    "SavedTwice.apply(b)": "save_for_backward may be called once, with all tensors",
    "CallsTheClass(4, 3)(x)": "TypeError: LinearFunction(...): a Function is not called itself",
    "ForgetsSuper()": "call super().__init__() first in __init__",
    "layer.weight.data.uniform(-0.1, 0.1)": "no attribute 'uniform'; it works in place: uniform_",
    "nn.init.kaiming_uniform_(layer.bias)": "for a bias use uniform_(tensor, -bound, bound)",
    "grad(MulConstant.apply(v, 5.0), v)": "the output has shape (3,); pass grad_outputs",
    "grad(constant, x)": "it does not depend on anything that requires grad",
    "OneShort.apply(x, 5.0).backward()": "number of gradients (expected 2, got 1)",
    "grad(marked.sum(), x)": "RoundedBackward: backward is marked once_differentiable",
    "grad(not_marked.sum(), x)": "backward returned numbers made outside the graph",
    "SaysNothing.apply(v).sum().backward()": "no error a backward may return None",
}


@pytest.fixture(scope="module")
def output():
    done = subprocess.run([sys.executable, str(PROGRAM)], capture_output=True, encoding="utf-8")
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.fixture(scope="module")
def told(output):
    """For each head (slip, right, check) what was told under it, with single spaces."""
    pieces = re.split(r"^  (slip|right|check)\b", output, flags=re.M)[1:]
    return list(zip(pieces[::2], [" ".join(text.split()) for text in pieces[1::2]], strict=True))


def test_the_seeds_have_five_parts_that_begin_with_the_right_way(output, told):
    assert re.findall(r"^(\d)\. ", output, flags=re.M) == list("12345")
    right = [text for head, text in told if head == "right"]
    assert len(right) == 5
    assert "(x, w, b)) True" in right[1]
    assert right[2].endswith("tensor([2., 2., 2.])")
    assert right[3].endswith("3375, 2250")


def test_the_net_of_the_seeds_learns(told):
    before, after = re.search(r"falls: (\d+), after 200 steps (\d+)", told[0][1]).groups()
    assert int(after) < int(before) / 100


def test_every_slip_gets_its_message(told):
    slips = [text for head, text in told if head == "slip"]
    assert len(slips) == len(SLIPS)
    for (written, message), text in zip(SLIPS.items(), slips, strict=True):
        assert text.startswith(written)
        assert message in text


def test_what_raises_nothing_is_found_by_check(told):
    kink, nothing = [text for head, text in told if head == "check"]
    assert "forward has a kink at `input` = 0" in kink
    assert "None" in nothing
