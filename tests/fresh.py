"""Programs in a Python of their own, with this clone's engine."""

import os
import subprocess
import sys
from pathlib import Path

import engine

ROOT = Path(engine.__file__).parent.parent


# How many threads a BLAS uses: OpenBLAS, MKL, and those made with OpenMP.
THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")


def printed(program, *arguments, backend=None, timeout=600, threads=1):
    """What a program prints; it must end well and write nothing to its error stream."""
    paths = os.pathsep.join([str(ROOT), str(Path(__file__).parent)])
    variables = os.environ | {"PYTHONPATH": paths} | dict.fromkeys(THREADS, str(threads))
    variables["ENGINE_BACKEND"] = backend or engine.backend()
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(
        command, env=variables, capture_output=True, text=True, timeout=timeout, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout
