"""Cosine gate: a secondary helps where its gradient agrees with the primary's."""

from __future__ import annotations

import math
from typing import ClassVar

from mobench.core.about import Formula, Look, Reference
from mobench.core.method import Method, Step
from mobench.core.metric import SHARE, Metric
from mobench.core.registry import register


@register
class CosineGate(Method):
    """Gradient-cosine gate: add a secondary's gradient where it points to the primary's side, and drop it elsewhere.

    A secondary is an auxiliary task, which is there to help the primary. Whether it helps is told by the sign of the
    product of both gradients, at every step anew. There is no knob.

        d = g_1 + Σ_{j ≥ 2} [g_1·g_j > 0] g_j                    (the hard gate, with threshold 0).

    The paper also has a gate that multiplies g_j by its cosine where that is positive; only the hard one is offered.
    A secondary never raises the primary, while the primary, and secondaries that pass, may raise one that is shut out.

    Scale: a sum, and g_1 where all are shut out. With one objective d = g_1.
    """

    name = "cosine-gate"
    title = "Cosine gate"
    formulas = (Formula(r"d = g_1 + \sum_{j \ge 2} \left[g_1 \cdot g_j > 0\right] g_j", "The direction"),)
    reference = Reference(
        "Y. Du, W. M. Czarnecki, S. M. Jayakumar, M. Farajtabar, R. Pascanu and B. Lakshminarayanan",
        "Adapting Auxiliary Losses Using Gradient Similarity",
        "arXiv",
        2018,
        "https://arxiv.org/abs/1812.02224",
    )
    look = Look("#AF8C65", "#CBA57B", "*")
    verified = "the rule in third-party code (AuxiNash's baselines); the authors' code was not found"
    lacks: ClassVar = {
        "symmetric in all objectives": "the first objective is the primary",
        "scale-invariant direction": "gradients that pass are added with their lengths",
        "no objective ascends": "a secondary that is shut out may ascend",
    }
    diagnostics = (
        Metric("passed", "secondaries that pass", range=SHARE, meaning="share of secondaries whose gradient is added"),
    )

    def weights(self, step: Step) -> list[float]:
        products: list[float] = step.gram[0].tolist()
        passed = [float(product > 0.0) for product in products[1:]]
        if passed:
            step.note(passed=math.fsum(passed) / len(passed))
        return [1.0, *passed]
