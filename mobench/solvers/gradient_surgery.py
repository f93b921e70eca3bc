"""PCGrad's gradient surgery, computed on the Gram matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mobench.solvers.scaling import SMALLEST_SQUARE, refuse_non_finite

if TYPE_CHECKING:
    from mobench.core.method import Matrix, Vector


def surgery(gram: Matrix, orders: Sequence[Sequence[int]]) -> Vector:
    """Return the weights of the sum of all gradients, each projected off those it conflicts with.

        for every i:  g_i' = g_i;  for j in orders[i]:  if g_i'·g_j < 0:  g_i' −= (g_i'·g_j/‖g_j‖²) g_j
        Σ_i w_i g_i = Σ_i g_i'

    `orders[i]` is a permutation of the objectives j ≠ i.

    - One objective: w = (1). No conflicts: w = (1, …, 1), the plain sum.
    - A zero gradient conflicts with nothing and is projected off nothing: its own weight is 1.
    - Duplicates do not conflict. Opposites remove each other: for K = 2, d = 0 to rounding.
    """
    refuse_non_finite(gram)
    rows: list[list[float]] = gram.tolist()
    if len(rows) == 2:
        (first, cross), (_, second) = rows
        if cross < 0.0:  # w_1 = 1 − g_1·g_2/‖g_1‖²: what g_2' adds to g_1
            return np.array(
                (
                    1.0 - cross / first if first >= SMALLEST_SQUARE else 1.0,
                    1.0 - cross / second if second >= SMALLEST_SQUARE else 1.0,
                )
            )
        return np.ones(2)
    weights = [1.0] * len(rows)
    for products, order in zip(rows, orders, strict=True):
        # `products[j]` is g_i'·g_j throughout
        for j in order:
            product = products[j]
            if product < 0.0:
                row = rows[j]
                if row[j] >= SMALLEST_SQUARE:
                    share = product / row[j]
                    weights[j] -= share
                    products = [value - share * other for value, other in zip(products, row, strict=True)]
    return np.array(weights)
