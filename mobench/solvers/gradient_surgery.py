"""The surgery of PCGrad and of GradVac, computed on the Gram matrix."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mobench.solvers.scaling import SMALLEST_SQUARE, refuse_non_finite

if TYPE_CHECKING:
    from mobench.core.method import Matrix, Vector

    Orders = Sequence[Sequence[Sequence[int]]]

MOST_AGREEMENT = 1.0 - 1e-12
"""The largest cosine that GradVac aims at."""


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
    return np.array(_of_two(rows) if len(rows) == 2 else _on_rows(rows, orders))


def surgeries(grams: npt.NDArray[np.float64], orders: npt.NDArray[np.int64] | Orders) -> Matrix:
    """Return `surgery` of each of B finite Gram matrices (B×K×K, orders B×K×(K−1)), with the same bits."""
    size = grams.shape[1]
    if size == 2:
        return np.array([_of_two(rows) for rows in grams.tolist()])
    if size <= 3:
        listed = orders.tolist() if isinstance(orders, np.ndarray) else orders
        solve = _of_three if size == 3 else _on_rows
        return np.array([solve(*each) for each in zip(grams.tolist(), listed, strict=True)])
    from mobench.solvers import compiled_sets

    weights = np.empty(grams.shape[:2])
    compiled_sets.surgeries(grams, np.ascontiguousarray(orders), weights)
    return weights


def _of_two(rows: list[list[float]]) -> list[float]:
    (first, cross), (_, second) = rows
    if cross < 0.0:  # w_1 = 1 − g_1·g_2/‖g_1‖²: what g_2' adds to g_1
        return [
            1.0 - cross / first if first >= SMALLEST_SQUARE else 1.0,
            1.0 - cross / second if second >= SMALLEST_SQUARE else 1.0,
        ]
    return [1.0, 1.0]


def _of_three(rows: list[list[float]], orders: Sequence[Sequence[int]]) -> list[float]:
    """Do as `_on_rows` without the products that nobody reads: of g_i' only that with the last gradient is new."""
    weights = [1.0, 1.0, 1.0]
    for products, (first, last) in zip(rows, orders, strict=True):
        product, met = products[last], rows[first]
        if products[first] < 0.0 and met[first] >= SMALLEST_SQUARE:
            share = products[first] / met[first]
            weights[first] -= share
            product -= share * met[last]
        if product < 0.0 and (square := rows[last][last]) >= SMALLEST_SQUARE:
            weights[last] -= product / square
    return weights


def _on_rows(rows: list[list[float]], orders: Sequence[Sequence[int]]) -> list[float]:
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
    return weights


def vaccinate(gram: Matrix, orders: Sequence[Sequence[int]], goals: Matrix, rate: float) -> Vector:
    """Return the weights of the sum of all gradients, each turned towards those it agrees with less than usual.

        for every i:  g_i' = g_i;  for j in orders[i], with φ = cos(g_i', g_j) and the goal ψ = ψ_ij:
            if φ < ψ:  g_i' += ‖g_i'‖ (ψ √(1−φ²) − φ √(1−ψ²)) / (‖g_j‖ √(1−ψ²)) g_j,  so that cos(g_i', g_j) = ψ
            ψ_ij ← (1 − rate) ψ + rate φ

    `goals` holds ψ and is updated in place. A zero gradient has no cosine: nothing is turned towards it, it is
    turned towards nothing, and its goals stay. Goals are kept below 1 − 1e-12, where the factor is finite.
    """
    refuse_non_finite(gram)
    rows: list[list[float]] = gram.tolist()
    size = len(rows)
    weights = [0.0] * size
    for i, order in enumerate(orders):
        own, products = [0.0] * size, rows[i]
        own[i], square = 1.0, rows[i][i]
        for j in order:
            if min(square, rows[j][j]) < SMALLEST_SQUARE:
                continue
            lengths = math.sqrt(square) * math.sqrt(rows[j][j])
            cosine = min(max(products[j] / lengths, -1.0), 1.0)
            goal = min(max(goals[i, j], -MOST_AGREEMENT), MOST_AGREEMENT)
            if cosine < goal:
                sine = math.sqrt((1.0 - goal) * (1.0 + goal))
                turn = (goal * math.sqrt((1.0 - cosine) * (1.0 + cosine)) - cosine * sine) / sine
                share = math.sqrt(square) / math.sqrt(rows[j][j]) * turn
                own[j] += share
                square = max(square + share * (2.0 * products[j] + share * rows[j][j]), 0.0)
                products = [value + share * other for value, other in zip(products, rows[j], strict=True)]
            goals[i, j] = (1.0 - rate) * goal + rate * cosine
        weights = [total + weight for total, weight in zip(weights, own, strict=True)]
    return np.array(weights)
