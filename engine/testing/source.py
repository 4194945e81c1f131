"""How a program gets at what it is about: by import, or by its source and what that needs."""

import ast
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from types import FunctionType, ModuleType
from typing import Any


def importing(target: Any) -> str:
    """Lines after which a class or function can be used by its name."""
    name, module = getattr(target, "__qualname__", ""), getattr(target, "__module__", "") or ""
    if module.split(".")[0] in ("engine", "torch") and not module.startswith("engine.testing"):
        return ""
    if "<locals>" in name or "<lambda>" in name or module == "__main__":
        return pasted(target)
    path = getattr(sys.modules.get(module), "__file__", None)
    line = f"from {module} import {name.split('.')[0]}\n"
    if path is None or "." in module:
        return line
    folder = str(Path(path).resolve().parent)
    return f"import sys\n\nsys.path.insert(0, {folder!r})\n{line}"


def pasted(target: Any) -> str:
    """The source of a class or function, under the lines that define the names it uses."""
    text = source_of(target)
    if not text:
        return f"# {getattr(target, '__name__', target)} must be defined here\n"
    known = surroundings(target)
    done: dict[str, str] = {}
    for name in names_in(text):
        _define(name, known, done, getattr(target, "__name__", ""))
    return "\n".join([*filter(None, done.values()), "\n", text])


def _define(name: str, known: dict[str, Any], done: dict[str, str], own: str) -> None:
    if name in known and name not in done and name != own and name != "torch":
        done[name] = ""
        thing = known[name]
        for inner in names_in(source_of(thing)) if _is_local(thing, known) else ():
            _define(inner, known, done, own)
        done[name] = done.pop(name) or definition(name, thing, known)


def definition(name: str, thing: Any, known: dict[str, Any]) -> str:
    """A line (or the source) that gives a name its meaning; "" where there is none."""
    if isinstance(thing, ModuleType):
        return f"import {thing.__name__} as {name}" if thing.__name__ != name else f"import {name}"
    if isinstance(thing, (int, float, str, bool, tuple)) or thing is None:
        return f"{name} = {thing!r}"
    if _is_local(thing, known):
        return f"\n{source_of(thing)}"
    if isinstance(thing, (type, FunctionType)) and "<locals>" not in thing.__qualname__:
        alias = f" as {name}" if thing.__name__ != name else ""
        module = thing.__module__.replace("engine_fast.", "engine.", 1)  # its text is in engine
        return f"from {module} import {thing.__name__}{alias}"
    return ""


def _is_local(thing: Any, known: dict[str, Any]) -> bool:
    """True for a class or function of the same module, which has to be pasted too."""
    own = getattr(thing, "__module__", None) == known.get("__name__", "__main__")
    return isinstance(thing, (type, FunctionType)) and own and bool(source_of(thing))


def source_of(thing: Any) -> str:
    try:
        return dedent(inspect.getsource(thing))
    except (OSError, TypeError):
        return ""


def names_in(text: str) -> Iterator[str]:
    """The names that a piece of source reads and does not itself set, in order."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except SyntaxError:
        return iter(())
    names = [node for node in nodes if isinstance(node, ast.Name)]
    own = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    own |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    return iter(dict.fromkeys(node.id for node in names if node.id not in own))


def surroundings(target: Any) -> dict[str, Any]:
    """The globals and the enclosing variables that a class or function sees."""
    known: dict[str, Any] = {}
    for function in functions_of(target):
        known |= function.__globals__
    for function in functions_of(target):
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        known |= {name: cell.cell_contents for name, cell in cells if _filled(cell)}
    return known


def _filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def functions_of(target: Any) -> list[FunctionType]:
    """The functions written in a class, or the function itself; decorators taken off."""
    things = vars(target).values() if isinstance(target, type) else [target]
    bare = [inspect.unwrap(getattr(thing, "__func__", thing)) for thing in things
            if callable(getattr(thing, "__func__", thing))]
    return [thing for thing in bare if isinstance(thing, FunctionType)]
