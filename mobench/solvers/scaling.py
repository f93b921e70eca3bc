"""The one scaling all solvers share: gradients brought to unit length."""

from __future__ import annotations

import math
from sys import float_info
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg.lapack import dpotrf

from mobench.core.method import RESOLUTION as RESOLUTION
from mobench.errors import NonFiniteError

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
    if len(gram) == 2:
        (first, cross), (_, second) = finite_rows(gram)
        return abs(cross) < (1.0 - least) * math.sqrt(first) * math.sqrt(second)
    scaled, _ = correlation(gram)
    np.fill_diagonal(scaled, 1.0 - least)
    return bool(dpotrf(scaled)[1] == 0)


def refuse_non_finite(gram: Matrix) -> None:
    """Raise if an entry is NaN or infinite: comparisons with NaN are false and would be taken for answers."""
    if not np.isfinite(gram).all():
        raise NonFiniteError(f"the Gram matrix is not finite: {gram.tolist()}")


def finite_rows(gram: Matrix) -> list[list[float]]:
    """Return a small matrix as lists, for closed forms; NaN and infinity are refused."""
    rows: list[list[float]] = gram.tolist()
    if not math.isfinite(sum(map(sum, rows))):
        refuse_non_finite(gram)
    return rows
