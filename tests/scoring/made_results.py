"""A results table made by hand, as the `SuiteResults` that scoring and reporting work on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from mobench.core.problem import Problem
from mobench.core.registry import problems
from mobench.planning.suite import Suite
from mobench.scoring.contender import with_contenders
from mobench.scoring.results import SuiteResults

NO_SUITE = Suite(name="hand", profile="quick", title="Hand-made")


def results_of(table: pd.DataFrame, suite: Suite = NO_SUITE, **fields: Any) -> SuiteResults:
    """Return the results of a suite; problems that are registered are built from the table's columns."""
    runs = table if "contender" in table or not len(table) else with_contenders(table, suite.split)
    firsts = runs.drop_duplicates("instance").to_dict("records") if len(runs) else []
    built = {str(row["instance"]): problem for row in firsts if (problem := _problem(row)) is not None}
    return SuiteResults(suite, runs, built, planned=len(runs), **fields)


def _problem(row: dict[Any, Any]) -> Problem | None:
    kind = problems().get(row["problem"])
    if kind is None:
        return None
    given = {name: row[f"problem.{name}"] for name in kind.settings if f"problem.{name}" in row}
    return kind(**{name: value.item() if isinstance(value, np.generic) else value for name, value in given.items()})
