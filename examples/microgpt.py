"""A GPT made of single numbers learns first names, letter by letter, and then invents new ones.

Nothing is hidden in a matrix: every number of the model is an `engine.Value`, every sum and
product is written out, and all that `engine` does is the calculus. The model has the shape of
Karpathy's microgpt: one layer, four heads, 4,192 parameters for the letters a to z.

    python examples/microgpt.py                  1,000 steps on the names beside this file
    python examples/microgpt.py --text FILE      the same on any list, one word a line
    python examples/microgpt.py --help           every option
"""

# ruff: noqa: B905  `strict=` costs the bare floats, with which this text is measured, a tenth.
from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path
from typing import Any

# In a bare clone the engine is the folder beside this one.
sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

import engine

WIDTH, HEADS, BLOCK = 16, 4, 16  # numbers a token, heads, tokens that the model can look back on
HEAD = WIDTH // HEADS

# The model is written for anything that counts like a Value, so that one text can be measured
# with several classes.
Number = Any
Vector = list[Number]
Table = list[Vector]


# Words come first, because a model is only as good as what it has read.
def read_words(path: Path) -> list[str]:
    """The lines of a text file, stripped, without the empty ones.

    Raises ValueError when there are none; OSError and UnicodeDecodeError come from reading.
    """
    words = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    words = [word for word in words if word]
    if not words:
        raise ValueError("the file holds no words; it needs one a line")
    return words


# A model counts and does not read, so each character becomes a number, and one number more marks
# where a word begins and ends.
def alphabet_of(words: list[str]) -> list[str]:
    return sorted(set("".join(words)))


def encode(word: str, alphabet: list[str]) -> list[int]:
    edge = len(alphabet)
    return [edge, *(alphabet.index(letter) for letter in word), edge]


# All that is learned lies in nine tables of numbers; they start as noise.
def make_weights(value: Any, symbols: int) -> dict[str, Table]:
    """Tables of `value(x)`, x normal with standard deviation 0.08, drawn from `random`."""
    shapes = {
        "tokens": (symbols, WIDTH),
        "places": (BLOCK, WIDTH),
        "query": (WIDTH, WIDTH),
        "key": (WIDTH, WIDTH),
        "value": (WIDTH, WIDTH),
        "mix": (WIDTH, WIDTH),
        "widen": (4 * WIDTH, WIDTH),
        "narrow": (WIDTH, 4 * WIDTH),
        "output": (symbols, WIDTH),
    }
    return {
        name: [[value(random.gauss(0.0, 0.08)) for _ in range(columns)] for _ in range(rows)]
        for name, (rows, columns) in shapes.items()
    }


def parameters_of(weights: dict[str, Table]) -> Vector:
    return [number for table in weights.values() for row in table for number in row]


# Five small functions hold all the mathematics, because the rest only says in which order they go.
def linear(x: Vector, table: Table) -> Vector:
    return [sum(a * b for a, b in zip(row, x)) for row in table]


def normalised(x: Vector) -> Vector:
    """x over its root mean square: what follows need not care how long x was."""
    mean_square = sum(a * a for a in x) / len(x)
    scale = (mean_square + 1e-5) ** -0.5
    return [a * scale for a in x]


def rectified(x: Vector) -> Vector:
    return [a.relu() for a in x]


def softmax(scores: Vector) -> Vector:
    """Chances that add up to 1; the highest score is taken off first, so that exp stays small."""
    highest = max(score.data for score in scores)
    powers = [(score - highest).exp() for score in scores]
    total = sum(powers)
    return [power / total for power in powers]


def surprise(chances: Vector, right: int) -> Number:
    """-log of the chance that was given to what came, in nats."""
    return -chances[right].log()


# Attention is how a letter learns about the letters before it: it asks with a query, each of them
# answers to a key, and what they tell is mixed by how well the two agree.
def head(query: Vector, keys: Table, values: Table, part: slice) -> Vector:
    scores = [sum(a * b for a, b in zip(query[part], key[part])) / HEAD**0.5 for key in keys]
    chances = softmax(scores)
    told = [value[part] for value in values]
    return [sum(c * v[i] for c, v in zip(chances, told)) for i in range(HEAD)]


def attend(x: Vector, w: dict[str, Table], keys: Table, values: Table) -> Vector:
    query = linear(x, w["query"])
    keys.append(linear(x, w["key"]))
    values.append(linear(x, w["value"]))
    parts = [slice(first, first + HEAD) for first in range(0, WIDTH, HEAD)]
    heard = [number for part in parts for number in head(query, keys, values, part)]
    return linear(heard, w["mix"])


# Thinking is what a letter does alone with what it heard: four times wider, the negative cut off,
# and narrow again.
def think(x: Vector, w: dict[str, Table]) -> Vector:
    return linear(rectified(linear(x, w["widen"])), w["narrow"])


# The model is the three together; each part adds to x what it found, so that none can spoil it.
def gpt(token: int, place: int, w: dict[str, Table], keys: Table, values: Table) -> Vector:
    """Scores of every symbol to come next; `keys` and `values` remember the tokens before."""
    x = [t + p for t, p in zip(w["tokens"][token], w["places"][place])]
    x = normalised(x)
    x = [a + b for a, b in zip(attend(normalised(x), w, keys, values), x)]
    x = [a + b for a, b in zip(think(normalised(x), w), x)]
    return linear(x, w["output"])


# Learning needs one number that says how bad the model is: the mean surprise at each next letter.
def loss_of(tokens: list[int], w: dict[str, Table]) -> Number:
    """Mean over the word's letters, in nats; letters beyond the block are left out."""
    keys: Table = []
    values: Table = []
    losses = []
    for place in range(min(BLOCK, len(tokens) - 1)):
        chances = softmax(gpt(tokens[place], place, w, keys, values))
        losses.append(surprise(chances, tokens[place + 1]))
    return sum(losses) / len(losses)


# The gradient says which way is down, and Adam how far to go: it keeps a mean of each gradient and
# of its square, and steps by their ratio.
class Adam:
    """Adam in plain Python, betas 0.85 and 0.99, over numbers with `.data` and `.grad`."""

    def __init__(self, parameters: Vector) -> None:
        self.parameters = parameters
        self.means = [0.0] * len(parameters)
        self.squares = [0.0] * len(parameters)
        self.steps = 0

    def step(self, rate: float) -> None:
        self.steps += 1
        first, second = 1 - 0.85**self.steps, 1 - 0.99**self.steps
        for i, p in enumerate(self.parameters):
            self.means[i] = 0.85 * self.means[i] + 0.15 * p.grad
            self.squares[i] = 0.99 * self.squares[i] + 0.01 * p.grad**2
            p.data -= rate * (self.means[i] / first) / ((self.squares[i] / second) ** 0.5 + 1e-8)
            p.grad = 0


class EngineAdam:
    """The same by `engine.optim.Adam`.

    Gradients are set to 0 and not to "none yet": a parameter without one would be left out, and
    here those of letters that a word lacks go on by their means.
    """

    def __init__(self, parameters: Vector) -> None:
        self.inner = engine.optim.Adam(parameters, lr=0.01, betas=(0.85, 0.99))
        for p in parameters:
            p.grad = 0

    def step(self, rate: float) -> None:
        self.inner.param_groups[0]["lr"] = rate
        self.inner.step()
        self.inner.zero_grad(set_to_none=False)


# Training is these few lines, a thousand times: one word, its loss, the gradients, one step down.
def train_step(tokens: list[int], w: dict[str, Table], adam: Any, rate: float) -> float:
    loss = loss_of(tokens, w)
    loss.backward()
    adam.step(rate)
    return float(loss.data)


def train(words: list[str], alphabet: list[str], w: dict[str, Table], adam: Any, steps: int) -> Any:
    """Yields the loss of each step; the rate falls in a line from 0.01 to 0."""
    for step in range(steps):
        tokens = encode(words[step % len(words)], alphabet)
        yield train_step(tokens, w, adam, 0.01 * (1 - step / steps))


# A loss that wanders from word to word shows its way down only in the mean, so progress is told in
# twenty lines, each with a bar.
def report(losses: Any, steps: int, show: Any = print) -> list[float]:
    """Runs `losses` to its end; returns the mean loss of each part that was told."""
    told, part, start = [], [], time.perf_counter()
    for step, loss in enumerate(losses, 1):
        part.append(loss)
        if step == steps or len(part) == max(1, steps // 20):
            told.append(sum(part) / len(part))
            pace = 1e3 * (time.perf_counter() - start) / step
            bar = "#" * round(10 * told[-1])
            show(f"step {step:5} of {steps}  {pace:7.1f} ms a step  loss {told[-1]:.3f} {bar}")
            part = []
    return told


# What it has learned is seen best when it speaks: it starts at a word's edge and draws letter after
# letter, a little more sure of itself than it is (temperature 0.5), until it draws the edge.
def invent(alphabet: list[str], w: dict[str, Table], temperature: float = 0.5) -> str:
    keys: Table = []
    values: Table = []
    token, word = len(alphabet), ""
    for place in range(BLOCK):
        scores = gpt(token, place, w, keys, values)
        chances = softmax([score / temperature for score in scores])
        token = random.choices(range(len(chances)), weights=[c.data for c in chances])[0]
        if token == len(alphabet):
            break
        word += alphabet[token]
    return word


# Speed is why one would not write one's own Value; so the same step is timed with such a class.
def seconds_a_step(value: Any, adam_class: Any, tokens: list[int], symbols: int) -> Any:
    """A function that takes one step (forward, backward, Adam) and returns its seconds."""
    w = make_weights(value, symbols)
    adam = adam_class(parameters_of(w))

    def measure() -> float:
        start = time.perf_counter()
        train_step(tokens, w, adam, 0.01)
        return time.perf_counter() - start

    return measure


def compare(adam_class: Any, word: str, alphabet: list[str]) -> str:
    """What one step takes with `engine.Value`, and with a Value made of tuples: the best of five.

    One after the other and not in turns: the tuples' garbage would burden the engine's step.
    """
    from benchmarks.baselines import TupleValue

    tokens, symbols = encode(word, alphabet), len(alphabet) + 1
    ours = seconds_a_step(engine.Value, adam_class, tokens, symbols)
    theirs = seconds_a_step(TupleValue, Adam, tokens, symbols)
    us, them = min(ours() for _ in range(5)), min(theirs() for _ in range(5))
    which = "engine.optim.Adam" if adam_class is EngineAdam else "Adam in Python"
    return (
        f"one step on {word!r}, {which} included: {1e3 * us:.1f} ms; with a Value made of tuples, "
        f"and Adam in Python, {1e3 * them:.1f} ms, {them / us:.1f} times as long"
    )


# The rest reads the command line, so that all of the above can be tried on other words.
def options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Train a GPT made of single numbers on a list of words and let it invent more."
    )
    parser.add_argument(
        "--text", type=Path, default=Path(__file__).with_name("names.txt"), metavar="FILE",
        help="the words to learn, one a line, UTF-8 (default: 5,163 first names)",
    )  # fmt: skip
    parser.add_argument("--steps", type=int, default=1000, help="words to learn from (1000)")
    parser.add_argument("--samples", type=int, default=20, help="words to invent (20)")
    parser.add_argument("--seed", type=int, default=42, help="same seed, same words (42)")
    parser.add_argument(
        "--engine-adam", action="store_true", help="step with engine.optim.Adam, not the loop here"
    )
    chosen = parser.parse_args(arguments)
    if chosen.steps < 1 or chosen.samples < 0:
        parser.error("--steps must be at least 1 and --samples at least 0")
    try:
        chosen.words = read_words(chosen.text)
    except (OSError, ValueError) as error:
        parser.error(f"--text {chosen.text}: {error}")
    return chosen


def main(arguments: list[str] | None = None) -> None:
    chosen = options(arguments)
    random.seed(chosen.seed)
    random.shuffle(chosen.words)
    alphabet = alphabet_of(chosen.words)
    weights = make_weights(engine.Value, len(alphabet) + 1)
    parameters = parameters_of(weights)
    print(f"{len(chosen.words)} words, {len(alphabet)} letters, {len(parameters)} parameters; "
          f"engine runs in {engine.backend()}")  # fmt: skip
    adam_class = EngineAdam if chosen.engine_adam else Adam
    adam = adam_class(parameters)
    report(train(chosen.words, alphabet, weights, adam, chosen.steps), chosen.steps)
    with engine.no_grad():
        invented = [invent(alphabet, weights) for _ in range(chosen.samples)]
    print("invented:", " ".join(invented))
    if chosen.steps > 1:  # one step is for a look at it: `engine explore` shows the last
        print(compare(adam_class, chosen.words[0], alphabet))
    print(
        "\nTo try next: teach it other words, one a line, with --text FILE; give it two layers; or "
        "see\nits backward pass step by step: "
        "`python -m engine explore examples/microgpt.py --steps 1`."
    )


if __name__ == "__main__":
    main()
