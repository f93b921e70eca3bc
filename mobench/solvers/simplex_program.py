"""The small linear programs of EPO and PMGDA: the best convex combination under linear demands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from quadprog import solve_qp

if TYPE_CHECKING:
    from mobench.core.method import Matrix, Vector

BLUR = 1e-6
"""How much length costs, relative to the largest gain."""


def best_on_simplex(gains: Vector, rows: Matrix, demands: Vector) -> Vector | None:
    """Return the α of

        max gains·α   s.t.   α ≥ 0,  Σ_i α_i = 1,  rows α ≥ demands,

    None where no α satisfies all demands. Of equally good ones it is the shortest: the program is solved as the
    projection of gains/δ on the demands, δ = `BLUR` max |gains|, whose solution is within δ/2 of the best gain, exactly
    the shortest best one for all small δ, and as symmetric as its input. Bring rows to a size of about one; a demand of
    −∞ asks for nothing.
    """
    size = len(gains)
    bounded = np.isfinite(demands)
    sides = np.column_stack([np.ones(size), np.eye(size), rows[bounded].T])
    limits = np.concatenate([[1.0], np.zeros(size), demands[bounded]])
    alpha = _project(gains / (BLUR * (float(np.abs(gains).max()) or 1.0)), sides, limits)
    return _convex(alpha)


def best_worst_case(rows: Matrix, demand: Vector, least: float) -> Vector | None:
    """Return the α on the simplex that maximises min_i (rows α)_i under demand·α ≥ least; None if there is none.

    The same projection in one more variable, the worst case itself.
    """
    count, size = rows.shape
    sides = np.zeros((size + 1, 2 + size + count))
    sides[:size, 0], sides[:size, 1] = 1.0, demand
    sides[:size, 2 : 2 + size] = np.eye(size)
    sides[:size, 2 + size :], sides[size, 2 + size :] = rows.T, -1.0
    limits = np.concatenate([[1.0, least], np.zeros(size + count)])
    alpha = _project(np.append(np.zeros(size), 1.0 / BLUR), sides, limits)
    return _convex(None if alpha is None else alpha[:-1])


def _convex(alpha: Vector | None) -> Vector | None:
    """Return weights without the rounding in their signs and in their sum."""
    return None if alpha is None else np.maximum(alpha, 0.0) / np.maximum(alpha, 0.0).sum()


def _project(target: Vector, sides: Matrix, limits: Vector) -> Vector | None:
    """Return the nearest x to `target` with sidesᵀx ≥ limits, in the first with equality, None if there is none."""
    norms = np.linalg.norm(sides, axis=0)
    norms[norms == 0.0] = 1.0
    try:
        found: Vector = solve_qp(np.eye(len(target)), target, sides / norms, limits / norms, 1)[0]
    except ValueError:  # "constraints are inconsistent, no solution"
        return None
    return found
