"""Records torch's reductions, scans and sorting in reduce.json.

`python -m reference.make_reduce` in tests, with torch.
"""

from reference.expressions import record, wave

INPUTS = {
    "x": (wave(12), [3, 4], "float64"),
    "z": (wave(24, 5.0, 2.0), [2, 3, 4], "float64"),
    "f": (wave(6, 2.0), [2, 3], "float32"),
    "v": (wave(5, 1.0), [5], "float64"),
    "s": ([0.7], [], "float64"),
    "o": ([1.3], [1], "float64"),
    "e": ([], [0], "float64"),
    "m": ([], [0, 3], "float64"),
    "i": ([3, -1, 0, 2, 2, 7], [2, 3], "int64"),
    "u": ([3, 1, 0, 200], [4], "uint8"),
    "b": ([True, False, True], [3], "bool"),
    "t": ([2.0, 1.0, 2.0, 2.0, 1.0, 3.0], [2, 3], "float64"),
    "n": ([1.0, float("nan"), 3.0, float("nan")], [4], "float64"),
    "q": ([0.0, 0.0], [2], "float64"),
    "k": ([0.0, 3.0, -4.0], [3], "float64"),
    "h": ([1000.0, 999.0, -1000.0], [3], "float64"),
    "j": ([float("inf"), 1.0, -2.0], [3], "float64"),
    "l": ([-float("inf"), 1.0, -2.0], [3], "float64"),
    "y": ([-float("inf"), -float("inf")], [2], "float64"),
    "p": ([2.0, 0.0, 3.0, 0.0, -1.0, 0.5, 0.0, 4.0], [2, 4], "float64"),
}
ANY = [*"xzfvsoemiubtn", "x.t()", "z.transpose(0, 2)"]
SCORES = [*ANY, *"hjly"]
FLOATS = [name for name in ANY if name not in "iub"]
DIMS = ["", "0", "-1", "(0, 1)", "()", "1, True", "5", "(0, 0)", "(0, -2)", "dim=-1, keepdim=True"]
ONE_DIM = ["0", "-1", "1, True", "5", "-3", "dim=0, keepdim=True"]


def calls(name, inputs, arguments):
    return [f"torch.{name}({x}{', ' * bool(a)}{a})" for x in inputs for a in arguments]


EXPRESSIONS = [
    *calls("sum", ANY, [*DIMS, "dtype=torch.float64"]),
    *calls("sum", ["i", "u", "b"], ["0, dtype=torch.int32"]),
    *calls("mean", ANY, [*DIMS, "dtype=torch.float64"]),
    *calls("var", [*FLOATS, "i"], [*DIMS[:4], "5", "(0, 0)", "False", "0, False", "0, True, True"]),
    *calls("std", [*FLOATS, "i", "q"], [*DIMS[:4], "True", "-1, False, True", "correction=0"]),
    *calls("var", ["x", "q", "e"], ["0, correction=2", "correction=None", "correction=0.5"]),
    *calls("var_mean", ["x", "z", "o", "i"], ["", "0", "(0, 1)", "False", "0, True, True"]),
    *calls("std_mean", ["x", "z", "q", "i"], ["", "0", "(0, -1)", "0, keepdim=True, correction=0"]),
    *calls("amax", ANY, [*DIMS[:7], DIMS[-1]]),
    *calls("amin", ANY, [*DIMS[:7], DIMS[-1]]),
    *calls("amax", ["x", "z"], ["(0, 0)", "(0, -2)"]),
    *calls("max", ANY, ["", *ONE_DIM]),
    *calls("min", ANY, ["", *ONE_DIM]),
    *calls("argmax", [n for n in ANY if n != "b"], ["", *ONE_DIM, "keepdim=True"]),
    *calls("argmin", [n for n in ANY if n != "b"], ["", *ONE_DIM, "keepdim=True"]),
    *calls("prod", [*ANY, "p", "q", "k"], ["", *ONE_DIM]),
    *calls("prod", ["f", "i", "p"], ["dtype=torch.float64", "1, dtype=torch.float32"]),
    *calls("all", ANY, [a for a in DIMS if a != "()"]),
    *calls("any", ANY, [a for a in DIMS if a != "()"]),
    *calls("count_nonzero", [*ANY, "p"], ["", "0", "(0, 1)", "-1", "5"]),
    *calls("norm", [*FLOATS, "i", "q", "k"], ["", "2, 0", "'fro', (0, 1)", "2, 1, True", "None"]),
    *(
        f"torch.norm({x}, {p}{dim})"
        for x in ["x", "k", "q", "z", "o", "s", "e", "m"]
        for p in ["0", "1", "3", "1.5", "0.5", "inf", "-inf", "-1"]
        for dim in ["", ", 0", ", dim=-1, keepdim=True"]
    ),
    *calls("norm", ["z", "s", "o", "v"], ["2.5", "2.5, -1"]),
    *calls("logsumexp", SCORES, [a for a in DIMS[1:] if a != "()"]),
    *calls("softmax", SCORES, ["0", "-1", "dim=1", "5", "0, torch.float64"]),
    *calls("log_softmax", SCORES, ["0", "-1", "dim=1", "5", "0, torch.float64"]),
    *calls("cumsum", ANY, ["0", "-1", "dim=1", "5", "0, dtype=torch.float64"]),
    *calls("cumprod", [*ANY, "p", "q", "k"], ["0", "-1", "dim=1", "5", "0, dtype=torch.float64"]),
    *calls("median", [n for n in ANY if n != "b"], ["", *ONE_DIM]),
    *calls("sort", ANY, [f"{d}stable=True" for d in ["", "dim=0, ", "dim=1, descending=True, "]]),
    *calls("sort", ["x", "z"], ["", "0", "0, True", "5"]),
    *calls("argsort", ANY, ["stable=True", "dim=0, descending=True, stable=True", "dim=5"]),
    *calls("topk", [*"xzfvso", "x.t()"], ["1", "0", "2", "2, 0", "2, 0, False", "9", "-1"]),
    "torch.topk(e, 0)",
    "torch.topk(e, 1)",
    "torch.max(x, z[0])",
    "torch.min(x, other=z[0])",
    "torch.max(t, t)",
    "x.sum(axis=1)",
    "x.mean(axis=0, keepdims=True)",
    "x.max(axis=1)",
    "x.softmax()",
    "x.softmax(None)",
    "x.sum('a')",
    "x.sum(1.5)",
    "x.norm('nuc', 5)",
    "x.var(unbiased=False, correction=0)",
    *(f"z.sum_to_size({a})" for a in ["3, 4", "(1, 3, 1)", "2, 3, 4", "1", "3, 3", "()", ""]),
    "z.sum_to_size(1, 2, 3, 4)",
    *(f"{x}.sum_to_size({a})" for x, a in [("i", "3"), ("s", "()"), ("m", "3"), ("m", "0, 1")]),
    "torch.sum(x * x, 0) * torch.amax(x, 0)",
    "torch.max(x, 1).values * torch.max(x, 1)[1]",
    "torch.sort(x, 0)[0] * z[0]",
    "torch.log_softmax(x, 1).exp() * z[1]",
]
EXPRESSIONS = list(dict.fromkeys(EXPRESSIONS))


if __name__ == "__main__":
    record("reduce", EXPRESSIONS, INPUTS)
