"""The difference of two methods at equal seeds.

Two methods at one seed share initial weights and batches, so their difference per seed is far less
noisy than the difference of their means. It is taken seed by seed or not at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mobench.errors import UserError
from mobench.metrics.intervals import Interval, interval

EXACT_SEEDS = 14
"""Up to so many seeds all 2ⁿ sign changes are counted; beyond, `SIGN_DRAWS` seeded draws are."""
SIGN_DRAWS = 20_000


@dataclass(frozen=True)
class Difference:
    """How much the first method is above the second, over the seeds they share."""

    interval: Interval
    """Of the differences first − second, one per seed."""
    p_value: float
    """The chance of a mean difference at least this large, either way, if the methods were exchangeable."""

    def is_noise(self, level: float = 0.05) -> bool:
        """Say whether the seeds cannot tell the two methods apart at this level.

        With n seeds the p-value is never below 2¹⁻ⁿ, so fewer than six seeds never pass 5 %.
        """
        return self.p_value > level


def paired_difference(first: Mapping[int, float], second: Mapping[int, float]) -> Difference:
    """Return the difference of two methods' values by seed.

    Seeds that only one of them has raise `UserError`: a method must not gain by failing on hard seeds.
    """
    unpaired = sorted(first.keys() ^ second.keys())
    if unpaired or not first:
        missing = f"seeds {unpaired} are in one of them only" if unpaired else "there are no seeds"
        raise UserError(f"a paired difference needs both methods at the same seeds; {missing}")
    differences = [first[seed] - second[seed] for seed in sorted(first)]
    return Difference(interval(differences), sign_flip_p_value(np.asarray(differences, dtype=np.float64)))


def sign_flip_p_value(differences: npt.NDArray[np.float64]) -> float:
    """Return the two-sided p-value of the sign-flip test of mean 0.

    If two methods are exchangeable, every sign of every difference is equally likely: the p-value is
    the share of the 2ⁿ sign patterns s with |Σ s_i δ_i| ≥ |Σ δ_i|.
    """
    n = len(differences)
    observed = abs(float(differences.sum()))
    # Patterns with equal sums in exact arithmetic must not be lost to rounding.
    slack = 4.0 * n * float(np.finfo(np.float64).eps) * float(np.abs(differences).sum())
    if n <= EXACT_SEEDS:
        bits = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
        extreme = np.abs((1.0 - 2.0 * bits) @ differences) >= observed - slack
        return float(extreme.mean())
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(SIGN_DRAWS, n))
    extreme = np.abs(signs @ differences) >= observed - slack
    # The observed pattern is one of the possible ones: counting it keeps the p-value above 0.
    return float((extreme.sum() + 1) / (SIGN_DRAWS + 1))
