"""Secondary progress of a step: how well the update serves each secondary objective, to first order.

For the update d = Σ_i w_i g_i the change of objective j is −lr · <g_j, d> to first order. Its cosine

    cos_j = <g_j, d> / (‖g_j‖ ‖d‖) ∈ [−1, 1]

does not depend on anybody's scale: positive is progress, negative is harm. All of it follows from the
Gram matrix G, as <g_j, d> = (G w)_j and ‖d‖² = wᵀ G w. Leading dimensions are batched.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

_EPSILON = float(np.finfo(np.float64).eps)


def secondary_cosines(gram: Array, weights: Array) -> Array:
    """Return cos_j of the secondaries j = 2…K, for `gram` (…, K, K) and `weights` (…, K): shape (…, K−1).

    A zero gradient g_j or a zero update gives cos_j = 0: no progress and no harm. The update counts
    as zero when ‖d‖² ≤ 4 K ε (Σ_i |w_i| ‖g_i‖)², ε = 2.2e-16: below that the gradients cancel to the
    last digit of the Gram matrix, and the direction that is left is rounding. NaN in, NaN out.
    """
    k = weights.shape[-1]
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        norms = np.sqrt(np.diagonal(gram, axis1=-2, axis2=-1))
        products = np.matmul(gram, weights[..., None])[..., 0]
        squared = np.einsum("...i,...i->...", weights, products)
        longest = np.einsum("...i,...i->...", np.abs(weights), norms)
        lengths = np.sqrt(np.where(squared <= 4.0 * k * _EPSILON * longest * longest, 0.0, squared))
        scale = norms[..., 1:] * lengths[..., None]
        cosines: Array = products[..., 1:] / np.where(scale == 0.0, np.inf, scale)
        return np.minimum(np.maximum(cosines, -1.0), 1.0)


def secondary_progress(gram: Array, weights: Array) -> Array:
    """Return the smallest cosine over the secondaries, shape (…): the progress of the worst served one.

    With one objective there is no secondary and the value is 1.
    """
    worst: Array = secondary_cosines(gram, weights).min(axis=-1, initial=1.0)
    return worst
