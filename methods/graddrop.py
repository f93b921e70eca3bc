"""GradDrop: in every coordinate, keep the gradients of one sign."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from mobench.core.about import Formula, Look, Reference
from mobench.core.method import Method, Step
from mobench.core.registry import register
from mobench.core.settings import real
from mobench.errors import NonFiniteError

if TYPE_CHECKING:
    import torch


@register
class GradDrop(Method):
    """Gradient sign dropout: where gradients disagree about a coordinate's sign, a random draw picks one sign.

    The more of the gradient in a coordinate is positive, the more likely the positive parts are kept. The parts of
    the other sign are dropped. What is dropped may leak through; the share that leaks is the knob.

    In every coordinate, with the purity P = ½ (1 + Σ_i g_i / Σ_i |g_i|) and a uniform draw U,

        d = Σ_i (ℓ + (1−ℓ) m_i) g_i,   m_i = 1 if (P > U and g_i > 0) or (P ≤ U and g_i < 0), else 0

    (Algorithm 1, lines 10 to 15, of the paper, with f the identity and one leak ℓ for all objectives). It needs all
    gradients, not their products alone, as the result is no combination of them.

    This is the form on the gradients of parameters, as other libraries have it. The paper's is a layer on a shared
    activation: there gradients are multiplied by the activation's sign and summed over the batch before one sign is
    kept for every feature, and each loss has a leak of its own, usually 0, and 1 for one that is to pass whole.

    Scale: a sum; without disagreement Σ_i g_i, and on average Σ_i g_i too where two parts of opposite sign are equal.
    With one objective d = g_1.
    """

    title = "GradDrop, parameters"
    formulas = (
        Formula(
            r"P = \frac{1}{2} \left(1 + \frac{\sum_i g_i}{\sum_i \left|g_i\right|}\right)",
            "In every coordinate, the positive sign's purity",
        ),
        Formula(
            r"d = \sum_i \left[g_i > 0\right] g_i \ \text{with probability}\ P, \quad \text{else} \quad "
            r"d = \sum_i \left[g_i < 0\right] g_i",
            "One sign is kept",
        ),
    )
    reference = Reference(
        "Z. Chen, J. Ngiam, Y. Huang, T. Luong, H. Kretzschmar, Y. Chai and D. Anguelov",
        "Just Pick a Sign: Optimizing Deep Multitask Models with Gradient Sign Dropout",
        "NeurIPS",
        2020,
        "https://arxiv.org/abs/2010.06808",
    )
    look = Look("#DC6575", "#F07A88", "o")
    verified = "TorchJD 0.18 to 1e-15, the form on parameters"
    lacks: ClassVar = {
        "scale-invariant direction": "the purity follows the longest gradient",
        "no objective ascends": "one sign is kept in every coordinate, whomever that hurts",
    }

    leak: float = real(0.0, low=0.0, high=1.0, meaning="share of what is dropped that passes all the same")

    def direction(self, step: Step) -> torch.Tensor:
        import torch

        rows = step.gradients
        working = rows.to(torch.promote_types(rows.dtype, torch.float32))
        total, size = working.sum(dim=0), working.abs().sum(dim=0)
        if not torch.isfinite(size).all():
            raise NonFiniteError(f"a gradient at iteration {step.iteration} is not finite")
        purity = 0.5 * (1.0 + total / torch.where(size > 0.0, size, 1.0))
        draws = torch.from_numpy(self.rng.random(working.shape[1])).to(purity)
        positive = working.clamp(min=0.0).sum(dim=0)
        kept = torch.where(purity > draws, positive, total - positive)
        return (self.leak * total + (1.0 - self.leak) * kept).to(rows.dtype)
