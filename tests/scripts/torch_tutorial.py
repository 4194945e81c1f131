"""What a page on custom autograd Functions shows: a ReLU of one's own in a two-layer net."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Function, Variable, gradcheck
from torch.autograd.function import once_differentiable


class MyReLU(Function):
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


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x * factor

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        return g * ctx.factor, None


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.second = nn.Linear(4, 2)

    def forward(self, x):
        return self.second(MyReLU.apply(self.first(x)))


def wave(*shape):
    count = torch.arange(0.0, float(shape[0] * shape[1]))
    return torch.sin(count * count).reshape(*shape)


if __name__ == "__main__":
    net = Net()
    with torch.no_grad():
        for parameter in net.parameters():
            flat = torch.arange(0.0, float(parameter.numel()))
            parameter.copy_(torch.cos(3 * flat).reshape(parameter.shape) / 2)
    x, y = Variable(wave(5, 3)), wave(5, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(4):
        loss = F.mse_loss(Scale.apply(net(x), 2.0), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step}: loss {loss.item():.5f}")
    w = (wave(3, 4) + 0.1).double().requires_grad_()  # nothing at the kink
    print(gradcheck(MyReLU.apply, (w,), eps=1e-6, atol=1e-4))
    (g,) = torch.autograd.grad((w**3).sum(), w, create_graph=True)
    g.sum().backward()
    print(f"second derivatives sum to {w.grad.sum().item():.6f}")
