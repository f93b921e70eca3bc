"""AuxiNash's problem: the asymmetric Nash bargaining solution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mobench.solvers import lapack
from mobench.solvers.min_norm import min_norm_point
from mobench.solvers.scaling import RESOLUTION, SMALLEST_SQUARE, correlation, refuse_non_finite

if TYPE_CHECKING:
    from mobench.core.method import Matrix, Vector

MOST_STEPS = 200
"""Bound on the Newton steps; ten are usual, some fifty where no solution exists."""

NEAR_HULL = 1e-2
"""Once ‖z‖² exceeds Σp by 1/`NEAR_HULL`, it is worth asking whether 0 is in the hull, which would take many steps."""


class Bargain(NamedTuple):
    """The weights of a bargaining solution, and whether there is one."""

    alpha: Vector
    """α ≥ 0; all zero where no bounded solution exists."""
    solved: bool
    """False where 0 is in the gradients' convex hull, or too close to it for float64."""


def nash_bargain(
    gram: Matrix, powers: Sequence[float] | Vector, guess: Vector | None = None, resolution: float = RESOLUTION
) -> Bargain:
    """Return the weights that share the progress according to the bargaining powers p > 0.

        α > 0   with   (Gα)_i = p_i/α_i   for every i,

    the stationarity of the strictly convex ½αᵀGα − Σ_i p_i log α_i. With d = Σ_i α_i g_i every
    objective improves, g_i·d = p_i/α_i, and ‖d‖² = Σ_i p_i whatever the gradients' lengths.

    For z = Dα, D the gradient lengths, the equations become z_i (Cz)_i = p_i. K = 2 has a closed
    form. For K > 2, Newton steps relative to z, (ZCZ + diag p) δ = p − z∘Cz and z ← z∘(1 + δ/(1 + m))
    with m = max(0, −min δ): along such a step the convex objective decreases all the way, so
    that neither line search nor starting value matters.

    `guess` is the α of a similar problem, e.g. of the step before: Newton's method starts there, and
    after α = 0, whether there is a solution now is asked first. It changes the time, not the result.

    - If 0 is in the convex hull of the gradients (opposites, any Pareto-stationary point) the
      objective has no minimum: no direction improves all, the parties stay at the disagreement
      point. Then α = 0 and `solved` is False; likewise if ‖z‖² > Σp/`resolution`, where rounding
      errors of the gradients or of their Gram matrix decide the result.
    - A zero gradient has nothing to bargain for: its weight is 0 and the others share its power in
      proportion to their own. All gradients zero: α = 0, solved.
    - One objective: α = √p/‖g‖. Duplicates are ordinary: they share their direction by power.
    """
    refuse_non_finite(gram)
    size = len(gram)
    if size == 1:
        square = float(gram[0, 0])
        return Bargain(np.array((math.sqrt(powers[0] / square) if square >= SMALLEST_SQUARE else 0.0,)), True)
    if size == 2 and gram[0, 0] >= SMALLEST_SQUARE and gram[1, 1] >= SMALLEST_SQUARE:
        return _two(gram, float(powers[0]), float(powers[1]), resolution)
    scaled, norms = correlation(gram)
    shares = np.asarray(powers, dtype=np.float64)
    if norms.min() > 0.0:
        z = _balance(scaled, shares, resolution, None if guess is None else guess * norms)
        return Bargain(np.zeros(size), False) if z is None else Bargain(z / norms, True)
    alpha = np.zeros(size)
    kept = norms.nonzero()[0]
    if not len(kept):
        return Bargain(alpha, True)
    z = _balance(scaled[kept[:, None], kept], shares[kept] * (shares.sum() / shares[kept].sum()), resolution)
    if z is None:
        return Bargain(alpha, False)
    alpha[kept] = z / norms[kept]
    return Bargain(alpha, True)


def _two(gram: Matrix, first: float, second: float, resolution: float) -> Bargain:
    """Solve for two gradients: ρ = z_1/z_2 is the positive root of p_2ρ² − c(p_1 − p_2)ρ − p_1 = 0."""
    (square_1, cross), (_, square_2) = gram.tolist()
    norm_1, norm_2 = math.sqrt(square_1), math.sqrt(square_2)
    cosine = cross / norm_1 / norm_2
    half = 0.5 * cosine * (first - second)
    root = math.sqrt(half * half + first * second)
    ratio = (half + root) / second if half >= 0.0 else first / (root - half)
    # z_1² + z_2² + 2c z_1 z_2 = p_1 + p_2, written without cancellation for c near −1
    length = (1.0 - ratio) ** 2 + 2.0 * ratio * (1.0 + cosine)
    total = first + second
    if length <= resolution * (1.0 + ratio * ratio):
        return Bargain(np.zeros(2), False)
    z = math.sqrt(total / length)
    return Bargain(np.array((ratio * z / norm_1, z / norm_2)), True)


def _balance(scaled: Matrix, powers: Vector, resolution: float, start: Vector | None = None) -> Vector | None:
    """Return z > 0 with z_i (Cz)_i = p_i, or None where it would be longer than √(Σp/`resolution`)."""
    size = len(powers)
    total = float(powers.sum())
    limit = total / resolution
    suspicious = total / NEAR_HULL
    rounding = 2.0**-50 / float(powers.min())
    z: Vector = np.sqrt(powers)
    if start is not None and start.min() > 0.0:
        z = start
    elif start is not None:
        suspicious = 0.0
    z *= math.sqrt(total / max(float(z.dot(scaled.dot(z))), 0.01 * total))
    for _ in range(MOST_STEPS):
        hessian = scaled * z * z[:, None]
        residual = powers - hessian.sum(axis=1)
        hessian.ravel()[:: size + 1] += powers
        _, step, failed = lapack.dposv(hessian, residual)
        square = float(z.dot(z))
        if failed or square > limit:
            return None
        if square > suspicious:
            suspicious = math.inf
            shortest = min_norm_point(scaled)
            if float(shortest.dot(scaled.dot(shortest))) <= 0.1 * resolution:
                return None
        steps = step.tolist()
        down, up = min(steps), max(steps)
        z *= 1.0 + step / (1.0 - min(down, 0.0))
        # errors of the residual, about ε‖z‖², bound what further steps can gain
        if max(up, -down) <= max(1e-8, min(rounding * square, 0.01)):
            return z
    return None
