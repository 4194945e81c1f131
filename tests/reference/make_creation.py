"""Records torch's ways to make and convert tensors, and its functions with steps, in creation.json.

`python -m reference.make_creation` in tests, with torch.
"""

from reference.expressions import record, wave

INPUTS = {
    "x": ([-2.5, -1.5, -0.5, 0.0, 0.5, 1.5, 2.5, 7.3], [2, 4], "float64"),
    "y": ([2.0, -1.5, 0.7, 3.0, -0.4, 1.0, 2.5, -7.0], [2, 4], "float64"),
    "f": (wave(6, 2.0, 3.0), [2, 3], "float32"),
    "g": (wave(3, 1.0), [3], "float32"),
    "s": ([0.7], [], "float64"),
    "e": ([], [0], "float64"),
    "n": ([float("nan"), float("inf"), -float("inf"), 2.0], [4], "float64"),
    "i": ([7, -7, 5, -5, 0, 3], [2, 3], "int64"),
    "j": ([2, 2, -3, -3, 4, 4], [2, 3], "int64"),
    "u": ([3, 1, 0, 200], [4], "uint8"),
    "b": ([True, False, True], [3], "bool"),
    "c": ([True, True, False], [3], "bool"),
}
KINDS = ["float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool"]
STEPS = ["floor", "ceil", "trunc", "fix", "round", "sign", "sgn", "frac"]
COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]

MADE = (
    """
zeros(2, 3)|zeros((2, 3))|zeros([2, 3])|zeros(())|zeros(0)|zeros(size=(2,))|zeros(-1)|zeros(2.0)
zeros('a')|zeros()|ones(3)|ones(2, dtype=torch.int64)|ones((1, 2), dtype=torch.bool)
ones(2, dtype=torch.int64, requires_grad=True)|full((2,), 3)|full((2,), 3.0)|full((), True)
full((2,), 3, dtype=torch.float64)|full(2, 3)|full((2,), torch.tensor(2.0))|zeros_like(x)
zeros_like(i, dtype=torch.float32)|zeros_like([1])|ones_like(f)|ones_like(u)|full_like(x, 2)
full_like(i, 2.7)|full_like(b, 3)|arange(4)|arange(4.0)|arange(1, 7, 2)|arange(1, 2, 0.3)
arange(3, 0, -1)|arange(3, 0)|arange(1, 2, 0)|arange(2, dtype=torch.float64)|arange(end=3)
arange(start=1, end=3)|arange(0)|arange(5, dtype=torch.int8)|linspace(0, 1, 5)|linspace(0, 1, 1)
linspace(3, -1, 4, dtype=torch.float64)|linspace(0, 1, 0)|linspace(0, 1, -1)
linspace(0, 10, 5, dtype=torch.int64)|linspace(0, 1, steps=3)|eye(3)|eye(2, 3)
eye(3, 2, dtype=torch.int64)|eye(0)|eye(-1)|tensor(2)|tensor(2.5)|tensor(True)|tensor([1, 2])
tensor([1, 2.5])|tensor([True, 2])|tensor([True, 2.5])|tensor([])|tensor([[]])
tensor([[1, 2], [3, 4]])|tensor(((1, 2), (3, 4)))|tensor([[1, 2], [3]])|tensor([[1, 2], 3])
tensor(None)|tensor('a')|tensor([None])|tensor(2, dtype=torch.float64)
tensor([1.7, -1.7], dtype=torch.int64)|tensor(300, dtype=torch.uint8)
tensor([300], dtype=torch.int8)|tensor(nan, dtype=torch.int64)|tensor(2**70)|tensor(range(3))
tensor({1, 2})|tensor([2, 0], dtype=torch.bool)|tensor([1, 2], requires_grad=True)
tensor([torch.tensor(1.0), 2])|tensor([torch.tensor(1), 2])|tensor([x, y])|tensor(2, dtype=float)
as_tensor([1, 2])|as_tensor(x)|as_tensor(i, dtype=torch.float32)|as_tensor(2.5)|from_numpy([1])
Tensor([1, 2])|Tensor([[1.5]])|Tensor((2, 3))|Tensor(2.5)|Tensor(True)|Tensor(None)|Tensor()
DoubleTensor([1, 2])|LongTensor([1.5, -1.5])|BoolTensor([0, 2])|Tensor(2, 0)
Tensor(torch.zeros(2))
""".replace("\n", "|")
    .strip("|")
    .split("|")
)
NEW = (
    """
new_tensor([1, 2])|new_tensor([1.5], dtype=torch.float64)|new_zeros(2, 3)|new_zeros((2,))
new_ones(2)|new_full((2,), 3)|new_full((2,), 3, dtype=torch.int64)|new([1, 2])
""".replace("\n", "|")
    .strip("|")
    .split("|")
)
OTHER = (
    """
round(f, decimals=1)|round(f, decimals=-1)|nan_to_num(n)|nan_to_num(n, 7.0)|nan_to_num(n, 7, 8, 9)
isnan(n)|isinf(n)|isfinite(n)|isnan(i)|isclose(x, x + 1e-9)|isclose(n, n)|isclose(x, y, 0.5, 1.0)
isclose(n, n, equal_nan=True)|isclose(f, x)|isclose(i, j)|logical_not(x)|logical_not(b)
bitwise_not(b)|bitwise_not(i)|bitwise_not(x)|lerp(x, y, 0.3)|lerp(x, y, x)|lerp(x, s, y)
addcmul(x, y, s)|addcmul(x, y, y, value=0.5)|addcdiv(x, s, y)|addcdiv(x, y, s, value=-2)
promote_types
""".replace("\n", "|")
    .strip("|")
    .split("|")
)

REMAINDERS = [*["xy", "ij", "ix"], ("x", "2"), ("i", "3"), ("i", "2.5"), ("i", "0")]
# Of whole quotients torch refuses derivatives: they are made outside the graph.
X, Y = "x.detach()", "y.detach()"

EXPRESSIONS = [
    *(f"torch.{text.replace('nan,', 'inf - inf,')}" for text in MADE),
    *(f"{name}.{text}" for name in "xfib" for text in NEW),
    *(f"torch.{name}({x})" for name in STEPS for x in "xfseniu"),
    *(f"torch.{name}({a}, {b})" for name in COMPARISONS for a, b in ("xy", "xs", "ij", "fg", "ux")),
    *(f"{x}.{name}(0.5)" for name in COMPARISONS for x in "xib"),
    *(f"torch.{text}" for text in OTHER if text != "promote_types"),
    *(f"torch.logical_{w}({a}, {b})" for w in ("and", "or", "xor") for a, b in ("bc", "xy", "ij")),
    *(f"{a} {w} {b}" for w in "&|^" for a, b in ("bc", "ij", "xy")),
    *(f"{x} {w} {n}" for w in "&|^" for x, n in (("i", "3"), ("b", "True"), ("u", "1"))),
    *(f"~{x}" for x in "biux"),
    *(f"{a} % {b}" for a, b in (*REMAINDERS, "xs", "fg", ("x", "0"))),
    *(f"({a}) // ({b})".replace("x", X).replace("y", Y) for a, b in (*REMAINDERS, ("2", "y"))),
    *(f"torch.{w}({a}, {b})" for w in ("fmod", "remainder") for a, b in ("xy", "ij", "xs", "fg")),
    *(f"torch.fmod({a}, {b})" for a, b in (("x", "2"), ("i", "-3"), ("i", "0"), ("x", "0"))),
    *(f"{x}.to(torch.{kind})" for x in "xfiub" for kind in KINDS),
    *(f"{x}.{name}()" for x in "xib" for name in ["double", "float", "half", "long"]),
    *(f"{x}.{name}()" for x in "xib" for name in ["int", "short", "bool", "char", "byte", "cpu"]),
    *(f"x.to({a})" for a in ("f", "'cpu'", "'cpu', torch.float32", "torch.float32, copy=True")),
    *(f"x.to({a})" for a in ("dtype=torch.int32", "device='cpu'", "torch.device('cpu')")),
    *(f"x.type({a})" for a in ("torch.float32", "torch.DoubleTensor", "torch.LongTensor")),
    "x.type_as(i)",
    "i.type_as(f)",
    "x.type('nonsense')",
]

if __name__ == "__main__":
    record("creation", EXPRESSIONS, INPUTS)
