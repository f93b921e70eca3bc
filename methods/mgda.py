"""MGDA: the minimum-norm element of the gradients' convex hull."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from mobench.core.about import Formula, Look, Reference
from mobench.core.method import Matrix, Method, Step, Vector
from mobench.core.registry import register
from mobench.core.settings import choice
from mobench.solvers import min_norm_point
from mobench.solvers.min_norm import min_norm_points

SMALLEST_LOSS = 1e-8
"""A loss that is closer to its lower bound than this is taken to be this far from it."""


@register
class MGDA(Method):
    """Multiple-gradient descent: step along the shortest vector in the gradients' convex hull.

    Along it no objective ascends, and it is zero exactly at Pareto-stationary points. Short gradients
    dominate the shortest vector, so that the result depends on the objectives' scales. Normalising the
    gradients first, by their lengths or losses, is an option.

    With divisors n_i,

        α = argmin { ‖Σ_i α_i g_i / n_i‖ : α ≥ 0, Σ_i α_i = 1 },     d = Σ_i (α_i / n_i) g_i.

    The result has g_i·d / n_i ≥ ‖d‖² for every i. The divisors (O. Sener and V. Koltun, Multi-Task Learning
    as Multi-Objective Optimization, NeurIPS 2018) are

        none:   n_i = 1,                   l2:     n_i = ‖g_i‖,
        loss:   n_i = ℓ_i − b_i,           loss+:  n_i = (ℓ_i − b_i) ‖g_i‖,

    b_i the objective's lower bound (0 where none is known), the difference never below 1e-8. A zero
    gradient keeps its length: its norm counts as one. α is applied to the gradients it was computed
    for, the normalised ones; applying it to the raw losses would lose the descent property.

    The program is solved exactly. TorchJD's MGDA takes Frank–Wolfe steps, which can be far from its solution: with its
    default of 100 steps the update differs by up to 6e-2 of its length on random gradients, with 3,000 by up to 7e-3.

    Scale: α sums to one, so that ‖d‖ is at most the smallest ‖g_i‖/n_i; with l2 it is at most one.
    With one objective d = g_1/n_1.
    """

    title = "MGDA"
    formulas = (
        Formula(
            r"\alpha = \text{arg min}\ \left\{ \left\lVert \sum_i \frac{\alpha_i}{n_i} g_i \right\rVert\ :\ "
            r"\alpha \ge 0,\ \sum_i \alpha_i = 1 \right\}",
            "The shortest vector",
        ),
        Formula(
            r"d = \sum_i \frac{\alpha_i}{n_i} g_i, \quad \frac{g_i \cdot d}{n_i} \ge {\lVert d \rVert}^2",
            "The direction and what it guarantees",
        ),
    )
    reference = Reference(
        "J.-A. Désidéri",
        "Multiple-gradient descent algorithm (MGDA) for multiobjective optimization",
        "Comptes Rendus Mathematique 350",
        2012,
        "https://doi.org/10.1016/j.crma.2012.03.014",
    )
    look = Look("#00AA66", "#29CE83", "^")
    verified = "its program by a solver of 60 digits; TorchJD 0.18 to 7e-3, whose Frank–Wolfe steps end early"
    lacks: ClassVar = {"scale-invariant direction": "short gradients dominate the shortest vector"}

    normalization: str = choice(
        "none", ("none", "l2", "loss", "loss+"), meaning="what each gradient is divided by before the hull is taken"
    )

    def weights(self, step: Step) -> Vector:
        gram = step.gram
        if self.normalization == "none":
            return min_norm_point(gram)
        divisors = self._divisors(step)
        return min_norm_point(gram / np.outer(divisors, divisors)) / divisors

    @staticmethod
    def weights_of_all(methods: Sequence[MGDA], steps: Sequence[Step]) -> Matrix:
        grams = np.array([step.gram for step in steps])
        if all(method.normalization == "none" for method in methods):
            return min_norm_points(grams)
        divisors = np.array([method._divisors(step) for method, step in zip(methods, steps, strict=True)])
        shortest = min_norm_points(grams / (divisors[:, :, None] * divisors[:, None, :]))
        return np.asarray(shortest / divisors)

    def _divisors(self, step: Step) -> Vector:
        divisors = np.ones(step.k)
        if self.normalization in ("l2", "loss+"):
            norms = np.sqrt(np.diagonal(step.gram))
            divisors = np.where(norms > 0.0, norms, 1.0)
        if self.normalization in ("loss", "loss+"):
            divisors = divisors * step.gaps(SMALLEST_LOSS)
        return divisors
