"""Hypervolume of every contender on every problem instance, in both of its forms."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd

from mobench.scoring.indicators.hypervolume import NonPositiveError, paper_hypervolume
from mobench.scoring.indicators.intervals import interval
from mobench.scoring.scores import rebuild_problem, seed_hypervolumes
from mobench.scoring.selection import best_and_tied

FORMS = {
    "frozen": "hypervolume in the problem's frozen bounds, in [0, 1]",
    "paper": "the paper's hypervolume: log10 of the losses, min–max over all methods of this table, in [0, 100]",
}
"""The first is comparable over time; the second moves with everybody who is in the table."""

BySeed = dict[int, float]


def hypervolume_frame(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row per problem instance, form and contender.

    Columns: `instance`, `instance_label`, `form`, `contender`, `tried` configurations, `mean`, `sd`,
    `low`, `high`, `n` over seeds, and `best`, true for the best and all that the seeds cannot tell from it.
    A seed at which no configuration finished counts 0. A form that an instance does not have is left out:
    the frozen one needs bounds, the paper's needs positive losses.
    """
    rows: list[dict[str, Any]] = []
    for instance, members in table.groupby("instance", sort=False):
        for form, values in (("frozen", _frozen(members)), ("paper", _paper(members))):
            best = best_and_tied(values, "max")
            for contender, by_seed in values.items():
                found = interval(by_seed.values())
                rows.append(
                    {
                        "instance": instance,
                        "instance_label": members["instance_label"].iloc[0],
                        "form": form,
                        "contender": contender,
                        "tried": members.loc[members["contender"] == contender, "configuration"].nunique(),
                        "mean": found.mean,
                        **{name: _number(getattr(found, name)) for name in ("sd", "low", "high")},
                        "n": found.n,
                        "best": contender in best,
                    }
                )
    return pd.DataFrame(rows)


def _frozen(members: pd.DataFrame) -> dict[Hashable, BySeed]:
    problem = rebuild_problem(members)
    bounds = problem.hypervolume_bounds()
    if bounds is None:
        return {}
    seeds = members["seed"].unique()
    found: dict[Hashable, BySeed] = {}
    for contender, runs in members.groupby("contender", sort=False):
        # A seed that a contender has not run at all counts like one that failed.
        found[contender] = dict.fromkeys(map(int, seeds), 0.0) | seed_hypervolumes(problem, bounds, runs)
    return found


def _paper(members: pd.DataFrame) -> dict[Hashable, BySeed]:
    problem = rebuild_problem(members)
    if problem.hypervolume_bounds() is None:
        return {}
    columns = [f"loss/{name}" for name in problem.objectives()]
    done = members[members["status"] == "done"]
    if not set(columns) <= set(done.columns):
        return {}
    keys = [(contender, int(seed)) for contender in members["contender"].unique() for seed in members["seed"].unique()]
    losses = done[columns].to_numpy(dtype=np.float64)
    places = done.groupby(["contender", "seed"], sort=False).indices
    sets = {key: losses[places.get(key, [])] for key in keys}
    try:
        volumes = paper_hypervolume(sets)
    except NonPositiveError:
        return {}
    found: dict[Hashable, BySeed] = {}
    for (contender, seed), volume in volumes.items():
        found.setdefault(contender, {})[seed] = volume
    return found


def _number(value: float | None) -> float:
    return math.nan if value is None else value
