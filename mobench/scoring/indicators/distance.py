"""IGD+ and GD+ against a known Pareto front, in the frozen normalisation.

Both use the distance by which a point a is worse than a front point z, d⁺(z, a) = ‖max(a − z, 0)‖₂
(Ishibuchi et al. 2015), with a and z normalised by the problem's bounds and not clipped. Pymoo
computes the means; normalisation is ours, because pymoo would take bounds from the front.
"""

from __future__ import annotations

import math

import numpy.typing as npt

from mobench.errors import NonFiniteError
from mobench.scoring.indicators.normalise import Matrix, at_least_one, normalised


def igd_plus(points: npt.ArrayLike, front: npt.ArrayLike, ideal: npt.ArrayLike, reference: npt.ArrayLike) -> float:
    """Return the mean over front points z of min over points a of d⁺(z, a).

    Low means near the front and spread over all of it. It is 0 exactly when every front point is
    weakly dominated by some point. An empty set of points, or of front points, raises `UserError`.
    """
    from pymoo.indicators.igd_plus import IGDPlus

    normal, target = _normalised_pair("IGD+", points, front, ideal, reference)
    return _finite("IGD+", float(IGDPlus(target, zero_to_one=False)(normal)))


def gd_plus(points: npt.ArrayLike, front: npt.ArrayLike, ideal: npt.ArrayLike, reference: npt.ArrayLike) -> float:
    """Return the mean over points a of min over front points z of d⁺(z, a).

    Low means that all points are near the front, wherever they are on it. It is 0 exactly when every
    point weakly dominates some front point. An empty set of points, or of front points, raises `UserError`.
    """
    from pymoo.indicators.gd_plus import GDPlus

    normal, target = _normalised_pair("GD+", points, front, ideal, reference)
    return _finite("GD+", float(GDPlus(target, zero_to_one=False)(normal)))


def _normalised_pair(
    metric: str, points: npt.ArrayLike, front: npt.ArrayLike, ideal: npt.ArrayLike, reference: npt.ArrayLike
) -> tuple[Matrix, Matrix]:
    normal = at_least_one(normalised(points, ideal, reference), metric)
    target = at_least_one(normalised(front, ideal, reference, "front"), metric, "front")
    return normal, target


def _finite(metric: str, value: float) -> float:
    if not math.isfinite(value):
        raise NonFiniteError(f"{metric} is {value}: a point is too far outside the bounds for a finite distance")
    return value
