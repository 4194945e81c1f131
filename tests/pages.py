"""The code blocks of the Markdown pages and of docstrings, and how they are run.

In a page all blocks share one folder and their names; a `text` block is what the block above it
prints, and a `...` in it stands for anything. A comment before a block says more:
`<!-- file NAME -->`, the block is that file, for a later command; `<!-- also file NAME -->`, it is
run as well; several blocks make one file.
"""

import ast
import doctest
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import engine

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("examples/*.md")])
PACKAGE = Path(engine.__file__).parent  # which need not lie beside the tests
FOLDERS = (PACKAGE, ROOT / "benchmarks", ROOT / "examples", ROOT / "docs")
SOURCES = sorted(path for folder in FOLDERS for path in folder.rglob("*.py"))
FENCE = re.compile(r"^(?:<!-- (.+?) -->\n+)?```(\S*)[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# Sphinx reads these: a name that is missing in one ends its build with -W.
DIRECTIVES = ("{toctree}", "{literalinclude}", "{figure}", "{note}")


@dataclass
class Block:
    """A fenced block: the kind after the fence, its text, and the comment before it."""

    kind: str
    text: str
    mark: str = ""

    @property
    def first(self) -> str:
        return self.text.partition("\n")[0]

    @property
    def file(self) -> str:
        return self.mark.rpartition("file ")[2] if "file " in self.mark else ""


def blocks(page: Path) -> list[Block]:
    found = FENCE.findall(page.read_text(encoding="utf-8"))
    return [Block(kind, text, mark) for mark, kind, text in found]


def words(text: str) -> list[str]:
    """The words of a text: where its lines break does not count."""
    return text.split()


def agree(shown: str, printed: str) -> bool:
    """Whether the words are the same; `...` in what is shown stands for anything."""
    parts = [re.escape(part) for part in " ".join(words(shown)).split("...")]
    return re.fullmatch(".*".join(parts), " ".join(words(printed))) is not None


class Run:
    """The blocks of one page, run one after the other in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names = {"__name__": "page"}
        self.printed = ""

    def all(self, blocks: Iterable[Block]) -> None:
        """Runs the blocks; nothing may be printed that is not shown."""
        for block in blocks:
            self.block(block)
        self.settle()

    def block(self, block: Block) -> None:
        """Raises AssertionError where a block prints other than is shown, or has no meaning."""
        if block.file:
            with open(self.folder / block.file, "a", encoding="utf-8") as file:
                file.write(block.text + "\n")
        if block.mark.startswith("file ") or block.kind in DIRECTIVES:
            return
        kinds = ("python", "text", "console", "bash")
        assert block.kind in kinds, f"a block of {block.kind or 'no kind'}: {block.first}"
        if block.kind != "text":
            self.settle()
        getattr(self, block.kind)(block.text)

    def settle(self) -> None:
        """What was printed must have been shown."""
        assert words(self.printed) == [], f"printed, and not shown: {self.printed}"

    def python(self, text: str) -> None:
        if text.startswith(">>> "):
            session(text, self.names, "page")
            return
        out = StringIO()
        with redirect_stdout(out):
            exec(compile(text, "<page>", "exec"), self.names)
        self.printed = out.getvalue()

    def text(self, text: str) -> None:
        assert agree(text, self.printed), f"shown: {text}printed: {self.printed}"
        self.printed = ""

    def console(self, text: str) -> None:
        """Lines `$ command`, each with what it prints under it."""
        for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            command, _, expected = part.partition("\n")
            done = self.command(command)
            assert agree(expected, done.stderr + done.stdout), done.stderr + done.stdout

    def bash(self, text: str) -> None:
        """Commands, a line each, that end well."""
        for line in text.replace("\\\n", " ").splitlines():
            done = self.command(line)
            assert done.returncode == 0, f"{line}: {done.stdout}{done.stderr}"

    def command(self, line: str) -> subprocess.CompletedProcess[str]:
        program, *arguments = shlex.split(line)
        assert program in ("python", ".venv/bin/python"), f"no command for a page: {line}"
        env = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder, env=env, capture_output=True, encoding="utf-8", timeout=300,
        )  # fmt: skip


def session(text: str, names: dict, name: str) -> int:
    """Runs the examples `>>>` of a text; how many there were. AssertionError where one differs."""
    test = doctest.DocTestParser().get_doctest(text, names, name, None, 0)
    runner, out = doctest.DocTestRunner(), StringIO()
    runner.run(test, out=out.write, clear_globs=False)
    names.update(test.globs)
    assert runner.failures == 0, out.getvalue()
    return runner.tries


@dataclass
class Example:
    """What a docstring shows: a session `>>>`, a program, or a command with what it does."""

    path: Path
    name: str
    kind: str
    text: str

    @property
    def module(self) -> str:
        """The dotted name of the module that the file is."""
        base = PACKAGE.parent if self.path.is_relative_to(PACKAGE) else ROOT
        name = ".".join(self.path.relative_to(base).with_suffix("").parts)
        return name.removesuffix(".__init__")

    def __str__(self) -> str:
        return f"{self.module}:{self.name}:{self.kind}"


def examples(path: Path) -> Iterator[Example]:
    """The examples in the docstrings of a file: sessions, and indented blocks."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            text = ast.get_docstring(node) or ""
            name = getattr(node, "name", "module")
            indented = re.findall(r"(?:^|\n\n)((?: {4}.*\n|\n(?= {4}))*(?: {4}.*))(?=\n\n|$)", text)
            for block in indented:
                kind = "session" if ">>> " in block else "program"
                kind = "command" if re.match(r" {4}python ", block) else kind
                yield Example(path, name, kind, block)
            if ">>> " in text and not any(">>> " in block for block in indented):
                yield Example(path, name, "session", text)
