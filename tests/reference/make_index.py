"""Records torch's indexing, gathering, scattering and masks in index.json.

`python -m reference.make_index` in tests, with torch.
"""

from reference.expressions import record, wave
from reference.make_shape import changed, texts

INPUTS = {
    "x": (wave(6), [2, 3], "float64"),
    "y": (wave(6, 1.0), [2, 3], "float64"),
    "z": (wave(24, 5.0), [2, 3, 4], "float64"),
    "f": (wave(6, 2.0), [2, 3], "float32"),
    "v": (wave(5, 1.0), [5], "float64"),
    "s": ([0.7], [], "float64"),
    "m": ([], [0, 3], "float64"),
    "i": ([1, 0, 1, 0, 0, 1], [2, 3], "int64"),
    "p": ([1, 0, 1, 0, 1, 0], [2, 3], "int64"),
    "j": ([2, 0], [2, 1], "int64"),
    "k": ([2, 0, 2], [3], "int64"),
    "n": ([0], [], "int64"),
    "a": ([True, False, True], [3], "bool"),
    "b": ([True, False, True, False, True, True], [2, 3], "bool"),
    "u": ([1, 0, 1], [3], "uint8"),
}
# What may stand in the brackets of a matrix, and of one with a dimension more.
BRACKETS = [
    *("0", "-1", "1, 2", ":, 0", "0, :", "0:1", "::2", ":, ::2", "...", "None", "..., None", "()"),
    *("None, :, None, 1:", "..., 0", "[0, 1]", "[0, 0, 1]", "[0, 1], [2, 2]", "[0, 0], [1, 1]"),
    *(":, [0, 2]", "i", ":, k", "n", "n, k", "b", "x > 100", ":, a", "0, [0, 1, 1]", "[1], :"),
    *("None, [0, 1]", "True", "False", "True, 0", "[]", ":0", "range(2)", "(0,)", "[True, False]"),
    *("..., [0, 1]", "[0, 1], ...", "0, ..., [1]", "[1, -1]", "k, k", ":, u"),
    *("j, k", "5", "-3", "0, 0, 0", "1.5", "::-1", "[0, 1], [0, 1, 2]", "[7]", "s", "a", "b, 0"),
    *("[[0, 1], [1, 0]]", "[[0, 1, 1]]", "[slice(None), [0, 2]]", "[k * 0, ...]", "[[0], None]"),
    *("..., ...", "0, None, 1", "None, 0", "torch.tensor([], dtype=torch.int64)", "slice(n, 2)"),
]
DEEPER = [
    *("0", "0, 1, 2", ":, 1", "..., 0", "1, ..., ::2", "[0, 1], [1, 2], [3, 3]", ":, [0, 2], 1"),
    *("0, :, [1, 2]", ":, 0, [1, 2]", "[0, 1], :, [1, 2]", "[0, 1], 1", ":, [[0, 1], [1, 1]], :"),
    *("..., [1], 0", "z[:, :, 0] > 0", ":, a", "b", "b, 1", "0, b[0]", "None, 0, :, None, [0, 1]"),
    *("[0, 1], None, [0, 1]", "[[0], [1]], [[0, 1]]", "a[:2], :, [1]", ":, [0], None, [[1], [2]]"),
]
# Assignments: (the tensor, the brackets, the value).
ASSIGNED = [
    *[("x", at, "y[0]") for at in ("0", "1:", "[1, 0]", "k[1:2]", "None, 0", ":", "...", "n")],
    *[("x", at, "2.5") for at in ("0", "0, 1", "b", ":, a", "[0, 0]", "x > 100", "True", "False")],
    *[("x", at, "s") for at in ("0, 0", "b", "p[0, :2]", ":, 1:", "[]", "0, [0, 1]")],
    *[("x", at, "y[:, :2]") for at in (":, [0, 2]", ":, 1:", ":, a")],
    *[("x", at, "y[:, 1]") for at in (":, 0", "[0, 1], [2, 0]", "[1, 0], 1", "..., n")],
    *[("x", "0", v) for v in ("v", "f[0]", "i[0]", "y[:1]", "y[:1][None]", "'a'", "[1, 2]")],
    *[("x", "b", v) for v in ("y", "v[:4]", "f[0]", "v[:1]", "True")],
    *[("x", at, "1") for at in ("5", "0, 0, 0", "::-1", "1.5", "[7]")],
    *[("z", at, "x[:, :2]") for at in (":, 1, 1:3", "..., 2, :2", ":, [1], :2", ":, 0, [1, 2]")],
    *[("z", at, "y") for at in (":, [0, 1, 2], [3, 2, 1]", "..., 1", "b, :1", "[0, 1], :, [1, 2]")],
    *[("i", "0", v) for v in ("1.7", "inf", "x[0]", "True")],
    ("x.t()", "0", "y[:, 0]"),
    ("x[0]", "1", "y[1, 1]"),
    ("x[:, 1:]", "b[:, 1:]", "0"),
]
PICKED = [
    *texts("x", ["gather(0, i)", "gather(1, i)", "gather(-1, j)", "gather(1, i[:1])"]),
    "x.gather(0, k)",
    *texts("x", ["gather(0, i[:, :2] + 5)", "gather(1, i - 1)", "gather(0, y)"]),
    "x.gather(1, i.int())",
    *texts("x", ["take(i)", "take(k)", "take(n)", "take(-k)", "take(k + 5)", "take(y)", "take(j)"]),
    *texts("x", ["take_along_dim(j, 1)", "take_along_dim(k)", "take_along_dim(i[:1], 0)"]),
    *texts("x z", ["index_select(1, k)", "index_select(0, n)", "index_select(-1, k[:0])"]),
    *texts("x z", ["index_select(0, k)", "index_select(0, i)", "index_select(0, -k)"]),
    *texts("x z", ["repeat_interleave(2)", "repeat_interleave(2, 0)", "repeat_interleave(k, 1)"]),
    *texts("x", ["repeat_interleave(k)", "repeat_interleave(k[:1], 0)", "repeat_interleave(0, 1)"]),
    *texts("x", ["masked_select(b)", "masked_select(a)", "masked_select(x > 9)"]),
    "x.masked_select(x)",
    *texts("s", ["gather(0, n)", "index_select(0, n)", "take(k * 0)", "masked_select(b)"]),
    *texts("s", ["gather(0, k * 0)", "repeat_interleave(2)", "take(k)", "index_select(0, k)"]),
    *texts("m", ["gather(0, i[:0])", "take(k[:0])", "index_select(1, k)"]),
    "m.repeat_interleave(2, 1)",
    *texts("v z", ["diag_embed()", "diag_embed(1)", "diag_embed(-1, 0, 2)", "diag_embed(0, 0, 0)"]),
    *texts("x s m a i", ["nonzero()", "argwhere()"]),
    "x.nonzero(as_tuple=True)",
    "torch.nonzero(s, as_tuple=True)",
]
CHOSEN = [
    *("torch.where(b, x, y)", "torch.where(a, x, s)", "torch.where(b, x, 0.0)", "x.where(b, y)"),
    *("torch.where(b, 1.0, y)", "torch.where(b, 1, 2)", "torch.where(b, 1.5, 2)", "x.where(a, 1)"),
    *("torch.where(b, f, x)", "torch.where(b, f, 2.0)", "torch.where(b, i, 2.0)", "torch.where(b)"),
    *("torch.where(x, x, y)", "torch.where(b, x, v)", "torch.where(x > 9, x, y)", "x.where(b, v)"),
    *("torch.where(x > 0, x.log(), x * 3)", "torch.where(b, x / 0, y)", "torch.where(b, s, s)"),
    *("torch.where(b, i, i)", "torch.where(x[:0] > 0, m, 1.0)", "torch.where(s > 0, x, y)"),
]
CHANGES = [
    *("index_add(0, n.view(1) * 0, y[:1])", "index_add(1, k, y)", "index_add(1, k, y, alpha=2.5)"),
    *("index_add(0, k[:2], y)", "index_add(0, i[0, :2], y)", "index_add(0, i[0], y)"),
    *("index_add(1, k, f)", "index_add(1, k, y.t())", "index_add(0, n.view(1), y[:1, :1])"),
    *("index_copy(1, k[:2], y[:, :2])", "index_copy(0, i[0, :2], y)", "index_copy(0, i[0], y)"),
    *("index_fill(1, k, 2.5)", "index_fill(1, k, s)", "index_fill(1, k, v)"),
    "index_fill(0, k, 1.0)",
    *("index_put((p[0, :2],), y[0])", "index_put((i[0, 1:], k[1:]), v[:2])", "index_put((b,), s)"),
    *("index_put((i[0],), y[0], accumulate=True)", "index_put((b,), v[:4], accumulate=True)"),
    *("index_put((i[0], k), v)", "index_put((k,), y[0])", "index_put((i[0],), f[0])"),
    *("scatter(0, p, y)", "scatter(1, j, y[:, :1])", "scatter(0, i, 2.5)", "scatter(0, p[:1], s)"),
    *("scatter(1, i, y[:1])", "scatter(0, k, y)", "scatter(0, i + 5, y)", "scatter(0, i, f)"),
    *("scatter(0, y, y)", "scatter(0, i, value=1.5)"),
    *("scatter_add(0, i, y)", "scatter_add(1, i, y)", "scatter_add(1, j, y[:, :1])"),
    *("scatter_add(0, i, f)", "scatter_add(0, i - 1, y)"),
    *("masked_fill(b, 2.5)", "masked_fill(a, s)", "masked_fill(b, v)", "masked_fill(x, 1)"),
    *("masked_fill(b.unsqueeze(0), 1.0)", "masked_fill(b.view(2, 1, 3), s)"),
    "masked_fill(b.t(), 1)",
    *("masked_scatter(b, y)", "masked_scatter(a, y)", "masked_scatter(b, v[:2])"),
    *("masked_scatter(b, f)", "masked_scatter(x > 9, y)", "masked_scatter(b, v)"),
]


def in_place(call):
    """The call's form in place."""
    name, _, arguments = call.partition("(")
    return f"{name}_({arguments}"


EXPRESSIONS = [
    *(f"x[{at}]" for at in BRACKETS),
    *(f"z[{at}]" for at in DEEPER),
    *(f"x.t()[{at}]" for at in BRACKETS[:12]),
    *("s[0]", "s[None]", "s[...]", "s[()]", "s[s > 0]", "s[True]", "m[0]", "m[:, 1]", "m[[]]"),
    *(changed(f"{x}.clone()", f"[t.__setitem__(({at},), {v})]") for x, at, v in ASSIGNED),
    *PICKED,
    *CHOSEN,
    *(f"x.{call}" for call in CHANGES),
    *(changed("x.clone()", f"t.{in_place(call)}") for call in CHANGES),
    *(f"s.{c}" for c in ("scatter(0, n, 2.0)", "index_fill(0, n, 2.0)", "masked_fill(b, 1.0)")),
    "s.scatter_add(0, n, s * 2)",
    "m.index_add(0, k[:0], m)",
]
EXPRESSIONS = list(dict.fromkeys(EXPRESSIONS))

if __name__ == "__main__":
    record("index", EXPRESSIONS, INPUTS)
