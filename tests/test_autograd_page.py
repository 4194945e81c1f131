"""docs/autograd.md holds: every public name of PyTorch's autograd, and what is said of it."""

import importlib
import inspect
import json
import re
from pathlib import Path

import pytest

import engine

ROOT = Path(__file__).parents[1]
RECORD = json.loads((ROOT / "tests/reference/autograd.json").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs/autograd.md").read_text(encoding="utf-8")
KINDS = {"same", "differs", "not built", "imported"}


def table(title):
    """The rows of the section with this title: pairs of a name and what the page says of it."""
    section = PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `"):
            assert cells[1] in KINDS, line
            yield from ((name, cells[1]) for name in re.findall(r"`(\w+)`", cells[0]))


TABLES = {name: list(table(name)) for name in RECORD["names"]}
MEMBERS = list(table("Members of Function and of its ctx"))
ROWS = [(module, name, said) for module, rows in TABLES.items() for name, said in rows]


@pytest.mark.parametrize("module", TABLES)
def test_every_public_name_stands_once_in_the_table_of_its_module(module):
    assert sorted(name for name, _ in TABLES[module]) == sorted(RECORD["names"][module])


@pytest.mark.parametrize(("module", "name", "said"), ROWS)
def test_a_name_is_here_exactly_where_the_page_says_so(module, name, said):
    here = importlib.import_module(module.replace("torch", "engine", 1))
    if said == "not built":
        assert not hasattr(here, name)
    elif said != "imported":
        assert hasattr(here, name)


@pytest.mark.parametrize(("module", "name"), [row[:2] for row in ROWS if row[2] == "same"])
def test_a_function_that_is_the_same_has_the_parameters_of_pytorchs(module, name):
    here = getattr(importlib.import_module(module.replace("torch", "engine", 1)), name)
    wanted = RECORD["names"][module][name]["parameters"]
    assert wanted is None or list(inspect.signature(here).parameters) == wanted


@pytest.mark.parametrize("module", TABLES)
def test_what_belongs_to_autograd_is_not_called_an_import(module):
    for name, said in TABLES[module]:
        assert said != "imported" or not RECORD["names"][module][name]["own"] or name == "Variable"


def test_every_member_of_function_and_ctx_stands_once_in_the_last_table():
    assert sorted(name for name, _ in MEMBERS) == RECORD["members"]["Function"]


@pytest.mark.parametrize(("name", "said"), MEMBERS)
def test_a_member_is_here_exactly_where_the_page_says_so(name, said):
    ctx = engine.autograd.function.FunctionCtx
    here = hasattr(engine.autograd.Function, name) or hasattr(ctx, name)
    assert here is (said == "same")


def test_nodes_have_the_members_of_pytorchs():
    assert all(hasattr(engine.autograd.graph.Node, name) for name in RECORD["members"]["Node"])
