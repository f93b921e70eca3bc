"""The front page: a picture of what this is about, rankings, a card per suite, and where the numbers come from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mobench.core.problem import Problem
from mobench.core.registry import problems
from mobench.reporting.notes import provenance_facts
from mobench.scoring.provenance import Provenance

from .cards import verified_of
from .contender_links import ContenderLink
from .directions import FEW, GRID, Row, few_rows
from .findings import ON_THE_FRONT, PAGE, shown_findings
from .names import file_stem
from .old_tables import Ranking, Shown, SuiteView
from .pages import Link, Pages
from .reading import stem_of
from .suite_page import shipped_facts

LOW = 520
"""Pictures higher than this have many rows of panels."""
HEADING = "Multi-objective optimizers, compared"
LEAD = (
    "Optimizers that combine the gradients of several objectives, on the same problems with the same starts, data and "
    "budgets. Every number opens to its seeds, its sweep and the command that repeats it."
)


def index_page(
    pages: Pages,
    views: Sequence[SuiteView],
    overall: Ranking | None,
    links: Mapping[str, ContenderLink],
    costs_href: str,
    arrows: Sequence[Row],
    opening: Shown,
    drawn: Sequence[Shown],
) -> str:
    """Return the front page, with the picture that opens it and those of the ranking over all suites.

    `costs_href` is the page of costs, empty where there is none.
    """
    methods = {link.method: links[link.method] for link in links.values()}
    ids = sorted({problem for view in views for problem in view.numbers.problems.values()})
    return pages.render(
        "index.html",
        "index.html",
        HEADING,
        lead=LEAD,
        opening=opening,
        ranking=overall and {"parts": list(_rankings(overall, views)), "pictures": drawn},
        findings=shown_findings(views)[1][:ON_THE_FRONT],
        findings_href=PAGE,
        rows=few_rows(arrows),
        script=FEW,
        grid=GRID,
        cards=[_card(view) for view in views],
        methods=[(methods[name], verified_of(name)) for name in sorted(methods)],
        problems=[(Link(f"problems/{file_stem(id_)}.html", id_), _summary(id_)) for id_ in ids],
        costs_href=costs_href,
        provenance=[
            *shipped_facts(views),
            *provenance_facts(Provenance.together(view.results.provenance for view in views)),
        ],
    )


def _rankings(overall: Ranking, views: Sequence[SuiteView]) -> Iterator[dict[str, object]]:
    """Yield the ranking over all suites, and that of every suite in which contenders met."""
    yield {"id": "ranking", "title": "all suites, each counted the same", "ranking": overall, "href": ""}
    for view in views:
        if view.ranking is not None:
            suite, profile = view.results.suite, view.results.profile
            name = f"{suite.name} ({profile}): {suite.title}"
            stem = stem_of(view.results).replace(".", "-")
            yield {"id": f"ranks-{stem}", "title": name, "ranking": view.ranking, "href": view.href}


def _card(view: SuiteView) -> dict[str, object]:
    suite = view.results.suite
    return {
        "href": view.href,
        "title": suite.title,
        "suite": suite.name,
        "profile": view.results.profile,
        "runs": len(view.results.table),
        "planned": view.results.planned,
        "failed": view.results.failed,
        "about": suite.about.strip(),
        "picture": _preview(view.pictures),
    }


def _preview(pictures: Sequence[Shown]) -> Shown | None:
    """Return the first picture that can be seen when it is small: one that is wide and not of many panels."""
    seen = (picture for picture in pictures if picture.width / picture.height >= 1.2 and picture.height <= LOW)
    return next(seen, pictures[0] if pictures else None)


def _summary(id_: str) -> str:
    """Return the first line of what a problem says of itself; empty where it is not known here."""
    known: type[Problem] | None = problems().get(id_)
    return (known.__doc__ or "").strip().partition("\n")[0].rstrip(".:") if known else ""
