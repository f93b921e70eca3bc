"""Which of several contenders cannot be told from the best: Student's interval of differences at equal seeds.

Unlike the bootstrap it keeps its level at three seeds. With fewer nothing is told apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from mobench.core.metric import Direction
from mobench.scoring.indicators.intervals import LEVEL, Interval

FEWEST_SEEDS = 3
"""With fewer seeds the data cannot tell methods apart."""


def paired_interval(differences: Iterable[float]) -> Interval:
    """Return mean, deviation and t-interval (95 %) of differences at equal seeds; no interval of too few seeds."""
    sample = np.asarray(list(differences), dtype=np.float64)
    n, mean = len(sample), float(sample.mean())
    if n < FEWEST_SEEDS:
        return Interval(mean, None, None, None, n)
    sd = float(sample.std(ddof=1))
    width = critical(n - 1) * sd / math.sqrt(n)
    return Interval(mean, sd, mean - width, mean + width, n)


def best_and_tied(values: Mapping[Any, Mapping[int, float]], best: Direction) -> set[Any]:
    """Return the best of several methods' values by seed, and all that cannot be told from it."""
    if min((len(by_seed) for by_seed in values.values() if by_seed), default=0) < FEWEST_SEEDS:
        return set()
    means = {name: float(np.mean(list(by_seed.values()))) for name, by_seed in values.items() if by_seed}
    winner = (max if best == "max" else min)(means, key=means.__getitem__)
    differences = [[value - values[name][seed] for name in means] for seed, value in values[winner].items()]
    return {name for name, holds in zip(means, holds_zero(np.array(differences)), strict=True) if holds}


def holds_zero(differences: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Say whether the paired t-interval of differences at equal seeds, which are the first axis, holds zero."""
    n = len(differences)
    means = np.abs(differences.mean(axis=0))
    spreads = differences.std(axis=0, ddof=1) if n > 1 else np.zeros_like(means)
    widths = critical(n - 1) * spreads / math.sqrt(n) if n > 1 else spreads
    holds: npt.NDArray[np.bool_] = np.where(spreads == 0.0, means == 0.0, means <= widths)
    return holds


@cache
def critical(freedom: int) -> float:
    """Return the t-interval's half width in standard errors."""
    from scipy.special import stdtrit  # Student's quantiles; `scipy.stats` calls it, and takes half a second to load

    return float(stdtrit(freedom, 0.5 + LEVEL / 2.0))
