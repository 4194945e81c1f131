"""Records torch's joining and splitting in join.json.

`python -m reference.make_join` in tests, with torch.
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
    "e": ([], [0], "float64"),
    "m": ([], [0, 3], "float64"),
    "i": ([3, -1, 0, 2, 2, 7], [2, 3], "int64"),
}
JOINED = [
    *("torch.cat([x, y])", "torch.cat([x, y], 1)", "torch.cat((x, y, x), -1)", "torch.cat([x])"),
    *("torch.cat([x, f])", "torch.cat([f, i])", "torch.cat([i, i])", "torch.cat([x, m])"),
    *("torch.cat([e, x])", "torch.cat([x, e, y], 1)", "torch.cat([e, e])", "torch.cat([v, e])"),
    *("torch.cat([x.t(), y.t()])", "torch.cat([x, x[:, :1]], 1)", "torch.cat(x.split(1), 1)"),
    *("torch.cat([x, v])", "torch.cat([x, y.t()])", "torch.cat([])", "torch.cat([x, 1])"),
    *("torch.cat(x)", "torch.cat([s, s])", "torch.cat([x, y], 2)", "torch.concat([x, y], 1)"),
    *("torch.concatenate([x, y])", "torch.stack([x, y])", "torch.stack([x, y], 1)"),
    *("torch.stack([x, y], -1)", "torch.stack([s, s])", "torch.stack([f, x])", "torch.stack([m])"),
    *("torch.stack([x, y], 3)", "torch.stack([x, v])", "torch.stack([])", "torch.stack([s, 1.0])"),
    *("torch.stack((x.t(), y.t()))", "torch.stack([s.expand(2), v[:2]])", "torch.hstack([s, s])"),
    *("torch.hstack([v, v[:2]])", "torch.hstack([x, x[:, :1]])", "torch.hstack([])"),
    *("torch.vstack([v, v])", "torch.vstack([s, s])", "torch.vstack([x, x[0]])"),
    *("torch.vstack([z, z])", "torch.vstack([x, v])"),
]
PARTS = [
    *texts("x z v m", ["unbind()", "unbind(-1)", "unbind(9)", "split(2)", "split(2, -1)"]),
    *texts("x z v m", ["chunk(2)", "chunk(2, -1)", "chunk(7)", "chunk(0)", "split(0)"]),
    "x.split(-1)",
    *texts("x z", ["split([1, 1])", "split([1, 2], 1)", "split((3,), 1)", "split([1, 3], 1)"]),
    *texts("x z", ["split_with_sizes([1, 0, 2], 1)", "split_with_sizes([4, -1], 1)"]),
    *texts("x z v m", ["tensor_split(2)", "tensor_split(2, -1)", "tensor_split((1,))"]),
    *texts("v", ["tensor_split(7)", "tensor_split([3, 1])", "tensor_split([9])"]),
    "v.tensor_split(0)",
    *texts("v", ["tensor_split(torch.tensor([1, 3]))", "tensor_split(torch.tensor(2))"]),
    *texts("x", ["unsafe_split(1)", "unsafe_split_with_sizes([1, 2], 1)", "unsafe_chunk(2, 1)"]),
    *texts("s", ["unbind()", "split(1)", "chunk(1)", "tensor_split(1)"]),
]
TOGETHER = [
    "torch.stack(x.unbind(1))",
    "torch.cat(z.chunk(3, 2)[::-1], 2)",
    "x.unbind()[1] * y.unbind()[0]",
    "z.split(3, 2)[1].exp()",
    changed("x.clone()", "t.tensor_split(2)[0].mul_(y[:1])"),
    changed("x.clone()", "t.unsafe_chunk(2)[0]"),
    changed("x.clone()", "t.chunk(2)[0].mul_(2)"),
    changed("x.clone()", "t.unbind(1)[2].zero_()"),
]
EXPRESSIONS = list(dict.fromkeys(JOINED + PARTS + TOGETHER))

if __name__ == "__main__":
    record("join", EXPRESSIONS, INPUTS)
