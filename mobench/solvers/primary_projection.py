"""PCD's quadratic program: the primary gradient projected on the secondaries' half-spaces."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from mobench.solvers.half_spaces import UnitVectors, shortest_of_two
from mobench.solvers.scaling import RESOLUTION, SMALLEST_SQUARE, correlation, refuse_non_finite

if TYPE_CHECKING:
    from mobench.core.method import Matrix, Vector


class Projection(NamedTuple):
    """The multipliers μ of a projection, its binding constraints, and whether it exists."""

    multipliers: Vector
    """μ_j ≥ 0 for every secondary j: the projection is d = g_1 + Σ_j μ_j g_j."""
    active: npt.NDArray[np.bool_]
    """Boolean mask of the binding constraints, those with μ_j > 0."""
    feasible: bool
    """False where no direction satisfies all constraints; every multiplier is then 0."""


def project_primary(gram: Matrix, tau: float | Sequence[float] | Vector, resolution: float = RESOLUTION) -> Projection:
    """Project the primary gradient on the directions that serve every secondary.

        d = argmin ½‖d − g_1‖²   s.t.   g_j·d ≥ τ_j ‖g_j‖²  (j = 2, …, K),     d = g_1 + Σ_j μ_j g_j,

    with μ ≥ 0 and μ_j = 0 where constraint j is slack. `tau` is one number ≥ 0 or one per secondary.

    K = 2: μ = max(0, τ − g_1·g_2/‖g_2‖²). K = 3: with unit vectors û_j, y_j = μ_j‖g_j‖, c = û_2·û_3
    and b_j = τ_j‖g_j‖ − û_j·g_1, the pair (y_2, y_3) is (0, 0) if b ≤ 0, (b_2, 0) if c b_2 ≥ b_3,
    (0, b_3) if c b_3 ≥ b_2, otherwise (b_2 − c b_3, b_3 − c b_2)/(1 − c²). K > 3: an active-set method
    (`compiled_sets.projections`), and quadprog where secondaries are nearly dependent or zero.

    - One objective: no multipliers, d = g_1.
    - A zero secondary constrains nothing and has μ_j = 0. For g_1 = 0 and τ > 0, d is a
      combination of secondaries; for all gradients zero μ = 0.
    - Secondaries that are multiples of each other (duplicates): d is unique, μ is not.
    - Infeasible exactly if some y ≥ 0 has Σ_j y_j g_j = 0 and Σ_j y_j τ_j ‖g_j‖² > 0, e.g. opposite
      secondaries with τ > 0. Then μ = 0 and `feasible` is False. τ = 0 is always feasible, and so is
      every τ > 0 if one is: the directions for 2τ are twice those for τ.
    - Near dependence the feasible set is not empty but far away: its nearest point has a length of
      about τ‖g_j‖ over the distance ρ from 0 to the hull of the unit secondaries. It counts as empty for
      ρ² below about `resolution`: for K = 3 if sin² ≤ `resolution`, for K > 3 if ρ² < 9 ‖y‖² `resolution`
      for the weights y of the hull's shortest point.
    """
    refuse_non_finite(gram)
    size = len(gram)
    if size == 2:
        return _one_secondary(gram, tau)
    if size == 3:
        return _two_secondaries(gram, tau, resolution)
    if size == 1:
        return Projection(np.zeros(0), np.zeros(0, dtype=bool), True)
    many = np.empty((1, size - 1))
    many[:] = tau
    multipliers, solved = independent_projections(np.array(gram[None]), many, np.array((resolution,)))
    if solved[0]:
        return Projection(multipliers[0], multipliers[0] > 0.0, True)
    return _many_secondaries(gram, many[0], resolution)


def independent_projections(
    grams: npt.NDArray[np.float64], tau: Matrix, resolutions: Vector
) -> tuple[Matrix, npt.NDArray[np.bool_]]:
    """Return the multipliers of B finite Gram matrices (B×K×K, K ≠ 3), and which of them have an easy answer.

    These have the bits of `project_primary`, which has the answer for the others.
    """
    solved = np.ones(len(grams), dtype=np.bool_)
    if tau.shape[1] == 1:
        squares = grams[:, 1, 1]
        kept = squares >= SMALLEST_SQUARE
        needed = tau[:, 0] - grams[:, 0, 1] / np.where(kept, squares, 1.0)
        return np.where(kept & (needed > 0.0), needed, 0.0)[:, None], solved
    from mobench.solvers import compiled_sets

    multipliers = np.empty(tau.shape)
    compiled_sets.projections(grams, tau, resolutions, multipliers, solved)
    return multipliers, solved


def squared_lengths(grams: npt.NDArray[np.float64], weights: Matrix) -> Vector:
    """Return ‖Σ_i w_i g_i‖² for each of B Gram matrices and its weights."""
    from mobench.solvers import compiled_sets

    squares = np.empty(len(grams))
    compiled_sets.squared_lengths(grams, weights, squares)
    return squares


def _one_secondary(gram: Matrix, tau: float | Sequence[float] | Vector) -> Projection:
    (_, cross), (_, square) = gram.tolist()
    multiplier = 0.0
    if square >= SMALLEST_SQUARE:
        multiplier = (tau if isinstance(tau, (float, int)) else float(tau[0])) - cross / square
    if multiplier > 0.0:
        return Projection(np.array((multiplier,)), np.array((True,)), True)
    return Projection(np.zeros(1), np.array((False,)), True)


def _two_secondaries(gram: Matrix, tau: float | Sequence[float] | Vector, resolution: float) -> Projection:
    (_, cross_2, cross_3), (_, square_2, between), (_, _, square_3) = gram.tolist()
    tau_2, tau_3 = (tau, tau) if isinstance(tau, (float, int)) else (float(tau[0]), float(tau[1]))
    norm_2 = norm_3 = 1.0
    bound_2 = bound_3 = cosine = 0.0
    if square_2 >= SMALLEST_SQUARE:
        norm_2 = math.sqrt(square_2)
        bound_2 = tau_2 * norm_2 - cross_2 / norm_2
    if square_3 >= SMALLEST_SQUARE:
        norm_3 = math.sqrt(square_3)
        bound_3 = tau_3 * norm_3 - cross_3 / norm_3
        if square_2 >= SMALLEST_SQUARE:
            cosine = between / norm_2 / norm_3

    squared_sine = (1.0 - cosine) * (1.0 + cosine)
    if cosine < 0.0 and squared_sine <= resolution and (tau_2 > 0.0 or tau_3 > 0.0):
        return Projection(np.zeros(2), np.array((False, False)), False)
    y_2, y_3 = shortest_of_two(bound_2, bound_3, cosine)
    return Projection(np.array((y_2 / norm_2, y_3 / norm_3)), np.array((y_2 > 0.0, y_3 > 0.0)), True)


def _many_secondaries(gram: Matrix, tau: Vector, resolution: float) -> Projection:
    scaled, norms = correlation(gram[1:, 1:])
    along, divisors = gram[0, 1:], norms
    if min(norms.tolist()) == 0.0:
        along, divisors = np.where(norms > 0.0, along, 0.0), np.where(norms > 0.0, norms, 1.0)
    demands = tau * norms
    bounds = demands - along / divisors
    multipliers = np.zeros(len(norms))
    feasible = True
    if max(bounds.tolist()) > 0.0:
        vectors = UnitVectors(scaled)
        feasible = vectors.contradiction(np.where(demands > 0.0, 1.0, 0.0), resolution) is None
        if feasible:  # solved as where nothing was asked, so that the resolution decides and changes nothing else
            one, solved = independent_projections(np.array(gram[None]), tau[None], np.zeros(1))
            multipliers = one[0] if solved[0] else vectors.multipliers(bounds) / divisors
    return Projection(multipliers, multipliers > 0.0, feasible)
