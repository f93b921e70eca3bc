"""Scores of methods: hypervolume and distances to the front, per problem instance, over seeds.

A method's points on one instance at one seed are the end points of its swept configurations.
A seed at which none of them finished counts as hypervolume 0: a failure is never dropped.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from mobench.core.problem import Bounds, Problem
from mobench.core.registry import find_problem
from mobench.scoring.indicators.budget import expected_hypervolume
from mobench.scoring.indicators.distance import gd_plus, igd_plus
from mobench.scoring.indicators.hypervolume import hypervolume
from mobench.scoring.indicators.intervals import Interval, interval

Points = npt.NDArray[np.float64]
COSTS = ("seconds_per_step", "method_seconds_per_step")


def method_scores(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row per problem instance and method.

    Columns: `problem`, `problem_label`, `instance`, `method`, `configurations`, `runs`, `failed`,
    `seeds`; `hypervolume`, `igd_plus`, `gd_plus`, each with `/sd`, `/low` and `/high` (bootstrap
    95 %), NaN where undefined; `seconds_per_step` and `method_seconds_per_step` (medians).
    """
    if not len(table):
        return pd.DataFrame()
    rows = []
    for (instance, method), runs in table.groupby(["instance", "method"], sort=False):
        problem = rebuild_problem(runs)
        rows.append(
            {
                "problem": runs["problem"].iloc[0],
                "problem_label": runs["problem_label"].iloc[0],
                "instance": instance,
                "method": method,
                "configurations": runs["configuration"].nunique(),
                "runs": len(runs),
                "failed": int((runs["status"] != "done").sum()),
                "seeds": runs["seed"].nunique(),
                **_front_scores(problem, runs),
                **{cost: _median(runs, cost) for cost in COSTS},
            }
        )
    return pd.DataFrame(rows)


def _median(runs: pd.DataFrame, column: str) -> float:
    """Return the median, NaN where no run got so far."""
    return float(runs[column].median()) if column in runs else float("nan")


def rebuild_problem(runs: pd.DataFrame) -> Problem:
    """Return the problem that the rows of one instance ran on."""
    kind = find_problem(runs["problem"].iloc[0])
    first = {name: runs[f"problem.{name}"].iloc[0] for name in kind.settings}
    return kind(**{name: value.item() if isinstance(value, np.generic) else value for name, value in first.items()})


def seed_points(problem: Problem, runs: pd.DataFrame) -> dict[int, Points]:
    """Return the end points of the finished runs, per seed."""
    columns = list(problem.hypervolume_metrics())
    done = runs[runs["status"] == "done"]
    # Where no run of a table has finished, it lacks the columns.
    points, seeds = done.reindex(columns=columns).to_numpy(dtype=np.float64), done["seed"].to_numpy()
    return {int(seed): points[seeds == seed] for seed in sorted(runs["seed"].unique())}


def seed_hypervolumes(problem: Problem, bounds: Bounds, runs: pd.DataFrame) -> dict[int, float]:
    """Return the hypervolume in the problem's frozen bounds, per seed."""
    points = seed_points(problem, runs)
    return {seed: hypervolume(front, bounds.ideal, bounds.reference) for seed, front in points.items()}


def _front_scores(problem: Problem, runs: pd.DataFrame) -> dict[str, Any]:
    bounds = problem.hypervolume_bounds()
    if bounds is None:
        return {}
    scores = _spread("hypervolume", interval(list(seed_hypervolumes(problem, bounds, runs).values())))
    distances: dict[str, list[float]] = {"igd_plus": [], "gd_plus": []}
    for seed, points in seed_points(problem, runs).items():
        front = problem.pareto_front(seed)
        if front is not None and len(points):
            distances["igd_plus"].append(igd_plus(points, front, bounds.ideal, bounds.reference))
            distances["gd_plus"].append(gd_plus(points, front, bounds.ideal, bounds.reference))
    for name, values in distances.items():
        if values:
            scores |= _spread(name, interval(values))
    return scores


def _spread(name: str, found: Interval) -> dict[str, Any]:
    return {name: found.mean, f"{name}/sd": found.sd, f"{name}/low": found.low, f"{name}/high": found.high}


def budget_curves(table: pd.DataFrame) -> pd.DataFrame:
    """Return the expected hypervolume after m tried configurations, mean over seeds.

    One row per problem instance, method and m; `exact` is false where subsets were sampled.
    """
    rows = []
    for (instance, method), runs in table.groupby(["instance", "method"], sort=False):
        problem = rebuild_problem(runs)
        bounds = problem.hypervolume_bounds()
        if bounds is None:
            continue
        curves = []
        for seed, points in seed_points(problem, runs).items():
            tried = int((runs["seed"] == seed).sum())
            curves.append(expected_hypervolume(points, bounds.ideal, bounds.reference, failed=tried - len(points)))
        for m in range(1, min(len(curve.expected) for curve in curves) + 1):
            found = interval([curve.expected[m - 1] for curve in curves])
            rows.append(
                {
                    "problem_label": runs["problem_label"].iloc[0],
                    "instance": instance,
                    "method": method,
                    "tried": m,
                    **_spread("hypervolume", found),
                    "exact": all(curve.exact for curve in curves),
                }
            )
    return pd.DataFrame(rows)


def overall_scores(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row per method: its mean over all problem instances, with an interval over seeds.

    `hypervolume` is the mean over instances per seed, then over seeds; NaN where no instance has one.
    """
    rows = []
    for method, runs in table.groupby("method"):
        per_seed: dict[int, list[float]] = {}
        for _, instance in runs.groupby("instance"):
            problem = rebuild_problem(instance)
            bounds = problem.hypervolume_bounds()
            if bounds is not None:
                for seed, value in seed_hypervolumes(problem, bounds, instance).items():
                    per_seed.setdefault(seed, []).append(value)
        found = interval([float(np.mean(values)) for values in per_seed.values()]) if per_seed else None
        progress = runs.get("secondary_progress")
        rows.append(
            {
                "method": method,
                "configurations": runs["method_label"].nunique(),
                "runs": len(runs),
                "failed": int((runs["status"] != "done").sum()),
                "hypervolume": found.mean if found else None,
                "low": found.low if found else None,
                "high": found.high if found else None,
                "secondary_progress": None if progress is None else float(progress.mean()),
                **{cost: _median(runs, cost) for cost in COSTS},
            }
        )
    return pd.DataFrame(rows).astype({"hypervolume": float, "low": float, "high": float, "secondary_progress": float})
