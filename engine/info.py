"""`python -m engine info`: which build runs, from where and why."""

import os
import platform
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import numpy

from engine import builds

HERE = Path(__file__).parent


def report() -> str:
    """Lines `name: value`, then one sentence for each thing that may surprise."""
    backend, why = builds.choice()
    facts = {
        "engine": f"{builds.__version__}, from {HERE}",
        "build": f"{backend}, because {why}",
        "compiled": compiled(),
        "python": f"{platform.python_version()}, {sys.executable}",
        "numpy": f"{numpy.__version__}, BLAS {blas()}",
        "threads": threads(),
    }
    lines = [f"{name + ':':<10}{value}" for name, value in facts.items()]
    return "\n".join(lines + [text for text in (elsewhere(), shadow()) if text])


def compiled() -> str:
    stamp = builds.stamp()
    if stamp is None:
        return f"nothing; {builds.TO_BUILD}"
    return f"{Path(str(stamp.__file__)).parent}, by Cython {stamp.cython_version}"


def blas() -> str:
    """Name and version of the library that multiplies NumPy's matrices."""
    config = numpy.show_config(mode="dicts")
    found = (config or {}).get("Build Dependencies", {}).get("blas", {})
    return f"{found.get('name', 'unknown')} {found.get('version', '')}".strip()


def threads() -> str:
    """How many processors this process may use, and what limits BLAS to fewer threads."""
    names = [n for n in os.environ if n.endswith("_NUM_THREADS")]
    limits = ", ".join(f"{name}={os.environ[name]}" for name in sorted(names))
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{usable} processors; {limits or 'BLAS may use all (OMP_NUM_THREADS is not set)'}"


def elsewhere() -> str:
    """A sentence about a compiled copy that this engine hides; "" where there is none."""
    copies = [folder for folder in folders() if folder != builds.ROOT / "engine_fast"]
    if not copies:
        return ""
    return (
        f"A compiled copy stands in {copies[0].parent}; the source tree here hides it. Run from "
        "another folder or with `python -P`, or build the tree: `python -m pip install -e .`"
    )


def folders() -> list[Path]:
    """Every engine_fast that is compiled for this Python: on the path, or in an editable tree."""
    places = [Path(entry).absolute() / "engine_fast" for entry in sys.path]
    built = [p for p in places if any((p / f"stamp{end}").exists() for end in EXTENSION_SUFFIXES)]
    stamp = sys.modules.get("engine_fast.stamp")
    return [*built, Path(str(stamp.__file__)).absolute().parent] if stamp else built


def shadow() -> str:
    """A sentence about a file that `import engine` would take instead; "" where there is none."""
    for local in (Path("engine.py").absolute(), Path("engine", "__init__.py").absolute()):
        if local.exists() and local.parent not in (builds.ROOT, HERE):
            return (
                f"{local} hides this package from programs that run in its folder: rename it, or "
                "run them with `python -P`"
            )
    return ""
