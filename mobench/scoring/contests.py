"""Contests: what contenders are ranked on, one for each problem instance of a suite.

The value of a contest, per seed and contender, is the first that the instance has:

1. the hypervolume of the contender's configurations in the problem's frozen bounds;
2. the suite's first `selected` row: the configuration chosen on validation data, measured on test data;
3. the suite's first metric, if its problem declares which way it is better. The configuration is chosen by the
   metric itself, since there is no other data.

A contender enters a suite with its first stored run there, and then it has entered all of the suite: a seed or an
instance without a finished run is NaN, whether it failed or was never run, so that no method gains by leaving out
what is hard. What fewer than half of the suite's contenders have run so far (a seed, an instance) is no part of the
contest yet. Results that were sent in and are not repeated enter nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mobench.core.metric import Direction
from mobench.scoring.indicators.intervals import interval
from mobench.scoring.select import Criterion, Indicator, Sweeps, selection_columns
from mobench.scoring.tables import Column
from mobench.scoring.volumes import BySeed

if TYPE_CHECKING:
    from mobench.scoring.results import SuiteResults

DIGITS = 10
"""Values are rounded to so many significant digits: what differs beyond them is rounding, not a rank."""


@dataclass(frozen=True)
class Contest:
    """One problem instance on which contenders are ranked."""

    suite: str
    profile: str
    """The profile, and what differs from it."""
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


def contests(results: SuiteResults) -> list[Contest]:
    """Return the contests of a suite's results, in the table's order of instances."""
    found = []
    names = [name for name in results.order if name not in results.unranked]
    table = results.table
    table = table[~table["contender"].isin(results.unranked)] if results.unranked else table
    for instance, members in table.groupby("instance", sort=False) if len(table) else ():
        entered = members.groupby("seed")["contender"].nunique()
        seeds = sorted(int(seed) for seed in entered.index[2 * entered >= len(names)])
        volume = str(instance) in results.volumes
        aim = next((aim for aim in aims_of(results) if _is_there(aim, volume, members)), None) if seeds else None
        if aim is None or aim.column.direction is None:
            continue
        metric, best, criterion = aim.column.metric, aim.column.direction, aim.criterion
        read = members.loc[members["seed"].isin(seeds), selection_columns(members, criterion, "instance", "contender")]
        groups = {str(name): part for name, part in read.groupby("contender")}
        values: dict[str, Mapping[int, float]]
        if criterion is None:
            values = {name: _reached(results.volumes[str(instance)][name], part) for name, part in groups.items()}
        else:
            chosen = Sweeps(read, "contender").chosen(criterion).get(str(instance), {})
            values = {name: found.values for name, found in chosen.items()}
        numbers = {name: [_rounded(values.get(name, {}).get(seed, math.nan)) for seed in seeds] for name in names}
        first = members.iloc[0]
        found.append(
            Contest(
                suite=results.suite.name,
                profile=results.profile,
                problem=str(first["problem"]),
                instance=str(instance),
                label=str(first["instance_label"]),
                metric=metric,
                best=best,
                values=pd.DataFrame(numbers, index=pd.Index(seeds, name="seed"), dtype=float),
                tried={name: int(groups[name]["configuration"].nunique()) if name in groups else 0 for name in names},
            )
        )
    return found


def aim_frame(results: SuiteResults) -> pd.DataFrame:
    """Return mean and interval of what contenders are ranked on: one row per problem instance and contender.

    Columns: `instance_label`, `contender`, `metric`, `label` of the axis, `better`, `mean`, `low`, `high`. A seed
    without a finished run counts 0 in a hypervolume, as in tables; of another metric the finished seeds count.
    """
    rows = []
    for contest in results.contests:
        if contest.metric == "hypervolume":
            label = next(iter(results.problems[contest.instance].hypervolumes())).label
            values = {name: list(by_seed.values()) for name, by_seed in results.volumes[contest.instance].items()}
        else:
            label = results.metrics[contest.metric].axis
            values = {str(name): list(column.dropna()) for name, column in contest.values.items()}
        for name in filter(values.__contains__, results.order):
            found = interval(values[name]) if values[name] else None
            numbers = {key: getattr(found, key, None) for key in ("mean", "low", "high")}
            place = {"instance_label": contest.label, "contender": name, "metric": contest.metric, "label": label}
            rows.append({**place, "better": contest.best, **numbers})
    frame = pd.DataFrame(rows)
    return frame.astype({"mean": float, "low": float, "high": float}) if len(frame) else frame


HYPERVOLUME = Indicator(Column("hypervolume", "hypervolume", "hypervolume", "max", decimals=3))


def aims_of(results: SuiteResults) -> Iterator[Indicator]:
    """Yield what a suite may rank by; of these an instance is ranked by the first that it has."""
    yield HYPERVOLUME
    metric = results.metrics[results.suite.metrics[0]] if results.suite.metrics else None
    if results.indicators:
        yield results.indicators[0]
    elif metric is not None and metric.better is not None:
        criterion = Criterion(metric.name, metric.name, metric.better, metric.better)
        yield Indicator(Column(metric.name, metric.heading, metric.name, metric.better), criterion)


def aim_of(results: SuiteResults) -> Indicator | None:
    """Return what a suite is ranked by: the first of `aims_of` that one of its instances has."""
    return next((aim for aim in aims_of(results) if _is_there(aim, bool(results.volumes), results.table)), None)


def _is_there(aim: Indicator, has_volume: bool, runs: pd.DataFrame) -> bool:
    criterion = aim.criterion
    return has_volume if criterion is None else {criterion.value, criterion.select} <= set(runs.columns)


def _reached(volumes: BySeed, runs: pd.DataFrame) -> BySeed:
    """Keep the seeds at which a run finished."""
    finished = runs.loc[runs["status"] == "done", "seed"].unique()
    return {int(seed): volumes[int(seed)] for seed in finished}


def _rounded(value: float) -> float:
    return float(np.format_float_scientific(value, DIGITS - 1, unique=False)) if math.isfinite(value) else math.nan
