"""CAGrad's problem: the best worst-case improvement in a ball around the mean gradient."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mobench.solvers.half_spaces import UnitVectors
from mobench.solvers.scaling import RESOLUTION, SMALLEST_SQUARE, correlation, refuse_non_finite

if TYPE_CHECKING:
    from mobench.core.method import Matrix, Vector

MOST_PIECES = 100
"""Bound on the linear pieces visited; a handful is usual."""

SLACK = 4e-15
"""Rounding that is accepted in a constraint, relative to ‖g_0‖."""


def conflict_averse(gram: Matrix, c: float, guess: Vector | None = None, resolution: float = RESOLUTION) -> Vector:
    """Return the weights of CAGrad's direction, with the mean gradient g_0 = (1/K) Σ_i g_i and c ≥ 0.

        d = argmax_d min_i g_i·d   s.t.   ‖d − g_0‖ ≤ c‖g_0‖,          d = Σ_i w_i g_i.

    In the dual, d = g_0 + c‖g_0‖ g_v/‖g_v‖ where v minimises g_v·g_0 + c‖g_0‖‖g_v‖ over the simplex.
    Here the primal is solved: x(t), the shortest x with g_i·(g_0 + x) ≥ t for every i, is piecewise
    linear in the worst improvement t, and d = g_0 + x(t) for the t with ‖x(t)‖ = c‖g_0‖.

    `guess` are the weights of a similar problem, e.g. of the step before: if the same constraints bind
    the first piece tried is the right one. It changes the time and not the result.

    - Where 0 is in the hull of the gradients no t > 0 exists and d need not be unique. Of all best
      directions d is then the one nearest to g_0, so that t = 0 if ‖x(0)‖ ≤ c‖g_0‖.
    - g_0 = 0 (‖g_0‖² below `resolution` times the squared mean gradient length, which cannot be told
      from 0): the ball is a point, w = 0. Rounding errors are never scaled up to a step.
    - One objective: w = (1 + c). c = 0: w = 1/K.
    - A zero gradient puts 0 in the hull; its own weight is 1/K.
    - Duplicates: d is unique, w is not. Opposites g_2 = −λg_1, λ ≠ 1, c < 1: d = (1 − c) g_0.
    """
    refuse_non_finite(gram)
    size = len(gram)
    if size == 2:
        return _pair(gram, c, resolution)
    if size == 1:
        return np.full(1, 1.0 + c if gram[0, 0] >= SMALLEST_SQUARE else 0.0)
    return _many(gram, c, guess, resolution)


def _pair(gram: Matrix, c: float, resolution: float) -> Vector:
    """Solve for two gradients: d is worst for the shorter one alone, or equally good for both.

    In the latter case d is normal to g_1 − g_2, a multiple of the point m of least norm on the line
    through g_1 and g_2: d = m + s m/‖m‖ with s² = c²‖g_0‖² − ‖m − g_0‖².
    """
    (first, cross), (_, second) = gram.tolist()
    if first < SMALLEST_SQUARE or second < SMALLEST_SQUARE:
        return np.full(2, 0.5 if first >= SMALLEST_SQUARE or second >= SMALLEST_SQUARE else 0.0)
    if first > second:
        long, short = 1.0, math.sqrt(second) / math.sqrt(first)
    else:
        long, short = 1.0, math.sqrt(first) / math.sqrt(second)
    cosine = cross / math.sqrt(first) / math.sqrt(second)
    mean_square = 0.25 * ((long - short) ** 2 + 2.0 * long * short * (1.0 + cosine))
    if mean_square <= 0.25 * resolution * (long + short) ** 2:
        return np.zeros(2)
    radius = c * math.sqrt(mean_square)
    offset = 0.5 * (long - short) * (long + short)
    distance_square = (long - short) ** 2 + 2.0 * long * short * (1.0 - cosine)
    if offset >= radius * (short - cosine * long):
        of_short, of_long = 0.5 + radius / short, 0.5
    elif distance_square <= RESOLUTION:
        of_short = of_long = 0.5 * (1.0 + c)
    else:
        of_short = long * (long - cosine * short) / distance_square
        of_long = short * (short - cosine * long) / distance_square
        squared_sine = (1.0 - cosine) * (1.0 + cosine)
        if squared_sine > (resolution if cosine < 0.0 else RESOLUTION):
            least_norm = long * short * math.sqrt(squared_sine / distance_square)
            stretch = 1.0 + math.sqrt(max(radius * radius - offset * offset / distance_square, 0.0)) / least_norm
            of_short, of_long = of_short * stretch, of_long * stretch
    return np.array((of_long, of_short) if first > second else (of_short, of_long))


def _many(gram: Matrix, c: float, guess: Vector | None, resolution: float) -> Vector:
    size = len(gram)
    weights = np.full(size, 1.0 / size)
    scaled, norms = correlation(gram)
    longest, shortest = norms.max(), norms.min()
    if longest == 0.0:
        return np.zeros(size)
    lengths = norms / longest
    along = scaled.dot(lengths) / size
    mean_square = lengths.dot(along) / size
    if mean_square <= resolution * (lengths.sum() / size) ** 2:
        return np.zeros(size)
    if c == 0.0:
        return weights
    mean_length = math.sqrt(mean_square)
    cosines = along / mean_length
    if shortest > 0.0:
        likely = None if guess is None else (guess > weights).nonzero()[0]
        multipliers = _multipliers(UnitVectors(scaled), cosines, shortest / norms, c, resolution, likely)
        weights += multipliers * (mean_length / lengths)
        return weights
    kept = norms.nonzero()[0]
    norms, lengths = norms[kept], lengths[kept]
    vectors = UnitVectors(scaled[kept[:, None], kept])
    multipliers = _multipliers(vectors, cosines[kept], norms.min() / norms, c, math.inf)
    weights[kept] += multipliers * (mean_length / lengths)
    return weights


def _multipliers(
    vectors: UnitVectors,
    cosines: Vector,
    slopes: Vector,
    c: float,
    resolution: float,
    likely: npt.NDArray[np.intp] | None = None,
) -> Vector:
    """Return y with x = Σ_i y_i u_i, in units in which ‖g_0‖ = 1 and the u_i are unit vectors.

    x(t) is the shortest x with u_i·x ≥ b_i(t) = t a_i − h_i (a `slopes`, h `cosines`), and ‖x(t)‖ is
    convex and increasing. The exact root of one piece says which piece to try next. A root outside
    the bracket is replaced by a Newton step from the upper end, which convexity keeps above the
    solution. Bounds are cut where they cannot bind for ‖x‖ = c, lest a short gradient's huge slack
    drown the others in rounding. An infinite `resolution` says that t > 0 is impossible; the `likely`
    active set is tried first.
    """
    lowest_bound = -1.0 - 2.0 * c
    ceilings = (cosines + c) / slopes  # x = c u_i, the best for objective i alone
    first = ceilings.argmin()
    low, high = float((cosines / slopes).min()), float(ceilings[first])
    active = np.array((first,)) if likely is None or not len(likely) else likely
    if high > 0.0 and vectors.contradiction(np.ones(len(slopes)), resolution) is not None:
        y = vectors.multipliers(-cosines)
        if y.dot(-cosines) <= c * c:
            return y
        high, active = 0.0, y.nonzero()[0]
    newton, previous, y = high, math.nan, np.zeros(len(slopes))
    for _ in range(MOST_PIECES):
        t, solution = _piece(vectors, active, cosines, slopes, c)
        if solution is not None:
            return solution
        if not low < t < high:
            t = newton
        if t == previous:  # the bracket is as narrow as rounding allows
            break
        previous = t
        bounds, rates = t * slopes - cosines, slopes
        if bounds.min() < lowest_bound:
            rates = np.where(bounds < lowest_bound, 0.0, slopes)
            bounds = np.maximum(bounds, lowest_bound)
        y = vectors.multipliers(bounds)
        last, active = active, y.nonzero()[0]
        if t != newton and np.array_equal(active, last):  # the root lies on its own piece, but for rounding
            break
        length = math.sqrt(float(bounds.dot(y)))
        if length > c:
            high, newton = t, t - (length - c) * length / float(rates.dot(y))
        else:
            low = t
    return y


def _piece(
    vectors: UnitVectors, active: npt.NDArray[np.intp], cosines: Vector, slopes: Vector, c: float
) -> tuple[float, Vector | None]:
    """Return the root of ‖x(t)‖ = c if just the `active` bounds bind, and y if that is optimal.

    With active set P, y_P = t C_P⁻¹a_P − C_P⁻¹h_P, and ‖x(t)‖² = y_PᵀC_P y_P is a quadratic in t.
    """
    if not len(active):
        return -math.inf, None
    a, h = slopes[active], cosines[active]
    rise, start = vectors.solve(active, np.array((a, h)).T).T
    curvature = float(a.dot(rise))
    vertex = float(h.dot(rise)) / curvature
    excess = c * c - (float(h.dot(start)) - vertex * vertex * curvature)
    if excess < 0.0:
        return -math.inf, None
    t = vertex + math.sqrt(excess / curvature)
    binding = t * rise - start
    if binding.min() < 0.0 or (vectors.matrix[:, active].dot(binding) - t * slopes + cosines).min() < -SLACK:
        return t, None
    y = np.zeros(len(slopes))
    y[active] = binding
    return t, y
