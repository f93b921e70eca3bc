"""IMTL-G: a direction with equal projections on all gradients."""

from __future__ import annotations

import math
from typing import ClassVar

from mobench.core.about import Formula, Look, Reference
from mobench.core.method import Method, Step
from mobench.core.metric import SHARE, Metric
from mobench.core.registry import register
from mobench.solvers import equal_projections


@register
class IMTLG(Method):
    """Impartial multi-task learning on gradients: every unit gradient has the same product with the direction.

    No objective is favoured, however long its gradient. The direction does not change when an objective is rescaled.
    Weights may be negative, and sum to one.

    d = Σ_i w_i g_i with

        g_i·d/‖g_i‖ equal for all i,    Σ_i w_i = 1,

    so that w ∝ z_i/‖g_i‖ with C z = 1, C the Gram matrix of the unit gradients. Where unit gradients are dependent, z
    is the least-squares solution of least length. A zero gradient has weight zero.

    Two cases follow from the normalisation. Where Σ_i z_i/‖g_i‖ < 0, which needs three objectives, all projections
    are equal and negative: every objective ascends. Where the sum vanishes there is no such direction; the step is
    zero and counted as `unsolved`.

    Scale: weights sum to one, which for weights of both signs does not bound the length. With one objective d = g_1.
    """

    title = "IMTL-G"
    formulas = (
        Formula(
            r"d = \sum_i w_i g_i, \quad \frac{g_1 \cdot d}{\lVert g_1 \rVert} = \dots = "
            r"\frac{g_K \cdot d}{\lVert g_K \rVert}, \quad \sum_i w_i = 1",
            "Equal projections",
        ),
    )
    reference = Reference(
        "L. Liu, Y. Li, Z. Kuang, J.-H. Xue, Y. Chen, W. Yang, Q. Liao and W. Zhang",
        "Towards Impartial Multi-task Learning",
        "ICLR",
        2021,
        "https://openreview.net/forum?id=IMPnRXEWpvr",
    )
    look = Look("#C17A58", "#D48D6B", "8")
    verified = "TorchJD 0.18 to 1e-14"
    lacks: ClassVar = {
        "no objective ascends": "where the weights before normalisation have a negative sum every objective ascends",
    }
    diagnostics = (
        Metric(
            "unsolved",
            "steps without equal projections",
            better="min",
            range=SHARE,
            meaning="whether the weights cannot be made to sum to one, so that the step is zero",
        ),
    )

    def weights(self, step: Step) -> list[float]:
        gram = step.gram
        norms = [math.sqrt(square) for square in gram.diagonal().tolist()]
        equal: list[float] = equal_projections(gram, step.resolution).tolist()
        weights = [share / (norm or 1.0) for share, norm in zip(equal, norms, strict=True)]
        total = sum(weights)
        solved = abs(total) > 1e-12 * sum(map(abs, weights))
        step.note(unsolved=not solved and any(norms))
        return [weight / total if solved else 0.0 for weight in weights]
