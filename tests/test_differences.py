"""docs/differences.md: every program there prints what the page says that it prints."""

import contextlib
import io
import re
import warnings
from pathlib import Path

import pytest

import engine

PAGE = Path(__file__).parent.parent / "docs" / "differences.md"


def sections():
    """For each section with a program its title, the program, and the lines that each prints."""
    text = PAGE.read_text(encoding="utf-8")
    for section in re.split(r"^##+ ", text, flags=re.M)[1:]:
        title, _, body = section.partition("\n")
        programs = re.findall(r"^```python\n(.*?)^```$", body, flags=re.M | re.S)
        lines = re.findall(r"^\| (engine|PyTorch) \| `(.*)` \|$", body, flags=re.M)
        for program in programs:
            yield pytest.param(program, lines, id=title)


def printed(program, torch):
    """What a program prints, the exception that it ends with as a last line."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(program, {"torch": torch, "warnings": warnings})
        except Exception as error:
            print(f"{type(error).__name__}: {error}".splitlines()[0])
    return out.getvalue().splitlines()


def agree(said, found):
    """Whether the lines found are those of the page, of which some are cut off."""
    cut = [line.removesuffix("...") for line in said]
    return len(said) == len(found) and all(
        f.startswith(c) if c != s else f == s for s, c, f in zip(said, cut, found, strict=True)
    )


@pytest.mark.parametrize(("program", "lines"), list(sections()))
def test_a_program_prints_what_the_page_of_differences_says(program, lines):
    found = printed(program, engine)
    assert agree([line for who, line in lines if who == "engine"], found), found


@pytest.mark.parametrize(("program", "lines"), list(sections()))
def test_each_program_is_said_to_print_something_else_with_pytorch(program, lines):
    said = {who: [line for name, line in lines if name == who] for who in ("engine", "PyTorch")}
    assert said["engine"] != said["PyTorch"]
    assert all(said.values())
