"""The tables of a suite: made once of its results, read by terminal, documents and site."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from mobench.core.metric import Metric
from mobench.core.problem import Problem
from mobench.scoring.claims import ClaimResult
from mobench.scoring.contender import spelled
from mobench.scoring.indicators.paired import FEWEST_SEEDS
from mobench.scoring.published import Comparison
from mobench.scoring.query import pivots
from mobench.scoring.select import Indicator
from mobench.scoring.tables import Column, Estimate, Note, Range, Row, Table
from mobench.scoring.volumes import PAPER, PAPER_LABEL, PAPER_MEANING, Estimates, declared_volumes, volume_estimates

if TYPE_CHECKING:
    from mobench.scoring.results import SuiteResults


def suite_tables(results: SuiteResults) -> list[Table]:
    """Return all tables of a suite, the most important first."""
    return [
        results.headline,
        *selected_tables(results),
        *volume_tables(results),
        *pivot_tables(results),
        *([published_table(results.published)] if results.published else []),
        *([claims_table(results.claims)] if results.claims else []),
    ]


def selected_tables(results: SuiteResults, asked: Sequence[Indicator] | None = None) -> list[Table]:
    """Return, for each problem instance, the numbers of the selected configurations, table by table.

    `asked` are the indicators to show; left out, all of the suite.
    """
    known = [(each, results.estimates(each)) for each in (results.indicators if asked is None else asked)]
    titles = dict.fromkeys(each.table for each, _ in known)
    tables = []
    for instance in results.instances:
        for title in titles:
            shown = [(each, found[instance]) for each, found in known if each.table == title and instance in found]
            if shown:
                tables.append(_selected_table(results, instance, title, shown))
    return tables


def _selected_table(
    results: SuiteResults, instance: str, title: str, shown: Sequence[tuple[Indicator, Mapping[str, Estimate]]]
) -> Table:
    label = results.instances[instance]
    counts = (Column("tried", "tried"), Column("failed", "failed"))
    rows = []
    for name in results.order:
        cells = [found.get(name) for _, found in shown]
        if known := [cell for cell in cells if cell is not None]:
            both = (max(cell.tried for cell in known), max(cell.failed for cell in known))
            rows.append(results.row(name, *cells, *both))
    indicators = [indicator for indicator, _ in shown]
    tried = max(estimate.tried for _, found in shown for estimate in found.values())
    seeds = max(len(estimate.values) for _, found in shown for estimate in found.values())
    published = [one for _, found in shown for each in found.values() if (one := each.published) is not None]
    remarks = dict.fromkeys([*(one.source for one in published), *(one.note for one in published)])
    fixed = [each for each in indicators if each.criterion and each.criterion.fixed]
    notes = (
        selection_note(indicators, results.problems.get(instance), tried),
        *(Note("fixed", (each.column.label, each.criterion.fixed)) for each in fixed if each.criterion),
        Note("intervals") if seeds >= FEWEST_SEEDS else Note("too-few-seeds", (FEWEST_SEEDS,)),
        *(Note("published", (remark,)) for remark in remarks if remark),
    )
    columns = tuple(each.column for each in indicators)
    stem = f"{_stem(title) or 'selected'}-{_stem(label)}"
    return Table(
        stem, f"{title or 'Selected configurations'}, {label}", (*columns, *counts), tuple(rows), notes=notes
    ).sorted()


def selection_note(indicators: Sequence[Indicator], problem: Problem | None, tried: int) -> Note:
    """Return on which data one of `tried` configurations was chosen, and on which it is measured."""
    declared = {metric.name: metric for metric in problem.metrics()} if problem is not None else {}
    on: dict[tuple[str, str, bool], None] = {}
    measured = set()
    for criterion in (each.criterion for each in indicators if each.criterion):
        select, value = (
            declared.get(name) or Metric(name, name.replace("_", " ")) for name in (criterion.select, criterion.value)
        )
        measured.add(value.data)
        on[select.data, select.label, select.name == value.name] = None
    return Note("selected", (tuple(on) if tried > 1 else (), next(iter(measured)) if len(measured) == 1 else ""))


def volume_tables(results: SuiteResults) -> list[Table]:
    """Return the hypervolumes: of one problem instance all forms, of several a table for each form."""
    found = volume_estimates(results)
    if not found:
        return []
    instances = dict.fromkeys(instance for estimates in found.values() for instance in estimates)
    if len(instances) == 1:
        (instance,) = instances
        columns = [_form_column(results, form, instance) for form in found]
        parts = [found[form][instance] for form in found]
        headline = [instance if form == next(iter(found)) else "" for form in found]
        return [_volumes_table(results, "hypervolumes", "Hypervolumes", columns, parts, headline)]
    return [_form_table(results, form, estimates) for form, estimates in found.items()]


def _form_table(results: SuiteResults, form: str, estimates: Estimates) -> Table:
    meanings = dict.fromkeys(_form_column(results, form, instance).note for instance in estimates)
    columns = [
        replace(
            _form_column(results, form, instance),
            key=results.instances[instance],
            label=results.instances[instance],
            note="",
        )
        for instance in estimates
    ]
    title = "; or ".join(meanings)
    headline = [
        instance if form == next(iter(declared_volumes(results, instance)), None) else "" for instance in estimates
    ]
    parts = list(estimates.values())
    return _volumes_table(results, f"hypervolume-{form}", title[0].upper() + title[1:], columns, parts, headline)


def _form_column(results: SuiteResults, form: str, instance: str) -> Column:
    declared = declared_volumes(results, instance).get(form)
    label, meaning = (PAPER_LABEL, PAPER_MEANING) if declared is None else (declared.label, declared.meaning)
    return Column(form, label, f"hypervolume/{form}", "max", decimals=1 if form == PAPER else 3, note=meaning)


def _volumes_table(
    results: SuiteResults,
    name: str,
    title: str,
    columns: Sequence[Column],
    parts: Sequence[Mapping[str, Estimate]],
    headline: Sequence[str],
) -> Table:
    """Return a table of volumes; `headline` names the instance of every column that ranks."""
    rows = tuple(results.row(one, *(part.get(one) for part in parts)) for one in results.order)
    known = [results.references.get(instance, {}) for instance in headline]
    others = dict.fromkeys(other for volumes in known for other in volumes)
    references = tuple(Row(other, tuple(volumes.get(other) for volumes in known)) for other in others)
    seeds = max((len(estimate.values) for part in parts for estimate in part.values()), default=0)
    notes = (
        Note("intervals") if seeds >= FEWEST_SEEDS else Note("too-few-seeds", (FEWEST_SEEDS,)),
        *([Note("references")] if references else []),
    )
    ranked_by = tuple(column.key for column in columns) if len({column.metric for column in columns}) == 1 else None
    return Table(name, title, tuple(columns), rows, references, notes, ranked_by).sorted()


def pivot_tables(results: SuiteResults) -> list[Table]:
    """Return the suite's own tables."""
    tables = []
    for position, (entry, numbers) in enumerate(pivots(results.suite, results.query), 1):
        across = entry.columns.removeprefix("problem.")
        down = entry.rows.removeprefix("method.").removesuffix("_label")
        of_contenders = entry.rows == "contender"
        better = results.metrics[entry.value].better if of_contenders or down == "method" else None
        keys = [f"{across}={spelled(value)}" for value in numbers.columns]
        columns = tuple(Column(key, key, entry.value, better) for key in keys)
        listed = {str(name): row for name, row in numbers.iterrows()}
        order = [*(name for name in results.order if name in listed), *(n for n in listed if n not in results.order)]
        rows = tuple(
            Row(name, tuple(float(n) for n in listed[name]), results.contenders.get(name) if of_contenders else None)
            for name in order
        )
        first = "method" if of_contenders else down
        tables.append(
            Table(f"table-{position}", entry.title, columns, rows, ranked_by=tuple(keys), first=first).sorted()
        )
    return tables


def published_table(comparisons: Sequence[Comparison]) -> Table:
    """Return published quantities and ours, row by row."""
    columns = (Column("paper", "paper"), Column("ours", "ours"), Column("range", "range"), Column("runs", "runs"))
    notes = list(dict.fromkeys(row.note for row in comparisons if row.note))
    rows = [
        Row(
            row.quantity + (f" [{notes.index(row.note) + 1}]" if row.note else ""),
            (row.paper, row.ours, None if row.low == row.high else Range(row.low, row.high), row.runs),
        )
        for row in comparisons
    ]
    remarks = tuple(Note("remark", (f"[{place}] {note}",)) for place, note in enumerate(notes, 1))
    return Table(
        "published", "Published and measured", columns, tuple(rows), notes=remarks, ranked_by=(), first="quantity"
    )


def claims_table(claims: Sequence[ClaimResult]) -> Table:
    """Return the claims with what was measured and whether they hold."""
    columns = (
        Column("measured", "measured"), Column("claimed", "claimed"), Column("cases", "looked at"),
        Column("violated", "violated"), Column("holds", "holds"),
    )  # fmt: skip
    rows = [
        Row(
            f"{row.claim} [{row.source}]" if row.source else row.claim,
            (
                _range(row.measured),
                _range(row.bound, row.relation),
                f"{row.cases} {row.each}{'s' if row.cases != 1 else ''}",
                row.violated,
                row.holds,
            ),
        )
        for row in claims
    ]
    notes = tuple(Note("remark", (note,)) for note in dict.fromkeys(row.note for row in claims if row.note))
    return Table(
        "claims", "Claims, and whether they hold", columns, tuple(rows), notes=notes, ranked_by=(), first="claim"
    )


def _range(ends: tuple[float, float] | None, relation: str = "") -> Range:
    low, high = ends or (None, None)
    return Range(low, high, relation)


def has_settings(table: Table) -> bool:
    """Say whether configurations were chosen for a table."""
    return any(isinstance(cell, Estimate) and cell.settings for row in table.rows for cell in row.cells)


def settings_table(table: Table) -> Table:
    """Return the settings of the configurations behind a table of selected ones."""
    chosen = [
        column
        for place, column in enumerate(table.columns)
        if any(isinstance(row.cells[place], Estimate) for row in table.rows)
    ]
    narrow = table.only(column.key for column in chosen)
    rows = tuple(
        replace(row, cells=tuple(cell.settings or None if isinstance(cell, Estimate) else None for cell in row.cells))
        for row in narrow.rows
    )
    columns = tuple(replace(column, direction=None, note="") for column in chosen)
    return Table(f"chosen-{table.name}", f"Settings of: {table.title}", columns, rows, ranked_by=())


def _stem(text: str) -> str:
    """Return a text as the stem of a file; what tells numbers apart (`=`, `.`, `+`, `-`) is kept."""
    return re.sub(r"[^a-z0-9=.+-]+", "-", text.lower()).strip("-.")
