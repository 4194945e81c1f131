"""Expressions of `torch` and of named tensors, evaluated by torch to record, by engine to compare.

Of each: values, dtypes and shapes of its outputs, and the first and second derivatives of their
weighted sum; or the kind of exception.
"""

import json
import math
import re
import warnings
from pathlib import Path

import numpy as np


def wave(count, shift=0.0, scale=1.0):
    """Numbers without pattern, the same everywhere."""
    return [scale * math.sin(1.7 * k * k + 0.3 * k + shift) for k in range(count)]


def tensors(torch, inputs):
    """The inputs, given as name: (numbers, shape, dtype); the floating ones require grad."""
    made = {}
    for name, (numbers, shape, dtype) in inputs.items():
        t = torch.tensor(numbers, dtype=getattr(torch, dtype)).reshape(shape)
        made[name] = t.requires_grad_(t.is_floating_point())
    return made


def listed(output):
    """The outputs of an expression, one tensor or several."""
    return list(output) if isinstance(output, (tuple, list)) else [output]


def weighted(torch, outputs, shift):
    """The sum of all outputs in the graph, each element with a weight of its own; None of none."""
    parts = []
    for i, t in enumerate(outputs):
        if t is not None and t.requires_grad:
            w = torch.tensor(wave(t.numel(), shift + i), dtype=torch.float64).reshape(t.shape)
            parts.append((t * w).sum())
    return sum(parts[1:], parts[0]) if parts else None


def gradients(torch, outputs, inputs, shift):
    """The derivatives of the weighted sum by the inputs; None where there is none."""
    root = weighted(torch, outputs, shift)
    if root is None:
        return [None] * len(inputs)
    return torch.autograd.grad(root, inputs, create_graph=True, allow_unused=True)


def evaluate(torch, expression, inputs):
    """What the expression gives: see above."""
    made = tensors(torch, inputs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            outputs = listed(eval(expression, {"torch": torch, "inf": math.inf, **made}))
        except Exception as error:
            return {"error": type(error).__name__}
        leaves = {name: t for name, t in made.items() if t.requires_grad}
        first = gradients(torch, outputs, list(leaves.values()), 9.0)
        second = gradients(torch, first, list(leaves.values()), 4.0)
    return {
        "values": [t.tolist() for t in outputs],
        "shapes": [list(t.shape) for t in outputs],
        "dtypes": [str(t.dtype).split(".")[1] for t in outputs],
        "first": numbers(leaves, first),
        "second": numbers(leaves, second),
    }


def numbers(leaves, grads):
    """The gradients that there are, by the name of their input."""
    pairs = zip(leaves, grads, strict=True)
    return {name: (g + 0.0).tolist() for name, g in pairs if g is not None}


def record(name, expressions, inputs):
    """Write what torch gives to NAME.json, beside this file."""
    import torch

    cases = (f"{json.dumps(t)}: {json.dumps(evaluate(torch, t, inputs))}" for t in expressions)
    text = f'{{"torch": "{torch.__version__}", "cases": {{\n' + ",\n".join(cases) + "\n}}\n"
    Path(__file__).with_name(f"{name}.json").write_text(text)


def recorded(name):
    """What torch gave."""
    return json.loads(Path(__file__).with_name(f"{name}.json").read_text())["cases"]


def by_function(cases):
    """The cases in groups: the name of the function an expression starts with, the expressions."""
    groups = {}
    for text in cases:
        called = re.match(r"(?:\w+\.)*(\w+)\(", text)
        groups.setdefault(called[1] if called else "others", []).append(text)
    return groups


def differences(engine, text, case, inputs):
    """In words, what engine gives otherwise than torch did; second derivatives are not compared
    where the first are nan, nor an absent gradient with zeros."""
    ours = evaluate(engine, text, inputs)
    if "error" in case or "error" in ours:
        return unequal(text, "error", case.get("error"), ours.get("error"))
    found = unequal(text, "shapes", case["shapes"], ours["shapes"])
    found += unequal(text, "dtypes", case["dtypes"], ours["dtypes"])
    tolerance = 1e-4 if re.search(r"\bf\b", text) else 1e-9
    for theirs, mine in zip(case["values"], ours["values"], strict=True):
        found += far(text, "value", theirs, mine, tolerance)
    for name in case["first"].keys() | ours["first"].keys():
        first = case["first"].get(name, 0.0)
        found += far(text, f"gradient of {name}", first, ours["first"].get(name, 0.0), tolerance)
        if not np.isnan(np.asarray(first, float)).any():
            second = (x["second"].get(name, 0.0) for x in (case, ours))
            found += far(text, f"second derivative by {name}", *second, tolerance)
    return found


def unequal(text, what, theirs, mine):
    return [] if theirs == mine else [f"{text}: {what}: torch {theirs}, engine {mine}"]


def far(text, what, theirs, mine, tolerance):
    a, b = np.asarray(theirs, float), np.asarray(mine, float)
    fits = a.shape == b.shape or not a.shape or not b.shape
    if fits and np.allclose(a, b, tolerance, tolerance / 10, equal_nan=True):
        return []
    return [f"{text}: {what}: torch {theirs}, engine {mine}"]
