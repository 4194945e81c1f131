"""The rules in a page: their own text, value and slopes, translated to JavaScript.

A rule holds nothing but `+ - *`, numbers, functions of `engine.elementary` and other rules, so each
node of its syntax tree has one translation. What holds anything else is not translated, and the
page says that it cannot compute it. Local names get a `$`, for Python's may be words of JavaScript.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterable
from typing import Any

from engine import arrays, elementary
from engine.registry import RULES, Rule

OPERATORS: dict[type, str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}
ELEMENTARY = frozenset(arrays.FUNCTIONS)


class Untranslatable(Exception):
    """A rule holds what the page has no arithmetic for."""


class Translator:
    """Translates functions of rules; `used` collects the names of the rules that they call."""

    def __init__(self, function: Callable[..., Any]):
        self.function = function
        self.used: dict[str, None] = {}

    def text(self) -> str:
        """The function as JavaScript. Raises Untranslatable."""
        tree = ast.parse(textwrap.dedent(source(self.function))).body[0]
        if not isinstance(tree, ast.FunctionDef):
            raise Untranslatable
        names = ", ".join(f"${a.arg}" for a in tree.args.args)
        body = [x for x in tree.body if not is_docstring(x)]
        return f"({names}) => {{ {' '.join(map(self.statement, body))} }}"

    def statement(self, node: ast.stmt) -> str:
        match node:
            case ast.Return(ast.Tuple(parts)):
                return f"return [{', '.join(map(self.expression, parts))}];"
            case ast.Return(ast.expr() as x):
                return f"return {self.expression(x)};"
            case ast.Assign([ast.Name(name)], x):
                return f"var ${name} = {self.expression(x)};"
        raise Untranslatable

    def expression(self, node: ast.expr) -> str:
        match node:
            case ast.Constant(int() | float() as x):
                return repr(x)
            case ast.Name(name):
                return f"${name}"
            case ast.UnaryOp(ast.USub(), x):
                return f"(-{self.expression(x)})"
            case ast.BinOp(a, operator, b) if type(operator) in OPERATORS:
                sign = OPERATORS[type(operator)]
                return f"({self.expression(a)} {sign} {self.expression(b)})"
            case ast.Call(function, arguments, []):
                given = ", ".join(map(self.expression, arguments))
                return f"{self.callee(function)}({given})"
        raise Untranslatable

    def callee(self, node: ast.expr) -> str:
        """The function that is called: of `elementary`, or another rule."""
        called = self.object_of(node)
        for name in ELEMENTARY:
            if called is getattr(elementary, name):
                return f"m.{name}"
        for name, rule in RULES.items():
            if called is rule or called is rule.value:
                self.used[name] = None
                return f"RULES.{name}.value"
        raise Untranslatable

    def object_of(self, node: ast.expr) -> Any:
        """What a name, or an attribute of one, means in the function."""
        match node:
            case ast.Name(name):
                known = inspect.getclosurevars(self.function)
                return {**known.globals, **known.nonlocals}.get(name)
            case ast.Attribute(x, name):
                return getattr(self.object_of(x), name, None)
        return None


def source(function: Callable[..., Any]) -> str:
    """The text of a function. Raises Untranslatable where there is none."""
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):  # typed into an interactive session, or compiled
        raise Untranslatable from None


def is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def translated(names: Iterable[str]) -> str:
    """A JavaScript object of these rules and those that they call; others are left out."""
    done: dict[str, str] = {}
    waiting = list(dict.fromkeys(names))
    while waiting:
        name = waiting.pop(0)
        if name in done or not name.isidentifier():
            continue
        try:
            done[name], used = of_rule(RULES[name])
        except Untranslatable:
            continue
        waiting += used
    return "".join(f"RULES.{name} = {text};\n" for name, text in sorted(done.items()))


def of_rule(rule: Rule) -> tuple[str, list[str]]:
    """The value and the slopes of a rule in JavaScript, and the names of the rules they call."""
    value, slopes = Translator(rule.value), Translator(rule._slopes or rule.value)
    selection = "true" if rule.selection else "false"
    text = f"{{value: {value.text()},\n  slopes: {slopes.text()}, selection: {selection}}}"
    return text, [*value.used, *slopes.used]


# Nodes that are no rules, by what the page calls their arithmetic.
CALLS = {
    "SumBackward0": "sum",
    "MeanBackward0": "mean",
    "MmBackward0": "mm",
    "MvBackward0": "mv",
    "DotBackward0": "dot",
    "LinearBackward0": "linear",
    "TBackward0": "turn",
    "StackValuesBackward0": "stack",
} | dict.fromkeys(
    (f"{name}Backward0" for name in ("AsTensor", "Clone", "View", "Squeeze", "Unsqueeze")), "same"
)


def recipe(thing: Any, shape: Any) -> dict[str, Any]:
    """How the page can compute a node again: the key "rule", or "call" with the dimensions and the
    shape of the result; empty for what it cannot."""
    if isinstance(getattr(thing, "rule", None), Rule):
        return {"rule": thing.rule.name}
    kind = CALLS.get(thing.name()) if shape is not None else None
    if kind is None:
        return {}
    return {"call": kind, "dims": list(getattr(thing, "dims", ())), "to": list(shape)}
