"""Records torch's changes of shape, and views, in shape.json.

`python -m reference.make_shape` in tests, with torch.
"""

from reference.expressions import record, wave

INPUTS = {
    "x": (wave(6), [2, 3], "float64"),
    "z": (wave(24, 5.0), [2, 3, 4], "float64"),
    "f": (wave(6, 2.0), [2, 3], "float32"),
    "v": (wave(5, 1.0), [5], "float64"),
    "s": ([0.7], [], "float64"),
    "o": ([1.3, -0.4, 0.2], [1, 3, 1], "float64"),
    "m": ([], [0, 3], "float64"),
    "i": ([3, -1, 0, 2, 2, 7], [2, 3], "int64"),
}


def texts(names, calls):
    """Each call on each of the names."""
    return [f"{name}.{call}" for name in names.split() for call in calls]


def changed(target, change):
    """The target after a change in place of it, which calls it t."""
    return f"[t for t in [{target}] if {change} is not None]"


ORDER = [
    *texts("x z s m i", ["t()", "T", "mT", "transpose(0, 1)", "transpose(-1, 0)", "clone()"]),
    *texts("x z s", ["swapaxes(0, -1)", "swapdims(0, -1)", "movedim(0, -1)", "moveaxis(-1, 0)"]),
    *texts("z", ["permute(2, 0, 1)", "permute((0, 2, 1))", "permute(-1, 0, 1)", "permute(0, 1)"]),
    *texts("z", ["permute(0, 0, 1)", "movedim((0, 1), (2, 0))"]),
    "s.permute(())",
    "x.transpose(0, 5)",
    "v.t()",
]
SIZES = [
    *texts("x f i", ["reshape(6)", "reshape(3, -1)", "view(3, 2)", "view((6, 1))", "view(5)"]),
    *texts("x", ["view(-1, -1)", "view(-1, 4)", "reshape(())", "t().view(6)", "t().reshape(6)"]),
    *texts("x", ["reshape_as(x.t())", "view_as(f)", "ravel()", "t().ravel()", "t().flatten()"]),
    *texts("s", ["reshape(1)", "view(1, 1)", "view(())", "flatten()", "ravel()", "unsqueeze(0)"]),
    *texts("m", ["reshape(-1)", "view(3, 0)", "view(0, -1)", "flatten()", "squeeze()", "t()"]),
    *texts("z", ["flatten()", "flatten(1)", "flatten(0, 1)", "flatten(1, 0)", "flatten(-2)"]),
    *texts("z", ["unflatten(2, (2, 2))", "unflatten(-1, (2, -1))", "unflatten(1, (2, 2))"]),
    *texts("z", ["transpose(0, 2).reshape(4, 6)", "transpose(0, 1).flatten(1)"]),
    *texts("o", ["squeeze()", "squeeze(0)", "squeeze(1)", "squeeze((0, 2))", "squeeze(-1)"]),
    *texts("o", ["squeeze(3)", "unsqueeze(0)", "unsqueeze(-1)", "unsqueeze(2)", "unsqueeze(5)"]),
    *texts("o", ["expand(2, 3, 4)", "expand(-1, -1, 4)", "expand(2, 2, 3, 4)", "expand(3)"]),
    *texts("o", ["expand(1, 2, 1)", "expand(-1, 1, 3, 1)", "broadcast_to((2, 3, 2))"]),
    *texts("s", ["expand(2, 3)", "expand(0)", "expand(())", "expand_as(x)"]),
    "m.expand(2, 0, 3)",
    "torch.broadcast_tensors(x, o)",
    "torch.broadcast_tensors(s, v)",
    "torch.broadcast_tensors(x, v)",
    "torch.meshgrid(v, s, indexing='ij')",
    "torch.meshgrid(v, v[:2], s, indexing='xy')",
]
PARTS = [
    *texts("x z", ["narrow(1, 1, 2)", "narrow(0, -1, 1)", "narrow(0, 0, 5)", "narrow(0, 5, 1)"]),
    *texts("x z m", ["select(1, -1)", "select(0, 0)", "select(0, 5)", "select(5, 0)"]),
    *texts("x z m", ["diagonal()", "diagonal(1)", "diagonal(-1, 1, 0)", "diagonal(0, 1, 1)"]),
    *texts("z", ["diagonal(0, 0, 2)", "diagonal(2, -1, 1)", "diagonal(9)"]),
    *texts("x v z", ["unfold(0, 2, 1)", "unfold(-1, 2, 2)", "unfold(0, 1, 3)", "unfold(0, 9, 1)"]),
    *texts("v s", ["unfold(0, 1, 1)", "unfold(0, 2, 0)", "unfold(0, 0, 1)"]),
    *texts("x", ["as_strided((2, 2), (1, 2))", "as_strided((2, 2), (1, 1), 1)"]),
    *texts("x", ["t().as_strided((2, 2), (3, 1))", "t()[1:].as_strided((2,), (2,))"]),
    *texts("x", ["expand(2, 2, 3).as_strided((2, 2), (0, 1))", "as_strided((5, 5), (1, 1))"]),
    *texts("x", ["as_strided((2,), (1, 1))", "as_strided((0, 2), (1, 1))", "as_strided((), ())"]),
    *texts("z", ["[:, 1].as_strided((2, 2), (1, 1), 0)"]),
]
PARTS = [text.replace(".[", "[") for text in PARTS]
COPIES = [
    *texts("x z s m", ["contiguous()", "flip(0)", "flip((0, -1))", "flip(())", "roll(1)"]),
    *texts("x z", ["t().contiguous()", "flip(0, 0)", "flip(5)", "fliplr()", "flipud()"]),
    *texts("x z", ["roll(1, 0)", "roll((1, 2), (0, 1))", "roll((1, 2), (1, 1))", "roll(-5)"]),
    "x.roll(1, (0, 1))",
    *texts("x z", ["repeat(2, 1, 1)", "repeat(2)", "repeat(1, 0, 2)", "tile(2)"]),
    "x.tile((2, 1, 1, 3))",
    *texts("s", ["repeat(3)", "repeat(2, 2)", "tile(2)", "tile(())"]),
    *texts("m", ["repeat(2, 2)", "roll(1, 0)", "tile(2, 2)"]),
]
IN_PLACE = [
    changed("x.clone()", f"t.{call}")
    for call in [
        *("copy_(f)", "copy_(f[0])", "copy_(s)", "copy_(v)", "copy_(2)", "copy_(i)", "fill_(s)"),
        *("fill_(2)", "fill_(v)", "fill_(True)", "zero_()", "detach_()", "t().copy_(f.t())"),
        *("view(-1).fill_(s)", "diagonal().copy_(v[:2])", "unfold(1, 3, 1).zero_()"),
        "as_strided((2, 2), (3, 1)).copy_(f[:, :2])",
    ]
] + [changed("i.clone()", f"t.{call}") for call in ("copy_(x)", "fill_(1.5)", "fill_(inf)")]
FACTS = [
    *(f"torch.tensor({name}.{call})" for name in "xzsm" for call in ("dim()", "numel()")),
    *(f"torch.tensor({name}.{call})" for name in "xz" for call in ("t().stride()", "size(-1)")),
    "torch.tensor(z.transpose(0, 2).stride())",
    "torch.tensor(z[1:, 2].storage_offset())",
    "torch.tensor([x.is_contiguous(), x.t().is_contiguous(), x.nelement(), f.element_size()])",
    "torch.tensor(x.size(2))",
    "torch.tensor(torch.broadcast_shapes((2, 1), (3,), 1))",
    "torch.broadcast_shapes((2, 1), (3, 3))",
]
EXPRESSIONS = list(dict.fromkeys(ORDER + SIZES + PARTS + COPIES + IN_PLACE + FACTS))

if __name__ == "__main__":
    record("shape", EXPRESSIONS, INPUTS)
