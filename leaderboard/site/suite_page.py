"""The page of a suite: its table, ranks, plots, published numbers and cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mobench.reporting.format import headings
from mobench.reporting.notes import provenance_facts, sentences
from mobench.scoring.results import SuiteResults
from mobench.scoring.suite_tables import claims_table, pivot_tables, published_table, selected_tables, volume_tables
from mobench.scoring.tables import Table

from .contender_links import ContenderLink
from .old_tables import SuiteView
from .pages import Pages
from .tables import COST_HEADER, COST_NOTES, contenders_table, cost_rows, plain_rows


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
        sheets=[_shown(table) for table in _tables(results)],
        cost={
            "name": "cost",
            "title": "Effort and cost",
            "header": COST_HEADER,
            "rows": cost_rows(results),
            "notes": COST_NOTES,
        },
        provenance=[*shipped_facts([view]), *provenance_facts(results.provenance)],
    )


def _facts(view: SuiteView) -> str:
    results = view.results
    seeds = ", ".join(str(seed) for seed in sorted(results.table["seed"].unique()))
    ids = ", ".join(sorted(set(view.numbers.problems.values())))
    state = f"{len(results.table)} of {results.planned} planned runs are stored, {results.failed} of them failed"
    shipped = "" if view.reference is None else f" Results that ship with mobench: {view.reference.verdict}."
    return f"{state}. Problems: {ids}. Seeds: {seeds}.{shipped}"


def shipped_facts(views: Iterable[SuiteView]) -> list[tuple[str, list[str]]]:
    """Return which numbers come from bundles that ship with mobench, as a term and its descriptions."""
    found = dict.fromkeys(view.reference.words for view in views if view.reference is not None)
    return [("reference bundles", list(found))] if found else []


def _tables(results: SuiteResults) -> list[Table]:
    """Return published numbers beside ours, claims, all forms of hypervolume, drops, and the suite's own tables."""
    if not len(results.done):
        return []
    published = [published_table(results.published)] if results.published else []
    claims = [claims_table(results.claims)] if results.claims else []
    several = any(len(named) > 1 for named in results.all_volumes.values())
    volumes = volume_tables(results) if several else []
    drops = selected_tables(results, [each for each in results.indicators if each.criterion and each.criterion.against])
    return [*published, *claims, *volumes, *drops, *pivot_tables(results)]


def _shown(table: Table) -> dict[str, Any]:
    return {
        "name": table.name,
        "title": table.title,
        "header": headings(table),
        "rows": plain_rows(table),
        "notes": sentences(table),
    }
