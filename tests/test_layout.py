"""Imports run one way, rules hold nothing that floats, arrays and C read differently, and what a
compiled module takes from another is declared."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import engine
from engine import builds, registry, rules, special

ROOT = Path(engine.__file__).parent
FAST = ROOT.parent / "engine_fast"

# A module imports only from its left. What is not here is the rest: it imports what it likes,
# and nothing here imports it.
LINE = (
    "nocython locks interpreter attention arrays elementary rules special modes blocks value "
    "fused builds habits by_hand registry lists quiet kernels nodes depth arguments checks "
    "function hooks graph differentiation dtypes promotion memory views tensors devices creation "
    "convert ops"
)
ORDER = LINE.split()
# What a person reads in an afternoon; the other files to the left of tensors are for reference.
AFTERNOON = "elementary rules modes value habits function graph".split()


def path_of(name):
    path = ROOT / name.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def name_of(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = sorted(name_of(path) for path in ROOT.rglob("*.py") if path.name != "__main__.py")


def imported(path):
    """The modules of engine that a file imports anywhere in its text."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (n.name.removeprefix("engine.") for n in node.names if "engine." in n.name)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "engine":
            inside = node.module.removeprefix("engine").lstrip(".")
            names = [f"{inside}.{n.name}".lstrip(".") for n in node.names]
            yield from (n if n in MODULES else inside for n in names)


def spine(name):
    """The place of a module in the order; a module of a package that stands there counts as it."""
    while name and name not in ORDER:
        name = name.rpartition(".")[0]
    return ORDER.index(name) if name else None


@pytest.mark.parametrize("name", [name for name in MODULES if spine(name) is not None])
def test_a_module_imports_only_from_its_left(name):
    for other in imported(path_of(name)):
        place = spine(other)
        same = other.split(".")[0] == name.split(".")[0] == "ops"
        assert same or (place is not None and place < spine(name)), f"{name} imports {other}"


def test_every_module_of_the_order_is_there():
    assert [name for name in ORDER if not path_of(name).exists()] == []


def python(*arguments):
    """A fresh Python in which warnings are errors: what it wrote to its error stream."""
    environment = os.environ | {"PYTHONPATH": str(ROOT.parent)}
    command = [sys.executable, "-W", "error", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment).stderr


EACH_FIRST = """
import importlib, sys, engine
base = set(sys.modules)
for name in sys.argv[1:]:
    for later in [m for m in sys.modules if m.startswith("engine") and m not in base]:
        del sys.modules[later]
    importlib.import_module(name)
"""


def test_each_module_can_be_imported_first_with_warnings_as_errors():
    names = [f"engine.{name}" for name in MODULES if name]
    assert "engine.graph" in names
    assert python("-c", EACH_FIRST, *names) == ""


@pytest.mark.parametrize("name", ORDER)
def test_a_module_of_the_order_needs_nothing_but_what_it_imports(name):
    alone = (
        "import os; os.environ['ENGINE_BACKEND'] = 'python'; "  # compiled ones need each other
        "import sys, types; package = types.ModuleType('engine'); "
        f"package.__path__ = [{str(ROOT)!r}]; sys.modules['engine'] = package; "
        f"import engine.{name}"
    )
    assert python("-c", alone) == ""


def test_the_import_of_engine_needs_numpy_alone():
    text = (
        "import sys, engine; print(sorted({name.split('.')[0] for name in sys.modules}"
        " - set(sys.stdlib_module_names) - {'__main__', 'numpy', 'engine', 'engine_fast'}), "
        "file=sys.stderr)"
    )
    # what Cython's modules, virtual environments and Debian put there is neither ours nor a need
    theirs = r"'_?(cython|distutils|virtualenv|__editable|sitecustomize)\w*'(, )?"
    said = re.sub(theirs, "", python("-c", text))
    assert said.strip() in ("[]", "")


def test_the_afternoon_has_at_most_1_400_lines():
    lines = {name: len(path_of(name).read_text().splitlines()) for name in AFTERNOON}
    assert sum(lines.values()) <= 1400, lines


def test_no_module_has_the_name_of_a_public_function():
    modules = {name for name in MODULES if "." not in name}
    public = {name for name, x in vars(engine).items() if callable(x) and not isinstance(x, type)}
    assert modules & public == set()


# --- rules ---


RULE_FILES = [name for name in ("rules", "special") if path_of(name).exists()]
FORBIDDEN = (ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.MatMult, ast.IfExp, ast.If, ast.Compare)
FORBIDDEN += (ast.BoolOp, ast.Not, ast.While, ast.Try)


@pytest.mark.parametrize("name", RULE_FILES)
def test_a_rule_holds_no_operator_that_means_different_things(name):
    tree = ast.parse(path_of(name).read_text())
    for function in [node for node in tree.body if isinstance(node, ast.FunctionDef)]:
        bad = [type(n).__name__ for n in ast.walk(function) if isinstance(n, FORBIDDEN)]
        assert bad == [], f"{function.name} holds {bad}"


def test_every_rule_has_a_docstring_that_is_its_reference():
    ours = vars(rules) | vars(special)  # not those that other tests add
    for rule in (rule for name, rule in registry.RULES.items() if name in ours):
        assert (rule.__doc__ or "").strip().endswith((".", ")")), rule.name


# --- what is compiled ---


def declared(name):
    """The text of a module's .pxd, or None where it has none."""
    pxd = FAST / f"{name}.pxd"
    return pxd.read_text() if pxd.exists() else None


@pytest.mark.parametrize("name", [n for n, p in builds.sources().items() if p.suffix == ".py"])
def test_what_a_compiled_module_takes_from_another_is_declared(name):
    tree = ast.parse(builds.sources()[name].read_text())
    aliases = {
        (alias.asname or alias.name): alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "engine"
        for alias in node.names
        if re.search(rf"cimport .*\b{alias.name}\b", declared(name))
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            text = declared(aliases.get(node.value.id, ""))
            if text is not None:
                assert re.search(rf"\b{node.attr}\b", text), f"{node.value.id}.{node.attr}"


def test_only_compiled_modules_ask_the_interpreter_which_answers_nobody_else():
    asking = {path_of(name) for name in MODULES if "interpreter" in imported(path_of(name))}
    assert path_of("value") in asking
    assert asking <= set(builds.sources().values())


@pytest.mark.parametrize("name", RULE_FILES)
def test_every_rule_has_its_line_in_the_pxd_and_its_method(name):
    text, methods = declared(name), path_of("value").read_text()
    for node in ast.parse(path_of(name).read_text()).body:
        if isinstance(node, ast.FunctionDef):
            assert re.search(rf"\b{node.name}\(", text), f"{node.name} is not in {name}.pxd"
            assert re.search(rf"\b{name}\.{node.name}\b", methods), f"{node.name} has no method"
