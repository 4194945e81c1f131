"""Wheels, sdists and editable installs, built and installed in fresh environments.

They need a package index and minutes. Where the whole core is not needed they build a small tree:
the real setup.py and pyproject.toml over packages of a few lines.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from engine import builds

pytestmark = pytest.mark.slow

ROOT = Path(builds.__file__).parent.parent
SWITCHES = ("ENGINE_", "PYTHONPATH", "CC", "PYTEST_", "PIP_CONSTRAINT")
MADE = ("*.so", "*.pyd", "__pycache__", ".*", "build", "dist", "*.egg-info")
SHOW = "from engine import builds; print(builds.backend(), builds.module('value').double(4.0))"
TRAIN = """
import engine
v = engine.Value(3.0)
(v * v + engine.exp(v)).backward()
t = engine.tensor([1.0, 2.0], requires_grad=True)
(t @ t).backward()
print(engine.backend(), round(v.grad, 6), t.grad.tolist())
"""
TRAINED = "26.085537 [2.0, 4.0]\n"


def call(*command, cwd, check=True, **variables):
    """Runs a command with none of this run's switches set but those given."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(SWITCHES)}
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=cwd, env=kept | variables, capture_output=True, text=True)
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done


def environment(path, *requirements, by=sys.executable):
    """The Python of a new virtual environment that holds these packages, and pip if any."""
    options = [] if requirements else ["--without-pip"]
    call(by, "-m", "venv", *options, path, cwd=path.parent)
    python = path / ("Scripts" if os.name == "nt" else "bin") / "python"
    if requirements:
        call(python, "-m", "pip", "install", "-q", *requirements, cwd=path.parent)
    return python


@pytest.fixture(scope="module")
def tools(tmp_path_factory):
    """A Python with what a build needs."""
    folder = tmp_path_factory.mktemp("tools")
    return environment(folder / "tools", "setuptools>=77", "cython>=3.3", "numpy>=2.0")


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """The whole project, nothing built, under a path with spaces and letters beyond ASCII."""
    root = tmp_path_factory.mktemp("clones") / "a clone, ünpacked"
    shutil.copytree(ROOT, root, ignore=shutil.ignore_patterns(*MADE))
    return root


@pytest.fixture(scope="module")
def sdist(tools, clone):
    code = "from setuptools import build_meta; print(build_meta.build_sdist('dist'))"
    call(tools, "-c", code, cwd=clone)
    return next((clone / "dist").glob("engine-*.tar.gz"))


@pytest.fixture(scope="module")
def compiled_wheel(tools, sdist):
    return wheel(tools, sdist, isolated=True, ENGINE_REQUIRE_EXTENSIONS="1")


@pytest.fixture(scope="module")
def pure_wheel(tools, clone):
    return wheel(tools, clone, ENGINE_NO_EXTENSIONS="1")


def newest_python():
    """The newest Python at hand that can make environments: on the path, beside this one where
    several are kept side by side, or this one."""
    beside = {int(p.name[9:]): p for p in Path(sys.base_prefix).parent.glob("*/bin/python3.1?")}
    for minor in range(19, sys.version_info[1], -1):
        for found in filter(None, (shutil.which(f"python3.{minor}"), beside.get(minor))):
            if call(found, "-c", "import ensurepip, venv", cwd=ROOT, check=False).returncode == 0:
                return found
    return sys.executable


@pytest.fixture
def small(tmp_path):
    """setup.py and pyproject.toml over packages of a few lines, one compiled module among them."""
    root = tmp_path / "small, ünpacked"
    for package in ("engine", "engine_fast"):
        (root / package).mkdir(parents=True)
        (root / package / "__init__.py").touch()
    for name in ("setup.py", "pyproject.toml", "MANIFEST.in", "LICENSE", "README.md"):
        shutil.copy(ROOT / name, root)
    shutil.copy(ROOT / "engine" / "builds.py", root / "engine")
    shutil.copy(ROOT / "engine_fast" / "stamp.pyx", root / "engine_fast")
    (root / "engine" / "value.py").write_text("def double(x):\n    return 2.0 * x\n")
    (root / "engine_fast" / "value.pxd").write_text("cpdef double double(double x)\n")
    return root


def wheel(python, source, isolated=False, **variables):
    """The wheel that pip makes of a folder or sdist."""
    folder = source.parent / "wheels"
    shutil.rmtree(folder, ignore_errors=True)
    options = ["-q", "--no-deps", "--no-cache-dir", "-w", folder]
    options += [] if isolated else ["--no-build-isolation"]
    call(python, "-m", "pip", "wheel", *options, source, cwd=source.parent, **variables)
    return next(folder.glob("*.whl"))


def build_in_place(python, root, check=True, **variables):
    return call(python, "setup.py", "build_ext", "--inplace", cwd=root, check=check, **variables)


def show(python, root, **variables):
    """What an interpreter says that has `root` on its path; standard error follows."""
    done = call(python, "-c", SHOW, cwd=root.parent, PYTHONPATH=str(root), **variables)
    return done.stdout + done.stderr


def unpacked(path):
    folder = path.parent / "unpacked"
    zipfile.ZipFile(path).extractall(folder)
    return folder


def suffixes(names):
    return {Path(name).suffix for name in names}


def is_pure(path):
    pure = path.name.endswith("-py3-none-any.whl")
    return pure and not suffixes(zipfile.ZipFile(path).namelist()) & {".so", ".pyd", ".c"}


def test_the_sdist_holds_the_sources_and_nothing_made_of_them(sdist):
    with tarfile.open(sdist) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    wanted = {"setup.py", "LICENSE", "engine/py.typed", "engine_fast/stamp.pyx"}
    wanted |= {f"engine_fast/{name}.pxd" for name in ("elementary", "value")}
    assert wanted | {"tests/test_packaging.py", "examples/train_mlp.py"} <= set(names)
    assert not suffixes(names) & {".so", ".pyd", ".c", ".pyc"}


def test_the_sdist_builds_in_isolation_into_a_wheel_with_every_module(compiled_wheel):
    names = zipfile.ZipFile(compiled_wheel).namelist()
    built = {name.partition(".")[0] for name in names if name.endswith((".so", ".pyd"))}
    assert built == {f"engine_fast/{name}" for name in builds.sources()}
    assert {"engine/py.typed", "engine_fast/value.pxd", "engine_fast/stamp.pyx"} <= set(names)
    assert ".c" not in suffixes(names)
    assert {name.split("/")[0].split("-")[0] for name in names} == {"engine", "engine_fast"}


def test_the_compiled_wheel_runs_with_the_oldest_numpy(compiled_wheel, tmp_path):
    python = environment(tmp_path / "fresh", "numpy==2.0.*", compiled_wheel)
    assert call(python, "-c", TRAIN, cwd=tmp_path).stdout == f"cython {TRAINED}"
    forced = call(python, "-c", TRAIN, cwd=tmp_path, ENGINE_BACKEND="python")
    assert forced.stdout == f"python {TRAINED}"
    assert "cython, because" in call(python, "-m", "engine", "info", cwd=tmp_path).stdout


def test_the_pure_switch_gives_a_wheel_for_every_machine(pure_wheel, tools, tmp_path):
    assert is_pure(pure_wheel)
    done = call(tools, "-c", TRAIN, cwd=tmp_path, PYTHONPATH=str(unpacked(pure_wheel)))
    assert (done.stdout, done.stderr) == (f"python {TRAINED}", "")


def test_the_pure_wheel_runs_with_the_newest_python_at_hand_and_the_newest_numpy(
    pure_wheel, tmp_path
):
    python = environment(tmp_path / "newest", "-U", "numpy", pure_wheel, by=newest_python())
    done = call(python, "-W", "error", "-c", TRAIN, cwd=tmp_path)
    assert (done.stdout, done.stderr) == (f"python {TRAINED}", "")


def test_the_newest_numpy_and_no_right_to_write_will_do(compiled_wheel, tools, tmp_path):
    folder = unpacked(compiled_wheel)
    for path in [*folder.rglob("*"), folder]:
        path.chmod(path.stat().st_mode & ~0o222)
    # root may write anywhere unless it gives the right up
    without_rights = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    command = [*(without_rights if hasattr(os, "geteuid") and os.geteuid() == 0 else []), tools]
    attempt = f"open({str(folder / 'probe')!r}, 'w')"
    refused = call(*command, "-c", attempt, cwd=tmp_path, check=False)
    assert "PermissionError" in refused.stderr
    done = call(*command, "-c", TRAIN, cwd=tmp_path, PYTHONPATH=str(folder))
    assert (done.stdout, done.stderr) == (f"cython {TRAINED}", "")


CANNOT_LINK = """#!/bin/sh
case " $* " in *" -c "*) exec cc "$@";; esac
exit 1
"""


@pytest.mark.parametrize("compiler", ["false", "/nowhere/cc", "cannot link", "no path"])
def test_a_machine_without_a_working_compiler_gets_a_pure_wheel(tools, small, tmp_path, compiler):
    (tmp_path / "cc").write_text(CANNOT_LINK)
    (tmp_path / "cc").chmod(0o755)
    variables = {"CC": str(tmp_path / "cc") if compiler == "cannot link" else compiler}
    if compiler == "no path":
        variables = {"PATH": str(tools.parent)}
    path = wheel(tools, small, **variables)
    assert is_pure(path)
    assert show(tools, unpacked(path)) == "python 8.0\n"


def test_requiring_the_extension_without_a_compiler_is_an_error(tools, small):
    switch = {"ENGINE_REQUIRE_EXTENSIONS": "1"}
    done = build_in_place(tools, small, check=False, CC="false", **switch)
    assert done.returncode == 1
    assert "ENGINE_REQUIRE_EXTENSIONS=1, but no working C compiler was found" in done.stderr


def test_a_machine_without_cython_gets_a_pure_wheel(small, tmp_path):
    python = environment(tmp_path / "bare", "setuptools>=77", "wheel", "numpy>=2.0")
    assert is_pure(wheel(python, small))
    done = build_in_place(python, small, check=False, ENGINE_REQUIRE_EXTENSIONS="1")
    assert "ENGINE_REQUIRE_EXTENSIONS=1, but Cython is not installed" in done.stderr


@pytest.mark.parametrize(
    "fault",
    ["cdef int broken = \n", 'cdef extern from "nowhere.h":\n    int broken\nuse = broken\n'],
    ids=["Cython refuses it", "C refuses it"],
)
def test_where_one_module_cannot_be_built_none_is_kept(tools, small, fault):
    (small / "engine_fast" / "broken.pyx").write_text(fault)
    build_in_place(tools, small)
    assert not list(small.rglob("*.so"))
    assert show(tools, small) == "python 8.0\n"
    done = build_in_place(tools, small, check=False, ENGINE_REQUIRE_EXTENSIONS="1")
    assert done.returncode == 1
    assert "broken" in done.stderr


def test_both_switches_together_are_an_error(tools, small):
    both = {"ENGINE_NO_EXTENSIONS": "1", "ENGINE_REQUIRE_EXTENSIONS": "1"}
    done = build_in_place(tools, small, check=False, **both)
    assert done.returncode == 1
    assert "ENGINE_NO_EXTENSIONS=1 and ENGINE_REQUIRE_EXTENSIONS=1: set only one" in done.stderr


def test_a_switch_that_is_neither_1_nor_0_is_an_error(tools, small):
    done = build_in_place(tools, small, check=False, ENGINE_NO_EXTENSIONS="yes")
    assert done.returncode == 1
    assert "ENGINE_NO_EXTENSIONS must be 1 or 0; got 'yes'" in done.stderr


@pytest.fixture
def editable(tools, small, tmp_path):
    """Installs the small tree as editable in a new environment that borrows the tools' packages."""
    python = environment(tmp_path / "editable")
    find = "import sysconfig; print(sysconfig.get_path('purelib'))"
    theirs, ours = (call(p, "-c", find, cwd=tmp_path).stdout.strip() for p in (tools, python))
    Path(ours, "tools.pth").write_text(theirs)
    pip = [tools, "-m", "pip", "--python", python, "install", "-q"]
    command = [*pip, "--no-build-isolation", "--no-deps", "-e", small]

    def install(**variables):
        call(*command, cwd=tmp_path, **variables)
        return python

    return install


def test_an_editable_install_notices_what_was_edited_after_the_build(editable, small, tmp_path):
    python = editable()
    assert call(python, "-c", SHOW, cwd=tmp_path).stdout == "cython 8.0\n"
    with open(small / "engine_fast" / "value.pxd", "a") as file:
        file.write("# edited\n")
    stale = call(python, "-c", SHOW, cwd=tmp_path)
    assert stale.stdout == "python 8.0\n"
    assert "was built from other sources" in stale.stderr
    editable()
    assert call(python, "-c", SHOW, cwd=tmp_path).stdout == "cython 8.0\n"


def test_an_editable_install_without_a_compiler_works(editable, tmp_path):
    done = call(editable(CC="false"), "-c", SHOW, cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("python 8.0\n", "")


def test_an_editable_install_is_found_beside_a_folder_of_its_name(editable, tmp_path):
    (tmp_path / "beside" / "engine").mkdir(parents=True)
    done = call(editable(CC="false"), "-c", SHOW, cwd=tmp_path / "beside")
    assert (done.stdout, done.stderr) == ("python 8.0\n", "")
