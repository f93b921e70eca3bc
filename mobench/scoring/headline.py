"""The headline of a suite: contenders by what they are ranked by, how far from the first, with effort and cost.

A further column of effort or cost is a line of `EFFORT`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from mobench.scoring.atlas import one_direction
from mobench.scoring.contests import aim_of
from mobench.scoring.indicators.paired import FEWEST_SEEDS
from mobench.scoring.select import Indicator
from mobench.scoring.tables import Column, Estimate, Note, Table, Value

if TYPE_CHECKING:
    from mobench.scoring.results import SuiteResults

AIM, DIFFERENCE = "aim", "difference"
"""The columns of `methods_table` by which contenders are ranked."""


def _statistic(column: str, how: str) -> Callable[[pd.DataFrame], Value]:
    """Return what takes the mean or median of a column, NaN where no run got so far."""
    return lambda runs: float(getattr(runs[column].astype(float), how)()) if column in runs else math.nan


def _shared(runs: pd.DataFrame) -> float:
    parts = ("seconds_per_step", "method_seconds_per_step")
    if not {*parts} <= {*runs}:
        return math.nan
    whole, own = (runs[column].astype(float) for column in parts)
    return float((whole - own).median())


def _passes(runs: pd.DataFrame) -> float:
    steps = float(runs["steps"].sum()) if "steps" in runs else 0.0
    return float(runs["backward_passes"].sum()) / steps if steps else math.nan


EFFORT: tuple[tuple[Column, Callable[[pd.DataFrame], Value]], ...] = (
    (Column("configurations", "tried"), lambda runs: int(runs["method_label"].nunique())),
    (Column("runs", "runs"), len),
    (Column("failed", "failed"), lambda runs: int((runs["status"] != "done").sum())),
    (Column("seconds_per_step", "ms/step", "seconds_per_step", unit=1e-3), _statistic("seconds_per_step", "median")),
    (
        Column("method_seconds_per_step", "own µs", "method_seconds_per_step", unit=1e-6, note="inside the method"),
        _statistic("method_seconds_per_step", "median"),
    ),
    (
        Column(
            "shared_seconds_per_step", "shared µs", unit=1e-6,
            note="an equal share of what the runs that trained together did for all of them",
        ),
        _shared,
    ),
    (
        Column(
            "secondary_progress", "progress", "secondary_progress", "max",
            note="mean cosine of the update with the gradient of the worst served secondary",
        ),
        _statistic("secondary_progress", "mean"),
    ),
    (Column("passes_per_step", "passes/step"), _passes),
    (Column("peak_memory", "peak MB", "peak_memory", unit=1e6), _statistic("peak_memory", "median")),
)  # fmt: skip
"""Effort and cost of a contender over all of its runs; costs are medians over runs."""
_READ = (
    "contender", "method_label", "status", "steps", "secondary_progress", "seconds_per_step", "method_seconds_per_step",
    "backward_passes", "peak_memory",
)  # fmt: skip
"""The columns of runs that `EFFORT` reads; a table has many more."""


def methods_table(results: SuiteResults) -> Table:
    """Return the contenders by what the suite is ranked by, with the difference to the first, effort and cost."""
    groups: dict[Any, pd.DataFrame] = {}
    if len(results.table):
        groups = dict(list(results.table[[name for name in results.table if name in _READ]].groupby("contender")))
    effort = {name: tuple(measure(groups[name]) for _, measure in EFFORT) for name in results.order}
    columns = tuple(column for column, _ in EFFORT)
    aim = aim_of(results)
    if aim is None:
        rows = tuple(results.row(name, *effort[name]) for name in results.order)
        return Table("methods", "Effort and cost", columns, rows, ranked_by=())
    column = replace(aim.column, key=AIM)
    difference = Column(DIFFERENCE, "to the first", column.metric, None, column.unit, column.decimals)
    means = _over_instances(results, aim)
    first, differences = _differences(means, results.unranked, column.direction == "max")
    rows = tuple(results.row(name, means.get(name), differences.get(name), *effort[name]) for name in results.order)
    seeds = max((len(found.values) for found in means.values()), default=0)
    notes = [Note("differences") if seeds >= FEWEST_SEEDS else Note("too-few-seeds", (FEWEST_SEEDS,))]
    notes += [Note("one-direction", found) for found in one_direction(results.table, results.problems)]
    table = Table(
        "methods",
        f"Methods by {column.label}",
        (column, difference, *columns),
        rows,
        notes=tuple(notes),
        ranked_by=(AIM,),
    ).sorted()
    told = any(found.interval and found.interval.low is not None for found in differences.values())
    together = {first, *(name for name, found in differences.items() if found.holds_zero)} if told else set()
    return replace(table, leaders=tuple(row.label for row in table.rows if row.label in together))


def _over_instances(results: SuiteResults, aim: Indicator) -> dict[str, Estimate]:
    """Return the mean over problem instances by seed; a seed at which one of them has no number is missing."""
    found = results.estimates(aim)
    gathered: dict[str, dict[int, list[float]]] = {}
    for estimates in found.values():
        for name, estimate in estimates.items():
            for seed, value in estimate.values.items():
                gathered.setdefault(name, {}).setdefault(seed, []).append(value)
    seeds = {seed for by_seed in gathered.values() for seed in by_seed}
    # A volume of no run is 0, so that only seeds that an instance does not have are lacking.
    whole = 1 if aim.criterion is None else len(found)
    means: dict[str, Estimate] = {}
    entered = {name for estimates in found.values() for name in estimates}
    for name in filter(entered.__contains__, results.order):
        own = gathered.get(name, {})
        by_seed = {seed: float(np.mean(values)) for seed, values in own.items() if len(values) >= whole}
        parts = [estimates[name] for estimates in found.values() if name in estimates]
        runs, failed = (sum(getattr(part, kind) for part in parts) for kind in ("runs", "failed"))
        means[name] = Estimate(by_seed, missing=len(seeds) - len(by_seed), runs=runs, failed=failed)
    return means


def _differences(
    means: Mapping[str, Estimate], unranked: frozenset[str], larger: bool
) -> tuple[str | None, dict[str, Estimate]]:
    """Return the first, and how far each other contender that has all of its seeds lies from it, seed by seed."""
    whole = {
        name: found for name, found in means.items() if found.values and not found.missing and name not in unranked
    }
    if not whole:
        return None, {}
    first = (max if larger else min)(whole, key=lambda name: whole[name].mean)
    base = whole[first].values
    return first, {
        name: Estimate({seed: value - base[seed] for seed, value in found.values.items() if seed in base}, paired=True)
        for name, found in whole.items()
        if name != first
    }
