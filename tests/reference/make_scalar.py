"""Writes scalar.json: what PyTorch's double gives for each elementwise operation at the edges.

Run with PyTorch installed: `python tests/reference/make_scalar.py`. Numbers are in hexadecimal, so
that no digit is lost; each row is the operation, its operands, the result and the gradients.
"""

import itertools
import json
from pathlib import Path

import torch
from torch.nn import functional

EDGES = [0.0, 1.0, 0.5, 2.5, 20.0, 800.0, 1e308, 1e-308, 5e-324, float("inf")]
EDGES = [sign * x for x in EDGES for sign in (1.0, -1.0)] + [float("nan")]
PAIRS = [sign * x for x in (0.0, 1.0, 2.5, 1e308, float("inf")) for sign in (1.0, -1.0)]
PAIRS += [0.5, 3.0, float("nan")]
UNARY = (
    "neg abs exp expm1 log log1p log2 log10 sqrt rsqrt reciprocal square sin cos tan asin acos "
    "atan sinh cosh tanh asinh acosh atanh sigmoid erf relu"
)
BINARY = "add sub mul div pow atan2 maximum minimum"
NUMBERS = {
    "pow_number": (lambda x, k: x**k, (0.0, 1.0, 2.0, 3.0, -1.0, -2.0, 0.5, -0.5)),
    "leaky_relu": (functional.leaky_relu, (0.01, 2.0)),
    "elu": (functional.elu, (1.0,)),
    "clamp_min": (torch.clamp_min, (0.5, -1.0)),
    "clamp_max": (torch.clamp_max, (0.5, -1.0)),
}
FUNCTIONAL = {name: getattr(functional, name) for name in ("softplus", "silu", "gelu")}


def row(name, call, operands, numbers=()):
    """One row: the operation at these operands, with a gradient of 1 at its result."""
    leaves = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in operands]
    y = call(*leaves, *numbers)
    y.backward()
    results = [y.item(), *(leaf.grad.item() for leaf in leaves)]
    return [name, [x.hex() for x in (*operands, *numbers)], [x.hex() for x in results]]


def rows():
    """Every operation at every edge."""
    for name in [*UNARY.split(), *FUNCTIONAL]:
        call = FUNCTIONAL.get(name) or getattr(torch, name)
        yield from (row(name, call, (x,)) for x in EDGES)
    for name in BINARY.split():
        pairs = itertools.product(PAIRS, PAIRS)
        yield from (row(name, getattr(torch, name), pair) for pair in pairs)
    for name, (call, numbers) in NUMBERS.items():
        yield from (row(name, call, (x,), (k,)) for x in EDGES for k in numbers)


if __name__ == "__main__":
    lines = ",\n".join(json.dumps(r) for r in rows())
    out = f'{{"torch": "{torch.__version__}", "rows": [\n{lines}\n]}}\n'
    Path(__file__).with_name("scalar.json").write_text(out)
