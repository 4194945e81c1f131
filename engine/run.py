"""`python -m engine run script.py`: a script for torch or micrograd runs on engine as it stands.

Imports of `torch` and `micrograd` are answered by engine's modules, wherever in the program they
stand and even where the real ones are installed; a scalar autograd class `Value` of the script's
own gives way to `engine.Value`. What was replaced is said on stderr. A process that the script
starts afresh (multiprocessing's "spawn") is not reached.
"""

import ast
import os
import sys
from collections.abc import Sequence
from types import FunctionType, ModuleType, TracebackType
from typing import Any

from engine.answers import Finder, say
from engine.builds import backend

AUTOGRAD = {"__add__", "__mul__", "backward"}
KEYWORDS = {"label", "requires_grad"}
# Where a class uses one of these, its data are arrays.
ARRAYS = {"array", "asarray", "ndarray", "shape", "T", "dot", "zeros_like", "ones_like", "reshape"}


def run(script: str, arguments: Sequence[str]) -> None:
    """Runs the file `script` as `python script.py arguments` would, answered by engine.

    Raises what the script raises, OSError when it cannot be read, SyntaxError when it is no
    Python; sys.excepthook then leaves this module out of the traceback.
    """
    path = os.path.abspath(script)
    sys.excepthook = hook_for(path)
    code = compile(replaced(path), path, "exec", dont_inherit=True)
    sys.meta_path.insert(0, Finder())
    sys.argv[:] = [script, *arguments]
    if not sys.flags.safe_path:
        del sys.path[0]  # the folder that `python -m` put there
    sys.path.insert(0, os.path.dirname(os.path.realpath(path)))
    main = sys.modules["__main__"] = ModuleType("__main__")
    main.__file__ = path
    exec(code, vars(main))


def hook_for(path: str) -> Any:
    """An excepthook whose tracebacks begin in the file `path`, as without `engine run`."""

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        while trace and trace.tb_frame.f_code.co_filename != path:
            trace = trace.tb_next
        sys.__excepthook__(kind, error.with_traceback(trace), trace)

    return hook


def replaced(path: str) -> ast.Module:
    """The syntax tree of the file `path`; engine's Value stands in it for the script's own."""
    with open(path, "rb") as file:
        tree = ast.parse(file.read(), path)
    Replacement(os.path.basename(path), tree).visit(tree)
    return ast.fix_missing_locations(tree)


class Replacement(ast.NodeTransformer):
    """Puts engine.Value in the place of a scalar autograd class Value."""

    def __init__(self, script: str, tree: ast.Module) -> None:
        self.script = script
        self.tree = tree

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        if node.name != "Value" or not names(node) >= AUTOGRAD:
            return self.generic_visit(node)
        what = f"class Value ({self.script}, line {node.lineno})"
        reason = obstacle(node, self.tree)
        if reason:
            say(f"{what} stays as it is: {reason}")
            return node
        say(f"{what} is replaced by engine.Value, the {backend()} build")
        return adopted(node)


def names(node: ast.ClassDef) -> set[str]:
    """What the class body binds by `def` or by assignment, as in `__radd__ = __add__`."""
    defined = {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
    bound = [part.targets for part in node.body if isinstance(part, ast.Assign)]
    assigned = {ast.unparse(target) for targets in bound for target in targets}
    return defined | assigned - {"__slots__"}


def obstacle(node: ast.ClassDef, tree: ast.Module) -> str:
    """Why engine.Value cannot stand for the class `node` of a script, or ""."""
    if node.decorator_list or [base for base in node.bases if ast.unparse(base) != "object"]:
        return "it has a decorator or a base class"
    arrays = ARRAYS & {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}
    if arrays:
        return f"it holds arrays (`.{min(arrays)}`); engine.Value holds one number"
    lacking = lacked(node) - {method.name for method in methods_to_add(node)}
    if lacking:
        return f"engine.Value has no {', '.join(sorted(lacking))}"
    unknown = keywords(tree) - keywords(node) - KEYWORDS
    return f"engine.Value takes no {', '.join(sorted(unknown))}" if unknown else ""


def lacked(node: ast.ClassDef) -> set[str]:
    """The names of the class that a Value of engine does not have."""
    from engine import Value

    return {name for name in names(node) if not hasattr(Value(1.0), name)}


def methods_to_add(node: ast.ClassDef) -> list[ast.FunctionDef]:
    """The plain methods of the class that a Value of engine lacks and can be given."""
    defined = [part for part in node.body if isinstance(part, ast.FunctionDef)]
    plain = [part for part in defined if not (part.decorator_list or part.name.startswith("__"))]
    return [part for part in plain if part.name in lacked(node)]


def keywords(tree: ast.AST) -> set[str]:
    """The names of the arguments that Value is called with."""
    calls = [part for part in ast.walk(tree) if isinstance(part, ast.Call)]
    ours = [call for call in calls if ast.unparse(call.func) == "Value"]
    return {keyword.arg or "**" for call in ours for keyword in call.keywords}


def adopted(node: ast.ClassDef) -> ast.ClassDef:
    """`@adopt class Value`, with no more than the methods that engine's Value lacks."""
    adopt = ast.parse("__import__('engine.run').run.adopt", mode="eval").body
    body: list[ast.stmt] = [*methods_to_add(node), ast.Pass()]
    new = ast.ClassDef("Value", bases=[], keywords=[], body=body, decorator_list=[adopt])
    return ast.copy_location(new, node)


def adopt(scripts: type) -> Any:
    """engine.Value, given the methods of the class `scripts`."""
    from engine import Value, habits

    for function in vars(scripts).values():
        if isinstance(function, FunctionType):
            habits.method(function)
    return Value
