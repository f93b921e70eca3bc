"""Small questions to a results table: which rows, which number, taken how."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mobench.core.registry import methods, problems
from mobench.core.settings import Configurable
from mobench.errors import unknown
from mobench.planning.suite import Suite
from mobench.planning.suite_parts import TableEntry
from mobench.scoring.contender import spelled

AGGREGATES: dict[str, Callable[[Any], float]] = {
    "mean": lambda values: float(values.mean()),
    "median": lambda values: float(values.median()),
    "max": lambda values: float(values.max()),
    "min": lambda values: float(values.min()),
    "sum": lambda values: float(values.sum()),
    "spread": lambda values: float(values.max() - values.min()),
}
"""How many numbers become one."""


class Query:
    """Selections from one table. What several of them ask of a column is computed once."""

    def __init__(self, table: pd.DataFrame) -> None:
        self.table = table
        self._columns: dict[str, tuple[NDArray[np.int64], list[Any]] | None] = {}

    def select(self, where: Mapping[str, Any], columns: Iterable[str] | None = None) -> pd.DataFrame:
        """Return the finished rows whose columns have the given values; a list means any of them.

        With `columns` only those of them that the table has are returned: a row of many columns takes long to copy.
        """
        table = self.table
        view = table if columns is None else table[[name for name in dict.fromkeys(columns) if name in table]]
        kept = self._matches("status", "done")
        for column, wanted in where.items():
            if not has_column(table, column):
                return view.iloc[:0]
            options = wanted if isinstance(wanted, list) else [wanted]
            kept = kept & np.logical_or.reduce([self._matches(column, option) for option in options])
        return rows_where(view, kept)

    def _matches(self, column: str, wanted: Any) -> NDArray[np.bool_]:
        """Say of every value whether it is the wanted one; each different value is compared once."""
        if column not in self._columns:
            try:
                numbers, different = pd.factorize(self.table[column], use_na_sentinel=False)
                self._columns[column] = numbers, list(different)
            except TypeError:  # lists have no hash
                self._columns[column] = None
        known = self._columns[column]
        if known is None:
            return np.array([_equal(value, wanted) for value in self.table[column]], dtype=bool)
        return np.array([_equal(value, wanted) for value in known[1]], dtype=bool)[known[0]]


def select(table: pd.DataFrame, where: Mapping[str, Any], columns: Iterable[str] | None = None) -> pd.DataFrame:
    """Return `Query.select` of a table of which nothing else is asked."""
    return Query(table).select(where, columns)


def rows_where(table: pd.DataFrame, kept: NDArray[np.bool_]) -> pd.DataFrame:
    """Return the rows that are marked; where all are, without a copy of their values."""
    return table.copy(deep=False) if kept.all() else table[kept]


def has_column(table: pd.DataFrame, column: str) -> bool:
    """Say whether the results have a column; a setting of a method or problem that was not run is no mistake."""
    if column in table:
        return True
    kind, _, setting = column.partition(".")
    owners: Iterable[type[Configurable]] = {"method": methods, "problem": problems}.get(kind, dict)().values()
    if any(setting in owner.settings for owner in owners):
        return False
    raise unknown("column", column, (str(known) for known in table.columns))


def aggregate(rows: pd.DataFrame, column: str, over: str, by: str | None = None) -> list[float]:
    """Return the aggregate of a column, one number per value of `by` (or one in all)."""
    groups = [rows] if by is None else [group for _, group in rows.groupby(by)]
    return [AGGREGATES[over](group[column].dropna()) for group in groups if len(group)]


def _equal(value: Any, wanted: Any) -> bool:
    numbers = (int, float, np.integer, np.floating)
    if isinstance(value, numbers) and isinstance(wanted, numbers):
        return math.isclose(value, wanted, rel_tol=1e-9)
    return bool(value == wanted)


def pivots(suite: Suite, query: Query) -> list[tuple[TableEntry, pd.DataFrame]]:
    """Return every table of the suite that these runs can fill, with its pivoted numbers."""
    columns = set(query.table.columns)
    fitting = [entry for entry in suite.tables if {entry.value, entry.rows, entry.columns} <= columns]
    pivoted = [(entry, _pivot(entry, query)) for entry in fitting]
    return [(entry, numbers) for entry, numbers in pivoted if len(numbers)]


def _lists_as_text(values: pd.Series[Any]) -> pd.Series[Any]:
    """Return values that can be grouped; only lists cannot, and looking at each of many values takes long."""
    try:
        values.unique()
    except TypeError:
        return values.map(lambda value: spelled(value) if isinstance(value, list) else value)
    return values


def _pivot(entry: TableEntry, query: Query) -> pd.DataFrame:
    rows = query.select(entry.where, [entry.rows, entry.columns, entry.value])
    shown = {name: _lists_as_text(rows[name]) for name in (entry.rows, entry.columns)}
    grouped = rows.assign(**shown).groupby([entry.rows, entry.columns])[entry.value]
    pivoted: pd.DataFrame = grouped.agg(AGGREGATES[entry.over]).unstack()
    return pivoted
