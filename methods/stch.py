"""STCH: descend a smooth form of the largest weighted loss."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from mobench.core.about import Formula, Look, Reference
from mobench.core.method import Method, Step
from mobench.core.registry import register
from mobench.core.settings import one_each, real, reals


@register
class STCH(Method):
    """Smooth Tchebycheff scalarisation: minimise the largest weighted loss, with its corners rounded off.

    Unlike a weighted sum it can reach every point of a front, whatever its shape: each preference has its own point. It
    looks at the losses alone, and a step costs one backward pass of the weighted loss. The smoothing μ is the knob.

    With preferences λ, which are divided by their sum, and x_i = ℓ_i − b_i, b_i the lower bound (0 where none is
    known), d is the gradient of

        μ log Σ_i exp(λ_i x_i / μ),     w_i = λ_i exp(λ_i x_i / μ) / Σ_j exp(λ_j x_j / μ).

    For μ → 0 the largest λ_i x_i alone is descended, for μ → ∞ the weighted sum.

    This is the form on the losses as they are, of the paper's theory and synthetic problems. The authors' code for
    networks has another one: log(ℓ_i / n_i) in place of x_i, with n_i the mean loss over a warm-up, μ = 1 and no
    preference. Its weights are K (1/n_i) / Σ_j (ℓ_j/n_j): those of a fixed weighted sum, up to a factor in common.

    Scale: weights are positive, and at most the largest λ_i. With one objective d = g_1.
    """

    title = "STCH, losses as they are"
    formulas = (
        Formula(
            r"\underset{\theta}{\text{min}}\ \mu \log\,\sum_i "
            r"\exp\left(\frac{\lambda_i \left(\ell_i(\theta) - b_i\right)}{\mu}\right)",
            "What is minimised",
        ),
    )
    reference = Reference(
        "X. Lin, X. Zhang, Z. Yang, F. Liu, Z. Wang and Q. Zhang",
        "Smooth Tchebycheff Scalarization for Multi-Objective Optimization",
        "ICML",
        2024,
        "https://arxiv.org/abs/2402.19078",
    )
    look = Look("#A349E9", "#B65EFA", "H")
    verified = "TorchJD 0.18 to 1e-15, the form on losses"
    lacks: ClassVar = {
        "scale-invariant direction": "the largest loss depends on the losses' scales",
        "length follows the gradients": "the smoothing μ is not rescaled",
        "no objective ascends": "the weights know the losses, not where the gradients point",
    }

    smoothing: float = real(0.1, low=0.0, low_open=True, meaning="μ, how far the corner is rounded off")
    preference: float | tuple[float, ...] = reals(
        1.0, low=0.0, low_open=True, meaning="λ, weight of each loss; divided by the sum"
    )

    symbols: ClassVar[dict[str, str]] = {"smoothing": "μ"}

    def reset(self, k: int, rng: np.random.Generator) -> None:
        super().reset(k, rng)
        one_each("stch.preference", self.preference, k, "objectives")

    def weights(self, step: Step) -> list[float]:
        preference = one_each("stch.preference", self.preference, step.k, "objectives")
        whole = sum(preference)
        shares = [each / whole for each in preference]
        exponents = [share * gap / self.smoothing for share, gap in zip(shares, step.gap_list(-math.inf), strict=True)]
        largest = max(exponents)
        powers = [math.exp(exponent - largest) for exponent in exponents]
        total = sum(powers)
        return [share * power / total for share, power in zip(shares, powers, strict=True)]
