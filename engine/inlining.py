"""The operators of Value in the Python build, with the text that they call written out in them.

`value.py` says in one line what an operator is: `return binary(self, b, rules.mul,
rules.mul_slopes, "mul")`. A compiler puts the text of small functions in the place of their calls;
Python does not, and a call costs it as much as the arithmetic. So it is done here, once, when
engine is imported: `binary` takes the place of its call, and in it the rule's own expressions that
of theirs. In a traceback or a debugger these are lines of `binary`.
"""

import ast
import copy
import inspect
import textwrap
from contextlib import suppress
from functools import cache
from types import FunctionType
from typing import Any


def inline_operators(cls: Any) -> None:
    """Write out each operator of the class: a method that returns calls of functions beside it."""
    for name, method in [*vars(cls).items()]:
        if name.startswith("__") and isinstance(method, FunctionType):
            setattr(cls, name, inlined(method))


def settle(module: Any, *names: str) -> None:
    """Write out functions of the module without what only the compiled build runs."""
    for name in names:
        function = getattr(module, name)
        with suppress(OSError, TypeError):  # as in `inlined`
            outer = text(function)
            outer.body = Written({}, vars(module)).lines(outer.body)
            setattr(module, name, compiled(outer, function))


def inlined(method: Any) -> Any:
    """The method with the text of the functions whose calls it returns; itself where there is no
    such call, or the text is not at hand."""
    try:
        outer = text(method)
        written = Written({}, method.__globals__)
        outer.body = written.lines(outer.body)
    except (OSError, TypeError):
        return method
    return compiled(outer, method) if written.calls else method


@cache
def source(function: Any) -> str:
    """The text of a function, at its own lines."""
    above = "\n" * (function.__code__.co_firstlineno - 1)
    return above + textwrap.dedent(inspect.getsource(function))


def text(function: Any) -> Any:
    """The text of a function as a new tree."""
    return ast.parse(source(function)).body[0]


def body(function: Any) -> list[ast.stmt]:
    """The statements of a function, without its docstring."""
    found: Any = text(function)
    lines: list[ast.stmt] = found.body[ast.get_docstring(found) is not None :]
    return lines


def parameters(function: Any) -> tuple[str, ...]:
    """The names of the parameters."""
    code = function.__code__
    names: tuple[str, ...] = code.co_varnames[: code.co_argcount]
    return names


@cache
def assigned(function: Any) -> set[str]:
    """The names that the function gives something to itself."""
    names = [x for x in ast.walk(text(function)) if isinstance(x, ast.Name)]
    return {x.id for x in names if isinstance(x.ctx, ast.Store)}


def used(function: Any, given: list[ast.expr]) -> set[str]:
    """The names of what the function is given, and of its parameters."""
    return {*parameters(function), *(x.id for x in given if isinstance(x, ast.Name))}


def is_plain(x: ast.expr) -> bool:
    """Whether x may stand in many places: a constant, a name or module.name."""
    return isinstance(x.value if isinstance(x, ast.Attribute) else x, (ast.Name, ast.Constant))


class Written(ast.NodeTransformer):
    """Puts what is given in the place of parameters, and of a rule that is given the expression in
    the place of its call, as deep as there are calls. Other names are those of the module, where
    one is named. calls: how many texts took the place of a call that was returned."""

    def __init__(self, names: dict[str, ast.expr], scope: dict[str, Any], module: Any = None):
        self.names = names
        self.scope = scope
        self.module = module
        self.calls = 0

    def lines(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """The statements as they are written out."""
        found: Any = self.visit(ast.Module(statements, []))
        lines: list[ast.stmt] = found.body
        return lines

    def visit_Return(self, node: ast.Return) -> Any:
        """The text of a function in the place of its call, where that is what is returned."""
        self.generic_visit(node)
        match node.value:
            case ast.Call(ast.Name(name), given, []) if all(map(is_plain, given)):
                inner = self.scope.get(name) if self.module is None else None
                if isinstance(inner, FunctionType) and not assigned(inner) & used(inner, given):
                    self.calls += 1
                    names = dict(zip(parameters(inner), given, strict=True))
                    return Written(names, self.scope).lines(body(inner))
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self.names:
            return ast.copy_location(copy.copy(self.names[node.id]), node)
        if self.module is None:
            return node
        return ast.copy_location(ast.Attribute(self.module, node.id, ast.Load()), node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        match node:
            case ast.Attribute(ast.Name("cython"), "compiled"):
                return ast.copy_location(ast.Constant(False), node)
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        rule = self.names.get(node.func.id) if isinstance(node.func, ast.Name) else None
        self.generic_visit(node)
        match rule:
            case ast.Attribute(ast.Name(module) as where, name):
                return self.expression(getattr(self.scope[module], name), node, where)
        return node

    def expression(self, rule: Any, call: ast.Call, module: ast.Name) -> ast.AST:
        """What the rule returns for the arguments of the call; the call, if that is no line."""
        match body(rule):
            case [ast.Return(value=ast.expr() as found)] if all(map(is_plain, call.args)):
                names = dict(zip(parameters(rule), call.args, strict=True))
                expression: ast.AST = Written(names, self.scope, module).visit(found)
                return expression
        return call


def compiled(tree: ast.FunctionDef, method: Any) -> Any:
    """The function of this text, to take the place of the method."""
    found: dict[str, Any] = {}
    code = compile(ast.Module([tree], []), method.__code__.co_filename, "exec")
    exec(code, method.__globals__, found)
    function = found[tree.name]
    function.__qualname__, function.__doc__ = method.__qualname__, method.__doc__
    return function
