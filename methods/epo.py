"""EPO: descend to the point of the front that a preference names."""

from __future__ import annotations

import math
from operator import mul, truediv
from typing import ClassVar

import numpy as np

from mobench.core.about import Formula, Look, Reference
from mobench.core.method import Step, Vector
from mobench.core.metric import SHARE, Metric
from mobench.core.preference import Preferring
from mobench.core.registry import register
from mobench.core.settings import real
from mobench.solvers import best_on_simplex


@register
class EPO(Preferring):
    """Exact Pareto optimal search: make the preference-weighted losses equal, then descend all of them.

    A preference r names the point of the front at which r_1 ℓ_1 = … = r_K ℓ_K. While these products differ the method
    balances them, and may let a loss ascend to do so. Once they agree it descends. The preference is the knob.

    With x_i = ℓ_i − b_i (b_i the lower bound, 0 where none is known), x̂_i = r_i x_i / Σ_j r_j x_j, the non-uniformity
    μ = Σ_i x̂_i log(K x̂_i), its slopes a_i = r_i (log(K x̂_i) − μ) and the Gram matrix G, d = Σ_i α_i g_i with α on the
    simplex. Only the proportions of r matter: its largest is taken to be 1. While μ > `tolerance`,

        α = argmax (G a)·α   s.t.   (G α)_j ≥ 0 where r_j x_j is largest,   (G α)_j ≥ (G a)_j where (G a)_j ≤ 0,

    else α = argmax Σ_j (G α)_j   s.t.   G α ≥ 0                 (the linear programs of the paper's Algorithm 1).

    The authors' code can demand of the second also that μ does not rise; here it is taken without that demand, which it
    calls relaxed. Both programs agree with LibMOON's copy of that code. Where the first has no solution the demand on
    the largest product alone is kept; such steps are counted as `relaxed`. Of several solutions the shortest is taken.

    The default `tolerance` of 1e-3 is ten times the authors' 1e-4.

    Scale: α sums to one. With one objective d = g_1.
    """

    title = "EPO"
    formulas = (
        Formula(
            r"\mu = \sum_i \hat{x}_i \log\left(K \hat{x}_i\right), \quad "
            r"\hat{x}_i = \frac{r_i \ell_i}{\sum_j r_j \ell_j}",
            "How far the losses are from the preference",
        ),
        Formula(
            r"\alpha = \text{arg max}\ \left\{ \alpha^\top G a\ :\ \alpha \ge 0,\ \sum_i \alpha_i = 1 \right\}, "
            r"\quad a_i = r_i \left(\log\left(K \hat{x}_i\right) - \mu\right)",
            "While it is far, the weights reduce μ, without an ascent of the worst loss",
        ),
    )
    reference = Reference(
        "D. Mahapatra and V. Rajan",
        "Multi-Task Learning with User Preferences: Gradient Descent with Controlled Ascent in Pareto Optimization",
        "ICML",
        2020,
        "https://proceedings.mlr.press/v119/mahapatra20a.html",
    )
    look = Look("#724C77", "#845D88", "8")
    verified = "the paper's linear programs by SciPy's HiGHS to 1e-4"
    lacks: ClassVar = {
        "scale-invariant direction": "the preference is about the losses as they are",
        "no objective ascends": "to reach the preference a loss may ascend",
    }

    tolerance: float = real(1e-3, low=0.0, meaning="non-uniformity below which all losses descend")

    diagnostics = (
        Metric("balancing", "balancing steps", range=SHARE, meaning="whether losses are brought to the preference"),
        Metric(
            "relaxed",
            "relaxed steps",
            better="min",
            range=SHARE,
            meaning="whether the program had no solution as stated",
        ),
    )

    def weights(self, step: Step) -> Vector:
        k, rows = step.k, step.gram.tolist()
        wanted = self.preference_list(k)
        products = [*map(mul, wanted, step.gap_list())]
        total = sum(products)
        shares = [product / total for product in products]
        logs = [math.log(k * share) for share in shares]
        uniformity = sum(map(mul, shares, logs))
        balancing, relaxed = uniformity > self.tolerance and k > 1, False
        if not balancing:
            alpha = self._solve(rows, [*map(sum, rows)], [0.0] * k)
        else:
            largest, most = max(wanted), max(products)
            towards = [each / largest * (log - uniformity) for each, log in zip(wanted, logs, strict=True)]
            slopes = [sum(map(mul, row, towards)) for row in rows]
            demands = [0.0] * k
            if max(slopes) > 0.0:
                demands = [
                    0.0 if product == most else -math.inf if slope > 0.0 else slope
                    for product, slope in zip(products, slopes, strict=True)
                ]
            alpha = self._solve(rows, slopes, demands)
            if alpha is None:
                relaxed = True
                alpha = self._solve(rows, slopes, [0.0 if product == most else -math.inf for product in products])
        step.note(balancing=balancing, relaxed=relaxed)
        return np.full(k, 1.0 / k) if alpha is None else alpha

    @staticmethod
    def _solve(gram: list[list[float]], gains: list[float], demands: list[float]) -> Vector | None:
        """Solve the program with every demand in units of the gradients that it is about."""
        norms = [math.sqrt(row[i]) for i, row in enumerate(gram)]
        longest = max(norms) or 1.0
        sizes = [(norm or 1.0) * longest for norm in norms]
        rows = [[product / size for product in row] for row, size in zip(gram, sizes, strict=True)]
        return best_on_simplex(gains, rows, [*map(truediv, demands, sizes)])
