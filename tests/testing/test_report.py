"""Reports: truth, order, text, JSON, HTML and exit status."""

import json

import pytest

from engine.testing import Finding, Level, Report
from engine.testing.report import page

WASTE = Finding(Level.WASTEFUL, "memory", "", "leaves objects")
NOW = Finding(Level.NOW, "sign", "x<y", "the sign is wrong", "print(1 < 2)\n")


def test_report_is_true_when_nothing_was_found():
    assert Report("F")
    assert Report("F", notes=["could not tell"])
    assert not Report("F", [WASTE])


def test_findings_come_worst_first_and_the_status_is_the_worst():
    report = Report("F", [WASTE, NOW])
    assert [f.kind for f in report] == ["sign", "memory"]
    assert report.status == 4
    assert Report("F").status == 0


def test_text_names_level_kind_argument_message_and_program():
    text = str(Report("F", [NOW], ["a note"]))
    assert "F: 1 finding" in text
    assert "[wrong now] sign of `x<y`" in text
    assert "    print(1 < 2)" in text
    assert "note: a note" in text


def test_json_holds_everything():
    data = json.loads(Report("F", [WASTE, NOW], ["n"]).json())
    assert data["subject"] == "F"
    assert data["status"] == 4
    assert data["findings"][0]["level"] == "wrong now"
    assert data["findings"][0]["program"] == "print(1 < 2)\n"
    assert data["notes"] == ["n"]


def test_html_escapes_what_it_shows():
    text = page([Report("F<T>", [NOW])])
    assert "F&lt;T&gt;" in text
    assert "<code>x&lt;y</code>" in text
    assert "see <code>a &lt; b</code>" in page([Report("F", notes=["see `a < b`"])])
    assert "print(1 &lt; 2)" in text
    assert "http" not in text


@pytest.mark.parametrize(
    ("name", "level"),
    [("now", Level.NOW), ("shapes", Level.SHAPES), ("second", Level.SECOND_ORDER), (1, 1)],
)
def test_levels_go_by_the_names_of_the_command(name, level):
    assert Level.named(name) == level


def test_lower_levels_can_be_left_out():
    assert [f.kind for f in Report("F", [WASTE, NOW]).at_least(Level.SHAPES)] == ["sign"]
