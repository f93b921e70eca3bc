"""How stationary a point is: for every objective (CMS), or only for a trade-off of them (Pareto).

With gradients g_1…g_K and their Gram matrix G[i, j] = <g_i, g_j>:

    composite residual  max_i ‖g_i‖                       0 iff every objective is stationary (CMS)
    Pareto residual     min over α ∈ Δ of ‖Σ_i α_i g_i‖   0 iff 0 ∈ conv{g_i}
    hull margin         the Pareto residual of g_i/‖g_i‖  the same zeros, in [0, 1], free of scale

always 0 ≤ Pareto ≤ composite. A point whose Pareto residual is 0 and whose composite residual is not
is a conflict equilibrium: the gradients cancel and symmetric methods stop there.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mobench.errors import NonFiniteError, UserError

Array = npt.NDArray[np.float64]


def pareto_residual(gram: npt.ArrayLike, gradients: npt.ArrayLike | None = None) -> float:
    """Return min over the simplex of ‖Σ_i α_i g_i‖ for one K×K Gram matrix.

    The Gram matrix holds squares, so that a residual below about 1e-8 · max_i ‖g_i‖ is rounding. With the K×n
    `gradients` themselves the combination is taken of them, and only α is the Gram matrix's.
    """
    array = _one(gram)
    return _min_norm(array) if gradients is None else float(np.linalg.norm(_shortest(array) @ np.asarray(gradients)))


def hull_margin(gram: npt.ArrayLike) -> float:
    """Return min over the simplex of ‖Σ_i α_i g_i/‖g_i‖‖ for one K×K Gram matrix, in [0, 1].

    Of the secondaries' Gram matrix this is the Farkas margin of PCD's constraints: they are feasible
    together whenever it is positive. A zero gradient makes the margin 0, because 0 is then in the hull.
    """
    array = _one(gram)
    norms = np.sqrt(np.diagonal(array))
    if not norms.all():
        return 0.0
    return min(_min_norm(array / norms[:, None] / norms), 1.0)


def _shortest(gram: Array) -> Array:
    from mobench.solvers import min_norm_point

    return np.asarray(min_norm_point(gram), dtype=np.float64)


def _min_norm(gram: Array) -> float:
    alpha = _shortest(gram)
    return float(np.sqrt(max(float(alpha @ gram @ alpha), 0.0)))


def _one(gram: npt.ArrayLike) -> Array:
    array = _checked(gram)
    if array.ndim != 2:
        raise UserError(f"the Gram matrix has shape {array.shape}; accepted: one K×K matrix")
    return array


def _checked(gram: npt.ArrayLike) -> Array:
    array = np.asarray(gram, dtype=np.float64)
    if array.ndim < 2 or array.shape[-1] != array.shape[-2] or array.shape[-1] == 0:
        raise UserError(f"the Gram matrix has shape {array.shape}; accepted: (…, K, K) with K ≥ 1")
    if not np.isfinite(array).all():
        raise NonFiniteError(f"the Gram matrix is not finite: {array.tolist()}")
    return array
