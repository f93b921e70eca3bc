"""PMGDA: follow MGDA on the ray of a preference, and correct towards the ray."""

from __future__ import annotations

import math
from operator import mul
from typing import ClassVar

import numpy as np

from mobench.core.about import Formula, Look, Reference
from mobench.core.method import Step
from mobench.core.metric import SHARE, Metric
from mobench.core.preference import Preferring
from mobench.core.registry import register
from mobench.core.settings import real
from mobench.solvers import best_worst_case, min_norm_point
from mobench.solvers.scaling import SMALLEST_SQUARE


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
    the paper's predict and correct steps, with the squared sine of the angle to the ray as the preference function. It
    is not verified against the authors' code. Their library LibMOON has the distance of the losses from the ray as h,
    and in min_i g_i·d the gradients at their own lengths. Its configuration has a tolerance of 1e-2 for that h and
    σ = 0.95, where the defaults here are 1e-3 and 0.9.

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
    verified = "unverified: our reading of the paper; its linear program by SciPy's HiGHS to 1e-4"
    lacks: ClassVar = {
        "scale-invariant direction": "the preference is about the losses as they are",
        "no objective ascends": "to reach the preference a loss may ascend",
    }

    tolerance: float = real(1e-3, low=0.0, meaning="distance h from the ray below which MGDA's step is taken")
    sigma: float = real(0.9, low=0.0, high=1.0, meaning="σ, how fast a correction approaches the ray")

    symbols: ClassVar[dict[str, str]] = {**Preferring.symbols, "sigma": "σ"}
    diagnostics = (Metric("correcting", "correcting steps", range=SHARE, meaning="whether the ray is approached"),)

    def weights(self, step: Step) -> list[float]:
        rows: list[list[float]] = step.gram.tolist()
        norms = [math.sqrt(row[i]) if row[i] >= SMALLEST_SQUARE else 0.0 for i, row in enumerate(rows)]
        kept = [i for i, norm in enumerate(norms) if norm > 0.0]
        weights = [0.0] * len(norms)
        if not kept:
            return weights
        distance, slopes = self._distance(step)
        unit = [[rows[i][j] / norms[i] / norms[j] for j in kept] for i in kept]
        towards = [slopes[i] * norms[i] for i in kept]
        products = [sum(map(mul, row, towards)) for row in unit]
        length = math.sqrt(max(sum(map(mul, towards, products)), 0.0))
        correcting = distance > self.tolerance and length > math.sqrt(step.resolution) * max(map(abs, towards))
        step.note(correcting=correcting)
        if correcting:
            shares = self._correct(unit, [each / length for each in products], [each / length for each in towards])
        else:
            shares = min_norm_point(np.array(unit)).tolist()
        mean = sum(norms) / len(norms)
        for i, share in zip(kept, shares, strict=True):
            weights[i] = mean * share / norms[i]
        return weights

    def _distance(self, step: Step) -> tuple[float, list[float]]:
        """Return h and its derivatives by the losses."""
        gaps, ray = step.gap_list(), [1.0 / each for each in self.preference_list(step.k)]
        size, length = math.hypot(*gaps), math.hypot(*ray)
        ray = [each / length for each in ray]
        along = sum(map(mul, gaps, ray)) / size
        factor = -2.0 * along / size
        return 1.0 - along * along, [factor * (r - along * gap / size) for r, gap in zip(ray, gaps, strict=True)]

    def _correct(self, unit: list[list[float]], products: list[float], towards: list[float]) -> list[float]:
        """Return the unit gradients' weights; `products` are theirs with ĥ = Σ_i towards_i ĝ_i."""
        rows = np.array([[*row, product] for row, product in zip(unit, products, strict=True)])
        beta = best_worst_case(rows, np.array([*products, 1.0]), self.sigma)
        if beta is None:  # rounding at σ = 1, where the correction itself is the only candidate
            return towards
        *own, shared = beta.tolist()
        return [each + shared * turn for each, turn in zip(own, towards, strict=True)]
