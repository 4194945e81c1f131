"""`python -m engine check`: the command line of engine.testing."""

import argparse
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import redirect_stdout
from difflib import get_close_matches
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from os.path import join
from pathlib import Path
from tempfile import gettempdir
from types import ModuleType
from typing import Any

from engine.answers import PACKAGES, answer_missing
from engine.testing.adapter import libraries, library_of
from engine.testing.checking import check, function_behind
from engine.testing.record import Recorder, mentioned, recorded
from engine.testing.report import Level, Report, page
from engine.testing.value_class import check_value_class, grade, looks_like_value_class

USAGE, FAILED = 64, 70  # exit statuses that no level has

EPILOG = """\
examples:
  python -m engine check train.py                 runs it, checks every Function that it calls
  python -m engine check layers.py:MyLinear --example "randn(5, 4), randn(3, 4), randn(3)"
  python -m engine check homework.py:Value        a scalar class like micrograd's

exit status: 0 nothing found, 1 wasteful, 2 wrong at second order, 3 wrong for other shapes (of a
scalar class: in other programs), 4 wrong now, 64 the command line was wrong, 70 the script could
not be run"""


class Trouble(Exception):
    """A sentence for the user, and the exit status that goes with it."""

    def __init__(self, text: str, status: int = USAGE) -> None:
        super().__init__(text)
        self.status = status


class Parser(argparse.ArgumentParser):
    """Ends with the exit status of a wrong command line, which is no level's."""

    def error(self, message: str) -> Any:
        self.print_usage(sys.stderr)
        self.exit(USAGE, f"{self.prog}: {message}\n")


def parser() -> Parser:
    made = Parser(
        prog="python -m engine check",
        usage="%(prog)s [options] target [-- arguments of the script]",
        description="Finds the mistakes in custom autograd Functions of engine and torch.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("target", help="script.py, file.py:Name or package.module:Name")
    made.add_argument("--example", help='arguments of one call, as "randn(5, 4), 2.0"')
    levels = ["now", "shapes", "second", "wasteful"]
    made.add_argument("--level", default="wasteful", choices=levels,
                      help="the least bad findings to report (default: wasteful, all)")
    made.add_argument("--html", metavar="FILE", help="also write the report as a page")
    made.add_argument("--json", metavar="FILE", nargs="?", const="-",
                      help="write the report as JSON, to a file or instead of the text")
    made.add_argument("--surrogate", action="store_true",
                      help="backward is not meant to be the derivative of forward")
    made.add_argument("--seconds", type=float, default=20.0, help="at most so long per Function")
    made.add_argument("--examples", type=int, default=60, help="random cases per Function")
    made.add_argument("--seed", type=int, default=0, help="of all random numbers")
    made.add_argument("--points", action="store_true",
                      help="for a Value class: also print the points of 100 that it keeps")
    return made  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Checks what the command line names; returns the exit status."""
    # Else hypothesis leaves a folder .hypothesis where the command is called.
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", join(gettempdir(), "engine-check"))
    try:
        own, rest = divided(sys.argv[1:] if argv is None else argv)
        options = parser().parse_args(own, argparse.Namespace(arguments=rest))
        reports = list(checked(options))
    except SystemExit as end:
        return int(end.code or 0)
    except Trouble as trouble:
        print(f"engine check: {trouble}", file=sys.stderr)
        return trouble.status
    reports = [report.at_least(Level.named(options.level)) for report in reports]
    write(reports, options)
    return max((report.status for report in reports), default=0)


def divided(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """The command's own arguments, and those of the script, which stand after "--"."""
    place = list(argv).index("--") if "--" in argv else len(argv)
    return list(argv[:place]), list(argv[place + 1 :])


def write(reports: Sequence[Report], options: argparse.Namespace) -> None:
    """The reports as text or JSON on stdout, and in the files that were asked for."""
    data = json.dumps([report.as_dict() for report in reports], indent=2, ensure_ascii=False)
    if options.html:
        Path(options.html).write_text(page(reports), encoding="utf-8")
    if options.json == "-":
        print(data)
        return
    if options.json:
        Path(options.json).write_text(data + "\n", encoding="utf-8")
    for report in reports:
        print(report)
        if options.points:
            print(f"points: {grade(report):g} of 100")
        print()


def checked(options: argparse.Namespace) -> list[Report]:
    """The reports for a target."""
    place, _, name = options.target.rpartition(":")
    if not place or name.startswith(("\\", "/")):
        return of_script(options.target, options)
    readable(place)
    if options.example is None and place.endswith(".py"):
        target = named_quietly(place, name)
        if target is None or not looks_like_value_class(target):
            return of_script(place, options, name)
    else:
        target = named(module_at(place), name, place)
    return [of_target(target, options)]


def readable(place: str) -> None:
    """Raises Trouble with the reason where a file cannot be read."""
    try:
        if place.endswith(".py"):
            open(place, "rb").close()
    except OSError as error:
        raise Trouble(f"cannot read {place!r}: {error.strerror}", FAILED) from None


def of_script(script: str, options: argparse.Namespace, only: str = "") -> list[Report]:
    """Runs a script and checks the Functions (or the one) that it called."""
    recorder = Recorder(only=only)
    try:
        with recorded(script, options.arguments, recorder) as recording:
            reports = [of_calls(f, calls, options) for f, calls in recording.calls.items()]
            defined = dict(vars(sys.modules["__main__"]))
    except (OSError, SyntaxError) as error:
        raise Trouble(f"cannot run {script!r}: {error}", FAILED) from None
    if recording.error is not None:
        said = f"{type(recording.error).__name__}: {recording.error}"
        print(f"engine check: {script} ended with {said}", file=sys.stderr)
    if not reports:
        raise none_called(script, only, defined)
    return reports


def none_called(script: str, only: str, defined: Mapping[str, Any]) -> Trouble:
    """What to say of a script that called no Function, or not the one; defined: its names."""
    if only and only.partition(".")[0] not in defined:
        return missing(script, only, defined)
    if isinstance(defined.get(only), type) and not is_function(defined[only]):
        needs = "a base Function, or `backward` and `__add__` of a scalar class"
        return Trouble(f"{script}:{only} cannot be checked: it needs {needs}")
    if only:
        cure = f'give --example "..." with {script}:{only}'
        return Trouble(f"{script} never called {only}.apply; {cure}", FAILED)
    classes = [name for name, thing in defined.items() if own_value_class(thing)]
    cures = [f"try {script}:{name}" for name in classes]
    cure = " or ".join(cures) or 'give --example "..." with a target file.py:Name'
    return Trouble(f"{script} called no custom Function; {cure}", FAILED)


def own_value_class(thing: Any) -> bool:
    """Whether this is a scalar class that the script itself defines."""
    own = getattr(thing, "__module__", "") == "__main__"
    return own and looks_like_value_class(thing) and not is_function(thing)


def missing(place: str, name: str, names: Iterable[str]) -> Trouble:
    """That a file or a module has no such name, with those that are close."""
    close = " or ".join(map(repr, get_close_matches(name, names)))
    return Trouble(f"{place} has no {name!r}" + (f"; did you mean {close}?" if close else ""))


def of_calls(
    function: type, calls: Sequence[tuple[Any, ...]], options: argparse.Namespace
) -> Report:
    """One report for a Function from all its recorded calls; a finding is told once."""
    reports = [run_check(function, example, options) for example in calls]
    findings: dict[tuple[str, str], Any] = {}
    for report in reports:
        for finding in report:
            findings.setdefault((finding.kind, finding.argument), finding)
    notes = dict.fromkeys(note for report in reports for note in report.notes)
    cases = sum(report.cases for report in reports)
    return Report(function.__name__, list(findings.values()), list(notes), cases)


def run_check(target: Any, example: Sequence[Any], options: argparse.Namespace) -> Report:
    return check(
        target,
        *example,
        surrogate=options.surrogate,
        seconds=options.seconds,
        examples=options.examples,
        seed=options.seed,
    )


def of_target(target: Any, options: argparse.Namespace) -> Report:
    """The report on a Function with an example, or on a Value class."""
    if looks_like_value_class(target) and not is_function(target):
        return check_value_class(target, seed=options.seed)
    if options.example is None:
        raise Trouble('an example is needed: --example "randn(5, 4), 2.0"')
    example = example_of(options.example, target)
    try:
        return run_check(target, example, options)
    except (TypeError, ValueError) as error:
        raise Trouble(str(error)) from None


def is_function(target: Any) -> bool:
    return isinstance(target, type) and any(issubclass(target, f.Function) for f in libraries())


def example_of(text: str, target: Any) -> tuple[Any, ...]:
    """The arguments that --example spells, with the names of the target's library and module."""
    own = library_of(function_behind(target)) if is_function(function_behind(target)) else None
    modules = [own.module] if own else [found.module for found in libraries()]
    names: dict[str, Any] = {}
    for module in modules:
        names |= vars(module)
    names |= vars(sys.modules.get(getattr(target, "__module__", ""), ModuleType("none")))
    try:
        made = eval(f"({text.rstrip(', ')},)", names)
    except Exception as error:
        raise Trouble(f"--example {text!r}: {type(error).__name__}: {error}") from None
    return tuple(made)


def module_at(place: str) -> ModuleType:
    """The module of a file or of a dotted name; where torch or micrograd is not installed, its
    imports are answered by engine, as when a script is run. What a file prints goes to stderr."""
    if not place.endswith(".py"):
        sys.path.insert(0, "")
        answer_missing(PACKAGES)
        try:
            return import_module(place)
        except ImportError as error:
            raise Trouble(f"cannot import {place!r}: {error}", FAILED) from None
    path = Path(place).resolve()
    spec: Any = spec_from_file_location(path.stem, path)
    sys.path.insert(0, str(path.parent))
    answer_missing(mentioned(str(path)))
    module = sys.modules[path.stem] = module_from_spec(spec)
    try:
        with redirect_stdout(sys.stderr):
            spec.loader.exec_module(module)
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        raise Trouble(f"{place} cannot be imported: {said}", FAILED) from None
    return module


def named_quietly(place: str, name: str) -> Any:
    """A class by its name, found without running what stands around it; None otherwise.

    A file is only imported when the class in it has no Function for a base.
    """
    import ast

    try:
        tree = ast.parse(Path(place).read_bytes())
    except SyntaxError as error:
        raise Trouble(f"cannot read {place!r}: {error}", FAILED) from None
    classes = [n for n in ast.walk(tree) if isinstance(n, ast.ClassDef) and n.name == name]
    if not classes or any("Function" in ast.unparse(base) for base in classes[0].bases):
        return None
    return named(module_at(place), name, place)


def named(module: ModuleType, name: str, place: str) -> Any:
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise missing(place, part, dir(found))
        found = getattr(found, part)
    return found


if __name__ == "__main__":
    sys.exit(main())
