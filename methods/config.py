"""ConFIG: the direction with equal cosines to all gradients."""

from __future__ import annotations

import math
from operator import mul

from mobench.core.about import Formula, Look, Reference
from mobench.core.method import Method, Step
from mobench.core.registry import register
from mobench.solvers import equal_projections


@register
class ConFIG(Method):
    """Conflict-free inverse gradients: the direction whose cosine with every gradient is the same and positive.

    Unit gradients decide the direction, so that no objective is favoured by its scale. The length is the sum of the
    gradients' projections on the direction: short where they conflict, long where they agree.

    With the unit gradients as rows of U and the pseudo-inverse U⁺,

        u = U⁺1 / ‖U⁺1‖,     d = (Σ_i g_i·u) u                   (Eq. 2 of the paper).

    On the Gram matrix, U⁺1 = Uᵀz with C z = 1, C the Gram matrix of the unit gradients. For dependent ones z is the
    least-squares solution, and cosines need not be equal. A zero gradient has weight zero.

    Scale: ‖d‖ = Σ_i g_i·u, at most Σ_i ‖g_i‖. With one objective d = g_1.
    """

    title = "ConFIG"
    formulas = (
        Formula(
            r"u = \frac{U^{+} \mathbf{1}}{\lVert U^{+} \mathbf{1} \rVert}, \quad "
            r"U = \left(\frac{g_1}{\lVert g_1 \rVert}, \dots, \frac{g_K}{\lVert g_K \rVert}\right)^{\top}",
            "The direction",
        ),
        Formula(r"d = \left(\sum_i g_i \cdot u\right) u", "and its length"),
    )
    reference = Reference(
        "Q. Liu, M. Chu and N. Thuerey", "ConFIG: Towards Conflict-free Training of Physics Informed Neural Networks",
        "ICLR", 2025, "https://arxiv.org/abs/2408.11104",
    )  # fmt: skip
    look = Look("#395C83", "#4D6C94", "h")
    verified = "TorchJD 0.18 to 1e-13"

    def weights(self, step: Step) -> list[float]:
        gram = step.gram
        rows: list[list[float]] = gram.tolist()
        equal: list[float] = equal_projections(gram, step.resolution).tolist()
        weights = [share / (math.sqrt(row[i]) or 1.0) for i, (share, row) in enumerate(zip(equal, rows, strict=True))]
        products = [sum(map(mul, row, weights)) for row in rows]
        square = sum(map(mul, weights, products))
        scale = sum(products) / square if square > 0.0 and math.isfinite(square) else 0.0
        return [scale * weight for weight in weights]
