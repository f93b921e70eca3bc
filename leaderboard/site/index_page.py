"""The front page: one ranking over all suites, a card per suite, and where the numbers come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mobench.core.problem import Problem
from mobench.core.registry import problems
from mobench.scoring.provenance import Provenance

from .contender_links import ContenderLink
from .names import file_stem
from .output import SiteFolder
from .pages import Link, Pages
from .pictures import draw_ranking, write_pictures
from .ranking import Ranking
from .speed import Speed
from .suite_view import SuiteView

LEAD = (
    "Optimizers that combine the gradients of several objectives, on the same problems with the same starts, data and "
    "budgets. Every number opens to its seeds, its sweep and the command that repeats it."
)


def index_page(
    pages: Pages,
    views: Sequence[SuiteView],
    overall: Ranking | None,
    links: Mapping[str, ContenderLink],
    speed: Speed,
    folder: SiteFolder,
) -> str:
    """Return the front page."""
    drawn = write_pictures(folder, "all", "All suites", draw_ranking(overall)) if overall else []
    methods = {link.method: links[link.method] for link in links.values()}
    ids = sorted({problem for view in views for problem in view.numbers.problems.values()})
    return pages.render(
        "index.html",
        "index.html",
        "Leaderboard",
        lead=LEAD,
        ranking=overall
        and {"caption": overall.caption, "rows": overall.rows, "notes": overall.notes, "pictures": drawn},
        cards=[_card(view) for view in views],
        methods=[methods[name] for name in sorted(methods)],
        problems=[Link(f"problems/{file_stem(id_)}.html", _name(id_)) for id_ in ids],
        speed=speed.shown,
        provenance=Provenance.together(view.results.provenance for view in views).facts(),
    )


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
        "picture": view.pictures[0] if view.pictures else None,
    }


def _name(id_: str) -> str:
    known: type[Problem] | None = problems().get(id_)
    summary = (known.__doc__ or "").strip().partition("\n")[0].rstrip(".:") if known else ""
    return f"{id_}: {summary}" if summary else id_
