"""EPO: descend to the point of the front that a preference names."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from mobench.core.about import Formula, Look, Reference
from mobench.core.method import Matrix, Step, Vector
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
        gram = step.gram
        wanted = self.preferences(step.k)
        products = wanted * step.gaps()
        shares = products / products.sum()
        logs = np.log(step.k * shares)
        uniformity = float(shares @ logs)
        balancing, relaxed = uniformity > self.tolerance and step.k > 1, False
        if not balancing:
            alpha = self._solve(gram, gram.sum(axis=0), np.zeros(step.k))
        else:
            slopes = gram @ (wanted / wanted.max() * (logs - uniformity))
            demands = np.where(slopes > 0.0, -np.inf, slopes)
            worst = products == products.max()
            demands = np.where(worst, 0.0, demands) if (slopes > 0.0).any() else np.zeros(step.k)
            alpha = self._solve(gram, slopes, demands)
            if alpha is None:
                relaxed, alpha = True, self._solve(gram, slopes, np.where(worst, 0.0, -np.inf))
        step.note(balancing=balancing, relaxed=relaxed)
        return np.full(step.k, 1.0 / step.k) if alpha is None else alpha

    @staticmethod
    def _solve(gram: Matrix, gains: Vector, demands: Vector) -> Vector | None:
        """Solve the program with every demand in units of the gradients that it is about."""
        norms = np.sqrt(gram.diagonal())
        sizes = np.where(norms > 0.0, norms, 1.0) * (norms.max() or 1.0)
        return best_on_simplex(gains, gram / sizes[:, None], demands / sizes)
