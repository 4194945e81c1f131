"""Products of vectors and matrices."""

import math
import string
from collections.abc import Sequence
from typing import Any

import numpy as np

from engine import kernels, modes
from engine.checks import saved_tensors, sums_to
from engine.lists import dot_lists, or_list
from engine.nodes import array_of
from engine.ops.dims import clash
from engine.quiet import quiet
from engine.tensors import Operation, Tensor, applied, make, method, operand


def product(a: Any, b: Any) -> Any:
    """The matrix product of two arrays, batched and of mixed dtypes as NumPy's."""
    return kernels.matmul_forward(a, b)


def refused(name: str, needed: str, *tensors: Tensor) -> RuntimeError:
    """The error of a product of tensors that do not fit."""
    shapes = " and ".join("x".join(map(str, t.shape)) or "()" for t in tensors)
    return RuntimeError(f"{name}: {needed}; got shapes {shapes}")


def check(name: str, **tensors: Any) -> None:
    """Raise TypeError unless all of the arguments are Tensors."""
    for argument, x in tensors.items():
        if not isinstance(x, Tensor):
            raise TypeError(
                f"{name}(): argument {argument!r} must be Tensor, not {type(x).__name__}; "
                "engine.tensor(...) makes one of numbers"
            )


def keep_factors(ctx: Any, a: Any, b: Any) -> None:
    """Keep of each factor of a product what the gradient of the other is made of."""
    left, right = ctx.needs_input_grad[:2]
    ctx._to_save = (a if right else None, b if left else None)


def are_factors(a: Any, b: Any) -> bool:
    """Whether two arrays are matrices (n, k) and (k, m)."""
    return a.ndim == 2 and b.ndim == 2 and a.shape[1] == b.shape[0]


class Mm(Operation):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        keep_factors(ctx, a, b)
        return make(kernels.matmul_forward(array_of(a), array_of(b)))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        a, b = saved_tensors(ctx)
        if not modes.is_grad_enabled():
            left, right = kernels.matmul_backward(
                array_of(g), None if a is None else array_of(a), None if b is None else array_of(b)
            )
            return left if left is None else make(left), right if right is None else make(right)
        return (
            None if b is None else Mm.apply(g, b.transpose(-2, -1)),
            None if a is None else Mm.apply(a.transpose(-2, -1), g),
        )


@method
def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices: (n, k) and (k, m) give (n, m).

    Mixed dtypes are promoted as NumPy does. Raises RuntimeError for other shapes.
    """
    if not (isinstance(input, Tensor) and isinstance(mat2, Tensor)):
        check("mm", input=input, mat2=mat2)
    if not are_factors(array_of(input), array_of(mat2)):
        if input.ndim != 2 or mat2.ndim != 2:
            raise refused("mm", "input and mat2 must be matrices; use matmul", input, mat2)
        raise RuntimeError(unequal("mm", input, mat2))
    return applied(Mm, (input, mat2))


def unequal(name: str, a: Tensor, b: Tensor) -> str:
    """The error of matrices whose inner sizes differ."""
    shapes = " and ".join("x".join(map(str, t.shape)) for t in (a, b))
    return (
        f"{name}: mat1 and mat2 shapes cannot be multiplied ({shapes}): the last size of the "
        f"first, {a._array.shape[-1]}, must be the {'second last' if b.ndim > 1 else 'only'} size "
        f"of the second, {b._array.shape[max(b.ndim - 2, 0)]}; transpose one, or check their order"
    )


class Bmm(Mm):
    """Products of matrices in batches, which broadcast."""


@method
def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """The products of two batches of matrices: (b, n, k) and (b, k, m) give (b, n, m).

    Raises RuntimeError for other shapes; matmul broadcasts batches.
    """
    check("bmm", input=input, mat2=mat2)
    if input.ndim != 3 or mat2.ndim != 3:
        raise refused("bmm", "input and mat2 must be 3D tensors", input, mat2)
    needed = [input._array.shape[0], input._array.shape[2]]
    if list(mat2._array.shape[:2]) != needed:
        raise RuntimeError(
            f"bmm: Expected size for first two dimensions of batch2 tensor to be: {needed} but "
            f"got: {list(mat2._array.shape[:2])}; input has shape {tuple(input.shape)}"
        )
    return Bmm.apply(input, mat2)


class Mv(Operation):
    @staticmethod
    def forward(ctx: Any, a: Tensor, v: Tensor) -> Tensor:
        keep_factors(ctx, a, v)
        return make(product(a._array, v._array))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        a, v = ctx.saved_tensors
        return (
            None if v is None else g.unsqueeze(-1) * v,
            None if a is None else Mv.apply(a.transpose(0, 1), g),
        )


@method
def mv(input: Tensor, vec: Tensor) -> Tensor:
    """The product of a matrix (n, k) and a vector (k,), shape (n,); RuntimeError otherwise."""
    check("mv", input=input, vec=vec)
    if input.ndim != 2 or vec.ndim != 1 or input._array.shape[1] != vec._array.shape[0]:
        raise refused("mv", "a matrix (n, k) and a vector (k,) are needed", input, vec)
    return Mv.apply(input, vec)


class Dot(Operation):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        keep_factors(ctx, a, b)
        return make(product(a._array, b._array))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        a, b = ctx.saved_tensors
        return None if b is None else g * b, None if a is None else g * a


@or_list(dot_lists)
@method
def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """The sum of products of two vectors of one length; RuntimeError otherwise."""
    check("dot", input=input, tensor=tensor)
    if input.ndim != 1 or tensor.ndim != 1 or len(input) != len(tensor):
        raise refused("dot", "two vectors (1D tensors) of one length are needed", input, tensor)
    return Dot.apply(input, tensor)


@method
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """The products of each element of one vector with each of another: shape (n, m)."""
    check("outer", input=input, vec2=vec2)
    if input.ndim != 1 or vec2.ndim != 1:
        raise refused("outer", "input and vec2 must be vectors (1D tensors)", input, vec2)
    return input.unsqueeze(1) * vec2


@method
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """The matrix product `input @ other`.

    Two vectors (k,) give their dot product; matrices (n, k) and (k, m) give (n, m); a vector on
    the left counts as a row, on the right as a column, and is left out of the result; before the
    last two, dimensions are batches and broadcast. Mixed dtypes are promoted as NumPy does.
    Raises RuntimeError for a 0-dim tensor, and where sizes do not fit.
    """
    if not (isinstance(input, Tensor) and isinstance(other, Tensor)):
        check("matmul", input=input, other=other)
    a, b = input._array.ndim, other._array.ndim
    if not a or not b:
        needed = "both arguments need to be at least 1D; use * for one number"
        raise refused("matmul", needed, input, other)
    if a == b == 1:
        return dot(input, other)
    if input._array.shape[-1] != other._array.shape[max(b - 2, 0)]:
        raise RuntimeError(unequal("matmul", input, other))
    if a == 1:
        return matmul(input.unsqueeze(0), other).squeeze(-2)
    if b > 2:
        return batched(input, other)
    multiply = Mv.apply if b == 1 else Mm.apply
    return multiply(input, other) if a == 2 else folded(multiply, input, other)


def folded(multiply: Any, a: Tensor, b: Tensor) -> Tensor:
    """The product of a batch and one matrix or vector, as that of one tall matrix."""
    *batch, k = a._array.shape
    out: Tensor = multiply(a.reshape(math.prod(batch), k), b)
    return out.reshape(*batch, *out._array.shape[1:])


def batched(a: Tensor, b: Tensor) -> Tensor:
    """The products of batches of matrices, broadcast."""
    if clash(a._array.shape[:-2], b._array.shape[:-2]):
        needed = "the batches, all dimensions but the last two, must match or be 1"
        raise refused("matmul", needed, a, b)
    return Bmm.apply(a, b)


def matmul_operator(self: Tensor, other: Any) -> Any:
    """self @ other."""
    other = operand(other)
    return matmul(self, other) if isinstance(other, Tensor) else NotImplemented


def matmul_reflected(self: Tensor, other: Any) -> Any:
    """other @ self, where other is an array."""
    other = operand(other)
    return matmul(other, self) if isinstance(other, Tensor) else NotImplemented


setattr(Tensor, "__matmul__", matmul_operator)  # noqa: B010
setattr(Tensor, "__rmatmul__", matmul_reflected)  # noqa: B010


def rows(array: Any) -> Any:
    """An array of shape (*, k) as one tall matrix (n, k)."""
    if array.ndim == 2:
        return array
    return array.reshape(math.prod(array.shape[:-1]), array.shape[-1])


class Linear(Operation):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        keep_factors(ctx, x, weight)
        ctx.batch = x._array.shape[:-1]
        y = product(rows(x._array), weight._array.T)
        if bias is not None:
            y = np.add(y, bias._array, y if y.dtype == bias._array.dtype else None)
        return make(y if x._array.ndim == 2 else y.reshape(*ctx.batch, y.shape[1]))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        x, weight = ctx.saved_tensors
        if modes.is_grad_enabled():
            return by_products(ctx, g, x, weight)
        tall = rows(g._array)
        return (
            None if weight is None else make(by_rows(ctx, product(tall, weight._array))),
            None if x is None else make(product(tall.T, rows(x._array))),
            g if ctx.needs_input_grad[2] else None,
        )


def by_rows(ctx: Any, tall: Any) -> Any:
    """The rows of a tall matrix, an array or a Tensor, laid out as the input was."""
    return tall if len(ctx.batch) == 1 else tall.reshape(*ctx.batch, tall.shape[1])


def by_products(ctx: Any, g: Tensor, x: Tensor | None, weight: Tensor | None) -> Any:
    """The gradients of `Linear`, in the graph."""
    n = math.prod(ctx.batch)
    tall = g.reshape(n, g._array.shape[-1])
    return (
        None if weight is None else by_rows(ctx, Mm.apply(tall, weight)),
        None if x is None else Mm.apply(tall.transpose(0, 1), x.reshape(n, x._array.shape[-1])),
        g if ctx.needs_input_grad[2] else None,
    )


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight.T + bias.

    input: shape (*, k); weight: (n, k), or (k,) for one output without a dimension; bias: (n,) or
    what broadcasts to the result, of shape (*, n). Raises RuntimeError where sizes differ.
    """
    if not (isinstance(input, Tensor) and isinstance(weight, Tensor)):
        check("linear", input=input, weight=weight)
    if bias is not None and not isinstance(bias, Tensor):
        check("linear", bias=bias)
    a, w = array_of(input), array_of(weight)
    if w.ndim not in (1, 2) or a.shape[-1:] != w.shape[-1:]:
        needed = "the last size of input and that of weight (n, k) must agree"
        raise refused("linear", needed, input, weight)
    if w.ndim == 2 and (bias is None or bias._array.ndim < 2):
        return affine(input, weight, bias)
    y = matmul(input, weight if w.ndim == 1 else weight.transpose(0, 1))
    return y if bias is None else combined("linear", "bias", bias, y)


def affine(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """linear in one step, for a bias of one number per output."""
    if bias is not None and bias._array.shape not in ((), (1,), weight._array.shape[:1]):
        raise refused("linear", "bias needs one number per row of weight", weight, bias)
    return applied(Linear, (x, weight, bias))


def combined(
    name: str, argument: str, t: Tensor, y: Tensor, beta: float = 1, alpha: float = 1
) -> Tensor:
    """beta * t + alpha * y, of y's shape; t is not read where beta is 0."""
    check(name, **{argument: t})
    if not sums_to(y._array.shape, t._array.shape):
        raise refused(name, f"{argument} must broadcast to the shape of the product", t, y)
    y = y if alpha == 1 else y * alpha
    if beta == 0:
        return y
    return y + (t if beta == 1 else t * beta)


@method
def addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1
) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2), of two matrices; input broadcasts, and is not read
    where beta is 0."""
    return combined("addmm", "input", input, mm(mat1, mat2), beta, alpha)


@method
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * input + alpha * (mat @ vec), of a matrix and a vector, otherwise as addmm."""
    return combined("addmv", "input", input, mv(mat, vec), beta, alpha)


@method
def baddbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1
) -> Tensor:
    """beta * input + alpha * (batch1 @ batch2), of batches as for bmm, otherwise as addmm."""
    return combined("baddbmm", "input", input, bmm(batch1, batch2), beta, alpha)


# triangles and diagonals


class Tril(Operation):
    @staticmethod
    def forward(ctx: Any, x: Tensor, diagonal: int) -> Tensor:
        ctx.diagonal = diagonal
        return make(np.tril(x._array, diagonal))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return Tril.apply(g, ctx.diagonal), None


class Triu(Operation):
    @staticmethod
    def forward(ctx: Any, x: Tensor, diagonal: int) -> Tensor:
        ctx.diagonal = diagonal
        return make(np.triu(x._array, diagonal))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return Triu.apply(g, ctx.diagonal), None


@method
def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """Matrices with zeros above a diagonal: 0 the main one, 1 the one above it, and so on.

    input: shape (*, n, m). Raises RuntimeError for fewer dimensions.
    """
    if input.ndim < 2:
        raise refused("tril", "input tensor must have at least 2 dimensions", input)
    return Tril.apply(input, diagonal)


@method
def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """Matrices with zeros below a diagonal, otherwise as tril."""
    if input.ndim < 2:
        raise refused("triu", "input tensor must have at least 2 dimensions", input)
    return Triu.apply(input, diagonal)


@method
def trace(input: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix; RuntimeError for other shapes."""
    if input.ndim != 2:
        raise refused("trace", "expected a matrix", input)
    return input.diagonal().sum()


class Diag(Operation):
    """A square matrix with a vector for one of its diagonals."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, diagonal: int) -> Tensor:
        ctx.diagonal = diagonal
        return make(np.diag(x._array, diagonal))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return g.diagonal(ctx.diagonal), None


@method
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """A square matrix with the vector input for a diagonal; or a diagonal of the matrix input.

    diagonal: 0 the main one, 1 the one above it, and so on. Raises RuntimeError for other shapes.
    """
    if input.ndim == 1:
        return Diag.apply(input, diagonal)
    if input.ndim != 2:
        raise refused("diag", "supports 1D or 2D tensors", input)
    return input.diagonal(diagonal).clone()


# einsum


class Einsum(Operation):
    """The sum of products; terms has one label for each dimension of each operand, none twice."""

    @staticmethod
    def forward(ctx: Any, terms: tuple[str, ...], output: str, *operands: Tensor) -> Tensor:
        ctx.terms, ctx.output = terms, output
        ctx.save_for_backward(*operands)
        arrays = [t._array for t in operands]
        with quiet():
            y = np.einsum(f"{','.join(terms)}->{output}", *arrays, optimize=True)
        return make(np.array(y) if len(arrays) == 1 else np.asarray(y))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        operands = ctx.saved_tensors
        wanted = ctx.needs_input_grad[2:]
        grads = (through_einsum(ctx, g, i, operands) if w else None for i, w in enumerate(wanted))
        return None, None, *grads


def through_einsum(ctx: Any, g: Tensor, i: int, operands: tuple[Tensor, ...]) -> Tensor:
    """The gradient of operand i: the sum of products of g and the other operands, the same along
    dimensions that operand i alone had."""
    own, shape = ctx.terms[i], operands[i]._array.shape
    terms = (ctx.output, *ctx.terms[:i], *ctx.terms[i + 1 :])
    left = "".join(c for c in own if c in "".join(terms))
    h = Einsum.apply(terms, left, g, *operands[:i], *operands[i + 1 :])
    sizes = dict(zip(left, h._array.shape, strict=True))
    spread = tuple(sizes.get(c, 1) for c in own)
    return h.reshape(spread).expand(np.broadcast_shapes(spread, shape))


def einsum(equation: str, *operands: Any) -> Tensor:
    """The sum of products that the equation names: einsum("bij,bjk->bik", a, b).

    One letter for each dimension, "..." for any number of them, which broadcast; letters that the
    output lacks are summed; without "->" it has those that occur once, in order. A letter twice
    in one operand takes its diagonal. Sizes of one letter agree, or are 1.
    Raises RuntimeError for an equation that does not fit the operands.
    """
    if not isinstance(equation, str):
        raise TypeError(
            "einsum(): the equation must be a text, such as 'ij,jk->ik' (lists of numbers are not "
            f"taken); got {type(equation).__name__}"
        )
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    check("einsum", **{f"operand {i}": t for i, t in enumerate(operands)})
    terms, output = labels(equation, operands)
    pairs = [diagonals(t, term) for t, term in zip(operands, terms, strict=True)]
    check_sizes(pairs)
    return Einsum.apply(tuple(p[1] for p in pairs), output, *(p[0] for p in pairs))


def labels(equation: str, operands: Sequence[Tensor]) -> tuple[list[str], str]:
    """One letter for each dimension of each operand, and of the output."""
    left, arrow, output = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        raise wrong(equation, f"it names {len(terms)} operands; got {len(operands)}")
    rooms = [room(equation, x.ndim, terms[i], i) for i, x in enumerate(operands)]
    free = "".join(c for c in string.ascii_letters if c not in equation)[: max(rooms)]
    full = [t.replace("...", free[len(free) - n :]) for t, n in zip(terms, rooms, strict=True)]
    if not arrow:
        every = "".join(full)
        output = "..." + "".join(c for c in sorted(set(left) - set(",.")) if every.count(c) == 1)
    output = output.replace("...", free)
    for c in output:
        if output.count(c) > 1 or c not in "".join(full):
            raise wrong(equation, f"{c!r} must occur once in the output, and in an operand")
    return full, output


def room(equation: str, ndim: int, term: str, i: int) -> int:
    """How many dimensions of operand i "..." stands for."""
    letters = term.replace("...", "", 1)
    if any(c not in string.ascii_letters for c in letters):
        raise wrong(equation, f"subscripts must be letters; got {term!r} for operand {i}")
    n = ndim - len(letters)
    if n < 0 or (n and letters == term):
        raise wrong(
            equation,
            f"the number of subscripts must be that of dimensions; got {term!r} for operand {i}, "
            f"which has {ndim}",
        )
    return n


def wrong(equation: str, reason: str) -> RuntimeError:
    return RuntimeError(f"einsum(): the equation {equation!r} does not fit: {reason}")


def diagonals(x: Tensor, term: str) -> tuple[Tensor, str]:
    """The operand with each letter once: one that is there twice takes the diagonal."""
    for c in dict.fromkeys(term):
        while term.count(c) > 1:
            i, j = term.index(c), term.rindex(c)
            if x._array.shape[i] != x._array.shape[j]:
                raise wrong(term, f"{c!r} is there twice, for different sizes of {tuple(x.shape)}")
            x = x.diagonal(0, i, j)
            term = term[:i] + term[i + 1 : j] + term[j + 1 :] + c
    return x, term


def check_sizes(pairs: Sequence[tuple[Tensor, str]]) -> None:
    """Refuse a letter with two sizes."""
    sizes: dict[str, int] = {}
    for x, term in pairs:
        for c, n in zip(term, x._array.shape, strict=True):
            if n != 1 and sizes.setdefault(c, n) != n:
                raise wrong(
                    ",".join(term for _, term in pairs),
                    f"{c!r} has size {sizes[c]} and size {n} (shapes "
                    f"{', '.join(str(tuple(x.shape)) for x, _ in pairs)})",
                )
