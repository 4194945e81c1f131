"""Five things that tutorials on custom autograd Functions teach, and what goes wrong in them.

Each part shows the right way first, with a number to see that it is right; then the slips that
are made with it, each with the message that it gets.

    python examples/seeds.py
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

# In a bare clone the engine is the folder beside this one.
sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

import engine as torch
from engine import nn
from engine.autograd import grad, gradcheck
from engine.autograd.function import once_differentiable
from engine.testing import check


# Everything is told in the same way: what was written, and under it what came of it.
def told(head: str, text: str) -> None:
    print(textwrap.fill(text, 96, initial_indent=f"  {head:<8}", subsequent_indent=" " * 10))


def right(written: str, result: object) -> None:
    told("right", written)
    told("", f"{result}")


def slip(written: str, **names: Any) -> None:
    """Runs the text and tells the error."""
    told("slip", written)
    try:
        exec(written, globals(), names)
        told("", "no error")
    except Exception as error:
        told("", f"{type(error).__name__}: {error}")


def numbers(*shape: int) -> Any:
    return torch.randn(*shape, dtype=torch.double, requires_grad=True)


# A Function is two static methods. What `backward` needs of the inputs goes through ctx.
class MyReLU(torch.autograd.Function):
    """The ReLU of the tutorials: at exactly 0 it passes the gradient, unlike nn.functional.relu."""

    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        grad_input = grad_output.clone()
        grad_input[input < 0] = 0
        return grad_input


def relu_in_a_net() -> None:
    x, y = torch.randn(64, 100), torch.randn(64, 10)
    w1, w2 = torch.randn(100, 30, requires_grad=True), torch.randn(30, 10, requires_grad=True)
    losses = []
    for _ in range(200):
        loss = (MyReLU.apply(x.mm(w1)).mm(w2) - y).pow(2).sum()
        loss.backward()
        with torch.no_grad():
            for w in (w1, w2):
                w -= 1e-5 * w.grad
                w.grad.zero_()
        losses.append(loss.item())
    right(
        "MyReLU.apply(x.mm(w1)).mm(w2), and the weights changed under no_grad",
        f"the loss falls: {losses[0]:.0f}, after 200 steps {losses[-1]:.0f}",
    )
    slip("MyReLU(x)", x=x)
    slip("MyReLU.apply(x.mm(w1)).mm(w2).backward()", x=x, w1=w1, w2=w2)
    slip("w1 -= 1e-5 * w1.grad  # not under no_grad", w1=w1)
    told("check", str(check(MyReLU, x)))


# A gradient has the shape of its input: a bias, added to every row, gets the sum of the rows.
class LinearFunction(torch.autograd.Function):
    """y = x w^T + b, the weight stored as (out, in), the bias optional."""

    @staticmethod
    def forward(ctx, input, weight, bias=None):
        ctx.save_for_backward(input, weight, bias)
        output = input.mm(weight.t())
        return output if bias is None else output + bias

    @staticmethod
    def backward(ctx, grad_output):
        input, weight, bias = ctx.saved_tensors
        grad_bias = None if bias is None else grad_output.sum(0)
        return grad_output.mm(weight), grad_output.t().mm(input), grad_bias


class Squeezed(LinearFunction):
    """The line that every tutorial copies: right for many outputs, wrong for one."""

    @staticmethod
    def backward(ctx, grad_output):
        grad_input, grad_weight, grad_bias = LinearFunction.backward(ctx, grad_output)
        return grad_input, grad_weight, grad_bias.squeeze(0)


class SavedTwice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        output = input * input
        ctx.save_for_backward(output)
        return output

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * ctx.saved_tensors[0] * grad_output


def a_linear_function() -> None:
    x, w, b = numbers(5, 4), numbers(3, 4), numbers(3)
    right("gradcheck(LinearFunction.apply, (x, w, b))", gradcheck(LinearFunction.apply, (x, w, b)))
    slip("gradcheck(LinearFunction, (x, w, b))", x=x, w=w, b=b)
    slip("LinearFunction.apply((x, w, b))", x=x, w=w, b=b)
    one = {"x": x, "w": numbers(1, 4), "b": numbers(1)}
    slip("Squeezed.apply(x, w, b).sum().backward()  # .sum(0).squeeze(0), one output", **one)
    slip("SavedTwice.apply(b)", b=b)


# A layer owns the weights; the Function only computes with them.
class Linear(nn.Module):
    def __init__(self, input_features, output_features, bias=True):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(output_features, input_features))
        shift = nn.Parameter(torch.empty(output_features)) if bias else None
        self.register_parameter("bias", shift)
        for parameter in self.parameters():
            parameter.data.uniform_(-0.1, 0.1)

    def forward(self, input):
        return LinearFunction.apply(input, self.weight, self.bias)


class CallsTheClass(Linear):
    def forward(self, input):
        return LinearFunction(input, self.weight, self.bias)


class ForgetsSuper(nn.Module):
    def __init__(self):
        self.weight = nn.Parameter(torch.zeros(3, 4))


def a_layer() -> None:
    layer, x = Linear(4, 3), torch.ones(2, 4)
    layer(x).sum().backward()
    right("layer(x).sum().backward(); layer.bias.grad", layer.bias.grad)
    slip("CallsTheClass(4, 3)(x)", x=x)
    slip("ForgetsSuper()")
    slip("layer.weight.data.uniform(-0.1, 0.1)", layer=layer)
    slip("nn.init.kaiming_uniform_(layer.bias)", layer=layer)


# A number among the arguments is kept on ctx, and gets None for its gradient.
class MulConstant(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, constant):
        ctx.constant = constant
        return tensor * constant

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.constant, None


class OneShort(MulConstant):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.constant


def gradients_of_gradients() -> None:
    x, v = torch.tensor(3.0, dtype=torch.double, requires_grad=True), numbers(3)
    (first,) = grad(MulConstant.apply(x, 5.0) ** 3, x, create_graph=True)
    (second,) = grad(first, x)
    right("first and second derivative of (5 x)^3 at 3", f"{first.item():g}, {second.item():g}")
    slip("grad(MulConstant.apply(v, 5.0), v)  # a whole vector", v=v)
    (constant,) = grad(MulConstant.apply(x, 5.0), x, create_graph=True)
    slip("grad(constant, x)  # of something linear", constant=constant, x=x)
    slip("OneShort.apply(x, 5.0).backward()", x=x)


# A backward may do what it likes outside the graph; then it can be run, but not differentiated.
class Rounded(torch.autograd.Function):
    """Rounding, with the slope 1 for want of a better one: made of plain numbers."""

    @staticmethod
    def forward(ctx, input):
        return torch.tensor([float(round(v)) for v in input.tolist()], dtype=input.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        return torch.tensor(grad_output.tolist(), dtype=grad_output.dtype)


class NotMarked(Rounded):
    """The same without the mark, and what it returns is an array."""

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.detach().numpy() * 1.0


class SaysNothing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        return input * 2

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        return None


def black_boxes() -> None:
    x = torch.tensor([0.2, 1.7, -2.4], dtype=torch.double, requires_grad=True)
    Rounded.apply(x).sum().backward()
    right("Rounded.apply(x).sum().backward(); x.grad", x.grad)
    for function, name in ((Rounded, "marked"), (NotMarked, "not_marked")):
        (slope,) = grad((function.apply(x) ** 2).sum(), x, create_graph=True)
        slip(f"grad({name}.sum(), x)  # a second derivative", **{name: slope, "x": x})
    v = numbers(3)
    slip("SaysNothing.apply(v).sum().backward()", v=v)
    told("", f"a backward may return None, and then there is no gradient: v.grad is {v.grad}")
    told("check", "; ".join(finding.message for finding in check(SaysNothing, v)))


PARTS: dict[str, Callable[[], None]] = {
    "A ReLU of one's own, in a net of two layers": relu_in_a_net,
    "A linear Function, and whether its gradients are right": a_linear_function,
    "A layer that uses it": a_layer,
    "A number among the arguments, and gradients of gradients": gradients_of_gradients,
    "A backward outside the graph": black_boxes,
}


def main(arguments: list[str] | None = None) -> None:
    argparse.ArgumentParser(description=__doc__.split("\n")[0]).parse_args(arguments)
    torch.manual_seed(42)
    for number, (title, part) in enumerate(PARTS.items(), 1):
        print(f"{number}. {title}\n")
        part()
        print()
    print(
        "To try next: put one of these slips into a file of your own and run\n"
        "`python -m engine check FILE.py`, which also finds those that raise nothing; or run a "
        "tutorial of\nyours as it stands: `python -m engine run FILE.py`."
    )


if __name__ == "__main__":
    main()
