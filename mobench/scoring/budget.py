"""Scores of contenders on each problem instance, and against the number of configurations tried."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pandas as pd

from mobench.core.problem import Problem
from mobench.scoring.indicators.budget import BudgetCurve, expected_hypervolume, expected_value
from mobench.scoring.indicators.distance import gd_plus, igd_plus
from mobench.scoring.indicators.intervals import Interval, interval
from mobench.scoring.volumes import BySeed, Front, fronts

if TYPE_CHECKING:
    from mobench.scoring.results import SuiteResults


def instance_scores(results: SuiteResults) -> pd.DataFrame:
    """Return one row per problem instance and contender.

    `hypervolume`, `igd_plus` and `gd_plus`, each with `/sd`, `/low` and `/high` (bootstrap 95 %), NaN where undefined.
    """
    rows = []
    for (instance, contender), runs in results.table.groupby(["instance", "contender"], sort=False):
        problem = results.problems[str(instance)]
        rows.append(
            {
                "instance_label": runs["instance_label"].iloc[0],
                "instance": instance,
                "contender": contender,
                "configurations": runs["configuration"].nunique(),
                "runs": len(runs),
                "failed": int((runs["status"] != "done").sum()),
                "seeds": runs["seed"].nunique(),
                **_front_scores(problem, results.volumes.get(str(instance), {}).get(str(contender), {}), runs),
                "seconds_per_step": _statistic(runs, "seconds_per_step", "median"),
                "method_seconds_per_step": _statistic(runs, "method_seconds_per_step", "median"),
            }
        )
    return pd.DataFrame(rows)


def budget_curves(results: SuiteResults) -> pd.DataFrame:
    """Return the expected hypervolume after m tried configurations: `mean`, `sd`, `low`, `high` over seeds.

    One row per problem instance, contender and m = `tried`; `exact` is false where subsets were sampled.
    """
    rows = []
    for (instance, contender), runs in results.table.groupby(["instance", "contender"], sort=False):
        problem = results.problems[str(instance)]
        ranking = next(iter(problem.hypervolumes()), None)
        if ranking is None:
            continue
        tried = runs.groupby("seed").size()
        curves = [_budget_curve(front, int(tried[seed])) for seed, front in fronts(ranking, runs).items()]
        for m in range(1, min(len(curve.expected) for curve in curves) + 1):
            found = interval([curve.expected[m - 1] for curve in curves])
            rows.append(
                {
                    "instance_label": runs["instance_label"].iloc[0],
                    "instance": instance,
                    "contender": contender,
                    "tried": m,
                    **{name: getattr(found, name) for name in ("mean", "sd", "low", "high")},
                    "exact": all(curve.exact for curve in curves),
                }
            )
    frame = pd.DataFrame(rows)
    return frame.astype({"sd": float, "low": float, "high": float}) if len(frame) else frame


def _budget_curve(front: Front, tried: int) -> BudgetCurve:
    """Return the curve of one seed at which so many configurations were tried."""
    bounds, finished = front.declared.bounds, len(front.test)
    if front.validation is None and len(front.declared.points) == 1:
        return expected_hypervolume(front.points(), bounds.ideal, bounds.reference, failed=tried - finished)
    return expected_value(lambda trials: front.volume([trial for trial in trials if trial < finished]), tried)


def _front_scores(problem: Problem, volumes: BySeed, runs: pd.DataFrame) -> dict[str, Any]:
    ranking = next(iter(problem.hypervolumes()), None)
    if ranking is None:
        return {}
    own = [volumes[int(seed)] for seed in runs["seed"].unique()]
    scores = _spread("hypervolume", own, "hypervolume/low", "hypervolume/high", "hypervolume/sd")
    distances: dict[str, list[float]] = {"igd_plus": [], "gd_plus": []}
    bounds = ranking.bounds
    for seed, reached in fronts(ranking, runs).items():
        front, points = problem.pareto_front(seed), reached.points()
        if front is not None and len(points):
            distances["igd_plus"].append(igd_plus(points, front, bounds.ideal, bounds.reference))
            distances["gd_plus"].append(gd_plus(points, front, bounds.ideal, bounds.reference))
    for name, values in distances.items():
        if values:
            scores |= _spread(name, values, f"{name}/low", f"{name}/high", f"{name}/sd")
    return scores


def _spread(name: str, values: Iterable[float], low: str, high: str, sd: str = "") -> dict[str, float]:
    """Return mean and interval under the given names, NaN where there is nothing to take them of."""
    sample = list(values)
    found = interval(sample) if sample else Interval(math.nan, None, None, None, 0)
    numbers = {name: found.mean, low: found.low, high: found.high, **({sd: found.sd} if sd else {})}
    return {key: math.nan if value is None else value for key, value in numbers.items()}


def _statistic(runs: pd.DataFrame, column: str, how: str) -> float:
    """Return the mean or median of a column, NaN where no run got so far."""
    return float(getattr(runs[column].astype(float), how)()) if column in runs else math.nan
