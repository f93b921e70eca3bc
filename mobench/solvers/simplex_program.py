"""Programs on the simplex: the linear ones of EPO and PMGDA, and the nearest point."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from quadprog import solve_qp

from mobench.solvers.half_spaces import QUADPROG_ZERO

if TYPE_CHECKING:
    from mobench.core.method import Matrix, Vector

    Floats = Sequence[float] | Vector

BLUR = 1e-6
"""How much length costs, relative to the largest gain."""


def best_on_simplex(gains: Floats, rows: Sequence[Floats] | Matrix, demands: Floats) -> Vector | None:
    """Return the α of

        max gains·α   s.t.   α ≥ 0,  Σ_i α_i = 1,  rows α ≥ demands,

    None where no α satisfies all demands. Of equally good ones it is the shortest: the program is solved as the
    projection of gains/δ on the demands, δ = `BLUR` max |gains|, whose solution is within δ/2 of the best gain, exactly
    the shortest best one for all small δ, and as symmetric as its input. Bring rows to a size of about one; a demand of
    −∞ asks for nothing. Two variables that sum to one are a number in an interval.
    """
    size = len(gains)
    if size == 2:
        return _best_on_segment(gains, rows, demands)
    gains, rows, demands = np.asarray(gains), np.asarray(rows), np.asarray(demands)
    bounded = np.isfinite(demands)
    sides = np.column_stack([np.ones(size), np.eye(size), rows[bounded].T])
    limits = np.concatenate([[1.0], np.zeros(size), demands[bounded]])
    alpha = _project(gains / (BLUR * (float(np.abs(gains).max()) or 1.0)), sides, limits)
    return _convex(alpha)


def project_on_simplex(point: Sequence[float]) -> list[float]:
    """Return the nearest point with non-negative entries that sum to one."""
    total, level = -1.0, 0.0
    for count, value in enumerate(sorted(point, reverse=True), start=1):
        total += value
        if count > 1 and not value > total / count:
            break
        level = total / count
    return [max(value - level, 0.0) for value in point]


def _best_on_segment(gains: Floats, rows: Sequence[Floats] | Matrix, demands: Floats) -> Vector | None:
    """Return α = (a, 1 − a): a = ½(1 + (gains_1 − gains_2)/δ), or the nearest a that meets all demands.

    Each demand bounds a on one side. Demands that miss each other by what is rounding to quadprog are met.
    """
    low, high, steepness_low, steepness_high = 0.0, 1.0, 1.0, 1.0
    for (first, second), demand in zip(rows, demands, strict=True):
        if demand == -math.inf:
            continue
        size = math.hypot(first, second) or 1.0
        slope, least = (first - second) / size, (demand - second) / size
        if abs(slope) <= QUADPROG_ZERO:
            if least > QUADPROG_ZERO:
                return None
        elif slope > 0.0 and least / slope > low:
            low, steepness_low = least / slope, slope
        elif slope < 0.0 and least / slope < high:
            high, steepness_high = least / slope, -slope
    if low > high:
        if (low - high) * min(steepness_low, steepness_high) > QUADPROG_ZERO:
            return None
        low = high = min(max(low if steepness_low >= steepness_high else high, 0.0), 1.0)
    wanted = 0.5 + 0.5 * (gains[0] - gains[1]) / (BLUR * (max(map(abs, gains)) or 1.0))
    share = min(max(wanted, low), high)
    return np.array((share, 1.0 - share))


def best_worst_case(rows: Matrix, demand: Vector, least: float) -> Vector | None:
    """Return the α on the simplex that maximises min_i (rows α)_i under demand·α ≥ least; None if there is none.

    The same projection in one more variable, the worst case itself.
    """
    count, size = rows.shape
    identity, target, sides, limits = _worst_case_program(count, size)
    sides, limits = sides.copy(), limits.copy()
    length = math.sqrt(float(demand @ demand)) or 1.0
    sides[:size, 1], limits[1] = demand / length, least / length
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows) + 1.0)
    sides[:size, 2 + size :], sides[size, 2 + size :] = rows.T / lengths, -1.0 / lengths
    alpha = _nearest(identity, target, sides, limits)
    return _convex(None if alpha is None else alpha[:-1])


@cache
def _worst_case_program(count: int, size: int) -> tuple[Matrix, Vector, Matrix, Vector]:
    """Return what all such programs share: Hessian, target, and the unit normals and limits of the simplex."""
    sides, limits = np.zeros((size + 1, 2 + size + count)), np.zeros(2 + size + count)
    sides[:size, 0] = limits[0] = 1.0 / math.sqrt(size)
    sides[:size, 2 : 2 + size] = np.eye(size)
    return np.eye(size + 1), np.append(np.zeros(size), 1.0 / BLUR), sides, limits


def _convex(alpha: Vector | None) -> Vector | None:
    """Return weights without the rounding in their signs and in their sum."""
    if alpha is None:
        return None
    positive = np.maximum(alpha, 0.0)
    return np.asarray(positive / positive.sum())


def _project(target: Vector, sides: Matrix, limits: Vector) -> Vector | None:
    """Return the nearest x to `target` with sidesᵀx ≥ limits, in the first with equality, None if there is none."""
    norms = np.linalg.norm(sides, axis=0)
    norms[norms == 0.0] = 1.0
    return _nearest(np.eye(len(target)), target, sides / norms, limits / norms)


def _nearest(identity: Matrix, target: Vector, sides: Matrix, limits: Vector) -> Vector | None:
    """Do as `_project` with sides of unit length."""
    try:
        found: Vector = solve_qp(identity, target, sides, limits, 1)[0]
    except ValueError:  # "constraints are inconsistent, no solution"
        return None
    return found
