"""A page per method and per problem: what it is, what was measured of it, and its results everywhere."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mobench.core.registry import methods as known_methods
from mobench.core.registry import problems as known_problems
from mobench.reporting.format import number

from .cards import Battery, Card, method_card, problem_card
from .contender_links import ContenderLink
from .cost import COST_COLUMNS, Spread, spreads
from .names import file_stem
from .old_tables import PlainCell, Ranking, SuiteView
from .pages import Pages
from .reading import stem_of
from .source_card import source_card
from .tables import CLAIMED, COST_HEADER, COST_NOTES, contenders_table, cost_rows, problems_table

METHOD_COST_HEADER = (
    "suite", "problem", "finished runs", "ms/step", "own µs/step", "shared µs/step", "backward passes/step", "peak MB",
)  # fmt: skip


def method_pages(
    pages: Pages,
    views: Sequence[SuiteView],
    overall: Ranking | None,
    links: Mapping[str, ContenderLink],
    sources: Mapping[str, str],
    batteries: Mapping[str, Battery],
) -> Iterator[tuple[str, str]]:
    """Yield path and text of every method's page; `sources` are the files' texts of methods that were sent in."""
    costs = _method_costs(views)
    for method in sorted({link.method for link in links.values()}):
        here = f"methods/{file_stem(method)}.html"
        own = [name for name, link in links.items() if link.method == method]
        sections = [section for view in views if (section := _method_section(view, own, links)) is not None]
        ranked = [row for row in overall.rows if row.name in own] if overall else []
        if method in known_methods():
            card: Card | None = method_card(method, batteries[method])
        else:
            card = source_card(method, sources.get(method, ""))
        yield (
            here,
            pages.render(
                "method.html",
                here,
                f"{card.title} ({method})" if card and card.title.lower() != method else card.title if card else method,
                kind="method",
                method=links[method],
                card=card,
                ranked=ranked,
                ranking_caption=overall.caption if overall else "",
                sections=sections,
                cost_header=METHOD_COST_HEADER,
                cost_rows=costs.get(method, []),
                cost_notes=("Of finished runs, with quartiles in brackets.", *COST_NOTES),
            ),
        )


def problem_pages(
    pages: Pages, views: Sequence[SuiteView], links: Mapping[str, ContenderLink]
) -> Iterator[tuple[str, str]]:
    """Yield path and text of every problem's page."""
    for problem in sorted({problem for view in views for problem in view.numbers.problems.values()}):
        here = f"problems/{file_stem(problem)}.html"
        sections = []
        for view in views:
            instances = [instance for instance, id_ in view.numbers.problems.items() if id_ == problem]
            if instances and view.numbers.measures:
                sections.append(
                    {
                        **_heading(view),
                        "table": contenders_table(view.numbers, links, instances),
                        "cost": cost_rows(view.results.where({"problem": problem})),
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


def _heading(view: SuiteView) -> dict[str, Any]:
    suite = view.results.suite
    return {
        "href": view.href,
        "title": suite.title,
        "suite": suite.name,
        "profile": view.results.profile,
        "stem": stem_of(view.results).replace(".", "-"),
    }


def _method_section(view: SuiteView, own: Sequence[str], links: Mapping[str, ContenderLink]) -> dict[str, Any] | None:
    present = [name for name in view.results.order if name in own]
    if not present:
        return None
    ranked = {row.name: row for row in view.ranking.rows} if view.ranking else {}
    return {
        **_heading(view),
        "verdicts": [sent_in.verdict for name, sent_in in view.results.submitted.items() if name in own],
        "ranks": [ranked[name] for name in present if name in ranked],
        "among": sum(1 for row in ranked.values() if row.rank_value),
        "tables": [problems_table(view.numbers, links[name], name) for name in present]
        if view.numbers.measures
        else [],
    }


def _method_costs(views: Sequence[SuiteView]) -> dict[str, list[list[PlainCell]]]:
    """Return the rows of every method's table of costs: one for each suite and problem."""
    found: dict[str, list[list[PlainCell]]] = {}
    for view in views:
        results = view.results
        done = results.done[[name for name in results.done if name in {"method", "problem_label", *COST_COLUMNS}]]
        for (method, problem), runs in done.groupby(["method", "problem_label"], sort=True):
            sent_in = results.submitted.get(str(method))
            claimed = f" {CLAIMED}" if sent_in and sent_in.claimed else ""
            row = [
                PlainCell(f"{results.suite.name} ({results.profile}){claimed}"),
                PlainCell(str(problem)),
                PlainCell(str(len(runs)), str(len(runs))),
                *map(_spread, spreads(runs)),
            ]
            found.setdefault(str(method), []).append(row)
    return found


def _spread(found: Spread) -> PlainCell:
    median, lower, upper = map(number, found)
    if math.isnan(found.median):
        return PlainCell("–", "")
    return PlainCell(median if lower == upper else f"{median} [{lower}, {upper}]", repr(found.median))
