"""Sheets, plans and records on the terminal."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from mobench.core.plain_text import plain, readable
from mobench.reporting.related_methods import relation_notes
from mobench.reporting.sheet import Cell, Sheet, number
from mobench.reporting.sheets import (
    claims_sheet,
    hypervolume_sheets,
    methods_sheet,
    pivot_sheets,
    published_sheet,
    selected_sheets,
    selection_policy,
)
from mobench.scoring.suite_results import SuiteResults
from mobench.scoring.unscored import unscored_lines

if TYPE_CHECKING:
    from mobench.core.spec import RunSpec
    from mobench.planning.plan import Plan
    from mobench.store.record import RunRecord

SHORT = ("runs", "progress ↑", "passes/step", "peak MB")
"""Columns that a terminal leaves to the report."""
LEGEND = (
    "Best first; ↑ higher is better, ↓ lower. conf: configurations tried; HV: hypervolume, 0 to 1; of a step's time, "
    "own: inside the method, shared: its share of what runs in lockstep do together"
)


def print_results(console: Console, results: SuiteResults, methods: Collection[str] = ()) -> None:
    """Print what a suite reports about its results; the report on disk has all tables, with intervals.

    With `methods` only their rows are printed, each with its place among all.
    """
    if methods and not {*methods} & {*results.methods.values()}:
        return
    if not len(results.table):
        console.print(f"{results.suite.name}: no results yet")
        return
    hidden = {
        word for name, method in results.methods.items() if methods and method not in methods for word in (name, method)
    }
    print_heading(console, results.suite.title, results.suite.name, results.profile)
    failed = f", {results.failed} of them failed" if results.failed else ""
    failed += f" ({results.diverged} diverged)" if results.diverged else ""
    console.print(f"{len(results.table)} of {results.planned} planned runs are stored{failed}")
    for line in unscored_lines(results.table):
        console.print(Text(line))
    if not len(results.done):
        console.print(f"None of {len(results.table)} runs finished, so there is nothing to score.")
        return
    overall = _best_first(_narrowed(methods_sheet(results)))
    print_sheet(console, _rows_of(_with_places(overall) if methods else overall, hidden), intervals=True)
    for note in (LEGEND, *([] if methods else relation_notes(results.table, results.problems))):
        console.print(Text(plain(note), style="dim"))
    if any(len(named) > 1 for named in results.all_volumes.values()):
        for sheet in hypervolume_sheets(results):
            print_sheet(console, _rows_of(_arrow_once(_best_first(sheet)), hidden))
    chosen = [
        sheet for sheet in selected_sheets(results) if sheet.name.startswith("selected-") or _has_published(sheet)
    ]
    for sheet in chosen:
        print_sheet(console, _rows_of(_best_first(sheet), hidden))
    for sentence in selection_policy(results) if chosen else ():
        console.print(Text(sentence, style="dim"))
    if any(cell.strong for sheet in chosen for row in sheet.rows for cell in row):
        console.print(Text("* the best, and all that the seeds cannot tell from it", style="dim"))
    for sheet in pivot_sheets(results):
        print_sheet(console, _rows_of(_best_first(sheet), hidden))
    if methods:
        return
    if results.published:
        print_sheet(console, published_sheet(results.published), notes=True)
    if results.claims:
        print_sheet(console, claims_sheet(results.claims), notes=True)


def print_sheet(console: Console, sheet: Sheet, *, intervals: bool = False, notes: bool = False) -> None:
    """Print one table; texts come partly from plugins and suites, and are never read as markup."""
    table = _table(sheet.title, *sheet.header)
    for column in table.columns[1:] if intervals else ():
        column.no_wrap = True  # a long name is folded rather than a number
    starred = any(cell.strong for row in sheet.rows for cell in row)
    for row in sheet.rows:
        texts = [cell.full if intervals else cell.text for cell in row]
        marks = [("*" if cell.strong else " ") if starred and place else "" for place, cell in enumerate(row)]
        table.add_row(*(Text(plain(text) + mark) for text, mark in zip(texts, marks, strict=True)))
    console.print(table)
    for note in sheet.notes if notes else ():
        console.print(Text(plain(note), style="dim"))


def print_heading(console: Console, title: str, suite: str, profile: str) -> None:
    """Print a suite's title, name and profile."""
    console.print()
    console.print(Text(plain(f"{title} ({suite}, profile {profile})"), style="bold underline"))


def print_plan(console: Console, plan: Plan, pending: int, duration: str) -> None:
    """Print how many runs of which method on which problem are planned."""
    differs = f" with {plan.differs}" if plan.differs else ""
    print_heading(console, plan.suite.title, plan.suite.name, plan.suite.profile + differs)
    console.print(f"{len(plan.specs)} runs, {pending} to do, about {duration}")
    table = _table("", "problem", "method", "configs", "seeds", "runs")
    counts: dict[tuple[str, str], list[RunSpec]] = {}
    for spec in plan.specs:
        counts.setdefault((spec.problem, spec.method.partition("@")[0]), []).append(spec)
    for (problem, method), specs in counts.items():
        configurations = len({spec.configuration.id for spec in specs})
        table.add_row(problem, method, str(configurations), str(len({spec.seed for spec in specs})), str(len(specs)))
    console.print(table)


def print_record(console: Console, record: RunRecord) -> None:
    """Print one stored run."""
    spec, outcome = record.spec, record.outcome
    table = _table(f"run {record.id[:12]}: {outcome.status}", "", "")
    table.columns[1].justify = "left"
    table.show_header = False
    sections: dict[str, Mapping[str, Any]] = {
        spec.problem: spec.problem_settings,
        spec.method: spec.method_settings,
        "training": {**spec.training, "seed": spec.seed},
        "metrics": outcome.metrics,
        "diagnostics (mean)": {name: value["mean"] for name, value in outcome.diagnostics.items()},
        "cost": {**outcome.timings, "backward_passes": outcome.backward_passes, "peak_memory": record.peak_memory},
        "environment": asdict(record.environment),
    }
    for section, entries in sections.items():
        table.add_row(Text(section, style="bold"), "")
        for name, value in entries.items():
            table.add_row(Text(plain(f"  {name}")), Text(plain(number(value))))
    console.print(table)
    if outcome.error:
        console.print(Text(readable(outcome.error)))


def _best_first(sheet: Sheet) -> Sheet:
    """Sort rows where the sheet says which way is better: by the first column that does, or by the mean of all.

    The numbers behind the cells count, not their rounded texts. What has no number there comes last, and equals keep
    their order.
    """
    directed = [place for place, head in enumerate(sheet.header) if head.endswith(("↑", "↓"))]
    whole = sheet.title.endswith(("↑", "↓"))
    if not directed and not whole:
        return sheet
    places = range(1, len(sheet.header)) if whole else directed[:1]
    sign = -1.0 if (sheet.title if whole else sheet.header[places[0]]).endswith("↑") else 1.0

    def key(row: tuple[Cell, ...]) -> tuple[bool, float]:
        numbers = [row[place].value for place in places if not math.isnan(row[place].value)]
        return not numbers, sign * sum(numbers) / len(numbers) if numbers else 0.0

    ranked = len(sheet.rows) - sheet.below
    return replace(sheet, rows=(*sorted(sheet.rows[:ranked], key=key), *sheet.rows[ranked:]))


def _has_published(sheet: Sheet) -> bool:
    """Say whether published numbers stand in the table; those without are left to the report."""
    return sheet.data is not None and bool(sheet.data["published"].notna().any())


def _arrow_once(sheet: Sheet) -> Sheet:
    """Say in the title that more is better where every column says so, which leaves the columns more room."""
    columns = [head.removesuffix(" ↑") for head in sheet.header[1:]]
    return replace(sheet, title=f"{sheet.title} ↑", header=(sheet.header[0], *columns))


def _with_places(sheet: Sheet) -> Sheet:
    """Add to sorted rows which place each has."""
    rows = tuple(
        (row[0], Cell(f"{place} of {len(sheet.rows)}"), *row[1:]) for place, row in enumerate(sheet.rows, start=1)
    )
    return replace(sheet, header=(sheet.header[0], "place", *sheet.header[1:]), rows=rows)


def _rows_of(sheet: Sheet, hidden: Collection[str]) -> Sheet:
    """Leave out the rows of contenders that are not asked for, with and without their settings; all others stay."""
    rows = (row for row in sheet.rows if not {row[0].text, row[0].text.partition("(")[0]} & set(hidden))
    return replace(sheet, rows=tuple(rows))


def _narrowed(sheet: Sheet) -> Sheet:
    """Leave out the columns of `SHORT`."""
    kept = [place for place, head in enumerate(sheet.header) if head not in SHORT]
    rows = tuple(tuple(row[place] for place in kept) for row in sheet.rows)
    return Sheet(sheet.name, sheet.title, tuple(sheet.header[place] for place in kept), rows, sheet.data, sheet.notes)


def _table(title: str, *columns: str) -> Table:
    table = Table(
        title=Text(plain(title), style="bold") if title else None,
        title_justify="left",
        box=None,
        pad_edge=False,
        header_style="dim",
    )
    for index, column in enumerate(columns):
        table.add_column(Text(plain(column)), justify="left" if index == 0 else "right", overflow="fold")
    return table
