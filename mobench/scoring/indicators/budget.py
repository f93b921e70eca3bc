"""Hypervolume as a function of the number of configurations tried.

A method swept over n configurations shows the best of n. To compare it with one that was tried less,
take the mean of the hypervolume over all subsets of size m of its configurations, m = 1…n:

    H(m) = mean over S ⊂ {1…n}, |S| = m, of HV({z_i : i ∈ S}).

Enumerating subsets is not needed. If V_c is the volume of the part of [0, 1]^K that exactly c of the
configurations dominate, a subset of size m misses that part with probability C(n−c, m)/C(n, m), so

    H(m) = Σ_c V_c · (1 − C(n−c, m) / C(n, m)).

The V_c come from slicing the box one axis after the other, keeping for every set of configurations
still dominating a slice the volume of its slices. Where those sets become too many (many objectives
and many configurations), H is instead the mean over seeded random orders in which the configurations
could have been tried.

Where configurations are chosen among on validation data before they are measured, a set's value is no sum over its
members. Then the mean is taken over the subsets themselves, or over random orders where these are too many.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mobench.errors import UserError
from mobench.scoring.indicators.hypervolume import dominated_volume, inside
from mobench.scoring.indicators.normalise import Matrix, Vector, normalised

MAX_CELLS = 200_000
"""Up to so many sets of dominating configurations the mean over subsets is exact."""
ORDERS = 256
"""How many random orders are averaged otherwise; two runs draw the same ones."""
MAX_LISTED = 10
"""Up to so many configurations all subsets are listed where a set has to be valued as a whole."""
FEWER_ORDERS = 32
"""How many random orders are averaged where a set has to be valued as a whole."""


@dataclass(frozen=True)
class BudgetCurve:
    """The expected hypervolume after 1, 2, …, n configurations.

    It never decreases, unless configurations are chosen among on other data than they are measured on.
    """

    expected: tuple[float, ...]
    """`expected[m − 1]` is H(m)."""
    exact: bool
    """Whether all subsets were averaged; else `ORDERS` random orders were."""


def expected_hypervolume(
    points: npt.ArrayLike,
    ideal: npt.ArrayLike,
    reference: npt.ArrayLike,
    *,
    failed: int = 0,
    max_cells: int = MAX_CELLS,
) -> BudgetCurve:
    """Return H(m) for m = 1…n of one seed's configurations, one point each.

    `failed` configurations were tried and have no point: they count in n and contribute nothing.
    `max_cells` is the effort spent on the exact mean before random orders are drawn instead.
    """
    normal = normalised(points, ideal, reference)
    if failed < 0:
        raise UserError(f"failed={failed} is not accepted; failed takes a whole number from 0")
    tried = len(normal) + failed
    kept = inside(normal)
    volumes = _volume_by_count(kept, max_cells)
    if volumes is None:
        return BudgetCurve(tuple(_mean_over_orders(kept, tried)), exact=False)
    return BudgetCurve(tuple(_mean_over_subsets(volumes, tried)), exact=True)


def expected_value(value: Callable[[Sequence[int]], float], tried: int) -> BudgetCurve:
    """Return the mean of `value` over the subsets of size m = 1…n of the configurations 0…n−1."""
    if tried <= MAX_LISTED:
        sets = ([value(chosen) for chosen in itertools.combinations(range(tried), m)] for m in range(1, tried + 1))
        return BudgetCurve(tuple(math.fsum(values) / len(values) for values in sets), exact=True)
    generator = np.random.default_rng(0)
    orders = [generator.permutation(tried).tolist() for _ in range(FEWER_ORDERS)]
    means = [math.fsum(value(order[:m]) for order in orders) / FEWER_ORDERS for m in range(1, tried + 1)]
    return BudgetCurve(tuple(means), exact=False)


def _volume_by_count(normal: Matrix, max_cells: int) -> dict[int, float] | None:
    """Return V_c for every c ≥ 1 that occurs, or None when more than `max_cells` sets are met.

    A set of configurations is an integer whose bit i says that configuration i is in it.
    """
    cells = {(1 << len(normal)) - 1: 1.0}
    for column in normal.T:
        slices = _slices(column)
        finer: defaultdict[int, float] = defaultdict(float)
        for members, volume in cells.items():
            for below, width in slices:
                if remaining := members & below:
                    finer[remaining] += volume * width
            if len(finer) > max_cells:
                return None
        cells = dict(finer)
    parts: defaultdict[int, list[float]] = defaultdict(list)
    for members, volume in cells.items():
        parts[members.bit_count()].append(volume)
    return {count: math.fsum(volumes) for count, volumes in parts.items()}


def _slices(column: Vector) -> list[tuple[int, float]]:
    """Cut one axis at the points: who lies at or below each piece, and the piece's width."""
    order = np.argsort(column, kind="stable").tolist()
    edges = [*column[order].tolist(), 1.0]
    slices, below = [], 0
    for position, index in enumerate(order):
        below |= 1 << index
        width = edges[position + 1] - edges[position]
        if width > 0.0:
            slices.append((below, width))
    return slices


def _mean_over_subsets(volumes: dict[int, float], tried: int) -> list[float]:
    """Return Σ_c V_c (1 − C(n−c, m)/C(n, m)) for m = 1…n.

    The binomials are whole numbers and the sum is rounded once, so the curve cannot dip by rounding.
    """
    curve = []
    for size in range(1, tried + 1):
        subsets = math.comb(tried, size)
        hits = ((subsets - math.comb(tried - count, size)) / subsets * volume for count, volume in volumes.items())
        curve.append(min(math.fsum(hits), 1.0))
    return curve


def _mean_over_orders(normal: Matrix, tried: int) -> list[float]:
    """Return the mean, over `ORDERS` seeded orders of trying, of the hypervolume after each trial."""
    generator = np.random.default_rng(0)
    rows: list[list[float]] = []
    for _ in range(ORDERS):
        order = generator.permutation(tried)
        best, curve = 0.0, []
        for size in range(1, tried + 1):
            if order[size - 1] < len(normal):
                chosen = order[:size]
                # More points never dominate less; rounding might say so.
                best = max(best, dominated_volume(normal[chosen[chosen < len(normal)]]))
            curve.append(best)
        rows.append(curve)
    return [math.fsum(column) / ORDERS for column in zip(*rows, strict=True)]
