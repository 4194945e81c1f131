"""engine_fast built with the address and undefined-behaviour sanitizers runs tests of it clean."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fresh import ROOT

from engine import builds

FOLDERS = ("engine", "engine_fast", "tests")
FILES = ("setup.py", "pyproject.toml", "README.md", "LICENSE")
TESTS = ("tests/test_kernels.py", "tests/scalar/test_two_builds.py")


def library():
    """The file of gcc's AddressSanitizer, or ""."""
    if shutil.which("gcc") is None:
        return ""
    command = ["gcc", "-print-file-name=libasan.so"]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    return found if Path(found).is_absolute() else ""


def run(folder, *arguments, **variables):
    """Runs Python in a folder; returns its status and what it said."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, (done.stdout + done.stderr)[-5_000:]


@pytest.mark.skipif(bool(builds.problem()), reason="nothing is compiled here")
def test_a_build_with_sanitizers_passes(tmp_path, long, figure):
    if not long(False, True):
        pytest.skip("it takes minutes: --long")
    if not library():
        pytest.skip("gcc has no AddressSanitizer here")
    for name in FOLDERS:
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("*.so"))
    for name in FILES:
        shutil.copy(ROOT / name, tmp_path)
    switches = {"ENGINE_SANITIZE": "1", "ENGINE_REQUIRE_EXTENSIONS": "1"}
    status, said = run(tmp_path, "setup.py", "build_ext", "--inplace", **switches)
    assert status == 0, said
    status, said = run(
        tmp_path,
        *("-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS),
        LD_PRELOAD=library(),
        PYTHONMALLOC="malloc",
        ASAN_OPTIONS="detect_leaks=0",
        ENGINE_BACKEND="cython",
        PYTHONPATH=str(tmp_path),
    )
    assert status == 0, said
    figure("files of tests under the sanitizers", len(TESTS))
