"""A signal while the hypervolume is still 0: how far a set is from the region of interest.

The idea is that of COCO's bi-objective logger. The region of interest is everything that is nowhere
worse than the reference point, {z : z_i ≤ 1 for all i} in the frozen normalisation.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mobench.errors import NonFiniteError
from mobench.metrics.hypervolume import dominated_volume, inside
from mobench.metrics.normalise import Matrix, at_least_one, normalised


def distance_to_region(points: npt.ArrayLike, ideal: npt.ArrayLike, reference: npt.ArrayLike) -> float:
    """Return the smallest normalised distance of a point to the region of interest,

        min over points of ‖max(z − 1, 0)‖₂.

    It is 0 when a point is nowhere worse than the reference, and 1 when the nearest point misses one
    objective by the whole range between ideal and reference. An empty set raises `UserError`.
    """
    return _distance(at_least_one(normalised(points, ideal, reference), "the distance to the region of interest"))


def region_signal(points: npt.ArrayLike, ideal: npt.ArrayLike, reference: npt.ArrayLike) -> float:
    """Return the hypervolume where it is positive, else minus the distance to the region; in (−∞, 1].

    The signal is continuous: both parts are 0 for a point on the region's boundary.
    """
    normal = at_least_one(normalised(points, ideal, reference), "the region signal")
    volume = dominated_volume(inside(normal))
    return volume if volume > 0.0 else 0.0 - _distance(normal)


def _distance(normal: Matrix) -> float:
    excess = np.maximum(normal - 1.0, 0.0)
    with np.errstate(over="ignore"):
        nearest = float(np.hypot.reduce(excess, axis=1).min())
    if not np.isfinite(nearest):
        raise NonFiniteError("every point is too far from the region of interest for a finite distance")
    return nearest
