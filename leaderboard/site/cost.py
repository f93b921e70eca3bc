"""What the runs of a method cost on a problem: time per step, backward passes and memory, as measured."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pandas as pd

COST_COLUMNS = ("seconds_per_step", "method_seconds_per_step", "backward_passes", "steps", "peak_memory")
"""What `spreads` reads of runs."""


class Spread(NamedTuple):
    """Median and quartiles over runs; NaN where nothing was measured."""

    median: float
    lower: float
    upper: float


def spreads(runs: pd.DataFrame) -> tuple[Spread, Spread, Spread, Spread, Spread]:
    """Return milliseconds per step, own and shared microseconds per step, backward passes per step and megabytes.

    Pass finished runs only: a step that raises costs less than one that is taken.
    """
    passes = runs["backward_passes"] / runs["steps"] if {"backward_passes", "steps"} <= {*runs} else None
    whole, own = (runs.get(column) for column in ("seconds_per_step", "method_seconds_per_step"))
    return (
        _spread(whole, 1e3),
        _spread(own, 1e6),
        _spread(None if whole is None or own is None else whole - own, 1e6),
        _spread(passes, 1.0),
        _spread(runs.get("peak_memory"), 1e-6),
    )


def _spread(values: pd.Series | None, unit: float) -> Spread:
    if values is None:
        return Spread(math.nan, math.nan, math.nan)
    numbers = values.to_numpy(dtype=np.float64)
    measured = numbers[~np.isnan(numbers)]
    if not len(measured):
        return Spread(math.nan, math.nan, math.nan)
    lower, median, upper = (unit * np.quantile(measured, [0.25, 0.5, 0.75])).tolist()
    return Spread(median, lower, upper)
