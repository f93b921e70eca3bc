"""The programs of MGDA, PCD and PCGrad for many Gram matrices in one call, compiled by numba when first imported.

Of both programs the binding constraints are found by Lawson and Hanson's active-set method for `min ½ yᵀMy − bᵀy` over
y ≥ 0: one index enters at a time, the one whose bound is missed most, and those leave whose y would become negative.
The Cholesky factor of the entered rows grows with them and is made anew when some leave. Runs are solved one by one,
so that a result does not depend on what else is in the call.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mobench.core.machine_code import compiled

if TYPE_CHECKING:
    from mobench.core.method import Matrix, Vector

    Stack = npt.NDArray[np.float64]
    Flags = npt.NDArray[np.bool_]
    Orders = npt.NDArray[np.int64]

_SMALLEST_SQUARE = 2.2250738585072014e-308
_EPSILON = 2.220446049250313e-16
_DEPENDENT = 1e-14
"""A row whose squared distance from the entered ones is below this does not enter."""

_NEARLY_DEPENDENT = 1e-10
"""Secondaries whose Gram matrix has a smaller eigenvalue are left to who looks for contradictions."""


# pragma: machine code, where coverage sees nothing


@compiled()
def _append(m: Matrix, factor: Matrix, order: Orders, count: int, j: int) -> bool:
    """Add row j to the Cholesky factor of the `count` rows in `order`; say whether it is independent of them."""
    pivot = m[j, j]
    for p in range(count):
        value = m[j, order[p]]
        for q in range(p):
            value -= factor[count, q] * factor[p, q]
        value /= factor[p, p]
        factor[count, p] = value
        pivot -= value * value
    if pivot <= _DEPENDENT * m[j, j]:
        return False
    factor[count, count] = math.sqrt(pivot)
    order[count] = j
    return True


@compiled()
def _solve(factor: Matrix, count: int, x: Vector) -> None:
    """Overwrite x with the solution of L Lᵀ x = x."""
    for p in range(count):
        value = x[p]
        for q in range(p):
            value -= factor[p, q] * x[q]
        x[p] = value / factor[p, p]
    for p in range(count - 1, -1, -1):
        value = x[p]
        for q in range(p + 1, count):
            value -= factor[q, p] * x[q]
        x[p] = value / factor[p, p]


@compiled()
def _non_negative(m: Matrix, b: Vector, y: Vector) -> bool:
    """Write the y ≥ 0 that minimises ½ yᵀMy − bᵀy; False where it is not found in so many steps."""
    size = b.size
    factor, order, z, inside = (
        np.empty((size, size)),
        np.empty(size, np.int64),
        np.empty(size),
        np.zeros(size, np.bool_),
    )
    refused = np.zeros(size, np.bool_)
    y[:] = 0.0
    count = 0
    for _ in range(10 * size):
        entering, most = -1, 0.0
        for j in range(size):
            if inside[j] or refused[j]:
                continue
            missing, rounding = b[j], abs(b[j])
            for p in range(count):
                term = m[j, order[p]] * y[order[p]]
                missing -= term
                rounding += abs(term)
            if missing > 4.0 * _EPSILON * rounding and missing > most:
                entering, most = j, missing
        if entering < 0:
            break
        if not _append(m, factor, order, count, entering):
            refused[entering] = True
            continue
        inside[entering] = True
        count += 1
        while True:
            for p in range(count):
                z[p] = b[order[p]]
            _solve(factor, count, z)
            share = 1.0
            for p in range(count):
                if z[p] <= 0.0:
                    share = min(share, y[order[p]] / (y[order[p]] - z[p]))
            if share == 1.0:
                break
            kept = 0
            for p in range(count):
                i = order[p]
                moved = y[i] + share * (z[p] - y[i])
                if z[p] <= 0.0 and moved <= 4.0 * _EPSILON * y[i]:
                    y[i], inside[i] = 0.0, False
                else:
                    y[i], order[kept] = moved, i
                    kept += 1
            if kept == count:
                return False
            count = 0
            for p in range(kept):
                if _append(m, factor, order, count, order[p]):
                    count += 1
                else:
                    y[order[p]], inside[order[p]] = 0.0, False
        for p in range(count):
            y[order[p]] = z[p]
        refused[:] = False
    else:
        return False
    # one refinement: what the factor's rounding left of b
    for p in range(count):
        rest = b[order[p]]
        for q in range(count):
            rest -= m[order[p], order[q]] * y[order[q]]
        z[p] = rest
    _solve(factor, count, z)
    for p in range(count):
        y[order[p]] = max(y[order[p]] + z[p], 0.0)
    return True


@compiled("void(float64[:,:,::1], float64[:,::1], boolean[::1])")
def min_norm_points(grams: Stack, weights: Matrix, solved: Flags) -> None:
    """Write the weights of the shortest convex combination for each Gram matrix, and whether they were found.

    With unit vectors û_i, C their Gram matrix and a_i = min_j ‖g_j‖/‖g_i‖, α_i ∝ a_i y_i for the y ≥ 0 that minimises
    ½ ‖Σ_i y_i û_i‖² + ½ (1 − aᵀy)²: non-negative least squares with C + aaᵀ and the right-hand side a.
    """
    runs, size = weights.shape
    m, a, y = np.empty((size, size)), np.empty(size), np.empty(size)
    for run in range(runs):
        gram, row = grams[run], weights[run]
        shortest = 0
        for i in range(1, size):
            if gram[i, i] < gram[shortest, shortest] and gram[shortest, shortest] >= _SMALLEST_SQUARE:
                shortest = i
        solved[run] = True
        if gram[shortest, shortest] < _SMALLEST_SQUARE:
            row[:] = 0.0
            row[shortest] = 1.0
            continue
        least = math.sqrt(gram[shortest, shortest])
        for i in range(size):
            a[i] = math.sqrt(gram[i, i])
        for i in range(size):
            for j in range(size):
                m[i, j] = gram[i, j] / a[i] / a[j]
        for i in range(size):
            a[i] = least / a[i]
        for i in range(size):
            for j in range(size):
                m[i, j] += a[i] * a[j]
        solved[run] = _non_negative(m, a, y)
        total = 0.0
        for i in range(size):
            row[i] = a[i] * y[i]
            total += row[i]
        if total > 0.0:
            for i in range(size):
                row[i] /= total
        else:
            solved[run] = False


@compiled()
def _smallest_eigenvalue(c: Matrix, factor: Matrix, column: Vector) -> float:
    """Return 1/‖C⁻¹‖₁, at most the smallest eigenvalue of C and at least a K-th of it, or 0 where C is singular."""
    size = column.size
    order = np.empty(size, np.int64)
    for i in range(size):
        if not _append(c, factor, order, i, i):
            return 0.0
    largest = 0.0
    for i in range(size):
        column[:] = 0.0
        column[i] = 1.0
        _solve(factor, size, column)
        largest = max(largest, np.abs(column).sum())
    return 1.0 / largest


@compiled("void(float64[:,:,::1], float64[:,::1], float64[::1], float64[:,::1], boolean[::1])")
def projections(grams: Stack, tau: Matrix, resolutions: Vector, multipliers: Matrix, solved: Flags) -> None:
    """Write the multipliers of PCD's projection for each Gram matrix and its τ, and whether they are answered here.

    With unit secondaries û_j, C their Gram matrix and b_j = τ_j ‖g_j‖ − û_j·g_1, μ_j = y_j/‖g_j‖ for the y ≥ 0 that
    minimises ½ yᵀCy − bᵀy. Not answered are zero secondaries and nearly dependent ones, whose demands may contradict
    each other.
    """
    runs, size = tau.shape
    c, b, y, norms = np.empty((size, size)), np.empty(size), np.empty(size), np.empty(size)
    factor = np.empty((size, size))
    for run in range(runs):
        gram, row = grams[run], multipliers[run]
        row[:] = 0.0
        solved[run] = True
        most = 0.0
        for j in range(size):
            if gram[j + 1, j + 1] < _SMALLEST_SQUARE:
                solved[run] = False
                break
            norms[j] = math.sqrt(gram[j + 1, j + 1])
            b[j] = tau[run, j] * norms[j] - gram[0, j + 1] / norms[j]
            most = max(most, b[j])
        if not solved[run] or most <= 0.0:
            continue
        for i in range(size):
            for j in range(size):
                c[i, j] = gram[i + 1, j + 1] / norms[i] / norms[j]
        if _smallest_eigenvalue(c, factor, y) <= max(_NEARLY_DEPENDENT, 2.0 * resolutions[run]):
            solved[run] = False
        elif _non_negative(c, b, y):
            for j in range(size):
                row[j] = y[j] / norms[j]
        else:
            solved[run] = False


@compiled("void(float64[:,:,::1], float64[:,::1], float64[::1])")
def squared_lengths(grams: Stack, weights: Matrix, squares: Vector) -> None:
    """Write wᵀGw for each Gram matrix and its weights."""
    runs, size = weights.shape
    for run in range(runs):
        total = 0.0
        for i in range(size):
            along = 0.0
            for j in range(size):
                along += grams[run, i, j] * weights[run, j]
            total += weights[run, i] * along
        squares[run] = total


@compiled("void(float64[:,:,::1], int64[:,:,::1], float64[:,::1])")
def surgeries(grams: Stack, orders: Orders, weights: Matrix) -> None:
    """Write the weights of PCGrad's surgery for each Gram matrix; gradient i meets the others in the order of row i."""
    runs, size = weights.shape
    products = np.empty(size)
    for run in range(runs):
        gram, row = grams[run], weights[run]
        row[:] = 1.0
        for i in range(size):
            products[:] = gram[i]
            for j in orders[run, i]:
                product = products[j]
                if product < 0.0 and gram[j, j] >= _SMALLEST_SQUARE:
                    share = product / gram[j, j]
                    row[j] -= share
                    for other in range(size):
                        products[other] -= share * gram[j, other]
