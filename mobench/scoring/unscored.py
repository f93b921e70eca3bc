"""Runs whose records say that they are done and lack what every finished run is scored by.

The engine stores no such record. Code that patches it may, and so may somebody's editor; one of them must not keep all
others from being scored.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from mobench.core.problem import Problem
from mobench.core.registry import problems
from mobench.scoring.results_table import instance_of, results_table
from mobench.store.columns import RunColumns

LACKS = "the record says that the run is done, but lacks "


def without_unscored(table: pd.DataFrame, solved: Mapping[str, Problem]) -> pd.DataFrame:
    """Return the table with such runs counted as failed, and what each lacks as its error."""
    status, error = table["status"].copy(), table["error"].astype(object)
    for instance, runs in table[table["status"] == "done"].groupby("instance", sort=False):
        problem = solved.get(str(instance))
        needed = list(_needed(problem)) if problem else []
        there = np.isfinite(runs.reindex(columns=needed).to_numpy(dtype=np.float64))
        for row in np.flatnonzero(~there.all(axis=1)).tolist():
            lacking = [name for name, found in zip(needed, there[row], strict=True) if not found]
            status[runs.index[row]], error[runs.index[row]] = "failed", LACKS + ", ".join(lacking)
    return table.assign(status=status, error=error)


def runs_table(runs: RunColumns) -> pd.DataFrame:
    """Return `results_table` of runs of whatever suites, in which such runs count as failed too."""
    table = results_table(runs)
    if not len(table):
        return table
    known = {instance_of(spec): spec for spec in runs.specs[0] if spec.problem in problems()}
    return without_unscored(table, {instance: spec.build_problem() for instance, spec in known.items()})


def unscored_lines(table: pd.DataFrame) -> list[str]:
    """Return a line for every method and every set of missing metrics: whose runs count as failed, and why."""
    found = table[table["error"].astype(str).str.startswith(LACKS)]
    return [
        f"{contender}: {len(runs)} of its runs {'counts' if len(runs) == 1 else 'count'} as failed: {error}"
        for (contender, error), runs in found.groupby(["contender", "error"], sort=False)
    ]


def _needed(problem: Problem) -> dict[str, None]:
    """Return the metrics that every finished run of a problem has, each once."""
    losses = [f"loss/{name}" for name in problem.objectives()]
    return dict.fromkeys([*losses, *(name for declared in problem.hypervolumes() for name in declared.metrics())])
