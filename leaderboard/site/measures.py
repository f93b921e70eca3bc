"""The numbers that a suite's table can show: what is measured, which way it is better, how one is chosen of a sweep."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

import pandas as pd

from mobench.planning.suite import Suite
from mobench.reporting.plots.panels import label_of
from mobench.scoring.scores import rebuild_problem
from mobench.scoring.selected import selected_rows
from mobench.scoring.selection import Criterion, Direction

HYPERVOLUME = "hypervolume"

DIRECTIONS: dict[str, Direction] = {
    "loss/*": "min",
    "secondary": "min",
    "primary_gradient_norm": "min",
    "cms_residual": "min",
    "distance_to_optimum": "min",
    "barriers_crossed": "max",
    "secondary_progress": "max",
    "accuracy*": "max",
    "group_sparsity": "max",
    "parameter_sparsity": "max",
    "effective_rank": "min",
}
"""Which way a metric is better, by pattern; of others nothing is marked as best."""

EXPLANATIONS = {
    "selected": "the configuration selected on validation data, measured on test data",
    "best": "the best configuration of the sweep; chosen on the number shown, so a longer sweep has an advantage",
    "mean": "the mean over the sweep; neither direction is better",
    "front": "the volume that all configurations of the sweep dominate together, in the problem's frozen bounds",
}
"""How many configurations become one number."""


@dataclass(frozen=True)
class Measure:
    """One number per method and problem instance."""

    label: str
    metric: str
    kind: str
    """A key of `EXPLANATIONS`."""
    best: Direction | None
    criterion: Criterion | None = None
    """How the configuration is chosen, where one is."""
    unit: float = 1.0
    decimals: int | None = None


def measures_of(suite: Suite, table: pd.DataFrame) -> list[Measure]:
    """Return what the suite's table shows, the most important first: what it selects, its front, its metrics."""
    chosen = [
        Measure(row.label, row.criterion.value, "selected", row.criterion.best, row.criterion, row.unit, row.decimals)
        for row in selected_rows(suite)
        if {row.criterion.value, row.criterion.select} <= set(table.columns)
    ]
    front = [Measure("hypervolume", HYPERVOLUME, "front", "max", decimals=3)] if _has_bounds(table) else []
    shown = {measure.metric for measure in chosen}
    plain = [_plain(metric) for metric in suite.metrics if metric not in shown and metric in table]
    return chosen + front + plain if chosen else plain + front


def direction_of(metric: str) -> Direction | None:
    """Return which way a metric is better, None where neither is."""
    return next((best for pattern, best in DIRECTIONS.items() if fnmatchcase(metric, pattern)), None)


def _plain(metric: str) -> Measure:
    best = direction_of(metric)
    if best is None:
        return Measure(label_of(metric), metric, "mean", None)
    return Measure(label_of(metric), metric, "best", best, Criterion(metric, metric, best, best))


def _has_bounds(table: pd.DataFrame) -> bool:
    return any(rebuild_problem(runs).hypervolume_bounds() is not None for _, runs in table.groupby("problem"))
