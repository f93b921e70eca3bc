"""Published numbers: quantities of a suite beside ours, row by row, and values beside the cells of its tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import pandas as pd

from mobench.planning.published_file import Table, read_published
from mobench.planning.suite_parts import PublishedEntry
from mobench.scoring.query import aggregate

if TYPE_CHECKING:
    from mobench.scoring.results import SuiteResults

VOLUME = "hypervolume/"
"""What stands before a hypervolume's name where a published quantity asks for it."""
_NOTHING = object()
"""What runs have in common in a column in which they differ."""


@dataclass(frozen=True)
class Comparison:
    """One published quantity and what these results give for it."""

    quantity: str
    paper: str
    ours: float | None
    """The mean over groups; None where the results hold no such run."""
    low: float | None
    high: float | None
    runs: int
    note: str


def compare(results: SuiteResults) -> list[Comparison]:
    """Evaluate every published quantity of the suite, and of its files of published numbers, on its results.

    With `by: seed` the aggregate is taken per seed; the row shows the mean over seeds and their range.
    """
    files = [read_published(name) for name in results.suite.published_tables]
    return [_comparison(row, results) for row in (*results.suite.published, *(q for f in files for q in f.quantities))]


def _comparison(row: PublishedEntry, results: SuiteResults) -> Comparison:
    table = results.table
    needed = [name for name in (row.value, row.per, row.by, "contender") if name]
    rows = results.query.select(row.where, needed) if len(table) else table
    if row.value.startswith(VOLUME):
        values = _times_the_best_other(results, row.value.removeprefix(VOLUME), rows)
    else:
        rows = rows.assign(**{row.value: rows[row.value] / rows[row.per]}) if row.per and row.per in rows else rows
        known = len(rows) and row.value in rows and (not row.per or row.per in rows)
        values = aggregate(rows, row.value, row.over, row.by) if known else []
    return Comparison(
        quantity=row.quantity,
        paper=str(row.paper),
        ours=sum(values) / len(values) if values else None,
        low=min(values, default=None),
        high=max(values, default=None),
        runs=len(rows),
        note=row.note,
    )


def _times_the_best_other(results: SuiteResults, form: str, rows: pd.DataFrame) -> list[float]:
    """Return, for each problem instance, how many times the best other contender's hypervolume these runs' one has."""
    asked = set(rows["contender"].unique()) if len(rows) else set()
    found = []
    for estimates in results.volume_estimates(form).values() if asked else ():
        means = {name: estimate.mean for name, estimate in estimates.items()}
        ours = [mean for name, mean in means.items() if name in asked]
        best_other = max((mean for name, mean in means.items() if name not in asked), default=0.0)
        if ours and best_other > 0.0:
            found.append(max(ours) / best_other)
    return found


@dataclass(frozen=True)
class PublishedValue:
    """One published number."""

    metric: str
    value: float
    """In the metric's own unit."""
    where: Mapping[str, Any]
    """Columns of the results table, and what the runs it speaks of have there."""
    source: str
    note: str


def load_published(names: Iterable[str]) -> list[PublishedValue]:
    """Return all numbers of the named files."""
    files = [read_published(name) for name in names]
    return [value for file in files for table in file.tables for value in _values(file.source, table)]


def find_published(values: Iterable[PublishedValue], metric: str, runs: pd.DataFrame) -> PublishedValue | None:
    """Return the number published for a metric of the given runs, None where there is none."""
    shared: dict[str, Any] = {}
    for value in values:
        if value.metric == metric and len(runs) and _agree(runs, value.where, shared):
            return value
    return None


def _agree(runs: pd.DataFrame, where: Mapping[str, Any], shared: dict[str, Any]) -> bool:
    """Say whether all runs have the given values; `shared` keeps what they have in common, column by column."""
    for column, wanted in where.items():
        if column not in shared:
            first, *others = runs.get(column, [_NOTHING])
            shared[column] = first if all(other == first for other in others) else _NOTHING
        if shared[column] is _NOTHING or shared[column] != wanted:
            return False
    return True


def _values(source: str, table: Table) -> Iterator[PublishedValue]:
    for instance in table.instances:
        for metric, where, number in table.cells(instance):
            unit, note = _matching(table.units, metric, 1.0), _matching(table.notes, metric, "")
            yield PublishedValue(metric, number * unit, where, source, note)


def _matching(patterns: Mapping[str, Any], metric: str, default: Any) -> Any:
    return next((value for pattern, value in patterns.items() if fnmatchcase(metric, pattern)), default)
