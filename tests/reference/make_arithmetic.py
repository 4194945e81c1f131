"""Records torch's operators on every dtype beside numbers and tensors in arithmetic.json.

`python -m reference.make_arithmetic` in tests, with torch. A case is an operator, the dtype of the
tensor and the other operand: a number, or the dtype of another tensor. Its result is a dtype and
numbers, or the kind of exception.
"""

import json
import operator
from pathlib import Path

NUMBERS = [2, -3, 300, 2**40, 2**63, 2**64, 2.5, -0.25, 1e6, float("inf"), True, False]
TENSORS = {
    "bool": [True, False, True],
    "uint8": [1, 7, 200],
    "int8": [1, -3, 100],
    "int16": [1, -3, 30000],
    "int32": [1, -3, 2**30],
    "int64": [1, -3, 2**62],
    "float16": [1.0, -3.0, 60000.0],
    "float32": [1.0, -3.0, 1e38],
    "float64": [1.0, -3.0, 1e300],
}
OTHERS = {
    "bool": [True, False, True],
    "uint8": [2, 1, 255],
    "int8": [2, 1, -5],
    "int16": [2, 1, 300],
    "int32": [2, 1, -300],
    "int64": [2, 1, 300],
    "float16": [2.0, 1.0, 0.5],
    "float32": [2.0, 1.0, -0.5],
    "float64": [2.0, 1.0, 1e6],
}
OPERATORS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}
IN_PLACE = {
    "+=": operator.iadd,
    "-=": operator.isub,
    "*=": operator.imul,
    "/=": operator.itruediv,
    "//=": operator.ifloordiv,
    "%=": operator.imod,
    "**=": operator.ipow,
    "&=": operator.iand,
    "|=": operator.ior,
    "^=": operator.ixor,
}
ALONE = {"-": operator.neg, "~": operator.invert, "abs": abs}
FILE = Path(__file__).with_name("arithmetic.json")


def cases(torch):
    """The name of every case, and what computes it: the tensor changed in place is the result."""
    for d, values in TENSORS.items():

        def tensor(d=d, values=values):
            return torch.tensor(values, dtype=getattr(torch, d))

        for name, f in ALONE.items():
            yield f"{name} {d}", lambda f=f, t=tensor: f(t())
        for x in NUMBERS:
            for name, f in OPERATORS.items():
                yield f"{d} {name} {x}", lambda f=f, t=tensor, x=x: f(t(), x)
                yield f"{x} {name} {d}", lambda f=f, t=tensor, x=x: f(x, t())
            for name, f in IN_PLACE.items():
                yield f"{d} {name} {x}", lambda f=f, t=tensor, x=x: changed(f, t(), x)
        for e, others in OTHERS.items():
            for name, f in (OPERATORS | IN_PLACE).items():

                def both(f=f, t=tensor, e=e, others=others, name=name):
                    other = torch.tensor(others, dtype=getattr(torch, e))
                    return changed(f, t(), other) if name in IN_PLACE else f(t(), other)

                yield f"{d} {name} {e}", both


def changed(f, t, x):
    """t, changed in place by the operator; an error if that made another tensor."""
    if f(t, x) is not t:
        raise AssertionError("the operator in place made another tensor")
    return t


def result(compute):
    """The dtype and the numbers, infinities and nan as text; or the kind of exception."""
    try:
        t = compute()
    except Exception as error:
        return type(error).__name__
    return [str(t.dtype).partition(".")[2], [n if abs(n) < 1e308 else str(n) for n in t.tolist()]]


if __name__ == "__main__":
    import torch

    rows = {name: result(compute) for name, compute in cases(torch)}
    lines = [f"{json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items()]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
