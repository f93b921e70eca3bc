"""Performance profiles (Dolan and Moré 2002): how often a contender is within a factor of the best.

In every block (one problem at one seed) a contender's value becomes a ratio r ≥ 1 to the block's best:

    minimised, v ≥ 0:  r = v / min v        maximised, v ≥ 0:  r = max v / v

A failure has r = ∞. So has a maximised value of 0 (nothing was achieved), also when no method achieved more:
a problem that no method solved counts for none. Where the best of minimised values is 0, those at 0
have r = 1 and all others r = ∞; no constant is added to make that finite, since the constant would decide
the order. A block with a negative value has no ratios at all.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def performance_ratios(values: npt.ArrayLike, best: Literal["max", "min"]) -> Array:
    """Return r for every entry of a table (blocks × contenders); rows with a negative value are NaN."""
    table = np.atleast_2d(np.asarray(values, dtype=np.float64))
    negative = (table < 0.0).any(axis=1)
    failed = np.isnan(table)
    with np.errstate(divide="ignore", invalid="ignore"):
        if best == "max":
            leader = np.where(failed, -np.inf, table).max(axis=1, keepdims=True)
            ratios = np.where(table > 0.0, leader / table, np.inf)
        else:
            leader = np.where(failed, np.inf, table).min(axis=1, keepdims=True)
            ratios = np.where(table == leader, 1.0, table / leader)
    ratios = np.where(failed, np.inf, ratios)
    ratios[negative] = np.nan
    return ratios


def performance_profile(ratios: npt.ArrayLike, weights: npt.ArrayLike) -> list[tuple[Array, Array]]:
    """Return for every contender the steps (τ, ρ) of its profile: ρ(τ) is the weighted share of blocks with r ≤ τ.

    `ratios` is blocks × contenders, `weights` one number per block. Every profile starts at τ = 1; infinite
    ratios never enter, so that a profile ends at the share of blocks without failure.
    """
    table, share = np.asarray(ratios, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    share = share / share.sum()
    profiles = []
    for column in table.T:
        steps = np.unique(np.concatenate([[1.0], column[np.isfinite(column)]]))
        profiles.append((steps, np.array([float(share[column <= step].sum()) for step in steps])))
    return profiles
