"""The one scaling all solvers share: gradients brought to unit length."""

from __future__ import annotations

from sys import float_info
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from mobench.core.method import Matrix, Vector

RESOLUTION = 1e-14
"""What a float64 Gram matrix resolves, relative to squared lengths.

The entries of `C` carry rounding errors of a few 1e-16. A squared length `yᵀCy` (with ‖y‖ = 1) that
is below this bound cannot be told from zero, so that unit vectors closer than 1e-7 to linear
dependence count as dependent.
"""

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
