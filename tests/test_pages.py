"""Every code block of the README, of docs and of docstrings is run, and prints what it shows."""

import re
import shutil
import subprocess
import sys
from importlib import import_module

import pytest
from pages import PAGES, ROOT, SOURCES, Run, blocks, examples, session

import engine
from tests import test_differences

# Blocks that no test here runs, by page and the mark or kind of the block, and who does.
ELSEWHERE = {
    ("README.md", "try"): ".ci/run runs it in a fresh clone",
    ("README.md", "test"): ".ci/run runs it in a fresh clone",
    ("README.md", "powershell"): "PowerShell's spelling of the first line, which .ci/run runs",
    ("README.md", "changes"): "tests/scalar/test_compile.py compares them with the example",
    ("README.md", "benchmarks"): "it takes six minutes; tests/test_benchmarks.py, tiny sizes",
    ("docs/reliability.md", "long"): "it takes half an hour; the suite runs the short form",
    ("docs/reliability.md", "graphs"): "it takes hours; tests/reliability/test_graphs.py, a few",
    ("docs/reliability.md", "sanitizers"): "tests/reliability/test_sanitizers.py, in the long form",
    ("docs/reliability.md", "fuzz"): "it takes minutes; tests/reliability/test_fuzz.py, seconds",
    ("CONTRIBUTING.md", "build"): "it needs a package index; pip builds the same in .ci/run",
    ("CONTRIBUTING.md", "docs"): ".ci/run runs it",
}
# What the commands of the README are about: `script.py` and `module.py`.
SCRIPT = """
import engine as torch


class MyFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight)
        return x @ weight.t() + bias

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        return g @ weight, g.t() @ x, g.sum(0)


if __name__ == "__main__":
    inputs = [torch.randn(*shape, requires_grad=True) for shape in ((5, 4), (3, 4), (3,))]
    MyFunction.apply(*inputs).sum().backward()
"""


def name_of(page):
    return page.relative_to(ROOT).as_posix()


def place(page, block):
    """The name of a block in ELSEWHERE: the comment before it, or its kind."""
    return name_of(page), block.mark if block.mark and not block.file else block.kind


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_of_a_page_runs_and_prints_what_it_shows(page, tmp_path, monkeypatch):
    if name_of(page) == "docs/differences.md":
        assert len(blocks(page)) == len(list(test_differences.sections()))  # which runs each
        return
    if page.name.endswith(".zh.md"):
        assert blocks(page) == blocks(page.with_name(page.name.replace(".zh.md", ".md")))
        return
    for name in ("script.py", "module.py"):
        (tmp_path / name).write_text(SCRIPT, encoding="utf-8")
    shutil.copy(ROOT / "tests/testing/values/right/micrograd_style.py", tmp_path / "homework.py")
    monkeypatch.chdir(tmp_path)
    Run(tmp_path).all(b for b in blocks(page) if place(page, b) not in ELSEWHERE)


def test_what_is_run_elsewhere_is_there_and_reads_as_a_command():
    found = {place(page, block): block for page in PAGES for block in blocks(page)}
    for key in ELSEWHERE:
        if found[key].kind == "bash":
            done = subprocess.run(["bash", "-n", "-c", found[key].text], capture_output=True)
            assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not (ROOT / ".ci").exists(), reason="a clone holds .ci, a package does not")
def test_the_lines_that_ci_is_said_to_run_are_run_by_it():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    said = [(page, mark) for (page, mark), why in ELSEWHERE.items() if why.startswith(".ci/run")]
    assert len(said) == 3
    for page, mark in said:
        assert f"readme_line {mark}" + f" {page}" * (page != "README.md") in script


def test_a_file_of_a_page_is_used_by_a_command_after_it():
    for page in PAGES:
        later = ""
        for block in reversed(blocks(page)):
            assert not block.file or block.file.partition(".")[0] in later, block.first
            later += block.text if block.kind in ("bash", "console") else ""


EXAMPLES = [example for path in SOURCES for example in examples(path)]


@pytest.mark.parametrize("example", [e for e in EXAMPLES if e.kind == "session"], ids=str)
def test_a_session_in_a_docstring_prints_what_it_shows(example):
    assert session(example.text, dict(vars(import_module(example.module))), str(example)) > 0


@pytest.mark.parametrize("example", [e for e in EXAMPLES if e.kind == "program"], ids=str)
def test_a_program_in_a_docstring_runs(example):
    exec(f"if True:\n{example.text}", vars(engine) | vars(import_module(example.module)))


@pytest.mark.parametrize("example", [e for e in EXAMPLES if e.kind == "command"], ids=str)
def test_a_command_in_a_docstring_has_the_options_that_it_shows(example):
    for line in example.text.splitlines():
        command = re.split(r"\s{2,}", line.strip())[0]
        _, *program = re.match(r"python ((?:-m )?\S+)", command)[0].split()
        done = subprocess.run(
            [sys.executable, *program, "--help"], cwd=ROOT, capture_output=True, encoding="utf-8"
        )
        assert done.returncode == 0, done.stderr
        for word in command.split()[1 + len(program) :]:
            assert word.isupper() or word in done.stdout, command


def test_examples_are_found_in_every_file_that_holds_a_prompt():
    with_prompt = {
        path for path in SOURCES if re.search(r"^\s*>>> ", path.read_text("utf-8"), re.M)
    }
    assert with_prompt == {example.path for example in EXAMPLES if example.kind == "session"}


def test_the_lines_to_try_and_to_test_stand_alone_under_their_marks():
    for block in blocks(ROOT / "README.md"):
        if block.mark in ("try", "test"):
            assert block.text.count("\n") == 1
            assert "-m venv .venv && " in block.text


def test_the_pictures_of_the_pages_are_those_that_the_program_beside_them_draws(tmp_path):
    program = ROOT / "docs" / "images" / "make.py"
    done = subprocess.run([sys.executable, str(program), str(tmp_path)], capture_output=True)
    assert done.returncode == 0, done.stderr
    drawn = sorted(path.name for path in tmp_path.iterdir())
    stored = {path.name for path in program.parent.glob("*.svg")}
    # examples/train_mlp.py draws the one, the benchmarks the other
    assert stored == {*drawn, "digits.svg", "benchmarks.svg"}
    for name in drawn:
        assert (tmp_path / name).read_text("utf-8") == (program.parent / name).read_text("utf-8")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_file_that_a_page_links_to_is_there(page):
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


# --- the runner itself ---


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        ("```python\nprint(1)\n```\n\n```text\n2\n```\n", "shown: 2\nprinted: 1"),
        ("```python\nprint(1)\n```\n", "printed, and not shown: 1"),
        ("```text\n2\n```\n", "shown: 2\nprinted: "),
        ("```python\n>>> 1 + 1\n3\n```\n", "Got:\n    2"),
        ("```console\n$ python -c 'print(1)'\n2\n```\n", "1"),
        ("```bash\npython -c 'raise SystemExit(3)'\n```\n", "SystemExit"),
        ("```bash\nrm -rf nothing\n```\n", "no command for a page: rm"),
        ("```\nfor the eye\n```\n", "a block of no kind: for the eye"),
    ],
)
def test_a_block_that_shows_something_else_is_refused(page, reason, tmp_path):
    (tmp_path / "page.md").write_text(page, encoding="utf-8")
    with pytest.raises(AssertionError, match=re.escape(reason)):
        Run(tmp_path).all(blocks(tmp_path / "page.md"))
