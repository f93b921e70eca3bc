"""UPGrad: every gradient projected so that it hurts no objective, then averaged."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from mobench.core.about import Formula, Look, Reference
from mobench.core.method import Method, Step, Vector
from mobench.core.registry import register
from mobench.solvers import project_on_dual_cone


@register
class UPGrad(Method):
    """Unconflicting projection of gradients: change each as little as possible until it hurts nobody, then average.

    No objective ascends along the result, as every projected gradient has that property. An objective with a longer
    gradient has more influence, in proportion. Unlike PCGrad's surgery the projections do not depend on an order.

    With the dual cone {v : g_j·v ≥ 0 for every j} and the projection π on it,

        d = (1/K) Σ_i π(g_i)                                     (π is Eq. 3 of the paper),

    K exact quadratic programs on the Gram matrix; for K = 2 it is half of PCGrad's sum.

    Scale: the mean of K vectors, each at most as long as its gradient; without conflicts the mean gradient. With one
    objective d = g_1.
    """

    title = "UPGrad"
    formulas = (
        Formula(
            r"\pi(g) = \underset{v}{\text{arg min}}\ \lVert v - g \rVert \quad \text{subject to} \quad "
            r"g_j \cdot v \ge 0 \quad \text{for every}\ j",
            "The projection",
        ),
        Formula(r"d = \frac{1}{K} \sum_i \pi(g_i)", "The direction"),
    )
    reference = Reference(
        "P. Quinton and V. Rey", "Jacobian Descent for Multi-Objective Optimization", "arXiv", 2024,
        "https://arxiv.org/abs/2406.16232",
    )  # fmt: skip
    look = Look("#910CEE", "#A632FF", "v")
    verified = "TorchJD 0.18 to 1e-15"
    lacks: ClassVar = {
        "scale-invariant direction": "the influence of an objective is proportional to its gradient's length",
    }

    def weights(self, step: Step) -> Vector:
        return np.asarray(project_on_dual_cone(step.gram, np.eye(step.k) / step.k).sum(axis=0))
