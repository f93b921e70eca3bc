"""Tables of a suite: one metric, methods down, a problem's setting across."""

from __future__ import annotations

import pandas as pd

from mobench.planning.suite import Suite
from mobench.planning.suite_parts import TableEntry
from mobench.scoring.query import AGGREGATES, select


def suite_tables(suite: Suite, table: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Return title and pivoted numbers of every table of the suite that these runs can fill."""
    fitting = [entry for entry in suite.tables if {entry.value, entry.rows, entry.columns} <= set(table.columns)]
    return [(entry.title, _pivot(entry, table)) for entry in fitting]


def _pivot(entry: TableEntry, table: pd.DataFrame) -> pd.DataFrame:
    rows = select(table, entry.where)
    grouped = rows.groupby([entry.rows, entry.columns])[entry.value]
    pivoted: pd.DataFrame = grouped.agg(AGGREGATES[entry.over]).unstack()
    return pivoted
