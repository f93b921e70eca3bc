"""The published numbers of a suite beside ours, row by row.

A suite's `published` list has rows of the form

    - {quantity: "‖∇L1‖, MGDA, K=2", paper: 1.536, value: primary_gradient_norm, over: mean,
       where: {method: mgda, problem.k: 2}}

`over` is an aggregate of `mobench.scoring.query`; with `by: seed` it is taken per seed, and the row shows
the mean over seeds and their range. `paper` is a number or a text; `note` says what was left open.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from mobench.errors import UserError, unknown
from mobench.planning.suite import Suite
from mobench.scoring.query import aggregate, select

KEYS = ("quantity", "paper", "value", "over", "by", "where", "note")


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
    return [_row(suite, row, table) for row in suite.published]


def _row(suite: Suite, row: dict[str, Any], table: pd.DataFrame) -> Comparison:
    for key in row:
        if key not in KEYS:
            raise unknown(f"key in published of suite {suite.name}:", key, KEYS)
    if missing := {"quantity", "paper", "value"} - row.keys():
        raise UserError(f"suite {suite.name}: a published row lacks {', '.join(sorted(missing))}: {row}")
    rows = select(table, row.get("where", {})) if len(table) else table
    values = aggregate(rows, row["value"], row.get("over", "mean"), row.get("by")) if len(rows) else []
    return Comparison(
        quantity=row["quantity"],
        paper=str(row["paper"]),
        ours=sum(values) / len(values) if values else None,
        low=min(values, default=None),
        high=max(values, default=None),
        runs=len(rows),
        note=row.get("note", ""),
    )
