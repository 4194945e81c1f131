"""Scalar rows: `python benchmarks/scalar.py` measures them alone, `python -m benchmarks` with all.

A round is eight steps, so that the garbage collector's share is in it, and the graph of a step is
freed inside the timed part.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # run as a file: the packages lie one folder up
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from benchmarks import gpt, peers
from benchmarks.baselines import ClosureValue, TupleValue
from benchmarks.registry import ENGINE, Work, row

STEPS = 8
SHORT = 10 * STEPS  # for steps of less than a millisecond: the cache is cold at first


def value_class(contender: str) -> Any:
    """The class of numbers behind a contender's name; ImportError where it is not installed."""
    if contender.startswith("engine"):
        import engine

        return engine.Value
    gpt.leave_engine_out()
    if contender == "micrograd":
        return import_module("micrograd.engine").Value
    classes = {"tuple": TupleValue, "closure": ClosureValue, "floats": float, "autograd": float}
    return classes[contender]


@row("scalar GPT, forward and backward", *ENGINE, "tuple", "closure", "floats")
def gpt_gradients(contender: str, tiny: bool) -> Work:
    """4,192 parameters, eight places, some 60,000 nodes; floats: the forward pass alone."""
    numbers = value_class(contender)
    if contender == "floats":
        return Work(gpt.of_floats(tiny).loss, STEPS)
    return Work(gpt.Workload(numbers, tiny).step, STEPS)


@row("scalar GPT, a whole step, Adam in Python", *ENGINE, "tuple", "closure")
def gpt_script(contender: str, tiny: bool) -> Work:
    work = gpt.Workload(value_class(contender), tiny)
    adam = work.model.Adam(work.parameters)
    return Work(lambda: work.model.train_step(work.tokens, work.weights, adam, 1e-4), STEPS)


@row("scalar GPT, a whole step, engine with engine.optim.Adam", *ENGINE, "tuple")
def gpt_optimizer(contender: str, tiny: bool) -> Work:
    if not contender.startswith("engine"):
        return gpt_script(contender, tiny)
    work = gpt.Workload(value_class(contender), tiny)
    adam = work.model.EngineAdam(work.parameters)
    return Work(lambda: work.model.train_step(work.tokens, work.weights, adam, 1e-4), STEPS)


@row("scalar GPT under engine.compile, forward and backward", *ENGINE, "tuple", "casadi")
def gpt_compiled(contender: str, tiny: bool) -> Work:
    """The loss of gpt_gradients from its tape; softmax by engine.softmax, sums as they are."""
    if contender == "casadi":
        gpt.leave_engine_out()
        return Work(gpt.of_casadi(tiny)[0], SHORT)
    if not contender.startswith("engine"):
        return gpt_gradients(contender, tiny)
    value_class(contender)
    return Work(gpt.compiled(tiny).step, SHORT)


@row("scalar GPT under engine.compile, a whole step with Adam", *ENGINE, "tuple", "closure")
def gpt_compiled_step(contender: str, tiny: bool) -> Work:
    if not contender.startswith("engine"):
        return gpt_script(contender, tiny)
    value_class(contender)
    work = gpt.compiled(tiny)
    adam = work.model.EngineAdam(work.parameters)
    return Work(lambda: work.model.train_step(work.tokens, work.weights, adam, 1e-4), SHORT)


@row("64 words at once under engine.compile, forward and backward", *ENGINE, "tuple", unit="word")
def gpt_batch(contender: str, tiny: bool) -> Work:
    """The loss of gpt_compiled, of 64 words of one length, by `sum`: eight side by side."""
    if not contender.startswith("engine"):
        return gpt_gradients(contender, tiny)
    value_class(contender)
    work = gpt.compiled(tiny)
    calls = [(word, work.weights) for word in work.words(8 if tiny else 64)]
    return Work(lambda: work.model.loss_of.sum(calls).backward(), STEPS, len(calls))


@row("scalar GPT with engine.dot and engine.softmax, forward and backward", *ENGINE, "tuple")
def gpt_fused(contender: str, tiny: bool) -> Work:
    """The functions of lists, eager: one node for each sum of products."""
    if not contender.startswith("engine"):
        return gpt_gradients(contender, tiny)
    value_class(contender)
    work = gpt.compiled(tiny, fused=True)
    work.model.loss_of = work.model.loss_of.f
    return Work(work.step, STEPS)


@row("scalar GPT with engine.dot, under engine.compile", *ENGINE, "tuple")
def gpt_fused_compiled(contender: str, tiny: bool) -> Work:
    if not contender.startswith("engine"):
        return gpt_gradients(contender, tiny)
    value_class(contender)
    return Work(gpt.compiled(tiny, fused=True).step, SHORT)


@row("scalar net on two moons, loss and gradients", *ENGINE, "micrograd")
def moons(contender: str, tiny: bool) -> Work:
    """micrograd's demo, a 2-16-16-1 net, on 25 of its points: some 19,000 nodes."""
    nets = scalar_nets(contender)
    example = gpt.load_example("moons_scalar")
    points, labels = example.two_moons(4 if tiny else 25)
    net = example.make_net(nets.MLP)

    def step() -> None:
        example.loss_of(net, points, labels)[0].backward()

    return Work(step, STEPS)


def scalar_nets(contender: str) -> Any:
    """The module with `MLP`: engine's, or micrograd's own."""
    if contender == "micrograd":
        gpt.leave_engine_out()
        return import_module("micrograd.nn")
    import engine.scalar

    return engine.scalar


@row(
    "one operation of a chain, forward, backward and freeing",
    *ENGINE, "tuple", "closure", "micrograd", "torch", "autograd", "mygrad",
    unit="operation",
)  # fmt: skip
def operation(contender: str, tiny: bool) -> Work:
    """400 products and sums, in turns, of 0-dim doubles; short enough for micrograd's recursion."""
    count = 4 if tiny else 400
    numbers = [number(contender, value) for value in (1.0, 0.999, 0.001)]

    def chain(y: Any, w: Any, b: Any) -> Any:
        for _ in range(count // 2):
            y = y * w
            y = y + b
        return y

    if contender == "autograd":
        from autograd import grad

        gradients = grad(chain, argnum=(0, 1, 2))
        return Work(lambda: gradients(*numbers), SHORT, count)
    return Work(lambda: chain(*numbers).backward(), SHORT, count)


def number(contender: str, value: float) -> Any:
    """A number that wants a gradient: torch's and MyGrad's are tensors of no dimensions."""
    if contender == "mygrad":
        return peers.fast_mygrad().tensor(value)
    if contender == "torch":
        torch = import_module("torch")
        torch.set_num_threads(1)
        return torch.tensor(value, dtype=torch.float64, requires_grad=True)
    return value_class(contender)(value)


if __name__ == "__main__":
    from benchmarks.__main__ import main

    raise SystemExit(main(["--only", "scalar", *sys.argv[1:]]))
