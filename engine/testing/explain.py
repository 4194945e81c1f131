"""Names the mistake in a wrong Jacobian and says what to write instead.

Each explanation below is one function: it looks at what backward gave and at what it should have
given, and answers with a kind and a sentence, or with None. The first that answers is taken, so
that the certain ones stand first.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from engine.testing.adapter import Array
from engine.testing.cases import Case
from engine.testing.jacobian import Jacobian, jacobian
from engine.testing.trial import Subject, run

Answer = tuple[str, str] | None
Change = Callable[[Array], Array | None]

CONSTANTS = {
    2.0: "2",
    3.0: "3",
    4.0: "4",
    math.log(2): "ln 2",
    math.log(10): "ln 10",
    math.pi: "pi",
    2 * math.pi: "2 pi",
    math.pi / 180: "pi / 180 (degrees and radians)",
    math.sqrt(2): "sqrt(2)",
    math.sqrt(math.pi): "sqrt(pi)",
    math.sqrt(2 * math.pi): "sqrt(2 pi)",
    2 / math.sqrt(math.pi): "2 / sqrt(pi)",
}


@dataclass
class Evidence:
    """All that the explanations look at for one argument.

    jac: the Jacobian at sizes at which it is wrong.
    """

    jac: Jacobian

    @property
    def subject(self) -> Subject:
        return self.jac.subject

    @property
    def given(self) -> Array:
        return self.jac.given

    @property
    def expected(self) -> Array:
        """The mean of the one-sided slopes where they differ."""
        return np.asarray((self.jac.low + self.jac.high) / 2)

    def same(self, one: Array, other: Array) -> bool:
        """True when two Jacobians agree within the errors; unsettled entries are left out."""
        if one.shape != other.shape:
            return False
        off = np.abs(one - other) <= 10 * self.jac.tolerance
        return bool(np.all(off | ~self.jac.settled))


def explain(jac: Jacobian) -> tuple[str, str]:
    """The kind of the mistake and a sentence on it, with the cure."""
    evidence = Evidence(jac)
    with np.errstate(all="ignore"):
        for explanation in EXPLANATIONS:
            answer = explanation(evidence)
            if answer:
                return answer
    return "wrong-derivative", f"the formula is wrong; {first_wrong(jac)}."


def first_wrong(jac: Jacobian) -> str:
    """The entry that is most wrong, in words."""
    off = np.where(jac.wrong, np.abs(jac.given - (jac.low + jac.high) / 2), -1.0)
    row, column = np.unravel_index(int(np.argmax(off)), off.shape)
    name = f"d {jac.row_name(int(row))} / d {jac.column_name(int(column))}"
    low, high = jac.low[row, column], jac.high[row, column]
    right = f"{high:.6g}" if low == high else f"any number from {low:.6g} to {high:.6g}"
    return f"{name} should be {right}, backward gives {jac.given[row, column]:.6g}"


def nothing(e: Evidence) -> Answer:
    """No gradient at all, or zeros."""
    if np.any(e.given) or not np.any(e.jac.wrong):
        return None
    trial = run(e.subject, e.jac.case, e.jac.arrays)
    what = "None" if trial.grads[e.jac.argument] is None else "zeros"
    return "missing-gradient", (
        f"backward returns {what} although the outputs depend on it; {first_wrong(e.jac)}. "
        "Return its gradient. (None is for arguments that never need one: to say so, give the "
        "others of the example requires_grad=True.)"
    )


def upstream(e: Evidence) -> Answer:
    """The incoming gradient is left out, or enters in another way than once."""
    once, twice, negative = (_with_upstream(e, factor) for factor in (1.0, 2.0, -1.0))
    if once is None or twice is None or negative is None or not np.any(once):
        return None
    if _near(twice, once) and _near(negative, once):
        return "upstream-ignored", (
            "the upstream gradient is ignored: backward returns the same for any incoming "
            "gradient. Multiply by it (`grad_output * slope`)."
        )
    if _near(twice, 4 * once):
        return "upstream-squared", (
            "the upstream gradient enters twice: doubling it makes the result four times as "
            "large. Multiply by it once."
        )
    if _near(twice, 2 * once) and _near(negative, -once):
        return None
    return "upstream-nonlinear", (
        "backward is not linear in the upstream gradient: twice the incoming gradient does not "
        "give twice the result. A gradient is the incoming one times slopes; keep it out of "
        "clamps, squares, masks and norms. (Where that is meant, as in gradient clipping, check "
        "with surrogate=True.)"
    )


def _near(one: Array, other: Array) -> bool:
    """True when two gradients agree in all digits that count."""
    return bool(np.all(np.abs(one - other) <= 1e-6 * np.max(np.abs(other))))


def _with_upstream(e: Evidence, factor: float) -> Array | None:
    base = run(e.subject, e.jac.case, e.jac.arrays)
    given = [factor * g for g in base.upstream]
    return run(e.subject, e.jac.case, e.jac.arrays, given).grads[e.jac.argument]


def passed_on(e: Evidence) -> Answer:
    """The upstream gradient comes back as it is, without the slope."""
    if not _elementwise(e.given) or not np.allclose(np.diag(e.given), 1.0):
        return None
    slopes = np.diag(e.expected)
    if not _elementwise(np.round(e.expected, 9)) or np.isclose(np.abs(slopes), 1.0).any():
        return None
    return "slope-missing", (
        "backward returns the upstream gradient as it is: the slope of forward is missing "
        f"(`grad_output * slope`); {first_wrong(e.jac)}."
    )


def output_ignored(e: Evidence) -> Answer:
    """The gradient of one of several outputs is not used."""
    if len(e.jac.outputs) < 2:
        return None
    for k in range(len(e.jac.outputs)):
        rows = e.jac.rows(k)
        others = np.delete(e.jac.wrong, rows, axis=0)
        if e.jac.wrong[rows].any() and not e.given[rows].any() and not others.any():
            return "output-ignored", (
                f"the gradient of output {k} is ignored: add its part, or call "
                f"ctx.mark_non_differentiable on output {k} in forward; {first_wrong(e.jac)}."
            )
    return outputs_swapped(e)


def outputs_swapped(e: Evidence) -> Answer:
    """The gradients of two outputs stand in each other's place."""
    order = np.arange(len(e.expected))
    for k in range(len(e.jac.outputs) - 1):
        one, two = e.jac.rows(k), e.jac.rows(k + 1)
        if e.jac.outputs[k].shape == e.jac.outputs[k + 1].shape:
            swapped = order.copy()
            swapped[one], swapped[two] = order[two], order[one]
            if e.same(e.given, e.expected[swapped]):
                return "outputs-swapped", (
                    f"the gradients of outputs {k} and {k + 1} are exchanged: backward gets them "
                    "in the order in which forward returns the outputs."
                )
    return None


def factor(e: Evidence) -> Answer:
    """Right but for one number."""
    known = e.jac.settled & (np.abs(e.expected) > 1e-3 * e.jac.size)
    if not known.any():
        return None
    number = float(np.median(e.given[known] / e.expected[known]))
    if not e.same(e.given, number * e.expected):
        return None
    if math.isclose(number, -1, rel_tol=1e-5 if e.jac.case.eps < 1e-10 else 1e-2):
        return "sign", f"the sign is wrong; {first_wrong(e.jac)}. Multiply by -1."
    return _counted(e, number) or _named(e, number)


def _counted(e: Evidence, number: float) -> Answer:
    """A factor that is the number of entries along some dimension: mean and sum mixed up."""
    other = _other_sizes(e, number)
    if other is None:
        return None
    return "count-factor", (
        f"off by {_ratio(number)}x here, and by another number for other sizes ({other}): the "
        "factor comes from a number of entries, or its root. A mean and a sum are mixed up, a "
        "scale is left out, or the wrong dimension is counted."
    )


def _other_sizes(e: Evidence, number: float) -> str | None:
    """Words on the dimension whose size the factor follows, from a second set of sizes."""
    case = e.jac.case
    larger = tuple(None if s is None else tuple(n + (n > 1) for n in s) for s in case.shapes)
    second = jacobian(e.subject, case.but(shapes=larger), e.jac.argument)
    if second is None or not np.any(second.expected):
        return None
    known = np.abs(second.expected) > 1e-3 * second.size
    now = float(np.median(second.given[known] / second.expected[known]))
    near = 1e-6 if case.eps < 1e-10 else 1e-2
    if math.isclose(now, number, rel_tol=near) or math.isclose(now, 1.0, rel_tol=near):
        return None
    return f"{_ratio(number)} for {_shapes(case)}, {_ratio(now)} for {_shapes(second.case)}"


def _ratio(number: float) -> str:
    whole = abs(number) < 1 and math.isclose(1 / number, round(1 / number), rel_tol=1e-6)
    return f"1/{1 / number:.6g}" if whole else f"{number:.6g}"


def _shapes(case: Case) -> str:
    return ", ".join(str(shape) for shape in case.shapes if shape is not None)


def _named(e: Evidence, number: float) -> Answer:
    """A factor that is a known constant or an argument."""
    if abs(number) < 1e-12:
        return None
    name, inverse = _name_of(e, abs(number)), _name_of(e, 1 / abs(number))
    sign = "-" if number < 0 else ""
    equal = f", which is {sign}{name}" if name and name != f"{abs(number):g}" else ""
    if abs(number) > 1:
        cure = f"divide by {sign}{name or f'{abs(number):.6g}'}"
    else:
        cure = f"multiply by {sign}{inverse or f'{1 / abs(number):.6g}'}"
    return "factor", f"off by {number:.6g}x{equal}: {first_wrong(e.jac)}; {cure}."


def _name_of(e: Evidence, number: float) -> str:
    slots = e.subject.pattern.slots
    chosen = dict(e.jac.case.plain)
    for i, slot in enumerate(slots):
        value = chosen.get(i, slot.example)
        if slot.kind == "plain" and isinstance(value, (int, float)) and abs(value) != 1 and value:
            for power, text in ((1, "{}"), (-1, "1 / {}"), (2, "{}**2"), (-2, "1 / {}**2")):
                if math.isclose(number, abs(float(value)) ** power, rel_tol=1e-5):
                    return text.format(slot.name)
    for value, name in CONSTANTS.items():
        if math.isclose(number, value, rel_tol=1e-5):
            return name
        if math.isclose(number, 1 / value, rel_tol=1e-5):
            return f"1 / ({name})" if " " in name else f"1/{name}"
    return ""


def swapped(e: Evidence) -> Answer:
    """The gradients of two arguments stand in each other's place."""
    for i in e.subject.pattern.floating:
        same_shape = e.jac.case.shapes[i] == e.jac.case.shapes[e.jac.argument]
        if i != e.jac.argument and same_shape and e.jac.case.needs[i]:
            other = jacobian(e.subject, e.jac.case, i, careful=False)
            if other is not None and e.same(e.given, other.expected):
                return "swapped", (
                    f"this is the gradient of `{other.name}`: return one gradient per argument, "
                    "in the order of forward's arguments."
                )
    return None


def transposed(e: Evidence) -> Answer:
    """The gradient of a square matrix, transposed."""
    shape = e.jac.shape_in
    if len(shape) < 2:
        return None
    for axes in _axis_pairs(len(shape)):
        turned = e.expected.reshape(-1, *shape).swapaxes(axes[0] + 1, axes[1] + 1)
        if turned.shape[1:] == shape and e.same(e.given, turned.reshape(e.expected.shape)):
            return "transposed", (
                f"the gradient is transposed (dimensions {axes[0]} and {axes[1]} exchanged), which "
                "shows only where both have one size. Transpose the result, or exchange the "
                "factors of the product."
            )
    return None


def _axis_pairs(count: int) -> Iterator[tuple[int, int]]:
    return ((a, b) for a in range(count) for b in range(a + 1, count))


def right_for_another(e: Evidence, change: Change) -> str:
    """The name of another argument for which, changed so, the gradient would be right; or ""."""
    for i in e.subject.pattern.floating:
        arrays = list(e.jac.arrays)
        arrays[i] = change(np.asarray(arrays[i])) if i != e.jac.argument else None
        if arrays[i] is not None:
            other = jacobian(e.subject, e.jac.case, e.jac.argument, False, arrays)
            if other is not None and e.same(e.given, other.expected):
                return str(e.subject.pattern.slots[i].name)
    return ""


def transpose(array: Array) -> Array | None:
    """The transpose of square matrices; None for other shapes."""
    square = array.ndim > 1 and array.shape[-1] == array.shape[-2]
    return array.swapaxes(-1, -2) if square else None


def at_transposed(e: Evidence) -> Answer:
    """Right for another argument's transpose: a factor of a product is not transposed."""
    name = right_for_another(e, transpose)
    return (name and (
        "transposed",
        f"`{name}` enters this gradient transposed: it is right for `{name}.t()`; "
        f"{first_wrong(e.jac)}. For y = a @ b the gradients are g @ b.t(), a.t() @ g.",
    )) or None


def at_flipped(e: Evidence) -> Answer:
    """Right for another argument in reverse order: a kernel that is not flipped."""
    name = right_for_another(e, lambda array: np.flip(array) if array.ndim else None)
    return (name and (
        "flipped",
        f"`{name}` enters this gradient in the wrong order: it is right for `{name}` reversed; "
        f"{first_wrong(e.jac)}. Going back through a convolution, the kernel is flipped.",
    )) or None


def adjoint(e: Evidence) -> Answer:
    """Forward's own matrix is applied to the gradient instead of its transpose."""
    if e.expected.shape[0] != e.expected.shape[1] or not e.same(e.given, e.expected.T):
        return None
    return "adjoint", (
        "backward does to the gradient what forward does to the input; it needs the transpose of "
        f"that: {first_wrong(e.jac)}. A running sum runs backwards, a shift shifts back, a matrix "
        "is transposed."
    )


def misplaced(e: Evidence) -> Answer:
    """Every slope is right and meets the gradient of another output."""
    shuffled = e.same(np.sort(e.given, axis=0), np.sort(e.expected, axis=0))
    if not shuffled or not np.any(e.jac.wrong):
        return None
    return "misplaced", (
        "the slopes are right, but each is multiplied with the gradient of another output: "
        f"{first_wrong(e.jac)}. The upstream gradient is lined up along the wrong dimension (a "
        "missing unsqueeze), or entries are put into the wrong places."
    )


def from_input(e: Evidence) -> Answer:
    """The formula is one of the output, and the input stands in it."""
    x, values = np.ravel(e.jac.arrays[e.jac.argument]), e.jac.values
    if not (_elementwise(e.given) and _elementwise(np.round(e.expected, 9))):
        return None
    given, expected = np.diag(e.given), np.diag(e.expected)
    for text, formula in FORMULAS:
        for right, wrong, a, b in (("y", "x", values, x), ("x", "y", x, values)):
            fits = np.allclose(expected, formula(a), rtol=1e-5, equal_nan=True)
            if fits and np.allclose(given, formula(b), rtol=1e-5, equal_nan=True):
                words = {"x": f"the input `{e.jac.name}`", "y": "the output"}
                return "wrong-tensor", (
                    f"the slope is {text.format(right)} with {words[right]}, but {words[wrong]} "
                    f"stands in it; {first_wrong(e.jac)}. Save the other tensor."
                )
    return None


FORMULAS: Sequence[tuple[str, Callable[[Array], Array]]] = (
    ("{0} * (1 - {0})", lambda a: a * (1 - a)),
    ("1 - {0}**2", lambda a: 1 - a * a),
    ("{0}", lambda a: a),
    ("1 / {0}", lambda a: 1 / a),
    ("1 / (2 * {0})", lambda a: 0.5 / a),
    ("-{0}**2", lambda a: -a * a),
    ("1 + {0}**2", lambda a: 1 + a * a),
    ("exp({0})", np.exp),
    ("cos({0})", np.cos),
)


def missing_sum(e: Evidence) -> Answer:
    """Every entry that is not 0 is right, but some are 0 that should not be."""
    left_out = e.jac.wrong & (np.abs(e.given) <= e.jac.tolerance)
    if not left_out.any() or (e.jac.wrong & ~left_out).any() or not e.given.any():
        return None
    used = np.abs(e.expected) > e.jac.tolerance
    several = used.sum(axis=0) > 1
    if several.any() and (left_out.any(axis=0) <= several).all():
        return "missing-sum", (
            "an entry of it enters several outputs, and only a part of them hands its gradient "
            f"back; {first_wrong(e.jac)}. The sum over the broadcast dimension is missing: sum "
            f"over every place where it was used{_by_index(e)}."
        )
    return None


def _by_index(e: Evidence) -> str:
    ints = any(slot.kind == "int" for slot in e.subject.pattern.slots)
    return " (for repeated indices: index_add_ or scatter_add_, not assignment)" if ints else ""


def _elementwise(matrix: Array) -> bool:
    square = matrix.shape[0] == matrix.shape[1]
    return bool(square and not (matrix - np.diag(np.diag(matrix))).any())


def reordered(e: Evidence) -> Answer:
    """Every slope is right and stands at another entry of the argument."""
    shape = e.jac.shape_in
    for axis in range(len(shape)):
        turned = np.flip(e.expected.reshape(-1, *shape), axis + 1).reshape(e.expected.shape)
        if shape[axis] > 1 and e.same(e.given, turned):
            return "flipped", (
                f"the gradient is right, but in reverse order along dimension {axis} of "
                f"`{e.jac.name}`; {first_wrong(e.jac)}. Leave out the flip, or flip it back."
            )
    if not np.any(e.given) or not e.same(np.sort(e.given), np.sort(e.expected)):
        return None
    return "misplaced", (
        f"the slopes are right, but stand at other entries of "
        f"`{e.jac.name}`; {first_wrong(e.jac)}. What forward takes from a place goes back to it."
    )


def coupling(e: Evidence) -> Answer:
    """Entries depend on each other, and backward takes each alone."""
    used = np.abs(e.expected) > e.jac.tolerance
    if not _elementwise(e.given) or _elementwise(np.where(used, e.expected, 0.0)):
        return None
    return "coupling-missing", (
        "every output depends on several entries, but backward treats forward as elementwise: "
        f"{first_wrong(e.jac)}. Add the terms between different entries (as the sum in softmax: "
        "y * (g - (g * y).sum()))."
    )


def averaged(e: Evidence) -> Answer:
    """Sums or means over a dimension that should be left alone."""
    shape = e.jac.shape_in
    for axis in range(len(shape)):
        full = e.expected.reshape(-1, *shape)
        for word, reduce in (("summed", np.sum), ("averaged", np.mean)):
            short = np.asarray(reduce(full, axis=axis + 1, keepdims=True))
            flat = np.broadcast_to(short, full.shape).reshape(e.expected.shape)
            if shape[axis] > 1 and e.same(e.given, flat):
                return "summed-too-much", (
                    f"the gradient is {word} over dimension {axis} of `{e.jac.name}`, where every "
                    f"entry has its own; {first_wrong(e.jac)}."
                )
    return None


def upstream_reduced(e: Evidence) -> Answer:
    """All outputs hand back the same: the upstream gradient was reduced to one number."""
    if len(e.given) < 2 or not e.given.any() or not e.same(e.given, e.given[:1] + 0 * e.given):
        return None
    if e.same(e.expected, e.expected[:1] + 0 * e.expected):
        return None
    return "upstream-reduced", (
        "every output hands back the same: the upstream gradient is reduced to one number (sum, "
        f"mean or one entry of it) before it is used; {first_wrong(e.jac)}. Use it entry by entry."
    )


def averaged_rows(e: Evidence) -> Answer:
    """Right in the sparsity, and wrong by a factor that is one of the numbers at hand."""
    used = e.jac.settled & (np.abs(e.expected) > 1e-6 * e.jac.size)
    if not used.any() or (e.jac.wrong & ~used).any():
        return None
    ratio = np.where(used, e.given / e.expected, np.nan)
    for name, factors in _candidates(e):
        if _follows(ratio, factors):
            return "missing-factor", f"off by a factor that equals {name}; {first_wrong(e.jac)}."
        if _follows(ratio, 1 / factors):
            return "missing-factor", f"the factor {name} is missing; {first_wrong(e.jac)}."
    return None


def _candidates(e: Evidence) -> Iterator[tuple[str, Array]]:
    """Numbers that may be a lost factor, one per entry of the Jacobian."""
    shape = e.expected.shape
    for i, slot in enumerate(e.subject.pattern.slots):
        array = e.jac.arrays[i]
        if slot.is_floating and array is not None:
            for name, number in _variants(slot.name, np.asarray(array).ravel()):
                yield from _spread(name, number, shape)
    for k, output in enumerate(e.jac.outputs):
        name = "the output" if len(e.jac.outputs) == 1 else f"output {k}"
        for text, number in _variants(name, output.ravel()):
            yield from _spread(text, number, shape)


def _variants(name: str, a: Array) -> Iterator[tuple[str, Array]]:
    name = name if name.startswith(("the", "output")) else f"`{name}`"
    yield name, a
    yield f"2 * {name}", 2 * a
    yield f"-{name}", -a
    yield f"{name}**2", a * a
    yield f"1 - {name}", 1 - a
    yield f"1 - {name}**2", 1 - a * a
    yield f"1 + {name}**2", 1 + a * a
    yield f"the square root of {name}", np.sqrt(a)
    yield f"exp({name})", np.exp(a)
    yield f"the norm of {name}", np.sqrt(np.sum(a * a, keepdims=True))
    yield f"the sum of {name}", np.sum(a, keepdims=True)


def _spread(name: str, a: Array, shape: tuple[int, int]) -> Iterator[tuple[str, Array]]:
    """A factor laid along the rows, along the columns, or over both."""
    if a.size == 1:
        yield name, np.full(shape, a.ravel()[0])
        return
    if a.size == shape[1]:
        yield name, np.broadcast_to(a[None, :], shape)
    if a.size == shape[0]:
        yield name, np.broadcast_to(a[:, None], shape)


def _follows(ratio: Array, factors: Array) -> bool:
    known = np.isfinite(ratio)
    close = np.isclose(ratio[known], factors[known], rtol=1e-5, atol=1e-9)
    return bool(close.all())


def few_digits(e: Evidence) -> Answer:
    """Right in the first digits, and in no more than these."""
    off = np.where(e.jac.settled, np.abs(e.given - e.expected), 0.0)
    worst = float(np.max(off, initial=0.0)) / (e.jac.size or 1.0)
    if not 0.0 < worst < 3e-3 or not np.any(e.jac.wrong):
        return None
    return "few-digits", (
        f"only about {max(1, round(-math.log10(worst)))} digits of it are right: "
        f"{first_wrong(e.jac)}. Look for a cast to a shorter type (half, float32) in backward, a "
        "difference quotient with a step too long or too short, or an approximate formula in "
        "forward or backward only."
    )


def branch(e: Evidence) -> Answer:
    """Right on one side of a number and wrong on the other."""
    x = np.ravel(e.jac.arrays[e.jac.argument])
    bad = e.jac.wrong.any(axis=0)
    if not bad.any() or bad.all() or len(x) < 3:
        return None
    for side, wrong, right in (("above", x[bad], x[~bad]), ("below", -x[bad], -x[~bad])):
        if wrong.min() > right.max():
            return "branch", _branch_words(e, side, wrong, right)
    return None


def _branch_words(e: Evidence, side: str, wrong: Array, right: Array) -> str:
    sign = 1 if side == "above" else -1
    start, end = sorted((sign * float(wrong.min()), sign * float(right.max())))
    word = f"somewhere between {start:.3g} and {end:.3g}"
    if start <= 0 <= end:
        word = "0"
    return (
        f"right where `{e.jac.name}` is {'below' if side == 'above' else 'above'} {word}, wrong "
        f"{side} it; {first_wrong(e.jac)}. Forward has a branch there that backward has not."
    )


def term(e: Evidence) -> Answer:
    """The given is right but for a term that is one of the other terms of a product rule."""
    gap = np.where(e.jac.settled, e.expected - e.given, 0.0)
    values = e.jac.values
    if len(values) == gap.shape[1] and _elementwise(gap):
        x = np.ravel(e.jac.arrays[e.jac.argument])
        line = np.diag(gap)
        terms = (("y / x", values / x), ("y", values), ("x", x), ("1", np.ones_like(x)))
        for name, number in terms:
            if np.allclose(line, number, rtol=1e-5) or np.allclose(line, -number, rtol=1e-5):
                return "missing-term", (
                    f"a term is missing: {name} times the upstream gradient "
                    f"(x for `{e.jac.name}`, y for the output); {first_wrong(e.jac)}."
                )
    return None


EXPLANATIONS: Sequence[Callable[[Evidence], Answer]] = (
    nothing,
    upstream,
    output_ignored,
    factor,
    passed_on,
    from_input,
    swapped,
    transposed,
    at_transposed,
    adjoint,
    misplaced,
    at_flipped,
    reordered,
    coupling,
    missing_sum,
    upstream_reduced,
    averaged,
    averaged_rows,
    few_digits,
    branch,
    term,
)
