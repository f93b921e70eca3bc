"""MoCo: MGDA on gradients that are tracked over the steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import mul
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mobench.core.about import Formula, Look, Reference
from mobench.core.method import Method, Step
from mobench.core.registry import register
from mobench.core.settings import real
from mobench.errors import NonFiniteError

if TYPE_CHECKING:
    import torch


@register
class MoCo(Method):
    """Stochastic multi-objective descent with momentum correction: track the gradients, then weigh what is tracked.

    MGDA's weights are biased on noisy gradients. Here every gradient has a moving average, and the weights take a
    small step on the simplex towards the shortest combination of these averages. The averages' rate is the knob.

    At every step, with y_i = 0 and α_i = 1/K at first,

        y_i ← y_i + β (g_i − y_i),    α ← Π_Δ(α − γ (Y Yᵀ + ρ I) α),    d = Σ_i α_i y_i

    (Algorithm 1 of the paper), Y the matrix with rows y_i, Π_Δ the Euclidean projection on the simplex. The
    averages start at the first gradients, β = 1 for the first step, where the paper starts at zero.

    It keeps K vectors as long as the parameters as its state.

    Scale: α sums to one, so that ‖d‖ is at most the longest average. With one objective d = y_1.
    """

    title = "MoCo"
    formulas = (
        Formula(r"y_i \leftarrow y_i + \beta \left(g_i - y_i\right)", "The tracked gradients"),
        Formula(
            r"\alpha \leftarrow \Pi_\Delta\left(\alpha - \gamma \left(Y Y^\top + \rho I\right) \alpha\right), \quad "
            r"d = \sum_i \alpha_i y_i",
            "The weights and the direction",
        ),
    )
    reference = Reference(
        "H. Fernando, H. Shen, M. Liu, S. Chaudhury, K. Murugesan and T. Chen",
        "Mitigating Gradient Bias in Multi-objective Learning: A Provably Convergent Approach",
        "ICLR",
        2023,
        "https://arxiv.org/abs/2210.12624",
    )
    look = Look("#B660BD", "#C874CE", "^")
    lacks: ClassVar = {
        "scale-invariant direction": "the weights follow the gradients' lengths",
        "length follows the gradients": "a step of fixed size on the simplex is relative to the gradients' lengths",
        "no objective ascends": "the weights lag behind, and so do the tracked gradients",
    }

    beta: float = real(0.5, low=0.0, high=1.0, low_open=True, meaning="β, rate of the tracked gradients")
    gamma: float = real(0.1, low=0.0, meaning="γ, step size of the weights")
    rho: float = real(0.0, low=0.0, meaning="ρ, pull of the weights towards equal ones")

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self._start(0)

    def reset(self, k: int, rng: np.random.Generator) -> None:
        super().reset(k, rng)
        self._start(k)

    def _start(self, k: int) -> None:
        self.tracked: torch.Tensor | None = None
        self.alpha = np.full(k, 1.0 / k) if k else np.zeros(0)

    def direction(self, step: Step) -> torch.Tensor:
        import torch

        rows = step.gradients
        working = rows.to(torch.promote_types(rows.dtype, torch.float32))
        self.tracked = working.clone() if self.tracked is None else self.tracked.to(working).lerp(working, self.beta)
        gram: list[list[float]] = (self.tracked @ self.tracked.T).double().tolist()
        if not math.isfinite(sum(map(sum, gram))) and not torch.isfinite(working).all():
            raise NonFiniteError(f"a gradient at iteration {step.iteration} is not finite")
        alpha: list[float] = self.alpha.tolist()
        slopes = [sum(map(mul, row, alpha)) + self.rho * each for row, each in zip(gram, alpha, strict=True)]
        moved = [each - self.gamma * slope for each, slope in zip(alpha, slopes, strict=True)]
        self.alpha = np.array(project_on_simplex(moved))
        return (torch.from_numpy(self.alpha).to(self.tracked) @ self.tracked).to(rows.dtype)


def project_on_simplex(point: Sequence[float]) -> list[float]:
    """Return the nearest point with non-negative entries that sum to one."""
    total, level = -1.0, 0.0
    for count, value in enumerate(sorted(point, reverse=True), start=1):
        total += value
        if count > 1 and not value > total / count:
            break
        level = total / count
    return [max(value - level, 0.0) for value in point]
