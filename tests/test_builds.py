"""Which build is chosen, and what is said when it is missing, stale or broken.

Most tests make a small tree of `engine` and `engine_fast` in a folder of their own, where a Python
file stands for the compiled stamp: the choice never asks what a module was made by.
"""

import os
import shutil
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import numpy as np
import pytest

import engine
from engine import builds

SHOW = "import engine; print(engine.backend(), engine.builds.module('value').__name__)"


@pytest.fixture
def tree(tmp_path):
    """A folder with the two packages, engine's `value` and a stamp that fits the sources."""
    root = tmp_path / "a clone, ünpacked"
    package, fast = root / "engine", root / "engine_fast"
    package.mkdir(parents=True)
    fast.mkdir()
    here = Path(builds.__file__).parent
    for name in ("builds.py", "info.py", "__main__.py"):
        shutil.copy(here / name, package)
    (package / "__init__.py").write_text("from engine.builds import backend\n")
    for folder in (package, fast):
        (folder / "value.py").write_text("")
    (fast / "__init__.py").write_text("")
    (fast / "value.pxd").write_text("")
    stamp(root)
    return root


def stamp(root, digest=None):
    lines = f"digest = {builds.digest(root) if digest is None else digest}\ncython_version = '3'\n"
    (root / "engine_fast" / "stamp.py").write_text(lines)


def path(*folders):
    """What PYTHONPATH holds: the folders, and the one that NumPy is installed in."""
    return os.pathsep.join(map(str, (*folders, Path(np.__file__).parent.parent)))


def python(root, *arguments, **variables):
    """A fresh interpreter that imports `engine` from `root`, with these environment variables.

    Without `site`, so that an editable install of the project has no part in it.
    """
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("ENGINE_", "PYTHON"))}
    environment = kept | {"PYTHONPATH": path(root), "PYTHONDONTWRITEBYTECODE": "1"} | variables
    command = [sys.executable, "-S", *arguments]
    return subprocess.run(
        command, env=environment, cwd=root.parent, capture_output=True, encoding="utf-8"
    )


def show(root, **variables):
    done = python(root, "-c", SHOW, **variables)
    assert done.returncode == 0, done.stderr
    return done


def error(root, **variables):
    """The last line of the error of an import that must fail."""
    done = python(root, "-c", SHOW, **variables)
    assert done.returncode == 1
    return done.stderr.strip().splitlines()[-1]


def test_this_suite_runs_on_the_build_that_it_was_asked_for():
    assert engine.backend() == os.environ.get("ENGINE_BACKEND", engine.backend())
    package = {"cython": "engine_fast", "python": "engine"}[engine.backend()]
    assert type(engine.Value(1.0)).__module__ == f"{package}.value"


def test_a_fitting_build_is_taken(tree):
    done = show(tree)
    assert done.stdout == "cython engine_fast.value\n"
    assert done.stderr == ""


def test_a_module_that_is_not_compiled_comes_from_engine(tree):
    (tree / "engine_fast" / "value.pxd").unlink()
    stamp(tree)
    assert show(tree).stdout == "cython engine.value\n"


@pytest.mark.parametrize("gone", ["stamp.py", "package"])
def test_a_missing_build_falls_back_to_python_in_silence(tree, gone):
    fast = tree / "engine_fast"
    shutil.rmtree(fast) if gone == "package" else (fast / gone).unlink()
    done = show(tree)
    assert done.stdout == "python engine.value\n"
    assert done.stderr == ""


def test_forcing_a_missing_build_is_an_error_that_says_how_to_build(tree):
    (tree / "engine_fast" / "stamp.py").unlink()
    said = error(tree, ENGINE_BACKEND="cython")
    assert said.startswith("ImportError: ENGINE_BACKEND=cython: engine_fast is not built for Py")
    assert "python setup.py build_ext --inplace" in said


@pytest.mark.parametrize("edited", ["engine/value.py", "engine_fast/value.pxd"])
def test_a_stale_build_is_passed_over_with_a_warning(tree, edited):
    (tree / edited).write_text("# edited after the build\n")
    done = show(tree)
    assert done.stdout == "python engine.value\n"
    assert "RuntimeWarning" in done.stderr
    assert "was built from other sources than engine" in done.stderr
    assert "python setup.py build_ext --inplace" in done.stderr


def test_the_build_of_another_tree_is_not_taken(tree, tmp_path):
    other = shutil.copytree(tree, tmp_path / "another clone")
    (tree / "engine_fast" / "stamp.py").unlink()
    lend = "import engine_fast; engine_fast.__path__.append({!r}); "
    lend = lend.format(str(other / "engine_fast"))
    assert python(tree, "-c", lend + SHOW).stdout == "python engine.value\n"
    said = python(tree, "-c", lend + "from engine import info; print(info.report())").stdout
    assert f"A compiled copy stands in {other}" in said


def test_a_build_of_another_version_is_stale(tree):
    source = tree / "engine" / "builds.py"
    source.write_text(source.read_text().replace(builds.__version__, "77.0"))
    said = error(tree, ENGINE_BACKEND="cython")
    assert "was built from other sources than engine 77.0" in said


def test_forcing_a_stale_build_is_an_error(tree):
    stamp(tree, digest=1)
    said = error(tree, ENGINE_BACKEND="cython")
    assert said.startswith("ImportError: ENGINE_BACKEND=cython: ")
    assert "was built from other sources" in said


@pytest.mark.parametrize("variables", [{}, {"ENGINE_BACKEND": "cython"}], ids=str)
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("raise ImportError('undefined symbol: PyX')", "ImportError: undefined symbol: PyX"),
        ("import not_there", "ModuleNotFoundError: No module named 'not_there'"),
    ],
)
def test_a_broken_build_is_raised_and_never_passed_over(tree, fault, message, variables):
    (tree / "engine_fast" / "stamp.py").write_text(fault)
    assert error(tree, **variables) == message


def test_a_build_that_lacks_one_module_is_broken(tree):
    (tree / "engine_fast" / "value.py").unlink()
    assert error(tree) == "ModuleNotFoundError: No module named 'engine_fast.value'"


@pytest.mark.parametrize("variable", ["ENGINE_BACKEND=python", "ENGINE_NO_EXTENSIONS=1"])
def test_python_can_be_forced_over_a_fitting_build(tree, variable):
    done = show(tree, **dict([variable.split("=")]))
    assert done.stdout == "python engine.value\n"
    assert variable in python(tree, "-m", "engine", "info", **dict([variable.split("=")])).stdout


def test_python_forced_does_not_look_at_a_broken_build(tree):
    (tree / "engine_fast" / "stamp.py").write_text("raise ImportError")
    assert show(tree, ENGINE_BACKEND="python").stdout == "python engine.value\n"


def test_an_unknown_backend_is_refused_by_name():
    root = Path(builds.__file__).parent.parent
    said = error(root, ENGINE_BACKEND="jax")
    assert said == "ValueError: ENGINE_BACKEND must be python, cython or not set; got 'jax'"


def test_every_compiled_module_has_one_source():
    sources = builds.sources()
    assert {"rules", "modes", "value", "stamp"} <= set(sources)
    assert not {"elementary", "interpreter"} & set(sources)
    assert all(path.exists() for path in sources.values())


def info(root, *flags, **variables):
    done = python(root, *flags, "-m", "engine", "info", **variables)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_info_says_which_build_runs_from_where_and_why(tree):
    said = info(tree, OMP_NUM_THREADS="1")
    assert f"from {tree / 'engine'}" in said
    assert "cython, because engine_fast is built" in said
    assert f"{tree / 'engine_fast'}, by Cython 3" in said
    assert sys.executable in said
    assert "BLAS" in said
    assert "OMP_NUM_THREADS=1" in said


def test_info_says_how_to_build_what_is_missing(tree):
    (tree / "engine_fast" / "stamp.py").unlink()
    said = info(tree)
    assert "python, because engine_fast is not built for Python" in said
    assert "python setup.py build_ext --inplace" in said


def test_info_tells_of_a_compiled_copy_that_the_source_tree_hides(tree, tmp_path):
    (tree / "engine_fast" / "stamp.py").unlink()
    installed = tmp_path / "site-packages" / "engine_fast"
    installed.mkdir(parents=True)
    (installed / f"stamp{EXTENSION_SUFFIXES[0]}").touch()
    said = info(tree, PYTHONPATH=path(tree, installed.parent))
    assert f"A compiled copy stands in {installed.parent}" in said
    assert "python -m pip install -e ." in said


def test_info_tells_of_a_local_file_that_hides_the_package(tree):
    local = tree.parent / "engine.py"
    local.write_text("print('a clone of micrograd')\n")
    assert python(tree, "-m", "engine", "info").stdout == "a clone of micrograd\n"
    said = info(tree, "-P")
    assert f"{local} hides this package" in said
    assert "python -P" in said
