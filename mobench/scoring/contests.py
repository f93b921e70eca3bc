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

import numpy as np
import pandas as pd

from mobench.core.problem import Bounds, Problem
from mobench.planning.suite import Suite
from mobench.scoring.contenders import ordered_contenders, with_contenders
from mobench.scoring.results_table import DONE
from mobench.scoring.scores import rebuild_problem, seed_hypervolumes
from mobench.scoring.selected import selected_rows
from mobench.scoring.selection import Criterion, Direction, choose

DIGITS = 10
"""Values are rounded to so many significant digits: what differs beyond them is rounding, not a rank."""
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


def contests(suite: Suite, table: pd.DataFrame, *, selection: str = "validation") -> list[Contest]:
    """Return the contests of a suite's results table, in the table's order of instances."""
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
            values = {name: _hypervolumes(*measure, part) for name, part in groups.items()}
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


def _hypervolumes(problem: Problem, bounds: Bounds, runs: pd.DataFrame) -> BySeed:
    """Return the hypervolume of all configurations by seed, only where a run finished."""
    finished = runs.loc[runs["status"] == DONE, "seed"].unique()
    alive = runs[runs["seed"].isin(finished)]
    if not len(alive):
        return {}
    return seed_hypervolumes(problem, bounds, alive)


def _rounded(value: float) -> float:
    return float(np.format_float_scientific(value, DIGITS - 1, unique=False)) if math.isfinite(value) else math.nan
