"""Tensor rows: nets with a custom ReLU Function, trained as PyTorch's tutorials do it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from benchmarks import peers
from benchmarks.registry import ENGINE, Work, row

TINY = (2, 3, 4, 1)


def torch_names(contender: str) -> Any:
    """engine, or torch on one thread: the rows' text is the same for both."""
    if contender.startswith("engine"):
        import engine

        return engine
    torch = import_module("torch")
    torch.set_num_threads(1)
    return torch


def numbers(*shape: int) -> Any:
    """float32, normal, the same each time."""
    import numpy as np

    return np.random.default_rng(sum(shape)).standard_normal(shape, dtype=np.float32)


def custom_relu(torch: Any) -> Callable[..., Any]:
    """The Function that the tutorials write."""

    class MyReLU(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x.clamp(min=0)

        @staticmethod
        def backward(ctx: Any, grad_output: Any) -> Any:
            (x,) = ctx.saved_tensors
            grad_input = grad_output.clone()
            grad_input[x < 0] = 0
            return grad_input

    apply: Callable[..., Any] = MyReLU.apply
    return apply


def data(sizes: tuple[int, ...]) -> tuple[Any, Any, list[Any]]:
    """Inputs, targets and the two weights of such a net."""
    batch, inputs, hidden, outputs = sizes
    weights = [numbers(inputs, hidden), numbers(hidden, outputs)]
    return numbers(batch, inputs), numbers(batch, outputs), weights


def two_layers(torch: Any, sizes: tuple[int, ...], rate: float = 1e-9) -> Callable[[], float]:
    """One whole step: forward, loss, its number, backward, update in place, zeroed gradients."""
    x, y, weights = data(sizes)
    x, y = torch.from_numpy(x), torch.from_numpy(y)
    w1, w2 = (torch.from_numpy(w).requires_grad_() for w in weights)
    relu = custom_relu(torch)

    def step() -> float:
        loss = (relu(x.mm(w1)).mm(w2) - y).pow(2).sum()
        last = loss.item()
        loss.backward()
        with torch.no_grad():
            w1.sub_(rate * w1.grad)
            w2.sub_(rate * w2.grad)
        w1.grad.data.zero_()
        w2.grad.data.zero_()
        return float(last)

    return step


def five_products(sizes: tuple[int, ...]) -> Callable[[], object]:
    """The matrix products of such a step alone, in NumPy: two forward, three backward."""
    batch, inputs, hidden, outputs = sizes
    x, w1, w2 = numbers(batch, inputs), numbers(inputs, hidden), numbers(hidden, outputs)
    h, g = numbers(batch, hidden), numbers(batch, outputs)

    def step() -> object:
        return x @ w1, h @ w2, h.T @ g, g @ w2.T, x.T @ h

    return step


def by_hand(sizes: tuple[int, ...], rate: float) -> Callable[[], float]:
    """The step in NumPy alone: its backward written out, its large arrays made beforehand."""
    import numpy as np

    x, y, (w1, w2) = data(sizes)
    rate = w1.dtype.type(rate)
    g1, g2, h = np.zeros_like(w1), np.zeros_like(w2), x @ w1
    new1, hidden = np.empty_like(w1), np.empty_like(h)

    def step() -> float:
        np.matmul(x, w1, out=h)
        np.maximum(h, 0, out=hidden)
        error = hidden @ w2 - y
        loss = (error * error).sum()
        error *= 2
        np.add(g2, hidden.T @ error, out=g2)
        np.matmul(error, w2.T, out=hidden)
        hidden[h < 0] = 0
        np.add(g1, np.matmul(x.T, hidden, out=new1), out=g1)
        np.subtract(w1, np.multiply(g1, rate, out=new1), out=w1)
        np.subtract(w2, rate * g2, out=w2)
        g1.fill(0)
        g2.fill(0)
        return float(loss)

    return step


def net(contender: str, sizes: tuple[int, ...], rate: float = 1e-9) -> Callable[[], Any]:
    """The step of a contender; of all but the products alone it returns the loss."""
    if contender == "five products":
        return five_products(sizes)
    if contender == "by hand":
        return by_hand(sizes, rate)
    if contender in peers.PEERS:
        return peers.two_layers(contender, data(sizes), rate)
    return two_layers(torch_names(contender), sizes, rate)


NETS = (*ENGINE, "torch", *peers.PEERS)


@row("two-layer custom-ReLU net 64x1000x100x10, float32", *NETS, "by hand", "five products")
def two_layer_net(contender: str, tiny: bool) -> Work:
    return Work(net(contender, TINY if tiny else (64, 1000, 100, 10)), 100)


@row("tiny net 1x2x16x1, float32", *NETS)
def tiny_net(contender: str, tiny: bool) -> Work:
    return Work(net(contender, (1, 2, 16, 1)), 4 if tiny else 1000)


@row("big net 512x1024x1024x10, float32", *NETS, "by hand", "five products")
def big_net(contender: str, tiny: bool) -> Work:
    return Work(net(contender, TINY if tiny else (512, 1024, 1024, 10)), 4)


def classifier_step(torch: Any, sizes: tuple[int, ...]) -> Callable[[], object]:
    """A whole step of a net of modules: layers, cross-entropy, Adam."""
    batch, inputs, hidden, outputs = sizes
    nn = torch.nn
    net = nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, outputs))
    adam = torch.optim.Adam(net.parameters(), lr=1e-9)
    x = torch.from_numpy(numbers(batch, inputs))
    classes = torch.arange(batch) % outputs

    def step() -> object:
        adam.zero_grad()
        nn.functional.cross_entropy(net(x), classes).backward()
        return adam.step()

    return step


@row("classifier 8x64x16x10 of nn modules, cross-entropy, Adam, float32", *ENGINE, "torch")
def classifier(contender: str, tiny: bool) -> Work:
    sizes = TINY if tiny else (8, 64, 16, 10)
    return Work(classifier_step(torch_names(contender), sizes), 4 if tiny else 500)


def attention_step(torch: Any, batch: int, places: int, width: int) -> Callable[[], object]:
    """Forward and backward of a head of attention behind a LayerNorm, as in a GPT."""
    nn = torch.nn
    norm, *layers = nn.LayerNorm(width), *(nn.Linear(width, width, bias=False) for _ in range(3))
    x = torch.from_numpy(numbers(batch, places, width))
    later = torch.tril(torch.ones(places, places)) == 0

    def step() -> object:
        z = norm(x)
        query, key, value = (layer(z) for layer in layers)
        scores = query @ key.transpose(-2, -1) * width**-0.5
        chances = nn.functional.softmax(scores.masked_fill(later, float("-inf")), dim=-1)
        return (chances @ value).mean().backward()

    return step


@row("one head of attention, 4x8x16, forward and backward, float32", *ENGINE, "torch")
def attention(contender: str, tiny: bool) -> Work:
    sizes = (1, 2, 3) if tiny else (4, 8, 16)
    return Work(attention_step(torch_names(contender), *sizes), 4 if tiny else 300)


def optimizer_steps(torch: Any, name: str, tiny: bool, **options: float) -> Callable[[], object]:
    """Steps of torch.optim's optimizer of that name on the two-layer net's weights."""
    params = []
    for shape in ((3, 4), (4, 1)) if tiny else ((1000, 100), (100, 10)):
        x = torch.from_numpy(numbers(*shape)).requires_grad_()
        x.grad = torch.from_numpy(numbers(*shape))
        params.append(x)
    step: Callable[[], object] = getattr(torch.optim, name)(params, lr=1e-9, **options).step
    return step


@row("a step of optim.Adam on 1000x100 and 100x10, float32", *ENGINE, "torch")
def adam_of_tensors(contender: str, tiny: bool) -> Work:
    return Work(optimizer_steps(torch_names(contender), "Adam", tiny), 100)


@row("a step of optim.SGD with momentum on 1000x100 and 100x10, float32", *ENGINE, "torch")
def sgd_of_tensors(contender: str, tiny: bool) -> Work:
    return Work(optimizer_steps(torch_names(contender), "SGD", tiny, momentum=0.9), 100)
