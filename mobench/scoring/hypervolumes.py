"""Hypervolume of every contender on every problem instance, in the problem's frozen bounds and in the paper's form.

A contender's points on one instance at one seed are the end points of its configurations. A seed at which none of
them finished, or which the contender did not run, counts 0: a failure is never dropped.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from mobench.core.problem import Problem
from mobench.scoring.indicators.hypervolume import NonPositiveError, dominated_volume, inside, paper_hypervolume
from mobench.scoring.indicators.intervals import interval
from mobench.scoring.indicators.normalise import normalised
from mobench.scoring.selection import best_and_tied

if TYPE_CHECKING:
    from mobench.scoring.suite_results import SuiteResults

FORMS = {
    "frozen": "hypervolume in the problem's frozen bounds, in [0, 1]",
    "paper": "the paper's hypervolume: log10 of the losses, min–max over all methods of this table, in [0, 100]",
}
"""The first is comparable over time; the second moves with every method that joins the table."""

Points = npt.NDArray[np.float64]
BySeed = dict[int, float]
Volumes = dict[str, BySeed]
"""By contender, then by seed."""


def seed_points(
    problem: Problem, runs: pd.DataFrame, mapped: Callable[[Points], Points] = lambda points: points
) -> dict[int, Points]:
    """Return the end points of the finished runs, `mapped` all at once, per seed."""
    columns = list(problem.hypervolume_metrics())
    done = runs[runs["status"] == "done"]
    # Where no run of a table has finished, it lacks the columns.
    points = mapped(done.reindex(columns=columns).to_numpy(dtype=np.float64))
    seeds = done["seed"].to_numpy()
    return {int(seed): points[seeds == seed] for seed in sorted(runs["seed"].unique())}


def frozen_volumes(problem: Problem, members: pd.DataFrame) -> Volumes:
    """Return the hypervolumes of one instance in the problem's bounds; empty where it has none."""
    bounds = problem.hypervolume_bounds()
    if bounds is None:
        return {}
    seeds = [int(seed) for seed in members["seed"].unique()]
    found: Volumes = {}
    for contender, runs in members.groupby("contender", sort=False):
        points = seed_points(problem, runs, lambda ends: normalised(ends, bounds.ideal, bounds.reference))
        reached = {seed: dominated_volume(inside(front)) for seed, front in points.items()}
        found[str(contender)] = dict.fromkeys(seeds, 0.0) | reached
    return found


def paper_volumes(problem: Problem, members: pd.DataFrame) -> Volumes:
    """Return the paper's hypervolumes of one instance; empty where a loss is not positive."""
    columns = [f"loss/{name}" for name in problem.objectives()]
    done = members[members["status"] == "done"]
    if problem.hypervolume_bounds() is None or not set(columns) <= set(done.columns):
        return {}
    keys = [(str(name), int(seed)) for name in members["contender"].unique() for seed in members["seed"].unique()]
    losses = done[columns].to_numpy(dtype=np.float64)
    places = done.groupby(["contender", "seed"], sort=False).indices
    try:
        volumes = paper_hypervolume({key: losses[places.get(key, [])] for key in keys})
    except NonPositiveError:
        return {}
    found: Volumes = {}
    for (contender, seed), volume in volumes.items():
        found.setdefault(contender, {})[seed] = volume
    return found


def hypervolume_frame(results: SuiteResults) -> pd.DataFrame:
    """Return one row per problem instance, form and contender.

    Columns: `instance`, `instance_label`, `form`, `contender`, `tried` configurations, `mean`, `sd`,
    `low`, `high`, `n` over seeds, and `best`, true for the best and all that the seeds cannot tell from it.
    A form that an instance does not have is left out: the frozen one needs bounds, the paper's positive losses.
    """
    rows: list[dict[str, Any]] = []
    for instance, members in results.table.groupby("instance", sort=False):
        tried = members.groupby("contender")["configuration"].nunique()
        paper = paper_volumes(results.problems[str(instance)], members)
        for form, volumes in (("frozen", results.volumes.get(str(instance), {})), ("paper", paper)):
            best = best_and_tied(volumes, "max")
            for contender, by_seed in volumes.items():
                found = interval(by_seed.values())
                rows.append(
                    {
                        "instance": instance,
                        "instance_label": members["instance_label"].iloc[0],
                        "form": form,
                        "contender": contender,
                        "tried": int(tried[contender]),
                        "mean": found.mean,
                        **{name: _number(getattr(found, name)) for name in ("sd", "low", "high")},
                        "n": found.n,
                        "best": contender in best,
                    }
                )
    return pd.DataFrame(rows)


def _number(value: float | None) -> float:
    return math.nan if value is None else value
