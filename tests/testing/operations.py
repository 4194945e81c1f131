"""Every differentiable operation of engine with an example, as further right Functions.

Rules are found in their registry; the other operations are listed with arguments.
"""

from collections.abc import Callable
from typing import Any

import engine
from engine.registry import RULES
from tests.testing.collection import Entry
from tests.testing.library import rand, randn

POSITIVE = {"log", "sqrt", "log1p", "rsqrt", "log2", "log10", "digamma", "lgamma", "acosh"}
BELOW_ONE = {"asin", "acos", "atanh", "erfinv", "logit"}

OTHERS: dict[str, tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]] = {
    "leaky_relu with a slope": (engine.leaky_relu, lambda: (randn(5), 0.2)),
    "elu with alpha": (engine.elu, lambda: (randn(5), 1.0)),
    "clamp": (engine.clamp, lambda: (randn(5), -0.5, 0.7)),
    "lerp": (engine.lerp, lambda: (randn(3), randn(3), rand(3))),
    "addcmul": (engine.addcmul, lambda: (randn(3), randn(3), randn(3))),
    "addcdiv": (engine.addcdiv, lambda: (randn(3), randn(3), 1 + rand(3))),
    "mm": (engine.mm, lambda: (randn(2, 3), randn(3, 4))),
    "bmm": (engine.bmm, lambda: (randn(2, 2, 3), randn(2, 3, 2))),
    "mv": (engine.mv, lambda: (randn(2, 3), randn(3))),
    "dot": (engine.dot, lambda: (randn(4), randn(4))),
    "outer": (engine.outer, lambda: (randn(2), randn(3))),
    "matmul": (engine.matmul, lambda: (randn(2, 3, 4), randn(4, 2))),
    "linear": (engine.nn.functional.linear, lambda: (randn(5, 4), randn(3, 4), randn(3))),
    "addmm": (engine.addmm, lambda: (randn(2, 4), randn(2, 3), randn(3, 4))),
    "tril": (engine.tril, lambda: (randn(3, 3),)),
    "triu": (engine.triu, lambda: (randn(3, 3),)),
    "trace": (engine.trace, lambda: (randn(3, 3),)),
    "sum": (lambda x: x.sum(), lambda: (randn(2, 3),)),
    "sum over a dimension": (lambda x: x.sum(1, keepdim=True), lambda: (randn(2, 3),)),
    "mean": (lambda x: x.mean(0), lambda: (randn(2, 3),)),
    "var": (lambda x: x.var(1), lambda: (randn(2, 4),)),
    "std": (lambda x: x.std(1), lambda: (randn(2, 4),)),
    "prod": (lambda x: x.prod(1), lambda: (randn(2, 3),)),
    "norm": (lambda x: x.norm(), lambda: (randn(2, 3),)),
    "amax": (lambda x: x.amax(1), lambda: (randn(2, 3),)),
    "amin": (lambda x: x.amin(1), lambda: (randn(2, 3),)),
    "max": (lambda x: x.max(1)[0], lambda: (randn(2, 3),)),
    "median": (lambda x: x.median(1)[0], lambda: (randn(2, 3),)),
    "sort": (lambda x: x.sort(1)[0], lambda: (randn(2, 4),)),
    "topk": (lambda x: x.topk(2, 1)[0], lambda: (randn(2, 4),)),
    "logsumexp": (lambda x: x.logsumexp(1), lambda: (randn(2, 3),)),
    "softmax": (lambda x: x.softmax(1), lambda: (randn(2, 3),)),
    "log_softmax": (lambda x: x.log_softmax(1), lambda: (randn(2, 3),)),
    "cumsum": (lambda x: x.cumsum(1), lambda: (randn(2, 3),)),
    "cumprod": (lambda x: x.cumprod(1), lambda: (randn(2, 3),)),
    "where": (lambda c, a, b: engine.where(c, a, b), lambda: (randn(4) > 0, randn(4), randn(4))),
    "gather": (
        lambda x, i: x.gather(1, i),
        lambda: (randn(2, 3), engine.tensor([[0, 0, 2], [1, 0, 1]])),
    ),
    "index": (lambda x, i: x[i], lambda: (randn(4, 2), engine.tensor([1, 3, 1]))),
    "slice": (lambda x: x[1:, ::2], lambda: (randn(3, 4),)),
    "index_add": (
        lambda x, i, s: x.index_add(0, i, s),
        lambda: (randn(4, 2), engine.tensor([1, 3, 1]), randn(3, 2)),
    ),
    "masked_fill": (lambda x, m: x.masked_fill(m, 2.0), lambda: (randn(4), randn(4) > 0)),
    "cat": (lambda a, b: engine.cat([a, b]), lambda: (randn(2, 3), randn(1, 3))),
    "stack": (lambda a, b: engine.stack([a, b], 1), lambda: (randn(3), randn(3))),
    "unbind": (lambda x: x.unbind(0), lambda: (randn(3, 2),)),
    "split": (lambda x: x.split(2, 1), lambda: (randn(2, 4),)),
    "reshape": (lambda x: x.reshape(-1), lambda: (randn(2, 3),)),
    "transpose": (lambda x: x.transpose(0, 1), lambda: (randn(2, 3),)),
    "permute": (lambda x: x.permute(2, 0, 1), lambda: (randn(2, 3, 4),)),
    "squeeze": (lambda x: x.squeeze(1), lambda: (randn(3, 1),)),
    "unsqueeze": (lambda x: x.unsqueeze(1), lambda: (randn(3),)),
    "expand": (lambda x: x.expand(4, 3), lambda: (randn(1, 3),)),
    "flip": (lambda x: x.flip(0), lambda: (randn(3, 2),)),
    "roll": (lambda x: x.roll(1, 0), lambda: (randn(3, 2),)),
    "repeat": (lambda x: x.repeat(2, 2), lambda: (randn(2, 3),)),
    "diagonal": (lambda x: x.diagonal(), lambda: (randn(3, 3),)),
    "mse_loss": (engine.nn.functional.mse_loss, lambda: (randn(3, 2), randn(3, 2))),
    "cross_entropy": (
        engine.nn.functional.cross_entropy,
        lambda: (randn(4, 3), engine.tensor([0, 2, 1, 2])),
    ),
}


def rule_example(name: str, operands: list[str]) -> tuple[Any, ...]:
    """Arguments within the domain of a rule; its operand `k` is a number without a slope."""
    if "k" in operands:
        return randn(4), 0.5
    if name in POSITIVE:
        return (rand(4),)
    if name in BELOW_ONE:
        return (2 * rand(4) - 1,)
    if len(operands) == 1:
        return (randn(4),)
    if name == "pow":
        return 1 + rand(4), randn(4)
    return randn(2, 3), (1 + rand(2, 3)) if name == "div" else 0.5 * randn(2, 3)


def operations() -> list[Entry]:
    """The rules, found by themselves, and the other operations."""
    made = []
    for name, rule in RULES.items():
        if rule._slopes is not None and hasattr(engine, name):
            made.append(_entry(name, getattr(engine, name), rule_example(name, rule.operands)))
    return made + [_entry(name, f, example()) for name, (f, example) in OTHERS.items()]


def _entry(name: str, function: Callable[..., Any], example: tuple[Any, ...]) -> Entry:
    def operation(*arguments: Any) -> Any:
        return function(*arguments)

    operation.__name__ = operation.__qualname__ = name
    operation.__module__ = "operations"
    return Entry(operation, lambda: example)
