"""The published numbers of a suite beside ours, row by row.

With `by: seed` the aggregate is taken per seed; the row shows the mean over seeds and their range.
"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from mobench.planning.suite import Suite
from mobench.planning.suite_parts import PublishedEntry
from mobench.scoring.query import aggregate, select


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


def compare(suite: Suite, table: pd.DataFrame) -> list[Comparison]:
    """Evaluate every published row of the suite on its results."""
    return [_row(row, table) for row in suite.published]


def _row(row: PublishedEntry, table: pd.DataFrame) -> Comparison:
    rows = select(table, row.where) if len(table) else table
    values = aggregate(rows, row.value, row.over, row.by) if len(rows) and row.value in rows else []
    return Comparison(
        quantity=row.quantity,
        paper=str(row.paper),
        ours=sum(values) / len(values) if values else None,
        low=min(values, default=None),
        high=max(values, default=None),
        runs=len(rows),
        note=row.note,
    )
