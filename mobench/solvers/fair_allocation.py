"""FairGrad's problem: the α-fair allocation of progress."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mobench.solvers import lapack
from mobench.solvers.min_norm import min_norm_point
from mobench.solvers.nash_bargaining import Bargain, nash_bargain
from mobench.solvers.scaling import RESOLUTION, correlation, refuse_non_finite

if TYPE_CHECKING:
    from mobench.core.method import Matrix, Vector

MOST_STEPS = 100
"""Bound on the Newton steps; ten are usual."""

MOST_HALVINGS = 40


def fair_allocation(gram: Matrix, alpha: float, resolution: float = RESOLUTION) -> Bargain:
    """Return the weights w > 0 of the direction that maximises the α-fair utility of all progress.

        (Gw)_i = w_i^(−1/α)   for every i,

    the stationarity of the strictly convex ½wᵀGw − Σ_i φ(w_i) with φ′(w) = w^(−1/α). Every objective
    improves. α = 1 is the Nash bargain with powers 1.

    For z = Dw, D the gradient lengths, and s = 1/α the equations become (Cz)_i = q_i z_i^(−s) with
    q_i = ‖g_i‖^(s−1). Newton steps relative to z, (ZCZ + s diag r) δ = r − z∘Cz with r_i = q_i z_i^(1−s),
    are cut to stay above zero, and halved while the convex function would rise steeply at their end.

    - If 0 is in the convex hull of the gradients no bounded solution exists: w = 0, not `solved`.
    - A zero gradient has no progress to share: its weight is 0, and the others' are those without it.
      All gradients zero: w = 0, solved.
    - One objective: w = ‖g‖^(−2α/(1+α)).
    """
    if alpha == 1.0:
        return nash_bargain(gram, np.ones(len(gram)), None, resolution)
    refuse_non_finite(gram)
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
    if z is None:
        return Bargain(weights, False)
    weights[kept] = z / (norms / middle) * middle ** (-2.0 / (1.0 + s))
    return Bargain(weights, True)


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
