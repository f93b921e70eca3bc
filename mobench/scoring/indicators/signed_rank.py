"""Wilcoxon's signed-rank test of paired differences, exact for every number of pairs, with ties and zeros."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def signed_rank_p_value(differences: npt.ArrayLike) -> float | None:
    """Return the exact two-sided p-value of the hypothesis that the differences are symmetric around 0.

    Zeros are dropped, equal magnitudes share the mean of their ranks. Under the hypothesis each of the n ranks r_i
    carries a sign that is + or − with probability ½, so the distribution of W = Σ r_i [sign +] is the product of n
    two-point distributions, convolved here in steps of half a rank. p = P(|W − E W| ≥ |w − E W|). None without pairs.
    """
    from scipy.stats import rankdata

    values = np.asarray(differences, dtype=np.float64)
    values = values[values != 0.0]
    if not values.size:
        return None
    halves = np.rint(2.0 * rankdata(np.abs(values))).astype(int)
    total = int(halves.sum())
    distribution = np.zeros(total + 1)
    distribution[0] = 1.0
    for rank in halves:
        distribution[rank:] = 0.5 * (distribution[rank:] + distribution[: total + 1 - rank])
        distribution[:rank] *= 0.5
    observed = int(halves[values > 0.0].sum())
    away = np.abs(2 * np.arange(total + 1) - total) >= abs(2 * observed - total)
    return min(1.0, float(distribution[away].sum()))


def smallest_p_value(pairs: int) -> float:
    """Return the smallest p-value that so many pairs can give, 2^(1−n)."""
    return float(min(1.0, 2.0 ** (1 - pairs)))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for their number by Holm's step-down rule, in the given order."""
    order = np.argsort(p_values, kind="stable")
    adjusted, largest = [0.0] * len(p_values), 0.0
    for place, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[index]))
        adjusted[index] = largest
    return adjusted
