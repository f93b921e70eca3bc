"""DualProj: the mean gradient, projected so that no objective ascends."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from mobench.core.about import Formula, Look, Reference
from mobench.core.method import Method, Step, Vector
from mobench.core.registry import register
from mobench.solvers import project_on_dual_cone


@register
class DualProj(Method):
    """The nearest direction to the mean gradient along which no objective ascends.

    It is plain descent on the mean loss where that hurts nobody. Elsewhere the mean gradient is changed as little as
    possible. This is the projection of gradient episodic memory, applied to the objectives of one step.

    With g_0 = (1/K) Σ_i g_i,

        d = argmin ½ ‖d − g_0‖²   s.t.   g_j·d ≥ 0  for every j           (Eq. 11 of the paper),

    an exact quadratic program on the Gram matrix.

    Scale: ‖d‖ ≤ ‖g_0‖. With one objective d = g_1.
    """

    title = "DualProj"
    formulas = (
        Formula(
            r"d = \underset{d}{\text{arg min}}\ \left\lVert d - \frac{1}{K} \sum_i g_i \right\rVert \quad "
            r"\text{subject to} \quad g_j \cdot d \ge 0 \quad \text{for every}\ j",
            "The direction",
        ),
    )
    reference = Reference(
        "D. Lopez-Paz and M. Ranzato", "Gradient Episodic Memory for Continual Learning", "NeurIPS", 2017,
        "https://arxiv.org/abs/1706.08840",
    )  # fmt: skip
    look = Look("#9F2678", "#B13E89", "H")
    verified = "TorchJD 0.18 to 1e-15"
    lacks: ClassVar = {
        "scale-invariant direction": "the mean gradient follows the longest one",
    }

    def weights(self, step: Step) -> Vector:
        return np.asarray(project_on_dual_cone(step.gram, np.full((1, step.k), 1.0 / step.k))[0])
