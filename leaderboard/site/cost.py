"""What every contender costs, beside how it ranks: time per step, memory and backward passes, as measured."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pandas as pd


@dataclass(frozen=True)
class Cost:
    """Medians over the runs of one contender in one suite; NaN where nothing was measured."""

    contender: str
    configurations: int
    runs: int
    failed: int
    milliseconds: float
    """Of a whole step."""
    own_microseconds: float
    """Of a step, inside the method."""
    backward_passes: float
    """Per step."""
    megabytes: float
    """Peak resident memory of the process."""


def costs(table: pd.DataFrame) -> dict[str, Cost]:
    """Return the cost of every contender of a results table."""
    return {str(name): _cost(str(name), runs) for name, runs in table.groupby("contender", sort=False)}


def _cost(contender: str, runs: pd.DataFrame) -> Cost:
    steps = _sum(runs, "steps")
    passes = _sum(runs, "backward_passes")
    return Cost(
        contender,
        configurations=int(runs["method_label"].nunique()),
        runs=len(runs),
        failed=int((runs["status"] != "done").sum()),
        milliseconds=1e3 * _median(runs, "seconds_per_step"),
        own_microseconds=1e6 * _median(runs, "method_seconds_per_step"),
        backward_passes=passes / steps if steps and passes else math.nan,
        megabytes=_median(runs, "peak_memory") / 1e6,
    )


def _median(runs: pd.DataFrame, column: str) -> float:
    return float(runs[column].astype(float).median()) if column in runs else math.nan


def _sum(runs: pd.DataFrame, column: str) -> float:
    return float(runs[column].astype(float).sum()) if column in runs else 0.0
