"""A page per method and per problem: what it is, what was measured of it, and its results everywhere."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mobench.core.registry import methods as known_methods
from mobench.core.registry import problems as known_problems
from mobench.reporting.sheet import number

from .board import Board
from .cards import method_card, problem_card
from .cost import Spread, spreads
from .download_page import badge_text
from .loading import stem_of
from .names import file_stem
from .pages import Pages
from .people import Person
from .ranking import Ranking
from .tables import COST_HEADER, COST_NOTES, PlainCell, contenders_table, cost_rows, problems_table

METHOD_COST_HEADER = (
    "suite", "problem", "finished runs", "ms/step", "own µs/step", "backward passes/step", "peak MB",
)  # fmt: skip


def method_pages(
    pages: Pages, boards: Sequence[Board], overall: Ranking | None, persons: Mapping[str, Person]
) -> Iterator[tuple[str, str]]:
    """Yield path and text of every method's page."""
    for method in sorted({person.method for person in persons.values()}):
        here = f"methods/{file_stem(method)}.html"
        own = [name for name, person in persons.items() if person.method == method]
        sections = [section for board in boards if (section := _method_section(board, own, persons)) is not None]
        ranked = [row for row in overall.rows if row.name in own] if overall else []
        card = method_card(method) if method in known_methods() else None
        yield (
            here,
            pages.render(
                "method.html",
                here,
                f"{card.title} ({method})" if card and card.title.lower() != method else card.title if card else method,
                kind="method",
                method=persons[method],
                card=card,
                ranked=ranked,
                ranking_caption=overall.caption if overall else "",
                badges=_badges(ranked, overall),
                sections=sections,
                cost_header=METHOD_COST_HEADER,
                cost_rows=list(_method_costs(boards, method)),
                cost_notes=("Of finished runs, with quartiles in brackets.", *COST_NOTES),
            ),
        )


def problem_pages(pages: Pages, boards: Sequence[Board], persons: Mapping[str, Person]) -> Iterator[tuple[str, str]]:
    """Yield path and text of every problem's page."""
    for problem in sorted({problem for board in boards for problem in board.grid.problems.values()}):
        here = f"problems/{file_stem(problem)}.html"
        sections = []
        for board in boards:
            instances = [instance for instance, id_ in board.grid.problems.items() if id_ == problem]
            if instances and board.grid.measures:
                sections.append(
                    {
                        **_heading(board),
                        "table": contenders_table(board.grid, persons, instances),
                        "cost": cost_rows(board.results.where({"problem": problem}).scores),
                    }
                )
        card = problem_card(problem) if problem in known_problems() else None
        yield (
            here,
            pages.render(
                "problem.html",
                here,
                f"{card.title} ({problem})" if card else problem,
                kind="problem",
                card=card,
                sections=sections,
                cost_header=COST_HEADER,
                cost_notes=COST_NOTES,
            ),
        )


def _heading(board: Board) -> dict[str, Any]:
    suite = board.results.suite
    return {
        "href": board.href,
        "title": suite.title,
        "suite": suite.name,
        "profile": suite.profile,
        "stem": stem_of(board.results).replace(".", "-"),
    }


def _method_section(board: Board, own: Sequence[str], persons: Mapping[str, Person]) -> dict[str, Any] | None:
    present = [name for name in board.results.order if name in own]
    if not present:
        return None
    ranked = {row.name: row for row in board.ranking.rows} if board.ranking else {}
    return {
        **_heading(board),
        "ranks": [ranked[name] for name in present if name in ranked],
        "among": sum(1 for row in ranked.values() if row.rank_value),
        "tables": [problems_table(board.grid, persons[name], name) for name in present] if board.grid.measures else [],
    }


def _method_costs(boards: Sequence[Board], method: str) -> Iterator[list[PlainCell]]:
    for board in boards:
        suite = board.results.suite
        runs = board.results.table[board.results.table["method"] == method]
        for problem, of_problem in runs[runs["status"] == "done"].groupby("problem_label", sort=True):
            yield [
                PlainCell(f"{suite.name} ({suite.profile})"),
                PlainCell(str(problem)),
                PlainCell(str(len(of_problem)), str(len(of_problem))),
                *map(_spread, spreads(of_problem)),
            ]


def _spread(found: Spread) -> PlainCell:
    median, lower, upper = map(number, found)
    if math.isnan(found.median):
        return PlainCell("–", "")
    return PlainCell(median if lower == upper else f"{median} [{lower}, {upper}]", repr(found.median))


def _badges(ranked: Sequence[Any], overall: Ranking | None) -> list[dict[str, str]]:
    among = sum(1 for row in overall.rows if row.rank_value) if overall else 0
    return [
        {
            "path": f"badges/{file_stem(row.name)}.svg",
            "text": f"mobench: {badge_text(f'{float(row.rank_value):.1f}', among)}",
        }
        for row in ranked
        if row.rank_value
    ]
