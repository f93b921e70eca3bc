"""Aligned-MTL: make the gradients orthogonal and of one length before they are added."""

from __future__ import annotations

from typing import ClassVar, Literal, cast

from mobench.core.about import Formula, Look, Reference
from mobench.core.method import Method, Step, Vector
from mobench.core.registry import register
from mobench.core.settings import choice
from mobench.solvers import balanced_weights


@register
class AlignedMTL(Method):
    """Replace the gradients by the nearest ones that are orthogonal and equally long, and average these.

    A sum of gradients is stable where their matrix has condition number one. The method takes the nearest such matrix
    up to its scale, which removes conflict and dominance at once. The scale is the knob.

    With the eigenvalues and eigenvectors of the Gram matrix, G = V Λ Vᵀ, over the non-zero eigenvalues,

        w = √λ V Λ^(−1/2) Vᵀ (1/K, …, 1/K)                       (Algorithm 1 of the paper),

    where λ is the smallest eigenvalue (`min`, the paper's), the `median`, or the mean (`rmse`, as in the authors'
    code). Every independent gradient has the same product with the direction: G w = √λ V Λ^(1/2) Vᵀ (1/K, …).

    The update is right to 1e-13 of its length for independent gradients whose lengths are up to twelve decades apart,
    in float64 and against 60 digits. Unit gradients closer to linear dependence than the step resolves count as
    dependent.

    Scale: ‖d‖ = √(λ/K), with `min` at most the shortest gradient's length over √K. With one objective d = g_1.
    """

    title = "Aligned-MTL"
    formulas = (
        Formula(r"G = V \Lambda V^\top, \quad G_{ij} = g_i \cdot g_j", "The Gram matrix and its eigenvectors"),
        Formula(
            r"d = \sum_i w_i g_i, \quad w = \sqrt{\lambda_{\text{min}}}\, V \Lambda^{-1/2} V^\top "
            r"\frac{1}{K} \mathbf{1}",
            "The direction",
        ),
    )
    reference = Reference(
        "D. Senushkin, N. Patakin, A. Kuznetsov and A. Konushin",
        "Independent Component Alignment for Multi-Task Learning",
        "CVPR",
        2023,
        "https://arxiv.org/abs/2305.19000",
    )
    look = Look("#4F5F27", "#617138", "*")
    verified = "TorchJD 0.18 to 1e-14"
    lacks: ClassVar = {
        "scale-invariant direction": "the nearest orthogonal matrix depends on the gradients' lengths",
        "no objective ascends": "the nearest orthogonal gradients need not agree with the true ones",
    }

    scale: str = choice("min", ("min", "median", "rmse"), meaning="which eigenvalue sets the length of all gradients")

    def weights(self, step: Step) -> Vector:
        scale = cast('Literal["min", "median", "rmse"]', self.scale)
        return balanced_weights(step.gram, scale, step.resolution)
