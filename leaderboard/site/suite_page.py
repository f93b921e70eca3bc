"""The page of a suite: its table, ranks, plots, published numbers and cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mobench.reporting.sheet import Sheet
from mobench.reporting.sheets import pivot_sheets, published_sheet
from mobench.scoring.suite_results import SuiteResults

from .board import Board, provenance_facts
from .pages import Pages
from .people import Person
from .tables import COST_HEADER, COST_NOTES, contenders_table, cost_rows, sheet_rows


def suite_page(pages: Pages, board: Board, persons: Mapping[str, Person]) -> str:
    """Return the page of one suite under one profile."""
    results = board.results
    suite = results.suite
    table = contenders_table(board.grid, persons, list(board.grid.instances)) if board.grid.measures else None
    return pages.render(
        "suite.html",
        board.href,
        suite.title,
        suite={"name": suite.name, "profile": suite.profile, "about": suite.about.strip()},
        facts=_facts(board),
        table=table,
        ranking=board.ranking,
        pictures=board.pictures,
        sheets=[_shown(sheet) for sheet in _sheets(results)],
        cost={
            "name": "cost",
            "title": "Effort and cost",
            "header": COST_HEADER,
            "rows": cost_rows(results.scores),
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


def _sheets(results: SuiteResults) -> list[Sheet]:
    """Return published numbers beside ours, and the tables that the suite asks for."""
    if not len(results.done):
        return []
    published = [published_sheet(results.published)] if results.published else []
    return [*published, *pivot_sheets(results)]


def _shown(sheet: Sheet) -> dict[str, Any]:
    return {
        "name": sheet.name,
        "title": sheet.title,
        "header": sheet.header,
        "rows": sheet_rows(sheet),
        "notes": sheet.notes,
    }
