"""SDMGrad: MGDA, pulled towards the mean gradient."""

from __future__ import annotations

from typing import ClassVar

from mobench.core.about import Formula, Look, Reference
from mobench.core.method import Method, Step, Vector
from mobench.core.registry import register
from mobench.core.settings import real
from mobench.solvers import min_norm_point


@register
class SDMGrad(Method):
    """Direction-oriented descent: the best for whoever gains least, near the mean gradient.

    It stands between MGDA and descent on the mean loss. The pull λ towards the mean gradient is the knob: at λ = 0 it
    is MGDA, and for λ → ∞ the mean gradient.

    With g_0 = (1/K) Σ_i g_i,

        α = argmin { ‖Σ_i α_i g_i + λ g_0‖ : α ≥ 0, Σ_i α_i = 1 },    d = (Σ_i α_i g_i + λ g_0) / (1 + λ)

    (the paper's regularised problem). This is the shortest vector in the hull of the g_i + λ g_0, and solved
    exactly. The paper takes a few projected stochastic steps on α from independent batches; here the step's own batch
    is all there is, and its program is solved to the end.

    Scale: the weights α_i + λ/K sum to 1 + λ, which d is divided by. With one objective d = g_1.
    """

    title = "SDMGrad"
    formulas = (
        Formula(
            r"\alpha = \text{arg min}\ \left\{ \left\lVert \sum_i \alpha_i g_i + \lambda g_0 \right\rVert\ :\ "
            r"\alpha \ge 0,\ \sum_i \alpha_i = 1 \right\}, \quad g_0 = \frac{1}{K} \sum_i g_i",
            "The shortest vector",
        ),
        Formula(r"d = \frac{1}{1+\lambda} \left(\sum_i \alpha_i g_i + \lambda g_0\right)", "The direction"),
    )
    reference = Reference(
        "P. Xiao, H. Ban and K. Ji",
        "Direction-oriented Multi-objective Learning: Simple and Provable Stochastic Algorithms",
        "NeurIPS",
        2023,
        "https://arxiv.org/abs/2305.18409",
    )
    look = Look("#8A4805", "#9D5A1D", "p")
    lacks: ClassVar = {
        "scale-invariant direction": "both MGDA and the mean gradient follow the gradients' lengths",
        "no objective ascends": "the pull towards the mean gradient may hurt one of them; λ = 0 does not",
    }

    pull: float = real(0.3, low=0.0, meaning="λ, pull towards the mean gradient")

    symbols: ClassVar[dict[str, str]] = {"pull": "λ"}

    def weights(self, step: Step) -> Vector:
        gram = step.gram
        share = self.pull / step.k
        along = share * gram.sum(axis=1)
        shifted = gram + along + along[:, None] + share * float(along.sum())
        return (min_norm_point(shifted) + share) / (1.0 + self.pull)
