"""MGDA's problem: the minimum-norm element of the gradients' convex hull."""

from __future__ import annotations

from functools import cache
from math import inf, sqrt
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mobench.solvers.half_spaces import UnitVectors
from mobench.solvers.scaling import RESOLUTION, SMALLEST_SQUARE, correlation, refuse_non_finite

if TYPE_CHECKING:
    from mobench.core.method import Matrix, Vector

    Stack = npt.NDArray[np.float64]


def min_norm_point(gram: Matrix) -> Vector:
    """Return the weights of the shortest convex combination of the gradients.

        α = argmin ‖Σ_i α_i g_i‖²   s.t.   α ≥ 0,  Σ_i α_i = 1.

    It is optimal exactly if g_i·d ≥ ‖d‖² for every i, with equality where α_i > 0, d = Σ_i α_i g_i.

    K = 2: α ∝ (‖g_2‖² − g_1·g_2, ‖g_1‖² − g_1·g_2), or the shorter gradient where one of these is
    negative. K = 3: the first of vertices, interior and edges that is optimal. K > 3: non-negative least squares on
    unit vectors (`compiled_sets.min_norm_points`), and where rounding keeps that from ending, quadprog: for
    y = Dα scaled to û_i = g_i/‖g_i‖, d/‖d‖² is the shortest x with û_i·x ≥ 1/‖g_i‖.

    - One objective: α = (1).
    - A zero gradient takes all the weight, d = 0; of several the first.
    - Duplicates: d is unique, α is not. Opposites, or 0 in the hull in any other way: α is a
      vanishing combination, and d = 0 to rounding.
    """
    refuse_non_finite(gram)
    size = len(gram)
    if size == 2:
        return np.array(_segment(gram.tolist()))
    if size == 3:
        return np.array(_triangle(gram.tolist()))
    if size == 1:
        return np.ones(1)
    weights: Vector = _simplices(gram[None])[0]
    return weights


def min_norm_points(grams: Stack) -> Matrix:
    """Return `min_norm_point` of each of B Gram matrices (B×K×K), with the same bits, in fewer calls."""
    size = grams.shape[1]
    if size == 2:
        return np.array([_segment(gram) for gram in grams.tolist()])
    if size == 3:
        return np.array([_triangle(gram) for gram in grams.tolist()])
    return np.ones((len(grams), 1)) if size == 1 else _simplices(grams)


def load_solver(size: int) -> None:
    """Load what `min_norm_point` needs for so many objectives, so that no run's clock pays for it."""
    if size > 3:
        from mobench.solvers import compiled_sets  # noqa: F401 - compiled at the first import, then read from disk


def _segment(gram: list[list[float]]) -> tuple[float, float]:
    (first, cross), (_, second) = gram
    from_first, from_second = first - cross, second - cross
    if from_first <= 0.0 or from_second <= 0.0:
        return (1.0, 0.0) if first <= second else (0.0, 1.0)
    total = from_first + from_second
    return from_second / total, from_first / total


def _triangle(gram: list[list[float]]) -> tuple[float, float, float]:
    (first, ab, ac), (ba, second, bc), (ca, cb, third) = gram
    if ab >= first and ac >= first:
        return 1.0, 0.0, 0.0
    if bc >= second and ba >= second:
        return 0.0, 1.0, 0.0
    if ca >= third and cb >= third:
        return 0.0, 0.0, 1.0
    return _interior(gram) or _best_edge(gram)


def _best_edge(gram: list[list[float]]) -> tuple[float, float, float]:
    """Return the edge's shortest point that violates g_k·d ≥ ‖d‖² least, k the vertex off the edge."""
    best, least_violation = (1.0, 0.0, 0.0), inf
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        of_i, of_j = gram[i], gram[j]
        square_i, square_j = of_i[i], of_j[j]
        from_i, from_j = square_i - of_i[j], square_j - of_i[j]
        if from_i <= 0.0 or from_j <= 0.0:
            continue
        total = from_i + from_j
        weight_i, weight_j = from_j / total, from_i / total
        shorter = i if square_i <= square_j else j  # g_i·d = g_j·d = ‖d‖²; the shorter rounds least
        gap = weight_i * (of_i[shorter] - of_i[k]) + weight_j * (of_j[shorter] - of_j[k])
        length = weight_i * sqrt(square_i) + weight_j * sqrt(square_j)
        violation = gap / length / sqrt(gram[k][k])
        if violation < least_violation:
            best, least_violation = _place(weight_i, weight_j, i), violation
    return best


def _interior(gram: list[list[float]]) -> tuple[float, float, float] | None:
    """Return the weights of the shortest point in the triangle's plane, None if not inside it.

    From the shortest gradient g_s, d = g_s + β_p (g_p − g_s) + β_q (g_q − g_s) with d normal to both
    differences: a 2×2 system, solved with both differences scaled to unit length.
    """
    squares = gram[0][0], gram[1][1], gram[2][2]
    s = squares.index(min(squares))
    p, q = (1, 2, 0)[s], (2, 0, 1)[s]
    square, along_p, along_q = gram[s][s], gram[s][p], gram[s][q]
    to_p, to_q = square - along_p, square - along_q
    norm_p = sqrt(max(to_p + squares[p] - along_p, SMALLEST_SQUARE))
    norm_q = sqrt(max(to_q + squares[q] - along_q, SMALLEST_SQUARE))
    cosine = (to_p + gram[p][q] - along_q) / norm_p / norm_q
    squared_sine = (1.0 - cosine) * (1.0 + cosine)
    if squared_sine <= RESOLUTION:
        return None
    to_p, to_q = to_p / norm_p, to_q / norm_q
    # back-substitution, not Cramer's rule twice: then the errors of both weights cancel in d
    of_q = (to_q - cosine * to_p) / squared_sine
    weight_p, weight_q = (to_p - cosine * of_q) / norm_p, of_q / norm_q
    weight_s = 1.0 - weight_p - weight_q
    if weight_p < 0.0 or weight_q < 0.0 or weight_s < 0.0:
        return None
    return ((weight_s, weight_p, weight_q), (weight_q, weight_s, weight_p), (weight_p, weight_q, weight_s))[s]


def _place(weight: float, next_weight: float, i: int) -> tuple[float, float, float]:
    """Return three weights that are zero but for objective i and the one after it, cyclically."""
    return ((weight, next_weight, 0.0), (0.0, weight, next_weight), (next_weight, 0.0, weight))[i]


def _simplices(grams: Stack) -> Matrix:
    from mobench.solvers import compiled_sets

    count, size, _ = grams.shape
    weights, solved = np.empty((count, size)), np.empty(count, dtype=np.bool_)
    compiled_sets.min_norm_points(np.array(grams, dtype=np.float64, order="C"), weights, solved)
    for unsolved in np.flatnonzero(~solved) if not solved.all() else ():
        weights[unsolved] = _simplex(grams[unsolved])
    return weights


def _simplex(gram: Matrix) -> Vector:
    scaled, norms = correlation(gram)
    shortest = norms.min()
    weights = np.zeros(len(norms))
    if shortest == 0.0:
        weights[norms.argmin()] = 1.0
        return weights
    inverse = shortest / norms
    np.multiply(inverse, _multipliers(scaled, inverse), out=weights)
    weights /= weights.sum()
    return weights


def _multipliers(scaled: Matrix, inverse: Vector) -> Vector:
    """Return y of the shortest x with û_i·x ≥ 1/‖g_i‖, up to a factor, or one that vanishes if there is none."""
    vectors = UnitVectors(scaled)
    y = vectors.contradiction(_ones(len(inverse)))
    return vectors.multipliers(inverse) if y is None else y


@cache
def _ones(size: int) -> Vector:
    ones = np.ones(size)
    ones.setflags(write=False)
    return ones
