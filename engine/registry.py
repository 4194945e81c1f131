"""The registry of rules, and `engine.rule`, by which anybody adds one.

>>> import engine
>>> @engine.rule
... def cube(a):
...     return a * a * a
>>> @cube.slope
... def cube_slope(a, y):
...     return 3.0 * a * a
>>> cube(engine.Value(2.0)).data, cube(2.0)
(8.0, 8.0)
"""

import inspect
import math
from collections.abc import Callable
from typing import Any

from engine import elementary, fused, habits, rules, special, value

Value = value.Value

RULES: dict[str, "Rule"] = {}

# Tensors plug in here: called with each rule as it is registered.
on_rule: list[Callable[["Rule"], None]] = []


class Rule:
    """An elementwise operation of one or two operands: floats, Values or Tensors.

    Calling it gives a float, a Value or a Tensor; numbers beside a Value or a Tensor are
    constants. An operand called `k` is a number without a slope. Derivatives of any order: the
    slopes are called again on Values or Tensors, so they must be made of `+ - *`, the functions
    of `engine.elementary` and other rules.
    """

    def __init__(self, function: Callable[..., Any], selection: bool = False):
        self.name = self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self.value = function
        self.operands = list(inspect.signature(function).parameters)
        self.arity = len(self.operands)
        self.selection = selection
        self.plan: Any = None  # what operations on Tensors ask of it, theirs to keep
        self._slopes: Callable[..., Any] | None = None
        self.is_method = self.name in vars(Value) and self.operands[-1] != "k"
        if self.arity not in (1, 2):
            raise TypeError(f"rule {self.name}: needs one or two operands; got {self.arity}")

    def slope(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorates the slopes: a function of the operands and the result y, which returns the
        partial derivative, or a tuple of two."""
        got = len(inspect.signature(function).parameters)
        if got != self.arity + 1:
            raise TypeError(
                f"rule {self.name}: its slope needs {', '.join([*self.operands, 'y'])}; "
                f"got {got} parameters"
            )
        self._slopes = function
        register(self)
        return function

    def slopes(self, *operands: Any) -> tuple[Any, ...]:
        """The partial derivatives, given the operands and the result y."""
        if self._slopes is None:
            raise RuntimeError(f"rule {self.name}: has no slope; add one under @{self.name}.slope")
        slopes = self._slopes(*operands)
        return slopes if isinstance(slopes, tuple) else (slopes,)

    def __call__(self, *operands: Any, out: Any = None) -> Any:
        if out is not None:
            return out._receive(self, operands)
        if len(operands) != self.arity:
            raise TypeError(f"{self.name}: needs {self.arity} operands; got {len(operands)}")
        if self.is_method and isinstance(operands[-1], Value) and value.is_number(operands[0]):
            operands = (Value(operands[0], requires_grad=False), operands[1])
        if self.is_method and isinstance(operands[0], Value) and is_scalar(operands[-1]):
            return getattr(operands[0], self.name)(*operands[1:])
        for x in operands:
            if hasattr(x, "_apply_rule"):
                return x._apply_rule(self, operands)
        if self.operands[-1] == "k" and isinstance(operands[-1], Value):
            raise TypeError(
                f"{self.name}: its option {operands[-1]!r} must be a number, not a Value"
            )
        numbers = [
            x._data if isinstance(x, Value) else value.as_float(x, self.name) for x in operands
        ]
        y = float(self.value(*numbers))
        if any(isinstance(x, Value) for x in operands):
            return fused.result(y, self.name, operands, self.slopes(*numbers, y))
        return y

    def __repr__(self) -> str:
        return f"<rule {self.name}({', '.join(self.operands)})>"


def is_scalar(x: Any) -> bool:
    """Whether x is a Value or a number."""
    return isinstance(x, Value) or value.is_number(x)


def rule(function: Any = None, *, selection: bool = False) -> Any:
    """Make an elementwise operation of a function; give its slope under `@NAME.slope`.

    selection=True for an operation that chooses among its operands (as relu and maximum do): it
    passes no gradient where its slope is 0, not even an infinite one.
    """
    if function is None:
        return lambda f: rule(f, selection=selection)
    if function.__name__ in RULES or hasattr(Value, function.__name__):
        raise ValueError(f"rule {function.__name__}: there is one already; choose another name")
    return Rule(function, selection)


def register(new: Rule) -> None:
    """Make a rule known: to walks by its name, to Values and Tensors as a method."""
    RULES[new.name] = new
    habits.enter(habits.METHODS, new.name, new)
    if new.selection:
        value.selections.add(new.name)
    for plug_in in on_rule:
        plug_in(new)


# Operations on lists of Values: their slopes, one for each operand, given operands and result.
LISTS: dict[str, Callable[[list[Any], Any], list[Any]]] = {}


def contributions(v: Any, g: Any) -> list[tuple[Any, Any]]:
    """What v with gradient g hands to its parents, differentiably: its operation's slopes are
    called again, on Values. Pairs of an edge and a Value."""
    op, extra = value.op_of(v), v._extra
    many = extra.pairs() if isinstance(extra, value.Extra) else []
    slopes_of = LISTS.get(op) if many or op not in RULES else of_rule
    if slopes_of is None or (extra != op and extra.push is not None):
        raise RuntimeError(
            f"create_graph: the node {op!r} was made by hand, with slopes that are numbers or a "
            "_backward of its own; use operations of engine or a Function for second derivatives"
        )
    pairs = many or [(v._a, v._slope_a), (v._b, v._slope_b)]
    slopes = slopes_of([n if p is None else p for p, n in pairs], v)
    out = []
    for (p, stored), slope in zip(pairs, slopes, strict=False):
        if p is not None:
            unchanged(stored, slope, v, p)
            skip = stored == 0.0 and op in value.selections
            out.append(((p, 0), nothing(g) if skip else g * slope))
    return out


def nothing(g: Any) -> Any:
    """0, for an infinite g or nan too: what a selection passes where its slope is 0."""
    finite = math.isfinite(g.data if isinstance(g, Value) else g)
    return g * 0.0 if finite else Value(0.0, requires_grad=False)


def of_rule(operands: list[Any], v: Any) -> Any:
    """The slopes of the rule that made v."""
    rule = RULES[value.op_of(v)]
    return rule.slopes(*operands[: rule.arity], v)


def unchanged(stored: float, slope: Any, v: Any, p: Any) -> None:
    """Check that the slope, worked out again, is bit for bit that of the forward pass."""
    now = float(slope.data if isinstance(slope, Value) else slope)
    if repr(now) != repr(stored):
        raise RuntimeError(
            f"create_graph: the .data of an operand of {value.op_of(v)!r} was changed after it was "
            f"used (its slope by {p!r} was {stored}, it is {now} now); compute the graph again"
        )


# What `elementary` calls otherwise than the rules do.
SYNONYMS = {"divide": "div", "power": "pow", "fabs": "abs"}


def of_values(name: str, operands: tuple[Any, ...]) -> Any:
    """The function of `elementary` called `name` where an operand is a Value: the rule, or a
    number where the function has no slope (less, equal, step, sign)."""
    found = RULES.get(SYNONYMS.get(name, name))
    if found is not None:
        return found(*operands)
    return getattr(elementary, name)(*(value.as_number(x, name) for x in operands))


for _module in (rules, special):
    for _name, _function in list(vars(_module).items()):
        _slopes = getattr(_module, f"{_name}_slope", getattr(_module, f"{_name}_slopes", None))
        if _slopes:
            Rule(_function, _name in rules.SELECTIONS).slope(_slopes)
