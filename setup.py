"""Builds engine_fast where there is a C compiler; everything else stands in pyproject.toml.

ENGINE_NO_EXTENSIONS=1       no extension: a pure install, its wheel is py3-none-any
ENGINE_REQUIRE_EXTENSIONS=1  an extension that cannot be built is an error (CI and wheels)
neither                      a machine without a working compiler gets the pure install
ENGINE_SANITIZE=1            with gcc's or clang's AddressSanitizer and UndefinedBehaviorSanitizer,
                             for tests alone: docs/reliability.md says how they are run
"""

import ast
import os
import re
import runpy
import sys
import tempfile
from pathlib import Path

from setuptools import Distribution, Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import BaseError, CCompilerError, CompileError

ROOT = Path(__file__).absolute().parent
BUILDS = runpy.run_path(str(ROOT / "engine" / "builds.py"))
# Modules of few loops, which -O1 compiles in half the time.
FEW_LOOPS = {*BUILDS["IN_PLACE"], *BUILDS["OPS"]} - {"modes", "value", "fused", "tape"}
FLAGS = {  # both builds give the same bits: a * b + c is never contracted into one rounding
    # a root that need not set errno is one instruction
    "unix": ["-O3", "-ffp-contract=off", "-fno-math-errno", "-g0"],
    "mingw32": ["-O3", "-ffp-contract=off", "-fno-math-errno", "-g0"],
    "msvc": ["/O2", "/fp:precise"],
}
# Wrong memory and undefined arithmetic end the program; Cython's bounds checks are always on, and
# here a field of None is an error. Each node is allocated by itself, so that its memory is watched.
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
DIRECTIVES = {
    "annotation_typing": False,  # types for mypy are not C types
    "warn.multiple_declarators": False,  # rules.pxd declares a rule and its slopes in one line
}
VALUE = "cdef inline double value(int op, double a, double b) noexcept nogil:"
PUSH = """
cdef inline double chosen(double g, double slope) noexcept nogil:
    cdef double c = g * slope
    return 0.0 if c != c and slope == 0.0 else c

cdef inline void push(
    int op, double *x, double *flight, int a, int b, double y, double g
) noexcept nogil:
    cdef pair s
"""
# The same for LANES numbers side by side, worked out in an array that nothing else can be in.
VALUES = """
cdef enum:
    LANES = 8

cdef inline void values(int op, double *a, double *b, double *y) noexcept nogil:
    cdef int l
    cdef double out[LANES]
"""
PUSHES = """
cdef inline void pushes(
    int op, double *a, double *b, double *y, double *g, double *flight_a, double *flight_b
) noexcept nogil:
    cdef int l
    cdef pair s
    cdef double out[LANES]
    cdef double more[LANES]
"""
EACH = "for l in range(LANES):"
PROBE = "#include <Python.h>\nPyMODINIT_FUNC PyInit_probe(void) { return NULL; }\n"


def switch(name):
    """True where the environment sets `name` to 1; an error where it is neither 1 nor 0."""
    value = os.environ.get(name, "0") or "0"
    if value not in ("0", "1"):
        sys.exit(f"setup.py: {name} must be 1 or 0; got {value!r}")
    return value == "1"


NO, REQUIRE = switch("ENGINE_NO_EXTENSIONS"), switch("ENGINE_REQUIRE_EXTENSIONS")
SANITIZE = switch("ENGINE_SANITIZE")
if NO and REQUIRE:
    sys.exit("setup.py: ENGINE_NO_EXTENSIONS=1 and ENGINE_REQUIRE_EXTENSIONS=1: set only one")


class BuildAll(build_ext):
    """Translates all extensions, then compiles several at a time; where one fails, none is kept."""

    def finalize_options(self):
        super().finalize_options()
        self.parallel = self.parallel or True

    def build_extensions(self):
        targets = [Path(self.get_ext_fullpath(extension.name)) for extension in self.extensions]
        remove(targets)  # what an earlier build left must not pass for this one's
        translated = []
        for extension in self.extensions:  # here and not in the threads: Cython needs the first
            with self._filter_build_errors(extension):
                extension.sources = translate(extension, self.build_temp)
                translated.append(extension)
        if len(translated) == len(self.extensions):
            super().build_extensions()
        if not all(target.exists() for target in targets):
            remove(targets)

    def build_extension(self, extension):
        flags = FLAGS[self.compiler.compiler_type]
        if extension.name.rpartition(".")[2] in FEW_LOOPS:
            flags = [flag.replace("-O3", "-O1") for flag in flags]
        if extension.name == "engine_fast.lanes" and self.compiler.compiler_type != "msvc":
            # Its inner loops are the width of a lane row; those around them must stay loops.
            flags = [*flags, "-fno-tree-loop-vectorize"]
        if SANITIZE:
            watched = ["-O1", "-g1", "-fno-omit-frame-pointer", "-DENGINE_NO_POOL", *SANITIZERS]
            flags = [*flags, *watched]
            extension.extra_link_args = SANITIZERS
        extension.extra_compile_args = flags
        extension.libraries = [] if self.compiler.compiler_type == "msvc" else ["m"]
        super().build_extension(extension)


def remove(paths):
    for path in paths:
        path.unlink(missing_ok=True)


def translate(extension, folder):
    """C sources of `extension`, written into `folder`."""
    from Cython.Build import cythonize
    from Cython.Compiler.Errors import CompileError as CythonError

    if extension.name in ("engine_fast.lanes", "engine_fast.tape"):  # which cimport it
        write_switch(folder)
    try:
        # force: an edited .pxd alone would not be noticed
        return cythonize(
            [extension],
            build_dir=folder,
            include_path=[folder, str(ROOT)],
            force=True,
            quiet=True,
            compiler_directives=DIRECTIVES | {"nonecheck": SANITIZE},
        )[0].sources
    except CythonError as error:
        raise CompileError(f"Cython cannot translate {extension.name}: {error}") from error


def write_switch(folder):
    """switch.pxd, the C twin of engine/switch.py: the rules' text inlined, and a case for each."""
    functions = []
    for name in ("rules", "special"):
        functions += [node for node in tree_of(name).body if isinstance(node, ast.FunctionDef)]
    of = {node.name: node for node in functions}
    lines = ["from engine_fast cimport elementary as m", "from engine_fast.rules cimport pair"]
    for node in functions:
        lines += inlined(node)
    chosen = next(node for node in tree_of("rules").body if names(node) == ["SELECTIONS"])
    selections = ast.literal_eval(chosen.value.args[0])
    one, several, push_one, push_several = [], [], [], []
    for name in of:
        if f"{name}_slope" in of or f"{name}_slopes" in of:
            two = len(of[name].args.args) == 2
            one.append([f"return of_{name}({'a, b' if two else 'a'})"])
            several.append([EACH, f"    out[l] = of_{name}({'a[l], b[l]' if two else 'a[l]'})"])
            facts = name, two, f"{name}_slopes" in of, name in selections
            push_one.append(push(*facts))
            push_several.append(pushes(*facts))
    lines += cases(VALUE, one) + cases(PUSH, push_one)
    lines += [*cases(VALUES, several), f"    {EACH}", "        y[l] = out[l]"]
    lines += cases(PUSHES, push_several)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "switch.pxd").write_text("\n".join(lines) + "\n", encoding="utf-8")


def inlined(node):
    """A rule's function as an inline function of C doubles, its name behind `of_`."""
    kind = "pair" if node.name.endswith("_slopes") else "double"
    arguments = ", ".join(f"double {argument.arg}" for argument in node.args.args)
    body = node.body[1:] if ast.get_docstring(node) else node.body
    text = [re.sub(r"\brules\.(\w+)\(", r"of_\1(", ast.unparse(line)) for line in body]
    head = f"cdef inline {kind} of_{node.name}({arguments}) noexcept nogil:"
    return [head, *(f"    {line}" for line in text)]


def push(name, two_operands, two_slopes, selection):
    """The lines that send the gradient g of a rule on to its operands' `flight`."""
    pass_on = "chosen(g, {})" if selection else "g * {}"
    operands = "x[a], x[b], y" if two_operands else "x[a], y"
    if not two_slopes:
        return [f"flight[a] += {pass_on.format(f'of_{name}_slope({operands})')}"]
    return [
        f"s = of_{name}_slopes({operands})",
        f"flight[a] += {pass_on.format('s[0]')}",
        f"flight[b] += {pass_on.format('s[1]')}",
    ]


def pushes(name, two_operands, two_slopes, selection):
    """The same for several numbers side by side."""
    pass_on = "chosen(g[l], {})" if selection else "g[l] * {}"
    operands = "a[l], b[l], y[l]" if two_operands else "a[l], y[l]"
    add = [EACH, "    flight_a[l] += out[l]"]
    if not two_slopes:
        slope = pass_on.format(f"of_{name}_slope({operands})")
        return [EACH, f"    out[l] = {slope}", *add]
    found = [f"    s = of_{name}_slopes({operands})"]
    found += [f"    {to}[l] = {pass_on.format(f's[{k}]')}" for k, to in enumerate(("out", "more"))]
    return [EACH, *found, *add, EACH, "    flight_b[l] += more[l]"]


def cases(head, bodies):
    """An inline function that does what stands in body number op."""
    lines = [head]
    for i, body in enumerate(bodies):
        lines.append(f"    {'elif' if i else 'if'} op == {i}:")
        lines += [f"        {line}" for line in body]
    return lines


def tree_of(name):
    return ast.parse((ROOT / "engine" / f"{name}.py").read_text(encoding="utf-8"))


def names(node):
    """The names that a line of a module assigns to."""
    return [target.id for target in getattr(node, "targets", ()) if isinstance(target, ast.Name)]


def missing():
    """What the build of extensions lacks on this machine, in a sentence; "" when nothing."""
    try:
        import Cython.Build  # noqa: F401
        import numpy  # noqa: F401
    except ImportError as error:
        return f"{error.name} is not installed"
    with tempfile.TemporaryDirectory() as folder:
        return "" if compiles(Path(folder)) else "no working C compiler was found"


def compiles(folder):
    """Whether a two-line extension module can be built in `folder`."""
    source = folder / "probe.c"
    source.write_text(PROBE)
    command = build_ext(Distribution({"ext_modules": [Extension("probe", [str(source)])]}))
    command.build_lib = command.build_temp = str(folder)
    command.ensure_finalized()
    try:
        command.run()
    except (BaseError, CCompilerError):
        return False
    return True


def extensions():
    """One extension per compiled module, and none where they cannot be built."""
    reason = "ENGINE_NO_EXTENSIONS=1" if NO else missing()
    if reason and REQUIRE:
        sys.exit(f"setup.py: ENGINE_REQUIRE_EXTENSIONS=1, but {reason}")
    if reason:
        print(f"setup.py: {reason}: engine is installed without engine_fast", file=sys.stderr)
        return []
    return [declare(name, source) for name, source in BUILDS["sources"](ROOT).items()]


def declare(name, source):
    import numpy

    macros = {
        "NPY_NO_DEPRECATED_API": "NPY_1_7_API_VERSION",
        "NPY_TARGET_VERSION": "NPY_2_0_API_VERSION",  # older headers hide its allocators otherwise
        "ENGINE_DIGEST": f"{BUILDS['digest'](ROOT)}u",
    }
    return Extension(
        f"engine_fast.{name}",
        [str(source.relative_to(ROOT))],
        define_macros=list(macros.items()),
        include_dirs=[numpy.get_include(), "engine_fast"],
        optional=not REQUIRE,
    )


setup(ext_modules=extensions(), cmdclass={"build_ext": BuildAll})
