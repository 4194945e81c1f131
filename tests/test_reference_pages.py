"""docs/reference_pages.py: every public name gets its entry, and docstrings become markup."""

import re
import sys
from importlib import import_module
from types import ModuleType

import pytest
from pages import ROOT

import engine


@pytest.fixture(scope="module")
def pages():
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        return import_module("reference_pages")
    finally:
        del sys.path[0]


@pytest.fixture(scope="module")
def entries(pages, tmp_path_factory):
    """For each module the names that have an entry on its page."""
    folder = tmp_path_factory.mktemp("reference")
    pages.write(folder)
    entry = re.compile(r"^\.\. (?:auto|py:)(?!module|currentmodule)\w+:: (?:[\w.]+\.)?(\w+)", re.M)
    return {page.stem: entry.findall(page.read_text("utf-8")) for page in folder.glob("*.rst")}


def test_every_name_of_engine_has_one_entry(entries):
    ours = {
        name
        for name, found in vars(engine).items()
        if not name.startswith("_") and not isinstance(found, ModuleType)
    }
    assert sorted(entries["engine"]) == sorted(ours - {"Any", "import_module"})


@pytest.mark.parametrize("name", ["nn", "optim", "data", "testing"])
def test_every_name_that_a_module_lists_has_one_entry(name, entries):
    module = import_module(f"engine.{name}")
    names = [n for n in module.__all__ if not isinstance(getattr(module, n), ModuleType)]
    assert sorted(names) == sorted(entries[f"engine.{name}"])


def test_every_name_that_the_page_of_autograd_promises_has_an_entry(entries):
    text = (ROOT / "docs/autograd.md").read_text(encoding="utf-8")
    for module, section in re.findall(
        r"^## torch\.(autograd\S*)\n(.*?)(?=^## )", text, re.M | re.S
    ):
        promised = re.findall(r"^\| (.+?) \| (?:same|differs) \|", section, re.M)
        names = {name for row in promised for name in re.findall(r"`(\w+)`", row)}
        here = import_module(f"engine.{module}")
        described = {n for n in names if not isinstance(getattr(here, n), ModuleType)}
        assert described
        assert described - set(entries[f"engine.{module}"]) == set()


def test_a_module_of_the_reference_has_no_helper_of_another_library(pages):
    assert "Any" not in pages.public("engine")
    assert "Sequence" not in pages.public("engine.autograd")


def test_what_is_missing_is_told_by_its_full_name(pages):
    every = {f"{module}.{name}" for module in pages.MODULES for name in pages.public(module)}
    assert pages.missing(every) == []
    assert pages.missing(every - {"engine.func.vjp"}) == ["engine.func.vjp"]


@pytest.mark.parametrize(
    ("plain", "markup"),
    [
        ("a ** b with `x_` and x_ or |x|.", "a \\*\\* b with ``x_`` and x\\_ or \\|x\\|."),
        ("a `code that\ngoes on`", "a ``code that goes on``"),
        ("It.\n\nn: from 0\n    up\nk: any", "It.\n\n* **n**: from 0 up\n\n* **k**: any"),
        ("It: a.\n\nlo, hi: real.\nRaises.", "It: a.\n\n* **lo, hi**: real.\n\nRaises."),
        ("It.\n\nlo: at least\n-1.", "It.\n\n* **lo**: at least -1."),
        ("So:\n\n    x = 1\n\n    y = 2", "So:\n\n::\n\n    x = 1\n\n    y = 2"),
        (">>> 2 * 1\n2", ">>> 2 * 1\n2"),
    ],
)  # fmt: skip
def test_a_docstring_becomes_markup(pages, plain, markup):
    assert pages.restructured(plain.splitlines()) == [*markup.split("\n"), ""]
