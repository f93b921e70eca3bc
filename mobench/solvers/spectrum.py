"""What is solved by the eigenvectors of a Gram matrix: equal projections, and Aligned-MTL's balance."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np

from mobench.solvers import lapack
from mobench.solvers.scaling import RESOLUTION, SMALLEST_SQUARE, correlation, refuse_non_finite

if TYPE_CHECKING:
    from mobench.core.method import Matrix, Vector


def equal_projections(gram: Matrix, resolution: float = RESOLUTION) -> Vector:
    """Return z with C z = 1: the direction Σ_i z_i g_i/‖g_i‖ has the same product with every unit gradient.

    Where unit gradients are dependent (eigenvalues of C up to `resolution` count as zero) it is the least-squares
    solution of least length, z = C⁺1. A zero gradient has z_i = 0. K = 2: z_1 = z_2 = 1/(1 + c),
    c the cosine.
    """
    refuse_non_finite(gram)
    if (pair := _independent_pair(gram, resolution)) is not None:
        return np.full(2, 1.0 / (1.0 + pair[2]))
    scaled, norms = correlation(gram)
    kept = norms.nonzero()[0]
    solution = np.zeros(len(norms))
    if len(kept):
        values, vectors = _independent(scaled[kept[:, None], kept], resolution)
        solution[kept] = vectors @ (vectors.sum(axis=0) / values)
    return solution


def balanced_weights(gram: Matrix, scale: Literal["min", "median", "rmse"], resolution: float = RESOLUTION) -> Vector:
    """Return Aligned-MTL's weights, w = √λ V Λ^(−1/2) Vᵀ 1/K with G = V Λ Vᵀ over the non-zero eigenvalues.

    λ is the smallest, the median or the mean of these eigenvalues. Gradients of very different length have
    eigenvalues too far apart for the usual algorithms. With C = Q S Qᵀ and the gradients' lengths D, the one-sided
    Jacobi method finds the singular values Λ^(1/2) of S^(1/2) Qᵀ D, and its right singular vectors V, with rounding
    relative to each column, so that the update Σ_i w_i g_i is right to some 1e-15 of its length. Eigenvalues of C up
    to `resolution` count as zero. Two independent gradients have a closed form.
    """
    refuse_non_finite(gram)
    if (pair := _independent_pair(gram, resolution)) is not None:
        return _balanced_pair(*pair, least=scale == "min")
    scaled, norms = correlation(gram)
    size = len(norms)
    kept = norms.nonzero()[0]
    weights = np.zeros(size)
    if not len(kept):
        return weights
    values, vectors = _independent(scaled[kept[:, None], kept], resolution)
    largest = norms.max()
    factor = (norms[kept] / largest)[:, None] * vectors * np.sqrt(values)
    # lengths as factors of the columns: of the rows, rounding would be relative to the longest gradient
    columns = np.zeros((len(kept), len(kept)), order="F")
    columns[: len(values)] = factor.T
    singular, _, left, work, _, failed = lapack.dgejsv(columns, joba=0, jobu=0, jobv=0, jobr=0)
    if failed:
        raise ArithmeticError(f"the singular values of {gram.tolist()} are not found (dgejsv says {failed})")
    found = singular > 0.0  # LAPACK returns 0 for what it does not resolve
    singular, left = singular[found] * (work[0] / work[1]), left[:, found]
    squares = singular**2
    level = {"min": squares.min(), "median": float(np.median(squares)), "rmse": squares.mean()}[scale]
    weights[kept] = left @ (left.sum(axis=0) * np.sqrt(level) / singular) / size
    return weights


def _independent_pair(gram: Matrix, resolution: float) -> tuple[float, float, float] | None:
    """Return the lengths of two gradients and their cosine, None if they are dependent, one is zero, or not two."""
    if len(gram) != 2:
        return None
    (first, cross), (_, second) = gram.tolist()
    if min(first, second) < SMALLEST_SQUARE:
        return None
    first, second = math.sqrt(first), math.sqrt(second)
    cosine = cross / first / second
    return (first, second, cosine) if 1.0 - abs(cosine) > resolution else None


def _balanced_pair(first: float, second: float, cosine: float, *, least: bool) -> Vector:
    """Return √λ G^(−1/2) 1/2 for two gradients, λ the smaller eigenvalue or the mean of both.

    With lengths a and b, cosine c and sine s, √det G = abs and

        G^(−1/2) (1, 1) = ((b + a (s − c))/(as), (a + b (s − c))/(bs)) / √(a² + b² + 2abs),

    by Cayley and Hamilton. The smaller eigenvalue is det G over the larger, (a² + b² + √((a² − b²)² + (2abc)²))/2.
    """
    longest = max(first, second)
    a, b = first / longest, second / longest
    sine = math.sqrt((1.0 - cosine) * (1.0 + cosine))
    turned, squares = sine - cosine, a * a + b * b
    shared = 0.5 / math.sqrt(squares + 2.0 * a * b * sine)
    if least:
        shared /= math.sqrt(0.5 * (squares + math.hypot((a - b) * (a + b), 2.0 * a * b * cosine)))
        return np.array((shared * b * (b + a * turned), shared * a * (a + b * turned)))
    shared *= math.sqrt(0.5 * squares) / sine
    return np.array((shared * (b / a + turned), shared * (a / b + turned)))


def _independent(scaled: Matrix, resolution: float) -> tuple[Vector, Matrix]:
    """Return the eigenvalues of C above `resolution` and their eigenvectors."""
    values, vectors = np.linalg.eigh(scaled)
    above = values > resolution
    return values[above], vectors[:, above]
