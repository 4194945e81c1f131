"""Results and gradients at 0, -0, inf, nan, huge and tiny numbers, against PyTorch's double.

`tests/reference/scalar.json` holds what PyTorch gave; the rows where engine is meant to differ are
listed here, each with its reason.
"""

import json
import math
from collections import defaultdict
from pathlib import Path

import pytest

from engine import Value
from engine.registry import RULES

REFERENCE = Path(__file__).parent.parent / "reference" / "scalar.json"
ROWS = defaultdict(list)
for _name, _operands, _results in json.loads(REFERENCE.read_text())["rows"]:
    ROWS[_name].append(
        ([float.fromhex(x) for x in _operands], [float.fromhex(x) for x in _results])
    )

inf, nan = math.inf, math.nan
ROOT = "the power of IEEE 754, not a square root"
# Rule, operands, what engine gives, and why.
DIFFERENT = [
    ("abs", (nan,), [nan, nan], "a nan is passed on"),
    ("elu", (nan, 1.0), [nan, nan], "a nan is passed on"),
    ("elu", (-0.0, 1.0), [0.0, 1.0], "the smaller of -0 and 0 is 0"),
    ("log1p", (5e-324,), [5e-324, 1.0], "PyTorch flushes it to 0"),
    ("log1p", (-5e-324,), [-5e-324, 1.0], "PyTorch flushes it to 0"),
    ("log10", (1e308,), [308.0, 4.34294481903252e-309], "no overflow on the way"),
    ("log10", (-1e308,), [nan, -4.34294481903252e-309], "no overflow on the way"),
    ("relu", (-0.0,), [0.0, 0.0], "the larger of -0 and 0 is 0"),
    ("maximum", (0.0, -0.0), [-0.0, 0.5, 0.5], "of equals the second"),
    ("maximum", (-0.0, 0.0), [0.0, 0.5, 0.5], "of equals the second"),
    ("minimum", (0.0, -0.0), [-0.0, 0.5, 0.5], "of equals the second"),
    ("minimum", (-0.0, 0.0), [0.0, 0.5, 0.5], "of equals the second"),
    ("pow_number", (-0.0, 0.5), [0.0, inf], ROOT),
    ("pow_number", (-0.0, -0.5), [inf, -inf], ROOT),
    ("pow_number", (-inf, 0.5), [inf, 0.0], ROOT),
    ("pow_number", (-inf, -0.5), [0.0, 0.0], ROOT),
]
# Taken from tanh, these are within 2e-16 of the right number, not within its last digits.
ABSOLUTE = {"sigmoid": 2e-16, "softplus": 2e-16, "silu": 5e-15}


def at(name, operands, count):
    """The result of a rule and the gradients of its first operands."""
    leaves = [Value(x) for x in operands[:count]]
    y = RULES[name](*leaves, *operands[count:])
    y.backward()
    return [y.data, *(v.grad for v in leaves)]


def same(got, right, absolute, is_gradient):
    """Equal, infinities and nan too; for a result also the sign of a zero."""
    if got != got or right != right or math.isinf(right) or got == right:
        sign = is_gradient or math.copysign(1.0, got) == math.copysign(1.0, right)
        return (got != got and right != right) or (got == right and (sign or got != 0.0))
    return abs(got - right) <= 1e-14 * abs(right) + absolute


def all_same(got, right, absolute=0.0):
    """Whether a result and its gradients are the same."""
    pairs = enumerate(zip(got, right, strict=True))
    return all(same(g, r, absolute, is_gradient=i > 0) for i, (g, r) in pairs)


def key(name, operands):
    return name, tuple("nan" if x != x else x.hex() for x in operands)


EXPECTED = {key(name, operands): results for name, operands, results, _ in DIFFERENT}


@pytest.mark.parametrize("name", ROWS)
def test_edges_are_those_of_pytorch_but_for_the_ones_listed(name):
    wrong = []
    for operands, right in ROWS[name]:
        got = at(name, operands, len(right) - 1)
        right = EXPECTED.get(key(name, operands), right)
        if not all_same(got, right, ABSOLUTE.get(name, 0.0)):
            wrong.append((operands, got, right))
    assert not wrong


def test_every_rule_has_its_edges_in_the_table():
    assert set(ROWS) == set(RULES)


def test_each_row_that_is_listed_as_different_is_different():
    for name, operands, _, _ in DIFFERENT:
        ((_, right),) = [r for r in ROWS[name] if key(name, r[0]) == key(name, operands)]
        assert not all_same(at(name, operands, len(right) - 1), right)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("v / 0", inf),
        ("-v / 0", -inf),
        ("(v - v) / 0", nan),
        ("v ** 1e9", inf),
        ("(v - 3) ** 0.5", nan),
        ("(v * 400).exp()", inf),
        ("(v - 2).log()", -inf),
        ("(v - 3).log()", nan),
        ("(v * 1e308 * 10).sin()", nan),
        ("(v * 1e308) * 1e308", inf),
        ("(v * 400).tanh()", 1.0),
        ("(v * -400).sigmoid()", 0.0),
        ("(v * 400).softplus()", 800.0),
        ("(v * 400).cosh()", inf),
        ("(v * -400).sinh()", -inf),
        ("2 ** (v * 1000)", inf),
    ],
)
def test_no_arithmetic_raises_an_exception(text, value):
    y = eval(text, {"v": Value(2.0)})
    y.backward()
    assert type(y.data) is float
    assert repr(y.data) == repr(value)
