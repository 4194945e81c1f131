"""What a check says: findings, each with its level, its cure and a program that shows it."""

import html
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from enum import IntEnum
from textwrap import fill, indent
from typing import Any


class Level(IntEnum):
    """How bad a finding is; the number is the exit status of the command."""

    WASTEFUL = 1
    SECOND_ORDER = 2
    SHAPES = 3
    NOW = 4

    @property
    def label(self) -> str:
        return LABELS[self]

    @classmethod
    def named(cls, name: "str | int | Level") -> "Level":
        """The level of a name as the command takes it: now, shapes, second or wasteful."""
        if isinstance(name, str):
            return {"second": cls.SECOND_ORDER}.get(name) or cls[name.upper().replace("-", "_")]
        return cls(name)


LABELS = {
    Level.NOW: "wrong now",
    Level.SHAPES: "wrong for other shapes",
    Level.SECOND_ORDER: "wrong at second order",
    Level.WASTEFUL: "wasteful",
}


@dataclass(frozen=True)
class Finding:
    """One mistake.

    kind: a short fixed word for the mistake, such as "sign" or "missing-sum".
    argument: the name of forward's argument that it concerns, or "".
    message: what is wrong, with numbers, and what to write instead.
    program: the smallest program that shows it, ready to be pasted; "" where none can.
    """

    level: Level
    kind: str
    argument: str
    message: str
    program: str = ""

    @property
    def label(self) -> str:
        """The level in words."""
        return self.level.label

    def __str__(self) -> str:
        where = f" of `{self.argument}`" if self.argument else ""
        head = f"[{self.label}] {self.kind}{where}"
        text = f"{head}\n{indent(_wrapped(self.message), '  ')}"
        return f"{text}\n\n{indent(self.program.rstrip(), '    ')}\n" if self.program else text

    def as_dict(self) -> dict[str, Any]:
        """The finding as JSON holds it; the level by its label."""
        return asdict(self) | {"level": self.label}


@dataclass
class Report:
    """Everything that a check found on one subject, worst first; true when it found nothing.

    subject: the name of what was checked.
    findings: the mistakes.
    notes: what could not be decided and what was left out, which is no mistake.
    cases: how many calls were compared with differences of forward.
    """

    subject: str
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    cases: int = 0

    def __post_init__(self) -> None:
        self.findings.sort(key=lambda finding: -finding.level)

    def __bool__(self) -> bool:
        return not self.findings

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    @property
    def status(self) -> int:
        """0 when nothing was found, else the number of the worst level."""
        return max((int(finding.level) for finding in self.findings), default=0)

    def at_least(self, level: Level) -> "Report":
        """The same report without the findings that are less bad than a level."""
        kept = [finding for finding in self.findings if finding.level >= level]
        return Report(self.subject, kept, self.notes, self.cases)

    def __str__(self) -> str:
        count = len(self.findings)
        found = f"{count} finding{'s' * (count != 1)}" if count else "nothing found"
        notes = [_wrapped(f"note: {note}") for note in self.notes]
        return "\n\n".join([f"{self.subject}: {found}", *map(str, self.findings), *notes])

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON holds it."""
        findings = [finding.as_dict() for finding in self.findings]
        return {
            "subject": self.subject,
            "status": self.status,
            "findings": findings,
            "notes": self.notes,
            "cases": self.cases,
        }

    def json(self) -> str:
        """The report as JSON text: subject, status, findings, notes, cases."""
        return json.dumps(self.as_dict(), indent=2, ensure_ascii=False)

    def html(self) -> str:
        """The report as one page of HTML that needs no other file."""
        return page([self])


def page(reports: Iterable[Report]) -> str:
    """One page of HTML for any number of reports; it needs no other file and no network."""
    return PAGE.format("\n".join(_section(report) for report in reports))


def _section(report: Report) -> str:
    cards = "\n".join(_card(finding) for finding in report.findings) or "<p>Nothing found.</p>"
    notes = "".join(f"<p class=note>Note: {_prose(note)}</p>" for note in report.notes)
    return f"<h2>{html.escape(report.subject)}</h2>\n{cards}\n{notes}"


def _card(finding: Finding) -> str:
    where = f" of <code>{html.escape(finding.argument)}</code>" if finding.argument else ""
    program = f"<pre>{html.escape(finding.program)}</pre>" if finding.program else ""
    return (
        f"<section class=level{int(finding.level)}>"
        f"<h3><b>{finding.label}</b> {html.escape(finding.kind)}{where}</h3>"
        f"<p>{_prose(finding.message)}</p>{program}</section>"
    )


def _prose(text: str) -> str:
    """A sentence as HTML; what stands between backticks is code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))


def _wrapped(text: str) -> str:
    lines = [fill(line, 96, break_long_words=False) for line in text.splitlines()]
    return "\n".join(lines)


PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>engine check</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem;
  margin: 2rem auto; padding: 0 1rem }}
section {{ border-left: 6px solid #888; padding: 0 1rem .5rem; margin: 1rem 0;
  background: #f6f6f6 }}
h3 {{ margin: 0; padding-top: .5rem; font-weight: normal }}
pre {{ overflow-x: auto; background: #fff; padding: .5rem; font-size: 14px }}
.level4 {{ border-color: #b00020 }} .level3 {{ border-color: #d86a00 }}
.level2 {{ border-color: #b8a000 }} .level1 {{ border-color: #5a7a9a }}
.note {{ color: #555 }}
</style>
<h1>engine check</h1>
{}
</html>
"""
