"""PMGDA: follow MGDA on the ray of a preference, and correct towards the ray."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from mobench.core.about import Formula, Look, Reference
from mobench.core.method import Matrix, Step, Vector
from mobench.core.metric import SHARE, Metric
from mobench.core.preference import Preferring
from mobench.core.registry import register
from mobench.core.settings import real
from mobench.solvers import best_worst_case, correlation, min_norm_point


@register
class PMGDA(Preferring):
    """Preference-based MGDA: predict along MGDA, correct along a function that says how far the preference is.

    The preference is met where the losses lie on a ray. Near the ray the method takes MGDA's step. Away from it, it
    takes the direction that is best for whoever gains least among those that approach the ray fast enough. The
    preference is the knob, in EPO's convention.

    With x_i = ℓ_i − b_i (b_i the lower bound, 0 where none is known), the ray's unit vector u ∝ 1/r,
    h = 1 − (x·u)²/‖x‖² and its gradient ∇h = Σ_i (∂h/∂x_i) g_i, all gradients at unit length (ĝ_i, ĥ):

        h ≤ `tolerance`:  d = m Σ_i α_i ĝ_i, α MGDA's weights of the unit gradients;
        otherwise         d = m (Σ_i β_i ĝ_i + β_h ĥ) with β on the simplex of K + 1 weights the argmax of
                          min_i ĝ_i·d   s.t.   ĥ·d ≥ σ m

    with m the mean gradient length: a linear program, which β_h = 1 satisfies for every σ ≤ 1. This is our reading of
    the paper's predict and correct steps, with the squared sine of the angle to the ray as the preference function.

    Scale: at most the mean gradient length m. With one objective d = g_1.
    """

    title = "PMGDA"
    formulas = (
        Formula(r"h = 1 - \frac{(x \cdot u)^2}{{\lVert x \rVert}^2}", "How far the losses x are from the ray u"),
        Formula(
            r"\underset{d}{\text{max}}\ \underset{i}{\text{min}}\ \hat{g}_i \cdot d \quad \text{subject to} \quad "
            r"\hat{h} \cdot d \ge \sigma",
            "The correction",
        ),
    )
    reference = Reference(
        "X. Zhang, X. Lin and Q. Zhang",
        "PMGDA: A Preference-based Multiple Gradient Descent Algorithm",
        "arXiv",
        2024,
        "https://arxiv.org/abs/2402.09492",
    )
    look = Look("#E927B0", "#FC48C2", "D")
    lacks: ClassVar = {
        "scale-invariant direction": "the preference is about the losses as they are",
        "no objective ascends": "to reach the preference a loss may ascend",
    }

    tolerance: float = real(1e-3, low=0.0, meaning="distance h from the ray below which MGDA's step is taken")
    sigma: float = real(0.9, low=0.0, high=1.0, meaning="σ, how fast a correction approaches the ray")

    symbols: ClassVar[dict[str, str]] = {**Preferring.symbols, "sigma": "σ"}
    diagnostics = (Metric("correcting", "correcting steps", range=SHARE, meaning="whether the ray is approached"),)

    def weights(self, step: Step) -> Vector:
        gram = step.gram
        scaled, norms = correlation(gram)
        kept = norms.nonzero()[0]
        weights = np.zeros(step.k)
        if not len(kept):
            return weights
        distance, slopes = self._distance(step)
        unit = scaled[kept[:, None], kept]
        towards = (slopes * norms)[kept]
        products = unit @ towards
        length = math.sqrt(max(float(towards @ products), 0.0))
        correcting = distance > self.tolerance and length > math.sqrt(step.resolution) * float(np.abs(towards).max())
        step.note(correcting=correcting)
        mean = float(norms.mean())
        if not correcting:
            weights[kept] = mean * min_norm_point(unit) / norms[kept]
            return weights
        weights[kept] = mean * self._correct(unit, products / length, towards / length) / norms[kept]
        return weights

    def _distance(self, step: Step) -> tuple[float, Vector]:
        """Return h and its derivatives by the losses."""
        gaps = step.gaps()
        ray = 1.0 / self.preferences(step.k)
        ray /= np.linalg.norm(ray)
        size = float(np.linalg.norm(gaps))
        along = float(gaps @ ray) / size
        return 1.0 - along * along, -2.0 * along / size * (ray - along * gaps / size)

    def _correct(self, unit: Matrix, products: Vector, towards: Vector) -> Vector:
        """Return the unit gradients' weights; `products` are theirs with ĥ = Σ_i towards_i ĝ_i."""
        rows = np.column_stack([unit, products])
        beta = best_worst_case(rows, np.append(products, 1.0), self.sigma)
        if beta is None:  # rounding at σ = 1, where the correction itself is the only candidate
            return towards
        return np.asarray(beta[:-1] + beta[-1] * towards)
