"""Hypervolume, in the frozen bounds of a problem and in the paper's per-configuration form.

Two numbers with one name elsewhere, kept apart here: `hypervolume` is comparable over time because
its bounds belong to the problem's version; `paper_hypervolume` is what the PCD paper plots and moves
with everything that is in the comparison.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from mobench.errors import UserError
from mobench.scoring.indicators.normalise import Matrix, Vector, checked_points, normalised

Key = TypeVar("Key", bound=Hashable)
Places = npt.NDArray[np.int64]


class NonPositiveError(UserError):
    """A loss is zero or negative, so its logarithm, and with it the paper's hypervolume, does not exist."""


def hypervolume(points: npt.ArrayLike, ideal: npt.ArrayLike, reference: npt.ArrayLike) -> float:
    """Return the share of the box [ideal, reference] that the points dominate, in [0, 1].

    With z the normalised points, this is the volume of ∪_z [max(z, 0), 1] in [0, 1]^K.

    - A point with any z_i ≥ 1 contributes nothing.
    - A point better than the ideal is clipped to it (z_i < 0 counts as 0), so that 1 stays the
      maximum. A value that reaches 1 says that the problem's bounds are too tight.
    - No points at all, shape (0, K), have the value 0. A non-finite point has no value: `NonFiniteError`.
    - Order and duplicates do not matter, to the last bit.
    """
    return dominated_volume(inside(normalised(points, ideal, reference)))


def hypervolumes(
    points: npt.ArrayLike, sets: Places, count: int, ideal: npt.ArrayLike, reference: npt.ArrayLike
) -> Vector:
    """Return the hypervolume of each of `count` sets, equal to `hypervolume` of each but for rounding.

    `sets` has the number of the set for every point; a set without points has the value 0.
    """
    normal = normalised(points, ideal, reference)
    kept = _is_inside(normal)
    return dominated_volumes(np.maximum(normal[kept], 0.0), sets[kept], count)


def inside(normal: Matrix) -> Matrix:
    """Return the normalised points that lie strictly below 1 everywhere, clipped to z ≥ 0."""
    return np.maximum(normal[_is_inside(normal)], 0.0)


def _is_inside(normal: Matrix) -> npt.NDArray[np.bool_]:
    return np.asarray((normal < 1.0).all(axis=1))


def dominated_volume(normal: Matrix) -> float:
    """Return the volume between points in [0, 1)^K and the reference (1, …, 1).

    The points come in already normalised, and pymoo gets the reference explicitly: it then neither
    derives one from the points nor normalises one twice.
    """
    if not len(normal):
        return 0.0
    from pymoo.indicators.hv import HV

    # The library's last bit depends on the order of tied points; one order is fixed. For few points Python is faster
    # than numpy's unique.
    ordered = np.array(sorted(set(map(tuple, normal.tolist()))))
    indicator = HV(ref_point=np.ones(normal.shape[1]), norm_ref_point=False, zero_to_one=False)
    return min(float(indicator(ordered)), 1.0)


def dominated_volumes(normal: Matrix, sets: Places, count: int) -> Vector:
    """Return the volume between the points of each set, in [0, 1)^K, and the reference (1, …, 1).

    Many small sets are measured at once: a point alone dominates ∏ (1 − z_i), two objectives are summed as staircases.
    Larger sets of more objectives go to `dominated_volume` one by one. Points are ordered first, because the last bit
    of a sum depends on their order.
    """
    order = np.lexsort((*normal.T[::-1], sets))
    normal, sets = normal[order], sets[order]
    sizes = np.bincount(sets, minlength=count)
    starts = np.cumsum(sizes) - sizes
    if normal.shape[1] == 2:
        volumes = _staircases(normal, sets, np.arange(len(sets)) - starts[sets], (count, int(sizes.max(initial=0))))
    else:
        volumes = np.zeros(count)
        alone = sizes == 1
        volumes[alone] = np.prod(1.0 - normal[starts[alone]], axis=1)
        for place in np.flatnonzero(sizes > 1):
            volumes[place] = dominated_volume(normal[starts[place] : starts[place] + sizes[place]])
    return np.minimum(volumes, 1.0)


def _staircases(normal: Matrix, sets: Places, ranks: Places, shape: tuple[int, int]) -> Vector:
    """Return Σ_j (1 − x_j) (m_{j−1} − m_j) of each set, x ascending, m_j the least y of the first j points, m_0 = 1."""
    if not len(normal):
        return np.zeros(shape[0])
    x, y = np.ones(shape), np.ones((shape[0], shape[1] + 1))
    x[sets, ranks], y[sets, ranks + 1] = normal.T
    least = np.minimum.accumulate(y, axis=1)
    steps = (1.0 - x) * (least[:, :-1] - least[:, 1:])  # a step of no height is 0.0, not -0.0
    # One term after the other: a sum of another form would depend on the size of the largest set.
    volumes: Vector = np.cumsum(steps, axis=1)[:, -1]
    return volumes


def paper_hypervolume(losses: Mapping[Key, npt.ArrayLike]) -> dict[Key, float]:
    """Return the PCD paper's hypervolume of every set of operating points, in [0, 100].

    Over all sets together, each loss is mapped by

        x̃ = (log10 x − log10 x_min) / (log10 x_max − log10 x_min),

    to the goodness 1 − x̃ ∈ [0, 1]^K, and a set's value is 100 × the volume it dominates above the
    reference (0, …, 0). A key is a method, or a (method, seed) pair where all seeds share the bounds.

    A loss that is the same in all points gets x̃ = 0: it separates no methods, and the volume is that of
    the other losses. An empty set has the value 0. A loss ≤ 0 raises `NonPositiveError`.
    """
    sets = {key: checked_points(points, name=f"points of {key}") for key, points in losses.items()}
    widths = {points.shape[1] for points in sets.values()}
    if len(widths) > 1:
        raise UserError(f"paper hypervolume: sets with {sorted(widths)} losses; accepted: the same losses in every set")
    for key, points in sets.items():
        rows, columns = np.nonzero(points <= 0.0)
        if rows.size:
            value = points[rows[0], columns[0]]
            raise NonPositiveError(
                f"paper hypervolume: loss {columns[0]} of point {rows[0]} of {key} is {value}; "
                "accepted: losses > 0, because they are compared as log10"
            )
    logs = {key: np.log10(points) for key, points in sets.items()}
    filled = [points for points in logs.values() if len(points)]
    if not filled:
        return dict.fromkeys(sets, 0.0)
    everything = np.concatenate(filled)
    low, high = everything.min(axis=0), everything.max(axis=0)
    varied = high > low
    if not varied.any():
        return {key: 100.0 if len(points) else 0.0 for key, points in logs.items()}
    sizes = [len(points) for points in logs.values()]
    volumes = hypervolumes(
        everything[:, varied], np.repeat(np.arange(len(sizes)), sizes), len(sizes), low[varied], high[varied]
    )
    return dict(zip(logs, (100.0 * volumes).tolist(), strict=True))
