"""Records torch's products of vectors and matrices in linear.json.

`python -m reference.make_linear` in tests, with torch.
"""

from reference.expressions import record, wave

INPUTS = {
    "a": (wave(6), [2, 3], "float64"),
    "b": (wave(12, 1.0), [3, 4], "float64"),
    "c": (wave(9, 2.0), [3, 3], "float64"),
    "u": (wave(3, 3.0), [3], "float64"),
    "w": (wave(3, 4.0), [3], "float64"),
    "x": (wave(4, 5.0), [4], "float64"),
    "s": ([0.7], [], "float64"),
    "p": (wave(30, 6.0), [5, 2, 3], "float64"),
    "q": (wave(60, 7.0), [5, 3, 4], "float64"),
    "r": (wave(24, 8.0), [2, 1, 3, 4], "float64"),
    "e": ([], [0, 3], "float64"),
    "o": ([], [2, 0], "float64"),
    "f": (wave(6, 2.5), [2, 3], "float32"),
    "i": ([1, 2, 3, -1, 0, 4], [2, 3], "int64"),
    "h": (wave(2, 9.0), [2], "float64"),
    "one": ([0.5], [1], "float64"),
}
OPERANDS = [name for name in INPUTS if name not in ("f", "i", "h", "one")]
MATRICES = ["a", "b", "c", "p", "q", "r", "e", "u", "s", "i", "f", "q.transpose(1, 2)"]
FACTORS = ["", ", beta=2, alpha=0.5"]
EQUATIONS = {
    "ij,jk->ik": "a, b",
    "ij,jk": "a, b",
    "ij->ji": "a",
    "ij->": "a",
    "ij->j": "a",
    "ij": "b",
    "ji": "b",
    "i,i": "u, w",
    "i,i->i": "u, w",
    "i,j->ij": "u, x",
    "ii": "c",
    "ii->i": "c",
    "ij,ij,ij->i": "c, c, c",
    "bij,bjk->bik": "p, q",
    "bij,bjk->ki": "p, q",
    "bij,jk->bik": "p, b",
    "...ij,...jk->...ik": "p, r",
    "...ij,...jk": "p, r",
    "...ij->...ji": "q",
    "...i,i->...": "p, u",
    "ab,bc,cd->ad": "a, c, b",
    "a,b->": "u, x",
    " i j , j k -> i k ": "a, b",
    "bi,ij,bj->b": "a, c, a",
    "Ab,bC->CA": "a, b",
    "ij,->ij": "a, s",
    "ij,jk->k": "o.t(), a",
    "ij,kj->ik": "a, e",
    "iij->j": "c.unsqueeze(0).expand(3, 3, 3)",
    "ij,j->i": "a, one",
    "i,i->": "u, one",
    # misfits
    "ij,jk ": "a, a",
    "ij,jk  ": "a",
    "ij->ijk": "a",
    "ij->ii": "a",
    "i->i": "a",
    "i1->i": "a",
    "ijk->i": "a",
    "ii  ": "a",
}


EXPRESSIONS = [
    *(f"torch.matmul({a}, {b})" for a in OPERANDS for b in OPERANDS),
    *(f"torch.mm({a}, {b})" for a in ["a", "e", "o", "u", "p", "c"] for b in OPERANDS),
    *(f"torch.bmm({a}, {b})" for a in ["a", "p", "r"] for b in ["b", "q", "p", "r"]),
    *(f"torch.mv({a}, {b})" for a in ["a", "c", "e", "o", "u", "p"] for b in ["u", "x", "s", "a"]),
    *(f"torch.dot({a}, {b})" for a in ["u", "x", "s", "one"] for b in ["u", "w", "x", "a", "one"]),
    *(f"torch.outer({a}, {b})" for a in ["u", "x", "s"] for b in ["u", "x", "a"]),
    *(f"torch.tril({m}{k})" for m in MATRICES for k in ["", ", 1", ", diagonal=-1"]),
    *(f"torch.triu({m}{k})" for m in MATRICES for k in ["", ", 1", ", diagonal=-1"]),
    *(f"torch.trace({m})" for m in MATRICES),
    *(f"torch.diag({m}{k})" for m in MATRICES for k in ["", ", 1", ", diagonal=-1"]),
    *(f"torch.addmm({t}, a, b{o})" for t in ["x", "s", "one", "u", "q"] for o in FACTORS),
    "torch.addmm(x, a, b, alpha=3)",
    "torch.addmm(x, a, a)",
    *(f"torch.addmv({t}, a, u{o})" for t in ["h", "s", "one", "u"] for o in FACTORS),
    *(f"torch.baddbmm({t}, p, q{o})" for t in ["x", "s", "one", "u"] for o in FACTORS),
    *(
        f"torch.nn.functional.linear({x}, {w}{b})"
        for x in ["a", "p", "u", "e", "s", "b"]
        for w in ["c", "a", "q"]
        for b in ["", ", w", ", s", ", h", ", q"]
    ),
    "torch.nn.functional.linear(a, c, h.unsqueeze(1))",
    "torch.nn.functional.linear(a, c, c)",
    *(f"torch.nn.functional.linear({x}, u)" for x in ["a", "p", "u", "e", "s", "b"]),
    *(f"torch.einsum({e!r}, {operands})" for e, operands in EQUATIONS.items()),
    "torch.einsum('ij,jk', [a, b])",
    "a @ b",
    "a @ b.t().t()",
    "b.t() @ c @ u",
    "a @ 2.0",
    "2.0 @ a",
    "f @ f.t()",
    "i @ i.t()",
    "(a @ c).matmul(b) @ x",
    "(a.t() @ a) @ (c @ c)",
    "c @ c @ c",
]


if __name__ == "__main__":
    record("linear", EXPRESSIONS, INPUTS)
