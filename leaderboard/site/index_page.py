"""The front page: one ranking over all suites, a card per suite, and where the numbers come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mobench.core.problem import Problem
from mobench.core.registry import problems
from mobench.scoring.provenance import Provenance

from .board import Board, provenance_facts
from .names import file_stem
from .output import SiteFolder
from .pages import Link, Pages
from .people import Person
from .pictures import draw_ranking, write_pictures
from .ranking import Ranking
from .speed import Speed

LEAD = (
    "Optimizers that combine the gradients of several objectives, on the same problems with the same starts, data and "
    "budgets. Every number opens to its seeds, its sweep and the command that repeats it."
)


def index_page(
    pages: Pages,
    boards: Sequence[Board],
    overall: Ranking | None,
    persons: Mapping[str, Person],
    speed: Speed,
    folder: SiteFolder,
) -> str:
    """Return the front page."""
    drawn = write_pictures(folder, "all", "All suites", draw_ranking(overall)) if overall else []
    methods = {person.method: persons[person.method] for person in persons.values()}
    ids = sorted({problem for board in boards for problem in board.grid.problems.values()})
    return pages.render(
        "index.html",
        "index.html",
        "Leaderboard",
        lead=LEAD,
        ranking=overall
        and {"caption": overall.caption, "rows": overall.rows, "notes": overall.notes, "pictures": drawn},
        cards=[_card(board) for board in boards],
        methods=[methods[name] for name in sorted(methods)],
        problems=[Link(f"problems/{file_stem(id_)}.html", _name(id_)) for id_ in ids],
        speed=speed.shown,
        provenance=provenance_facts(Provenance.together(board.results.provenance for board in boards)),
    )


def _card(board: Board) -> dict[str, object]:
    suite = board.results.suite
    return {
        "href": board.href,
        "title": suite.title,
        "suite": suite.name,
        "profile": suite.profile,
        "runs": len(board.results.table),
        "planned": board.results.planned,
        "failed": board.results.failed,
        "about": suite.about.strip(),
        "picture": board.pictures[0] if board.pictures else None,
    }


def _name(id_: str) -> str:
    known: type[Problem] | None = problems().get(id_)
    summary = (known.__doc__ or "").strip().partition("\n")[0].rstrip(".:") if known else ""
    return f"{id_}: {summary}" if summary else id_
