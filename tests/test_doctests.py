"""What the README and the docstrings show is what happens; the README's lines and links stand."""

import doctest
import re
from importlib import import_module
from pathlib import Path

import pytest

import engine

README = Path(__file__).parent.parent / "README.md"
PACKAGE = Path(engine.__file__).parent
WITH_EXAMPLES = sorted(p for p in PACKAGE.rglob("*.py") if ">>> " in p.read_text("utf-8"))


def test_the_tour_prints_what_the_readme_says():
    failed, tried = doctest.testfile(str(README), module_relative=False, encoding="utf-8")
    assert tried > 10
    assert failed == 0


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda path: path.stem)
def test_the_examples_in_docstrings_print_what_they_say(path):
    name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    failed, tried = doctest.testmod(import_module(name.removesuffix(".__init__")))
    assert tried > 0
    assert failed == 0


def test_the_lines_to_try_and_to_test_stand_alone_under_their_marks():
    text = README.read_text(encoding="utf-8")
    for mark in ("try", "test"):
        (line,) = re.findall(rf"<!-- {mark} -->\n```bash\n(.+)\n```\n", text)
        assert "-m venv .venv && " in line


def test_every_file_that_the_readme_links_to_is_there():
    targets = re.findall(r"\]\((?!http)([^)#]+)\)", README.read_text(encoding="utf-8"))
    assert targets
    assert all((README.parent / target).exists() for target in targets)
