"""GLS: descend the geometric mean of the losses."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from mobench.core.about import Formula, Look, Reference
from mobench.core.method import Method, Step, Vector
from mobench.core.registry import register


@register
class GLS(Method):
    """Geometric loss strategy: the geometric mean of the losses instead of their sum.

    Relative changes count, so that the scale of a loss does not matter. A loss near its lower bound gets a large
    weight. It looks at the losses alone, and a step costs one backward pass of the weighted loss.

    With x_i = ℓ_i − b_i, b_i the lower bound (0 where none is known), never below 1e-8, d is the gradient of

        (Π_i x_i)^(1/K),     w_i = (1/K) (Π_j x_j)^(1/K) / x_i.

    Scale: the weights' geometric mean is 1/K. With one objective d = g_1.
    """

    title = "GLS"
    formulas = (
        Formula(r"\underset{\theta}{\text{min}}\ \left(\prod_i \ell_i(\theta)\right)^{1/K}", "What is minimised"),
        Formula(r"w_i = \frac{1}{K \ell_i} \left(\prod_j \ell_j\right)^{1/K}", "The weights"),
    )
    reference = Reference(
        "S. Chennupati, G. Sistu, S. Yogamani and S. A. Rawashdeh",
        "MultiNet++: Multi-Stream Feature Aggregation and Geometric Loss Strategy for Multi-Task Learning",
        "CVPR Workshops",
        2019,
        "https://arxiv.org/abs/1904.08492",
    )
    look = Look("#D2689E", "#E47CB0", "v")
    verified = "TorchJD 0.18 to 1e-15"
    lacks: ClassVar = {"no objective ascends": "the weights know the losses, not where the gradients point"}

    def weights(self, step: Step) -> Vector:
        logs = np.log(step.gaps())
        return np.asarray(np.exp(logs.mean() - logs) / step.k)
