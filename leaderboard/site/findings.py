"""Findings: questions with their answers, read from the document `docs/findings.md`.

A finding is a heading with the question, the answer, and two lines: `Plot: SUITE.PROFILE/NAME` names a plot of this
site and may be left out, and "Repeat: `COMMAND`" has the command.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from markupsafe import Markup

from .documents import anchor, rendered, text_of
from .old_tables import Shown, SuiteView
from .pages import Link, Pages

DOCUMENT, PAGE = "findings.md", "findings.html"
ON_THE_FRONT = 3
"""How many findings the front page shows."""

_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
_PLOT = re.compile(r"^Plot: `?([\w./-]+)`?$", re.MULTILINE)
_REPEAT = re.compile(r"^Repeat: `([^`]+)`$", re.MULTILINE)
_SUITES = re.compile(r"\bsuite=([\w,.-]+)")


@dataclass(frozen=True)
class Finding:
    """One question and its answer."""

    question: str
    answer: Markup
    plot: str
    """The plot that shows it, as SUITE.PROFILE/NAME; empty where none is named."""
    command: str
    """What prints its numbers."""

    @property
    def anchor(self) -> str:
        """Its address on the page."""
        return anchor(self.question)

    @property
    def href(self) -> str:
        """Its address on the site."""
        return f"{PAGE}#{self.anchor}"


@dataclass(frozen=True)
class ShownFinding:
    """A finding with what this site has of it."""

    finding: Finding
    picture: Shown | None
    suites: tuple[Link, ...]
    """The pages of the suites that it speaks of."""


def read_findings(text: str) -> tuple[Markup, list[Finding]]:
    """Return what introduces the findings, and the findings."""
    opening, *rest = _HEADING.split(text)
    questions, bodies = rest[::2], rest[1::2]
    return rendered(opening), [_finding(*part) for part in zip(questions, bodies, strict=True)]


def _finding(question: str, body: str) -> Finding:
    plot, command = _PLOT.search(body), _REPEAT.search(body)
    answer = _REPEAT.sub("", _PLOT.sub("", body))
    return Finding(question.strip(), rendered(answer), plot[1] if plot else "", command[1] if command else "")


def shown_findings(views: Iterable[SuiteView]) -> tuple[Markup, list[ShownFinding]]:
    """Return the project's own findings, with the pictures and pages that this site has."""
    opening, found = read_findings(text_of(DOCUMENT))
    known = list(views)
    pictures = {picture.stem.removeprefix("plots/"): picture for view in known for picture in view.pictures}
    pages: dict[str, list[Link]] = {}
    for view in known:
        suite = view.results.suite
        pages.setdefault(suite.name, []).append(Link(view.href, f"{suite.name} ({view.results.profile})"))
    return opening, [ShownFinding(one, pictures.get(one.plot), _suites(one, pages)) for one in found]


def _suites(finding: Finding, pages: Mapping[str, list[Link]]) -> tuple[Link, ...]:
    """Return the pages of the suites in the command, and of the suite whose plot is shown."""
    named = [name for group in _SUITES.findall(finding.command) for name in group.split(",")]
    named += [finding.plot.partition("/")[0].rpartition(".")[0]]
    return tuple(link for name in dict.fromkeys(named) for link in pages.get(name, []))


def findings_page(pages: Pages, title: str, views: Iterable[SuiteView]) -> str:
    """Return the page of all findings."""
    opening, found = shown_findings(views)
    return pages.render("findings.html", PAGE, title, opening=opening, findings=found)
