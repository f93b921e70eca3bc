"""FairGrad's problem: the α-fair allocation of progress."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from mobench.solvers import lapack
from mobench.solvers.min_norm import min_norm_point
from mobench.solvers.nash_bargaining import Bargain, nash_bargain
from mobench.solvers.scaling import RESOLUTION, SMALLEST_SQUARE, correlation, refuse_non_finite

if TYPE_CHECKING:
    from mobench.core.method import Matrix, Vector

MOST_STEPS = 100
"""Bound on the Newton steps; ten are usual."""

MOST_HALVINGS = 40

SHRINK, LONGEST, SMALLEST, REACH = 0.8, 1.0, 1e-200, (-500.0, 500.0)
"""Of a path of solutions: the factor between neighbouring exponents, the longest step in log z, the smallest z, and
the range of log z."""


def fair_allocation(gram: Matrix, alpha: float, resolution: float = RESOLUTION) -> Bargain:
    """Return the weights w > 0 of the direction that maximises the α-fair utility of all progress.

        (Gw)_i = w_i^(−1/α)   for every i,

    the stationarity of the strictly convex ½wᵀGw − Σ_i φ(w_i) with φ′(w) = w^(−1/α). Every objective
    improves. α = 1 is the Nash bargain with powers 1.

    For z = Dw, D the gradient lengths, and s = 1/α the equations become (Cz)_i = q_i z_i^(−s) with
    q_i = ‖g_i‖^(s−1). Newton steps relative to z, (ZCZ + s diag r) δ = r − z∘Cz with r_i = q_i z_i^(1−s),
    are cut to stay above zero, and halved while the convex function would rise steeply at their end. K = 2 is one
    equation for the ratio z_1/z_2.

    For large α and lengths that are decades apart some weights are tiny: where an objective gains more than it is due,
    (Cz)_i > q_i, z_i = (q_i/(Cz)_i)^α. Newton's method may not get there from one start; then it follows the solution
    from α = 1 on. A z_i below 1e-200 is left there.

    - If 0 is in the convex hull of the gradients no bounded solution exists: w = 0, not `solved`.
    - A zero gradient has no progress to share: its weight is 0, and the others' are those without it.
      All gradients zero: w = 0, solved.
    - One objective: w = ‖g‖^(−2α/(1+α)).
    """
    if alpha == 1.0:
        return nash_bargain(gram, np.ones(len(gram)), None, resolution)
    refuse_non_finite(gram)
    if len(gram) == 2 and gram[0, 0] >= SMALLEST_SQUARE and gram[1, 1] >= SMALLEST_SQUARE:
        return _two(gram, 1.0 / float(alpha), resolution)
    scaled, norms = correlation(gram)
    weights = np.zeros(len(norms))
    kept = norms.nonzero()[0]
    if not len(kept):
        return Bargain(weights, True)
    scaled, norms = scaled[kept[:, None], kept], norms[kept]
    shortest = min_norm_point(scaled)
    if float(shortest @ scaled @ shortest) <= resolution:
        return Bargain(weights, False)
    s = 1.0 / alpha
    middle = float(np.exp(np.log(norms).mean()))
    # with lengths relative to their geometric mean m, w changes by the factor m^(−2α/(1+α))
    with np.errstate(divide="ignore", invalid="ignore"):  # a step so long that rounding leaves z > 0 is halved
        z = _balance(scaled, (norms / middle) ** (s - 1.0), s)
    if z is None and s < 1.0:
        z = _continued(scaled, norms / middle, s, resolution)
    if z is None:
        return Bargain(weights, False)
    weights[kept] = z / (norms / middle) * middle ** (-2.0 / (1.0 + s))
    return Bargain(weights, True)


def _two(gram: Matrix, s: float, resolution: float) -> Bargain:
    """Solve for two gradients with cosine c.

    For t = log(z_1/z_2), L = log(q_1/q_2) and m = e^(st − L), the quotient of the equations is m = (1 + c eᵗ)/(eᵗ + c).
    Both sides' logarithms are smooth, one rises and one falls; where c < 0 it is solved as eᵗ = (1 − mc)/(m − c), which
    loses no digits near c = −1. Then z_2^(1+s) = q_2/(1 + c eᵗ), and 1 + c eᵗ = m (1 − c²)/(m − c).
    """
    (square_1, cross), (_, square_2) = gram.tolist()
    norm_1, norm_2 = math.sqrt(square_1), math.sqrt(square_2)
    cosine = cross / norm_1 / norm_2
    if 0.5 * (1.0 + cosine) <= resolution:  # the squared distance from 0 to the hull of both unit vectors
        return Bargain(np.zeros(2), False)
    middle = math.sqrt(norm_1) * math.sqrt(norm_2)
    length_1, length_2 = norm_1 / middle, norm_2 / middle
    logs = (s - 1.0) * (math.log(length_1) - math.log(length_2))
    t = _log_ratio(cosine, s, logs)
    try:
        m, ratio, q_2 = math.exp(s * t - logs), math.exp(t), length_2 ** (s - 1.0)
        share = m * (1.0 - cosine) * (1.0 + cosine) / (m - cosine) if cosine < 0.0 else 1.0 + cosine * ratio
        z_2 = (q_2 / share) ** (1.0 / (1.0 + s))
        scale = middle ** (-2.0 / (1.0 + s))
        weights = ratio * z_2 / length_1 * scale, z_2 / length_2 * scale
    except (OverflowError, ZeroDivisionError):  # lengths so far apart that a power leaves float64
        return Bargain(np.zeros(2), False)
    if not (min(weights) > 0.0 and max(weights) < math.inf):
        return Bargain(np.zeros(2), False)
    return Bargain(np.array(weights), True)


def _log_ratio(cosine: float, s: float, logs: float) -> float:
    """Return t, by Newton steps between bounds that close in on it; `logs` is L."""
    if cosine == 0.0:
        return logs / (1.0 + s)
    reach = -math.log(min(abs(cosine), 1.0))
    low, high = (-reach, reach) if cosine < 0.0 else ((logs - reach) / s, (logs + reach) / s)
    above = 1.0 + cosine
    squared_sine = (1.0 - cosine) * above
    t = min(max(logs / (1.0 + s), low), high)
    for _ in range(MOST_STEPS):
        if cosine < 0.0:
            m = math.exp(min(max(s * t - logs, -700.0), 700.0))
            gap = t - math.log1p(above * (1.0 - m) / (m - cosine))
            slope = 1.0 + s * squared_sine * m / ((1.0 - m * cosine) * (m - cosine))
        else:
            ratio = math.exp(min(max(t, -300.0), 300.0))
            gap = s * t - logs - math.log((1.0 + cosine * ratio) / (ratio + cosine))
            slope = s + squared_sine * ratio / ((1.0 + cosine * ratio) * (ratio + cosine))
        low, high = (low, t) if gap > 0.0 else (t, high)
        moved = t - gap / slope
        if not low <= moved <= high:
            moved = 0.5 * (low + high)
        if abs(moved - t) <= 1e-9 * min(1.0, reach) or moved == t:
            return moved
        t = moved
    return t


def _balance(scaled: Matrix, q: Vector, s: float) -> Vector | None:
    """Return z > 0 with (Cz)_i = q_i z_i^(−s), None if it is not found."""
    z: Vector = q ** (1.0 / (1.0 + s))
    for _ in range(MOST_STEPS):
        rates = q * z ** (1.0 - s)
        hessian = scaled * z * z[:, None]
        residual = rates - hessian.sum(axis=1)
        hessian.ravel()[:: len(z) + 1] += s * rates
        _, step, failed = lapack.dposv(hessian, residual)
        if failed or not np.isfinite(step).all():
            return None
        size = float(np.abs(step).max())
        if size <= 1e-9:
            return np.asarray(z * (1.0 + step))
        factor, steepest = 1.0 / (1.0 - min(float(step.min()), 0.0)), float(residual @ step)
        along = z * step
        for _ in range(MOST_HALVINGS):
            moved = z + factor * along
            # the slope of a convex function at the new point says whether the step went too far
            if float(along @ (scaled @ moved - q * moved**-s)) <= 0.5 * steepest:
                break
            factor *= 0.5
        if np.array_equal(moved, z):
            break
        z = moved
    # rounding, ε κ with κ the condition of C, may end this before the last digits agree
    return z if size <= 1e-3 else None


def _continued(scaled: Matrix, norms: Vector, s: float, resolution: float) -> Vector | None:
    """Return z as `_balance` does, by following the solution from s = 1, the Nash bargain, down to `s`."""
    bargain = nash_bargain(scaled, np.ones(len(norms)), None, resolution)
    z, at = bargain.alpha, 1.0
    while bargain.solved and at > s:
        at = max(s, SHRINK * at)
        q = norms ** (at - 1.0)
        gained = scaled @ z
        slack = z < 0.1 * at * gained  # there the power law alone decides, with C z as it was
        wanted = np.log(q / np.where(slack, gained, 1.0)) / at
        z = np.where(slack, np.exp(np.clip(wanted, *REACH)), z)
        found = _followed(scaled, q, at, np.maximum(z, SMALLEST))
        if found is None:
            return None
        z = found
    return z if bargain.solved else None


def _followed(scaled: Matrix, q: Vector, s: float, z: Vector) -> Vector | None:
    """Return z > 0 with (Cz)_i = q_i z_i^(−s) near a given one, by Newton steps of bounded size in log z."""
    for _ in range(MOST_STEPS):
        rates = q * z ** (1.0 - s)
        products = scaled * z * z[:, None]
        residual = rates - products.sum(axis=1)
        products.ravel()[:: len(z) + 1] += s * rates
        sizes = np.sqrt(products.diagonal())
        _, step, failed = lapack.dposv(products / sizes / sizes[:, None], residual / sizes)
        if failed or not np.isfinite(step).all():
            return None
        step = step / sizes
        step[(z <= SMALLEST) & (step < 0.0)] = 0.0
        z = np.maximum(z * np.exp(np.clip(step, -LONGEST, LONGEST)), SMALLEST)
        if float(np.abs(step).max()) <= 1e-9:
            return z
    return None
