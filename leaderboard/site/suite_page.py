"""The page of a suite: its table, ranks, plots, published numbers and cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mobench.reporting.sheet import Sheet
from mobench.reporting.sheets import claims_sheet, drop_sheets, hypervolume_sheets, pivot_sheets, published_sheet
from mobench.scoring.results import SuiteResults

from .contender_links import ContenderLink
from .pages import Pages
from .suite_view import SuiteView, shipped_facts
from .tables import COST_HEADER, COST_NOTES, contenders_table, cost_rows, sheet_rows


def suite_page(pages: Pages, view: SuiteView, links: Mapping[str, ContenderLink]) -> str:
    """Return the page of one suite under one profile."""
    results = view.results
    suite = results.suite
    table = contenders_table(view.numbers, links, list(view.numbers.instances)) if view.numbers.measures else None
    return pages.render(
        "suite.html",
        view.href,
        suite.title,
        suite={"name": suite.name, "profile": results.profile, "about": suite.about.strip()},
        facts=_facts(view),
        table=table,
        ranking=view.ranking,
        pictures=view.pictures,
        sheets=[_shown(sheet) for sheet in _sheets(results)],
        cost={
            "name": "cost",
            "title": "Effort and cost",
            "header": COST_HEADER,
            "rows": cost_rows(results),
            "notes": COST_NOTES,
        },
        provenance=[*shipped_facts([view]), *results.provenance.facts()],
    )


def _facts(view: SuiteView) -> str:
    results = view.results
    seeds = ", ".join(str(seed) for seed in sorted(results.table["seed"].unique()))
    ids = ", ".join(sorted(set(view.numbers.problems.values())))
    state = f"{len(results.table)} of {results.planned} planned runs are stored, {results.failed} of them failed"
    shipped = "" if view.reference is None else f" Results that ship with mobench: {view.reference.verdict}."
    return f"{state}. Problems: {ids}. Seeds: {seeds}.{shipped}"


def _sheets(results: SuiteResults) -> list[Sheet]:
    """Return published numbers beside ours, claims, all forms of hypervolume, drops, and the suite's own tables."""
    if not len(results.done):
        return []
    published = [published_sheet(results.published)] if results.published else []
    claims = [claims_sheet(results.claims)] if results.claims else []
    several = any(len(named) > 1 for named in results.all_volumes.values())
    volumes = hypervolume_sheets(results) if several else []
    return [*published, *claims, *volumes, *drop_sheets(results), *pivot_sheets(results)]


def _shown(sheet: Sheet) -> dict[str, Any]:
    return {
        "name": sheet.name,
        "title": sheet.title,
        "header": sheet.header,
        "rows": sheet_rows(sheet),
        "notes": sheet.notes,
    }
