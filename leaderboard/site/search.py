"""What can be searched for: methods, problems, suites, documents and findings, each with its page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from mobench.core.registry import methods, problems

from .contender_links import ContenderLink
from .documents import PAGES, text_of, title_of
from .findings import DOCUMENT, read_findings
from .names import file_stem
from .old_tables import SuiteView


@dataclass(frozen=True)
class Entry:
    """A line of what a search finds."""

    name: str
    about: str
    """Words that find it too."""
    kind: str
    href: str


def search_entries(views: Sequence[SuiteView], links: Mapping[str, ContenderLink]) -> list[dict[str, str]]:
    """Return everything that has a page."""
    found = [Entry(name, _summary(methods().get(name)), "method", links[name].href) for name in _methods(links)]
    found += [
        Entry(id_, _summary(problems().get(id_)), "problem", f"problems/{file_stem(id_)}.html")
        for id_ in sorted({id_ for view in views for id_ in view.numbers.problems.values()})
    ]
    found += [
        Entry(f"{suite.name} ({view.results.profile})", f"{suite.title} {suite.about}", "suite", view.href)
        for view in views
        for suite in [view.results.suite]
    ]
    found += [Entry(title_of(name), name, "document", page) for name, page in PAGES.items()]
    found += [
        Entry(one.question, one.answer.striptags(), "finding", one.href) for one in read_findings(text_of(DOCUMENT))[1]
    ]
    return [asdict(entry) for entry in found]


def _methods(links: Mapping[str, ContenderLink]) -> list[str]:
    return sorted({link.method for link in links.values()})


def _summary(known: type | None) -> str:
    """Return title and first line of a method's or problem's description."""
    lines = (getattr(known, "__doc__", None) or "").strip().splitlines()
    return f"{getattr(known, 'title', '')} {lines[0] if lines else ''}".strip()
