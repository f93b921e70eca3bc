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

MOST_NUMBERS = 1 << 13
"""About how many numbers of Gram matrices `ProgressSums` keeps: few enough to stay in a core's cache."""


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


class ProgressSums:
    """Sums of `secondary_progress` over the steps of B runs.

    Steps are kept until there are enough of them, and then evaluated in one call. Every number has the bits of a call
    for its step alone, and the sums are taken step by step.
    """

    def __init__(self, runs: int, k: int) -> None:
        self.steps = 0
        """How many steps were added."""
        self._sums = np.zeros(runs)
        at_once = max(1, MOST_NUMBERS // (runs * k * k))
        self._grams = np.empty((at_once, runs, k, k))
        self._weights = np.empty((at_once, runs, k))
        self._waiting = 0

    def add(self, grams: Array, weights: Array) -> None:
        """Add a step of all runs (B×K×K and B×K); both are copied."""
        self._grams[self._waiting] = grams
        self._weights[self._waiting] = weights
        self._waiting += 1
        self.steps += 1
        if self._waiting == len(self._grams):
            self._evaluate()

    def sums(self) -> Array:
        """Return the B sums over all steps so far."""
        self._evaluate()
        return self._sums

    def restore(self, sums: Array, steps: int) -> None:
        """Go on from the sums of so many steps."""
        self._sums, self.steps, self._waiting = sums, steps, 0

    def _evaluate(self) -> None:
        for progress in secondary_progress(self._grams[: self._waiting], self._weights[: self._waiting]):
            self._sums += progress
        self._waiting = 0
