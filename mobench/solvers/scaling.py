"""The one scaling all solvers share: gradients brought to unit length."""

from __future__ import annotations

import math
from sys import float_info
from typing import TYPE_CHECKING

import numpy as np

from mobench.core.method import RESOLUTION as RESOLUTION
from mobench.errors import NonFiniteError
from mobench.solvers import lapack

if TYPE_CHECKING:
    from mobench.core.method import Matrix, Vector

SMALLEST_SQUARE = float_info.min
"""A gradient counts as zero when its squared length is not a normal float64: ‖g‖ < 1.5e-154."""


def correlation(gram: Matrix) -> tuple[Matrix, Vector]:
    """Return `C = D⁻¹ G D⁻¹` and the gradients' lengths, `D = diag(‖g_1‖, …, ‖g_K‖)`.

    A zero gradient has no direction: it gets length 0, a unit diagonal and zeros beside it, as if it
    were orthogonal to all others. Lengths from 1e-150 to 1e150 neither overflow nor underflow.
    """
    squares = gram.diagonal()
    if min(squares.tolist()) >= SMALLEST_SQUARE:
        norms = np.sqrt(squares)
        inverse = 1.0 / norms
        return gram * inverse * inverse[:, None], norms
    zero = squares < SMALLEST_SQUARE
    norms = np.sqrt(np.where(zero, 1.0, squares))
    inverse = np.where(zero, 0.0, 1.0 / norms)
    scaled = gram * inverse * inverse[:, None]
    scaled[zero, zero] = 1.0
    return scaled, np.where(zero, 0.0, norms)


def eigenvalues_exceed(gram: Matrix, least: float) -> bool:
    """Say whether every eigenvalue of `C` is above `least`, a number in [0, 1)."""
    rows: list[list[float]] = gram.tolist()
    left = 1.0 - least
    if len(rows) == 2:
        (first, cross), (_, second) = rows
        return abs(cross) < left * math.sqrt(first) * math.sqrt(second)
    if len(rows) == 3 and min(rows[0][0], rows[1][1], rows[2][2]) >= SMALLEST_SQUARE:
        a, b, c = (math.sqrt(row[i]) for i, row in enumerate(rows))
        p, q, r = rows[0][1] / a / b, rows[0][2] / a / c, rows[1][2] / b / c
        # the leading minors of C − least·I
        return left > abs(p) and left * (left * left - p * p - q * q - r * r) + 2.0 * p * q * r > 0.0
    scaled, _ = correlation(gram)
    np.fill_diagonal(scaled, left)
    return bool(lapack.dpotrf(scaled)[1] == 0)


def refuse_non_finite(gram: Matrix) -> None:
    """Raise if an entry is NaN or infinite: comparisons with NaN are false and would be taken for answers."""
    # a sum is finite only if every term is, and costs less than looking at each of few
    if not math.isfinite(sum(map(sum, gram.tolist()))) and not np.isfinite(gram).all():
        raise NonFiniteError(f"the Gram matrix is not finite: {gram.tolist()}")
