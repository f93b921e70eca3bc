"""Tables of a suite: one metric, methods down, a problem's setting across.

A suite's `tables` list has entries of the form

    - {title: "‖∇L1‖ at the end", value: primary_gradient_norm, columns: problem.k, over: median,
       rows: method, where: {problem.spread: 0.1}}

`rows` is `contender` (all swept configurations together, the default), `method_label` (one row each), or
a setting such as `method.tau`.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from mobench.errors import UserError, unknown
from mobench.planning.suite import Suite
from mobench.scoring.query import AGGREGATES, select

KEYS = ("title", "value", "columns", "rows", "over", "where")


def suite_tables(suite: Suite, table: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Return title and pivoted numbers of every table of the suite."""
    return [(entry["title"], _pivot(entry, table)) for entry in map(_checked, suite.tables)]


def _checked(entry: dict[str, Any]) -> dict[str, Any]:
    for key in entry:
        if key not in KEYS:
            raise unknown("key in a suite's tables", key, KEYS)
    if missing := {"title", "value", "columns"} - entry.keys():
        raise UserError(f"a suite's table lacks {', '.join(sorted(missing))}: {entry}")
    return entry


def _pivot(entry: dict[str, Any], table: pd.DataFrame) -> pd.DataFrame:
    rows = select(table, entry.get("where", {}))
    grouped = rows.groupby([entry.get("rows", "contender"), entry["columns"]])[entry["value"]]
    pivoted: pd.DataFrame = grouped.agg(AGGREGATES[entry.get("over", "mean")]).unstack()
    return pivoted
