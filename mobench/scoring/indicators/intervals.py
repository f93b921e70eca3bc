"""Mean, standard deviation and a bootstrap 95 % interval over seeds.

The interval is the percentile bootstrap of the mean: the 2.5 % and 97.5 % quantiles of the means of
`RESAMPLES` samples of size n drawn with replacement. Draws are seeded and the sample is sorted first,
so the interval depends on the numbers alone, not on their order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from mobench.errors import NonFiniteError, UserError

RESAMPLES = 10_000
"""How many bootstrap samples are drawn."""
PIECES = (10_000, 2_000, 1_000, 400, 200, 80, 40, 16, 8)
"""How many of them may be computed at a time; each divides their number."""
ONE_THREAD = 100_000
"""The largest number of products that are computed at a time."""
LEVEL = 0.95
"""The nominal coverage of the interval."""
FEW = 7
"""Of so many seeds there are far fewer different bootstrap samples than are drawn."""
KEPT = 32_768
"""How many intervals are kept: a site shows most numbers on several pages."""


@dataclass(frozen=True)
class Interval:
    """A number over n seeds. What one seed cannot tell is None, not zero."""

    mean: float
    sd: float | None
    """The sample standard deviation (divisor n − 1); None for n = 1."""
    low: float | None
    high: float | None
    """The bootstrap interval [low, high]; None for n = 1."""
    n: int


def interval(values: Iterable[float]) -> Interval:
    """Return mean, deviation and interval of one number per seed.

    No values raise `UserError`, a NaN or an infinity `NonFiniteError`. Equal values have sd 0 and an
    interval of length 0.
    """
    sample = np.sort(np.asarray(list(values), dtype=np.float64))
    if sample.ndim != 1 or not sample.size:
        raise UserError(f"an interval of values of shape {sample.shape} is not defined; accepted: at least one number")
    if not np.isfinite(sample).all():
        raise NonFiniteError(f"an interval over seeds needs finite values, not {sample.tolist()}")
    return _interval(sample.tobytes())


@lru_cache(maxsize=KEPT)
def _interval(sorted_bytes: bytes) -> Interval:
    """Return what `interval` does, for a sorted sample of finite values."""
    sample = np.frombuffer(sorted_bytes, dtype=np.float64)
    n = int(sample.size)
    if n == 1:
        return Interval(float(sample[0]), None, None, None, 1)
    if sample[0] == sample[-1]:
        constant = float(sample[0])
        return Interval(constant, 0.0, constant, constant, n)
    with np.errstate(over="ignore", invalid="ignore"):
        # Rounding can push a mean of nearly equal values out of their range; clipping brings it back.
        mean = float(np.clip(sample.mean(), sample[0], sample[-1]))
        sd = float(sample.std(ddof=1))
        low, high = np.clip(resampled_quantiles(sample), sample[0], sample[-1]).tolist()
    if not np.isfinite([mean, sd, low, high]).all():
        raise NonFiniteError(f"the values {sample.tolist()} are too large for a finite mean and deviation")
    return Interval(mean, sd, min(low, mean), max(high, mean), n)


def resampled_quantiles(sample: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the quantiles of the resampled means between which the level lies.

    Of few seeds the mean of each different sample is taken once, and counted as often as it was drawn. The bits are
    the same.
    """
    tail = (1.0 - LEVEL) / 2.0
    levels = np.array([tail, 1.0 - tail])
    if len(sample) > FEW:
        quantiles: npt.NDArray[np.float64] = np.quantile(resampled_means(sample), levels)
        return quantiles
    weights, counts = _different_samples(len(sample))
    means = weights @ sample
    order = np.argsort(means)
    places = levels * (RESAMPLES - 1)
    below = np.floor(places)
    found = np.searchsorted(np.cumsum(counts[order]), np.concatenate([below, below + 1.0]), side="right")
    first, second = means[order[found]].reshape(2, -1)
    part, gap = places - below, second - first
    between: npt.NDArray[np.float64] = np.where(part < 0.5, first + gap * part, second - gap * (1.0 - part))
    return between


def resampled_means(sample: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the mean of every bootstrap sample.

    The product is taken in pieces that BLAS computes on one thread: starting and awaiting a second one takes ten times
    as long as the product of a hundred seeds. The bits are the same.
    """
    n = len(sample)
    rows = next((rows for rows in PIECES if rows * n <= ONE_THREAD), PIECES[-1])
    means: npt.NDArray[np.float64] = (_resampling(n).reshape(-1, rows, n) @ sample).reshape(RESAMPLES)
    return means


@lru_cache(maxsize=8)
def _resampling(n: int) -> npt.NDArray[np.float64]:
    """Return the weights of each of n values in each bootstrap sample (`RESAMPLES` × n, rows sum to 1)."""
    counts = np.random.default_rng(0).multinomial(n, np.full(n, 1.0 / n), size=RESAMPLES)
    weights: npt.NDArray[np.float64] = counts / n
    weights.flags.writeable = False
    return weights


@lru_cache(maxsize=FEW)
def _different_samples(n: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Return the rows of `_resampling` that differ, and how often each is there."""
    weights, counts = np.unique(_resampling(n), axis=0, return_counts=True)
    return weights, counts
