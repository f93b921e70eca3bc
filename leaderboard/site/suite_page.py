"""The page of a suite: its table, ranks, plots, published numbers and cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mobench.reporting.sheet import Sheet
from mobench.reporting.tables import pivot_sheets, published_sheet
from mobench.scoring.published import compare
from mobench.scoring.tables import suite_tables

from .board import Board, provenance_facts
from .cost import costs
from .pages import Pages
from .people import Person
from .tables import COST_HEADER, COST_NOTES, contenders_table, cost_rows, sheet_rows


def suite_page(pages: Pages, board: Board, persons: Mapping[str, Person]) -> str:
    """Return the page of one suite under one profile."""
    results = board.results
    suite = results.suite
    table = contenders_table(board.grid, persons, list(board.grid.instances)) if board.grid.measures else None
    found = costs(results.table)
    return pages.render(
        "suite.html",
        board.href,
        suite.title,
        suite={"name": suite.name, "profile": suite.profile, "about": suite.about.strip()},
        facts=_facts(board),
        table=table,
        ranking=board.ranking,
        pictures=board.pictures,
        sheets=[_shown(sheet) for sheet in _sheets(board)],
        cost={
            "name": "cost",
            "title": "Effort and cost",
            "header": COST_HEADER,
            "rows": cost_rows(found[name] for name in results.order),
            "notes": COST_NOTES,
        },
        provenance=provenance_facts(results.provenance),
    )


def _facts(board: Board) -> str:
    results = board.results
    seeds = ", ".join(str(seed) for seed in sorted(results.table["seed"].unique()))
    ids = ", ".join(sorted(set(board.grid.problems.values())))
    state = f"{len(results.table)} of {results.planned} planned runs are stored, {results.failed} of them failed"
    return f"{state}. Problems: {ids}. Seeds: {seeds}."


def _sheets(board: Board) -> Iterator[Sheet]:
    """Yield published numbers beside ours, and the tables that the suite asks for."""
    suite, table = board.results.suite, board.results.table
    if not (table["status"] == "done").any():
        return
    if suite.published:
        yield published_sheet(compare(suite, table))
    yield from pivot_sheets(suite_tables(suite, table))


def _shown(sheet: Sheet) -> dict[str, Any]:
    return {
        "name": sheet.name,
        "title": sheet.title,
        "header": sheet.header,
        "rows": sheet_rows(sheet),
        "notes": sheet.notes,
    }
