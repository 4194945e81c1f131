"""Chooses the build: engine_fast where it is built from these sources, else the Python beside it.

Nobody else names engine_fast. setup.py reads this file too, without importing engine.
"""

import os
import sys
import warnings
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from zlib import crc32

__version__ = "0.1.0"

ROOT = Path(__file__).absolute().parent.parent
NOT_COMPILED = ("elementary", "interpreter")  # their .pxd give the same names to C functions
# Modules that `import engine.NAME` finds compiled, in the order of their imports.
IN_PLACE = (
    *("modes", "blocks", "value", "fused", "quiet", "nodes", "depth", "arguments", "checks"),
    *("function", "graph", "differentiation", "views", "tensors", "creation", "tape"),
)
# Those that `engine.ops` holds: what operations of nearly every net are made of.
OPS = ("elementwise", "dims", "shape", "index", "linear", "join", "reduce", "order")
TO_BUILD = (
    "build it with `python setup.py build_ext --inplace` in a clone, or install again where there "
    "is a C compiler (ENGINE_REQUIRE_EXTENSIONS=1 shows what stops it)"
)


def sources(root: Path = ROOT) -> dict[str, Path]:
    """Each compiled module and its source: a .pyx, or the engine/NAME.py or engine/ops/NAME.py that
    has a NAME.pxd."""
    fast = root / "engine_fast"
    twins = {
        pxd.stem: root / "engine" / ("ops" if pxd.stem in OPS else "") / f"{pxd.stem}.py"
        for pxd in fast.glob("*.pxd")
    }
    found = {n: path for n, path in twins.items() if n not in NOT_COMPILED and path.exists()}
    return dict(sorted((found | {pyx.stem: pyx for pyx in fast.glob("*.pyx")}).items()))


def digest(root: Path = ROOT) -> int:
    """CRC-32 of the version and of every file that engine_fast is compiled from."""
    crc = crc32(__version__.encode())
    beside = sorted(p for p in (root / "engine_fast").iterdir() if p.suffix in (".pxd", ".h"))
    for path in [*sources(root).values(), *beside]:
        crc = crc32(path.read_bytes(), crc32(path.name.encode(), crc))
    return crc


def stamp() -> ModuleType | None:
    """The module that says what engine_fast was made from; None where nothing is built here.

    Raises what its import raises: a build that is there but broken is never passed over.
    """
    try:
        found = import_module("engine_fast.stamp")
    except ModuleNotFoundError as error:
        if error.name not in ("engine_fast", "engine_fast.stamp"):
            raise
        return None
    # Another tree, installed as editable, lends its modules to an engine_fast that lacks them.
    here = Path(str(found.__file__)).absolute().parent == ROOT / "engine_fast"
    return found if here else None


def problem() -> str:
    """Why engine_fast cannot be used, or ""."""
    built = stamp()
    if built is None:
        return f"engine_fast is not built for Python {sys.version_info[0]}.{sys.version_info[1]}"
    if built.digest != digest():
        return f"{built.__file__} was built from other sources than engine {__version__} at {ROOT}"
    return ""


@cache
def choice() -> tuple[str, str]:
    """The build in use, "cython" or "python", and why.

    Raises ValueError when ENGINE_BACKEND is neither, ImportError when it forces a build that is
    missing or stale. Warns (RuntimeWarning) before it passes over a stale one.
    """
    wanted = os.environ.get("ENGINE_BACKEND", "")
    if wanted not in ("", "python", "cython"):
        raise ValueError(f"ENGINE_BACKEND must be python, cython or not set; got {wanted!r}")
    if wanted == "python":
        return "python", "ENGINE_BACKEND=python"
    if not wanted and os.environ.get("ENGINE_NO_EXTENSIONS") == "1":
        return "python", "ENGINE_NO_EXTENSIONS=1"
    return _compiled(forced=bool(wanted))


def _compiled(forced: bool) -> tuple[str, str]:
    trouble = problem()
    if not trouble:
        return "cython", "ENGINE_BACKEND=cython" if forced else "engine_fast is built"
    if forced:
        raise ImportError(f"ENGINE_BACKEND=cython: {trouble}; {TO_BUILD}")
    if stamp():
        message = f"{trouble}; the Python build runs instead; {TO_BUILD}"
        warnings.warn(message, RuntimeWarning, stacklevel=2)
    return "python", trouble


def backend() -> str:
    """The build in use: "cython" (compiled) or "python"."""
    return choice()[0]


def module(name: str) -> ModuleType:
    """The module `name` of the build in use: engine_fast's where it is compiled, else engine's."""
    fast = backend() == "cython" and name in sources()
    return import_module(f"{'engine_fast' if fast else 'engine'}.{name}")


def take_places(package: str = "engine", names: tuple[str, ...] = IN_PLACE) -> None:
    """Have `import PACKAGE.NAME` find the compiled modules where they are in use."""
    for name in names if backend() == "cython" else ():
        found = module(name)
        sys.modules[f"{package}.{name}"] = found
        setattr(sys.modules[package], name, found)


def stand_here(name: str) -> None:
    """Have what a compiled module defines say that it stands in `name`, as in the Python build:
    pickles and engine.testing go by that."""
    found = sys.modules.get(name) if backend() == "cython" else None
    for x in list(vars(found).values()) if found is not None else ():
        if getattr(x, "__module__", None) == getattr(found, "__name__", name):
            x.__module__ = name
