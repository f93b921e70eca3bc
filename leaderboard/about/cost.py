"""What a method costs on each problem, from the results table: medians with quartiles over its runs."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd


@dataclass(frozen=True)
class Spread:
    """Median and quartiles of a quantity."""

    median: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Cost:
    """The cost of one method on one problem; None where nothing was recorded."""

    problem: str
    runs: int
    """The finished runs that the spreads are taken over."""
    seconds_per_step: Spread | None
    """Runs in lockstep share their batch's time equally, whatever their methods."""
    method_seconds_per_step: Spread | None
    """The method's own share: solving for weights, without gradients."""
    peak_memory: Spread | None
    """Bytes."""
    backward_passes: Spread | None
    """Per step; none where gradients are closed forms."""


def cost_of(table: pd.DataFrame, method: str) -> tuple[Cost, ...]:
    """Return the cost of `method` on every problem of a results table (`mobench.scoring.results_table.results_table`).

    Problems are kept apart: a step of a network and a step in the plane have no common median.
    Failed runs are left out, since a step that raises costs less than one that is taken.
    """
    if table.empty:
        return ()
    runs = table[(table["method"] == method) & (table["status"] == "done")]
    return tuple(_cost(str(problem), of_problem) for problem, of_problem in runs.groupby("problem_label", sort=True))


def _cost(problem: str, runs: pd.DataFrame) -> Cost:
    passes = runs.get("backward_passes")
    if passes is not None and "steps" in runs:
        passes = passes / runs["steps"]
    return Cost(
        problem,
        len(runs),
        _spread(runs.get("seconds_per_step")),
        _spread(runs.get("method_seconds_per_step")),
        _spread(runs.get("peak_memory")),
        _spread(passes),
    )


def _spread(values: pd.Series | None) -> Spread | None:
    known = pd.Series(dtype=float) if values is None else values.astype(float).dropna()
    if known.empty:
        return None
    lower, median, upper = known.quantile([0.25, 0.5, 0.75])
    return Spread(float(median), float(lower), float(upper))
