"""Δm: how much a run loses against baselines of the same suite, e.g. against training each task alone.

For metrics m with baseline values b_m, taken of the runs that the suite names for each metric, on the same problem
instance and at the same seed,

    Δm = 100 · mean over m of s_m (v_m − b_m) / |b_m|,     s_m = 1 where small is better, −1 where large is,

in per cent. Below 0 the run is better than its baselines. Without a baseline at a seed there is no number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from mobench.core.columns import DELTA
from mobench.core.problem import Problem
from mobench.scoring.query import select


def with_delta(
    table: pd.DataFrame, baselines: Mapping[str, Mapping[str, Any]], problems: Mapping[str, Problem]
) -> pd.DataFrame:
    """Return the table with the column `delta_m`, if the suite states baselines for its metrics."""
    if not baselines or not len(table):
        return table
    delta = pd.Series(math.nan, index=table.index)
    for (instance, _), runs in table.groupby(["instance", "seed"]):
        losses = [_losses(runs, metric, where, problems[str(instance)]) for metric, where in baselines.items()]
        delta[runs.index] = 100.0 * np.mean(losses, axis=0)
    return table.assign(**{DELTA.name: delta})


def _losses(runs: pd.DataFrame, metric: str, where: Mapping[str, Any], problem: Problem) -> Any:
    """Return the relative loss of each run in one metric, NaN where it or its baseline is missing."""
    declared = {known.name: known.better for known in problem.metrics()}
    if metric not in runs or metric not in declared:
        return np.full(len(runs), math.nan)
    base = float(select(runs, where)[metric].mean())
    sign = -1.0 if declared[metric] == "max" else 1.0
    values = runs[metric].to_numpy(dtype=np.float64)
    return sign * (values - base) / abs(base) if base else np.full(len(runs), math.nan)
