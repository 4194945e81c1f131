"""docs/custom-functions: every block runs and prints what stands under it, in both languages."""

import re
import shlex
from contextlib import redirect_stdout
from io import StringIO
from itertools import pairwise
from pathlib import Path

import pytest

from engine.testing.cli import main
from tests.testing.library import NAME

if NAME != "engine":
    pytest.skip("the page is about engine", allow_module_level=True)

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = ["custom-functions.md", "custom-functions.zh.md"]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(page):
    """The kind and the text of every block."""
    return BLOCK.findall((DOCS / page).read_text(encoding="utf-8"))


def steps(page):
    """Each block that does something, with what it prints ("" where nothing is shown)."""
    for (kind, text), (after, shown) in pairwise([*blocks(page), ("", "")]):
        if kind in ("python", "console"):
            yield kind, text, shown if kind == "python" and after == "text" else ""


def printed(text, names):
    out = StringIO()
    with redirect_stdout(out):
        exec(compile(text, "<page>", "exec"), names)
    return out.getvalue()


def words(text):
    """The words of a text: where its lines break does not count."""
    return text.split()


@pytest.mark.parametrize("page", PAGES)
def test_every_block_prints_what_stands_under_it(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    ran = []
    for kind, text, shown in steps(page):
        if kind == "python":
            assert words(printed(text, names)) == words(shown), text
            ran.append(text)
        else:
            Path("linear.py").write_text("\n".join(ran[:2]), encoding="utf-8")
            command, _, expected = text.partition("\n")
            main(shlex.split(command)[5:])
            assert words(capsys.readouterr().out) == words(expected)
    assert len(ran) > 10


def test_both_languages_show_the_same_code():
    assert blocks(PAGES[0]) == blocks(PAGES[1])


def test_links_of_the_pages_lead_somewhere():
    for page in PAGES:
        text = (DOCS / page).read_text(encoding="utf-8")
        for target in re.findall(r"\]\((?!http)([^)#]+)\)", text):
            assert (DOCS / target).exists()
