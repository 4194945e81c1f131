"""Random programs on numbers: a few inputs, then steps, each an operation on earlier numbers.

They run on any class with Python's operators and a few methods: engine's Value, the naive twin.
Operations are chosen so that every program is defined everywhere and smooth but for relu and abs.
"""

from dataclasses import dataclass

from hypothesis import strategies as st

UNARY = {
    "-a": lambda a: -a,
    "abs(a)": abs,
    "a.relu()": lambda a: a.relu(),
    "a.tanh()": lambda a: a.tanh(),
    "a.sigmoid()": lambda a: a.sigmoid(),
    "a.sin()": lambda a: a.sin(),
    "a.cos()": lambda a: a.cos(),
    "a.tanh().exp()": lambda a: a.tanh().exp(),
    "(a * a + 0.5).log()": lambda a: (a * a + 0.5).log(),
    "(a * a + 0.5).sqrt()": lambda a: (a * a + 0.5).sqrt(),
    "a ** 2": lambda a: a**2,
    "a ** 3": lambda a: a**3,
    "1 - a": lambda a: 1 - a,
    "2 * a": lambda a: 2 * a,
    "1 / (a * a + 1)": lambda a: 1 / (a * a + 1),
    "2 ** a.tanh()": lambda a: 2 ** a.tanh(),
    "0 + a": lambda a: sum([a]),
}
BINARY = {
    "a + b": lambda a, b: a + b,
    "a - b": lambda a, b: a - b,
    "a * b": lambda a, b: a * b,
    "a / (b * b + 0.5)": lambda a, b: a / (b * b + 0.5),
    "(a * a + 0.5) ** b.tanh()": lambda a, b: (a * a + 0.5) ** b.tanh(),
}


@dataclass(frozen=True)
class Program:
    """Inputs, and steps: the text of an operation and the places of its operands."""

    inputs: tuple[float, ...]
    steps: tuple[tuple[str, int, int], ...]

    def run(self, cls):
        """Every number of the program, as instances of cls: the inputs, then one per step."""
        numbers = [cls(x) for x in self.inputs]
        for text, i, j in self.steps:
            operands = (numbers[i],) if text in UNARY else (numbers[i], numbers[j])
            numbers.append((UNARY.get(text) or BINARY[text])(*operands))
        return numbers


@st.composite
def programs(draw, size=8):
    """Programs of up to `size` steps on one to three inputs in [-2, 2]."""
    numbers = st.integers(-128, 128).map(lambda n: n / 64)
    inputs = draw(st.lists(numbers, min_size=1, max_size=3))
    steps = []
    for _ in range(draw(st.integers(1, size))):
        places = st.integers(0, len(inputs) + len(steps) - 1)
        steps.append((draw(st.sampled_from([*UNARY, *BINARY])), draw(places), draw(places)))
    return Program(tuple(inputs), tuple(steps))
