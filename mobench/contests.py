"""Contests: what contenders are ranked on, one for each problem instance of a suite.

The value of a contest, per seed and contender, is the first that the instance has:

1. the hypervolume of the contender's configurations in the problem's frozen bounds;
2. the suite's first `selected` row: the configuration chosen on validation data, measured on test data;
3. the suite's first metric if it is a loss. The direction of other metrics is declared nowhere, so nothing is
   ranked by them. The configuration is chosen by the loss itself, since there is no other data.

A contender enters a suite with its first stored run there, and then it has entered all of the suite: a seed or
an instance without a finished run is NaN, be it failed or never run, so that nobody gains by leaving out what is
hard. What fewer than half of the suite's contenders ran (an extra seed, an extra instance) is somebody's
experiment and no part of the contest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from mobench.contenders import ordered_contenders, with_contenders
from mobench.metrics.budget import expected_hypervolume
from mobench.problem import Bounds, Problem
from mobench.results import DONE
from mobench.scores import rebuild_problem, seed_hypervolumes, seed_points
from mobench.selected import selected_rows
from mobench.selection import Criterion, Direction, choose
from mobench.suite import Suite

DIGITS = 10
"""Values are rounded to so many significant digits: what differs beyond them is rounding, not a rank."""
Budget = Literal["whole", "equal"]
BySeed = Mapping[int, float]


@dataclass(frozen=True)
class Contest:
    """One problem instance on which contenders are ranked."""

    suite: str
    profile: str
    problem: str
    instance: str
    label: str
    metric: str
    best: Direction
    values: pd.DataFrame
    """Seeds (index) × contenders (columns); NaN where the contender has no finished run at the seed."""
    tried: Mapping[str, int]
    """How many configurations each contender tried here."""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What a contest is sorted by, so that no result depends on the order in which contests are given."""
        return self.suite, self.profile, self.problem, self.instance


def contests(
    suite: Suite, table: pd.DataFrame, *, selection: str = "validation", budget: Budget = "whole"
) -> list[Contest]:
    """Return the contests of a suite's results table, in the table's order of instances.

    With `budget="equal"` a hypervolume is the expected one of m configurations picked blindly, where m is the
    smallest sweep of the contest; values that are not hypervolumes stay as they are.
    """
    if not len(table):
        return []
    runs = table if "contender" in table else with_contenders(table, suite.split)
    names = ordered_contenders(runs, suite.methods)
    found = []
    for instance, members in runs.groupby("instance", sort=False):
        entered = members.groupby("seed")["contender"].nunique()
        seeds = sorted(int(seed) for seed in entered.index[2 * entered >= len(names)])
        headline = _headline(suite, members, selection) if seeds else None
        if headline is None:
            continue
        metric, best, measure = headline
        groups = {str(name): part[part["seed"].isin(seeds)] for name, part in members.groupby("contender")}
        tried = {name: int(groups[name]["configuration"].nunique()) if name in groups else 0 for name in names}
        if isinstance(measure, Criterion):
            values = {name: choose(part, measure, pd.Series(seeds)).values for name, part in groups.items()}
        else:
            # A contender that has no run here must not push the budget of the others to 0.
            m = min(count for count in tried.values() if count) if budget == "equal" else None
            values = {name: _hypervolumes(*measure, part, m) for name, part in groups.items()}
        numbers = {name: [_rounded(values.get(name, {}).get(seed, math.nan)) for seed in seeds] for name in names}
        frame = pd.DataFrame(numbers, index=pd.Index(seeds, name="seed"), dtype=float)
        first = members.iloc[0]
        found.append(
            Contest(
                suite.name,
                suite.profile,
                str(first["problem"]),
                str(instance),
                str(first["instance_label"]),
                metric,
                best,
                frame,
                tried,
            )
        )
    return found


Measure = Criterion | tuple[Problem, Bounds]


def _headline(suite: Suite, members: pd.DataFrame, selection: str) -> tuple[str, Direction, Measure] | None:
    problem = rebuild_problem(members)
    bounds = problem.hypervolume_bounds()
    if bounds is not None:
        return "hypervolume", "max", (problem, bounds)
    rows = selected_rows(suite, selection)
    if rows:
        criterion = rows[0].criterion
    elif suite.metrics and suite.metrics[0].startswith("loss/"):
        criterion = Criterion(suite.metrics[0], suite.metrics[0], "min", "min")
    else:
        return None
    if not {criterion.value, criterion.select} <= set(members.columns):
        return None
    return criterion.value, criterion.best, criterion


def _hypervolumes(problem: Problem, bounds: Bounds, runs: pd.DataFrame, budget: int | None) -> BySeed:
    """Return the hypervolume by seed, of all configurations or expected of so many; only where a run finished."""
    finished = runs.loc[runs["status"] == DONE, "seed"].unique()
    alive = runs[runs["seed"].isin(finished)]
    if not len(alive):
        return {}
    if budget is None:
        return seed_hypervolumes(problem, bounds, alive)
    found = {}
    for seed, points in seed_points(problem, alive).items():
        missing = runs["configuration"].nunique() - len(points)
        curve = expected_hypervolume(points, bounds.ideal, bounds.reference, failed=missing)
        found[seed] = float(curve.expected[budget - 1])
    return found


def _rounded(value: float) -> float:
    return float(np.format_float_scientific(value, DIGITS - 1, unique=False)) if math.isfinite(value) else math.nan
