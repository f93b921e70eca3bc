"""UPGrad's and DualProj's problem: a combination of gradients projected on their dual cone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from mobench.solvers.half_spaces import UnitVectors, shortest_of_two
from mobench.solvers.scaling import SMALLEST_SQUARE, correlation, refuse_non_finite

if TYPE_CHECKING:
    from mobench.core.method import Matrix


def project_on_dual_cone(gram: Matrix, targets: Matrix) -> Matrix:
    """Project combinations of the gradients on the directions along which none ascends.

        for every row t of `targets`:   d = argmin ½‖d − Σ_i t_i g_i‖²   s.t.   g_j·d ≥ 0 for every j,

    and the row of the result is w with d = Σ_i w_i g_i. By duality w = t + μ with μ ≥ 0, and μ_j = 0
    where g_j·d > 0. Two gradients have a closed form; all else is quadprog on unit vectors, with the target's products
    b_j = −û_j·Σ_i t_i g_i as bounds.

    - One objective: w = max(t, 0). No conflict with the target: w = t.
    - A zero gradient constrains nothing: its weight stays t_j.
    - Duplicates: d is unique, w is not. Opposites g_2 = −λ g_1: d is normal to both.
    - 0 is in every such cone, so that there is always an answer.
    """
    refuse_non_finite(gram)
    if len(gram) == 2 and targets.shape == (2, 2) and targets[0, 1] == targets[1, 0] == 0.0:
        return _pair(gram, targets)
    if len(gram) == 2 and min(gram[0, 0], gram[1, 1]) >= SMALLEST_SQUARE:
        rows = gram.tolist()
        return np.array([_between(rows, *target) for target in targets.tolist()])
    scaled, norms = correlation(gram)
    divisors = np.where(norms > 0.0, norms, 1.0)
    along = scaled * (norms > 0.0) @ (targets * norms).T
    weights = targets.copy()
    if along.min(initial=0.0) >= 0.0:
        return weights
    vectors = UnitVectors(scaled)
    for row, products in zip(weights, along.T, strict=True):
        if products.min() < 0.0:
            row += vectors.multipliers(-np.where(norms > 0.0, products, 0.0)) / divisors
    return weights


def _pair(gram: Matrix, targets: Matrix) -> Matrix:
    """Project two non-negative multiples of the two gradients: each off the other where they conflict."""
    (first, cross), (_, second) = gram.tolist()
    weights = targets.copy()
    if cross < 0.0 and min(first, second) >= SMALLEST_SQUARE and targets.min() >= 0.0:
        weights[0, 1] = -targets[0, 0] * cross / second
        weights[1, 0] = -targets[1, 1] * cross / first
    return weights


def _between(gram: list[list[float]], first: float, second: float) -> tuple[float, float]:
    """Project t_1 g_1 + t_2 g_2: what is missing from u_j·d ≥ 0 is added along one of the gradients, or along both."""
    (square_1, cross), (_, square_2) = gram
    norm_1, norm_2 = math.sqrt(square_1), math.sqrt(square_2)
    cosine = cross / norm_1 / norm_2
    bound_1 = -(first * norm_1 + cosine * (second * norm_2))
    bound_2 = -(cosine * (first * norm_1) + second * norm_2)
    y_1, y_2 = shortest_of_two(bound_1, bound_2, cosine)
    return first + y_1 / norm_1, second + y_2 / norm_2
