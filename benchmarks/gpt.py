"""The scalar GPT of `examples/microgpt.py` as a workload: one fixed word, any class of numbers."""

from __future__ import annotations

import functools
import importlib.util
import math
import random
import sys
from array import array
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
WORD = "abigail"  # eight places with the word's end: some 60,000 nodes a step
SYMBOLS = 27


def load_example(name: str = "microgpt") -> ModuleType:
    """A fresh copy of an example, so that one copy's functions can be replaced."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def leave_engine_out() -> None:
    """Lets a baseline's process load an example without engine and NumPy.

    Their objects would lie in the baseline's garbage collector: a tenth of the tuples' time.
    """
    if "engine" not in sys.modules:
        for name in ("engine", "engine.scalar"):
            sys.modules[name] = ModuleType(name)


class Workload:
    """The model with weights of class `value`; a step's graph is freed before it returns."""

    def __init__(self, value: Any, tiny: bool = False) -> None:
        self.model = load_example()
        random.seed(1)
        self.weights = self.model.make_weights(value, SYMBOLS)
        self.parameters = self.model.parameters_of(self.weights)
        letters = [ord(letter) - ord("a") for letter in WORD[: 1 if tiny else None]]
        self.tokens = [26, *letters, 26]

    def words(self, count: int) -> list[list[int]]:
        """Words of other letters, as long as the one."""
        edge, inner = self.tokens[0], len(self.tokens) - 2
        return [[edge, *random.choices(range(edge), k=inner), edge] for _ in range(count)]

    def loss(self) -> Any:
        return self.model.loss_of(self.tokens, self.weights)

    def step(self) -> None:
        self.loss().backward()


# What changes in the script for engine.compile: numbers that are read from Values, and places.
CHANGES = {
    """    highest = max(score.data for score in scores)
    powers = [(score - highest).exp() for score in scores]
    total = sum(powers)
    return [power / total for power in powers]
""": """    return engine.softmax(scores)
""",
    """    x = [t + p for t, p in zip(w["tokens"][token], w["places"][place])]
""": """    x = [t + p for t, p in zip(engine.lookup(w["tokens"], token), w["places"][place])]
""",
    """        chances = softmax(gpt(tokens[place], place, w, keys, values))
        losses.append(surprise(chances, tokens[place + 1]))
""": """        scores = gpt(tokens[place], place, w, keys, values)
        losses.append(engine.cross_entropy(scores, tokens[place + 1]))
""",
    """def loss_of(tokens: list[int], w: dict[str, Table]) -> Number:
""": """@engine.compile
def loss_of(tokens: list[int], w: dict[str, Table]) -> Number:
""",
    """    if chosen.steps > 1:  # one step is for a look at it: `engine explore` shows the last
        print(compare(adam_class, chosen.words[0], alphabet))
""": "",
}
# The same for functions of lists where sums of products are written out.
FUSED = {
    """    return [sum(a * b for a, b in zip(row, x)) for row in table]
""": """    return [engine.dot(row, x) for row in table]
""",
}


def compiled(tiny: bool = False, fused: bool = False) -> Workload:
    """The model under engine.compile: the example's text with CHANGES, with `fused` FUSED too."""
    import engine

    work = Workload(engine.Value, tiny)
    text = (EXAMPLES / "microgpt.py").read_text(encoding="utf-8")
    for before, after in (CHANGES | (FUSED if fused else {})).items():
        if before not in text:
            raise RuntimeError(f"examples/microgpt.py has no such lines any more: {before}")
        text = text.replace(before, after)
    exec(compile(text, "microgpt with engine.compile", "exec"), vars(work.model))
    return work


def of_floats(tiny: bool = False) -> Workload:
    """The same arithmetic on bare floats: methods that a float has not become functions."""
    work = Workload(float, tiny)
    vars(work.model).update(softmax=softmax, rectified=rectified, surprise=surprise)
    return work


def of_casadi(tiny: bool = False) -> tuple[Callable[[], object], Any]:
    """Loss and gradient as one CasADi function of the weights, which reuses its buffers: a step,
    and the array of the gradient that it fills. The word is part of the function."""
    casadi: Any = importlib.import_module("casadi")
    work = Workload(float, tiny)
    numbers = work.parameters
    symbols = [casadi.SX.sym("w") for _ in numbers]
    inputs = iter(symbols)
    work.weights = {
        name: [[next(inputs) for _ in row] for row in table] for name, table in work.weights.items()
    }
    vars(work.model).update(
        softmax=functools.partial(casadi_softmax, casadi),
        rectified=lambda x: [casadi.fmax(a, 0.0) for a in x],
        surprise=lambda chances, right: -casadi.log(chances[right]),
    )
    x, loss = casadi.vertcat(*symbols), work.loss()
    f = casadi.Function("loss", [x], [loss, casadi.densify(casadi.gradient(loss, x))])
    buffer, evaluate = f.buffer()
    given, number = array("d", numbers), array("d", [0.0])
    gradient = array("d", numbers)
    buffer.set_arg(0, memoryview(given))
    buffer.set_res(0, memoryview(number))
    buffer.set_res(1, memoryview(gradient))

    # CasADi keeps none of these alive.
    def step(kept: Any = (f, buffer, given, number, gradient)) -> None:
        evaluate()

    return step, gradient


def casadi_softmax(casadi: Any, scores: list[Any]) -> list[Any]:
    highest = functools.reduce(casadi.fmax, scores)
    powers = [casadi.exp(score - highest) for score in scores]
    total = sum(powers)
    return [power / total for power in powers]


def softmax(scores: list[float]) -> list[float]:
    highest = max(scores)
    powers = [math.exp(score - highest) for score in scores]
    total = sum(powers)
    return [power / total for power in powers]


def rectified(x: list[float]) -> list[float]:
    return [a if a > 0 else 0.0 for a in x]


def surprise(chances: list[float], right: int) -> float:
    return -math.log(chances[right])


def count_nodes(root: Any) -> int:
    """Nodes of a graph of TupleValues, leaves included."""
    seen, stack = {id(root)}, [root]
    while stack:
        new = [parent for parent in stack.pop()._children if id(parent) not in seen]
        seen.update(map(id, new))
        stack.extend(new)
    return len(seen)
