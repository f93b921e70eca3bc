"""Ranks of contenders over several blocks, and whether they differ (Demšar 2006).

A block is what is ranked at once: the values of k contenders on one problem at one seed, or their mean
ranks over a whole suite. Ranks run from 1 (best) to k; equal values share the mean of their places. A value
that is missing is a failure: it takes the last places, and failures share them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt

from mobench.errors import UserError

Array = npt.NDArray[np.float64]
LEVEL = 0.05
"""The level of the tests."""


def ranks_of(values: npt.ArrayLike, best: Literal["max", "min"]) -> Array:
    """Return the rank of every entry within its row (blocks × contenders); NaN comes last."""
    from scipy.stats import rankdata

    table = np.atleast_2d(np.asarray(values, dtype=np.float64))
    cost = np.where(np.isnan(table), np.inf, -table if best == "max" else table)
    if np.isinf(table).any():
        raise UserError("ranks need finite values; a failure is NaN")
    ranks: Array = rankdata(cost, axis=1)
    return ranks


def friedman_p_value(scores: npt.ArrayLike) -> float | None:
    """Return the p-value of Friedman's test that k contenders do not differ over N blocks (blocks × contenders).

    The χ² approximation with k − 1 degrees of freedom, corrected for ties. None with fewer than three
    contenders or two blocks; 1 where every block is one full tie.
    """
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] < 2 or table.shape[1] < 3:
        return None
    if (table == table[:, :1]).all():
        return 1.0
    from scipy.stats import friedmanchisquare

    return float(friedmanchisquare(*table.T).pvalue)


def critical_difference(contenders: int, blocks: int) -> float | None:
    """Return Nemenyi's critical difference of mean ranks, q_{0.05} √(k (k + 1) / (6 N)).

    q is the studentized range of k means with infinite degrees of freedom, divided by √2. None where the
    blocks are too few to tell even one who is always first from one who is always last: CD ≥ k − 1.
    """
    if contenders < 2 or blocks < 1:
        return None
    difference = nemenyi_q(contenders) * float(np.sqrt(contenders * (contenders + 1) / (6.0 * blocks)))
    return difference if difference < contenders - 1 else None


@lru_cache(maxsize=256)
def nemenyi_q(contenders: int, level: float = LEVEL) -> float:
    """Return the critical value q of Nemenyi's test at a level, e.g. 2.343 for three contenders."""
    from scipy.stats import studentized_range

    return float(studentized_range.ppf(1.0 - level, contenders, np.inf) / np.sqrt(2.0))
