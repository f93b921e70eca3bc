"""MoCo: MGDA on gradients that are tracked over the steps."""

from __future__ import annotations

import math
from operator import mul
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mobench.core.about import Formula, Look, Reference
from mobench.core.method import Method, Step, Vector
from mobench.core.registry import register
from mobench.core.settings import choice, real
from mobench.errors import NonFiniteError
from mobench.solvers import project_on_simplex

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

    Two published forms are different methods in practice, and `form` names them:

        projection:  as above; so in the first author's later code, there with β = γ = ρ = 0.1;
        softmax:     g_i ← ℓ_i g_i/(‖g_i‖ + 1e-8), the rates β/√t and γ/√t at step t = 1, 2, …, y_i = 0 at first, and
                     α ← softmax(α − γ_t (Y Yᵀ + ρ I) α) (LibMTL, from code that the author shared).

    The default is the projection, as it is what the paper states. A softmax of a point on the simplex pulls the weights
    near to equal ones at every step: with two objectives they stay within 0.27 and 0.73 where γ Y Yᵀ is small. The
    defaults β = 0.5, γ = 0.1, ρ = 0 are LibMTL's.

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
    verified = "the trajectories of both published rules, in separate code, to 1e-12"
    lacks: ClassVar = {
        "scale-invariant direction": "the weights follow the gradients' lengths",
        "length follows the gradients": "a step of fixed size on the simplex is relative to the gradients' lengths",
        "no objective ascends": "the weights lag behind, and so do the tracked gradients",
    }

    beta: float = real(0.5, low=0.0, high=1.0, low_open=True, meaning="β, rate of the tracked gradients")
    gamma: float = real(0.1, low=0.0, meaning="γ, step size of the weights")
    rho: float = real(0.0, low=0.0, meaning="ρ, pull of the weights towards equal ones")
    form: str = choice(
        "projection", ("projection", "softmax"), meaning="which of the two published forms", implicit=True
    )

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self._start(0)

    def reset(self, k: int, rng: np.random.Generator) -> None:
        super().reset(k, rng)
        self._start(k)

    def _start(self, k: int) -> None:
        self.tracked: torch.Tensor | None = None
        self.alpha = np.full(k, 1.0 / k) if k else np.zeros(0)
        self.steps = 0

    def direction(self, step: Step) -> torch.Tensor:
        import torch

        rows = step.gradients
        working = rows.to(torch.promote_types(rows.dtype, torch.float32))
        self.steps += 1
        softmax = self.form == "softmax"
        decay = math.sqrt(self.steps) if softmax else 1.0
        if softmax:
            working = self._scaled(step, working)
            self.tracked = torch.zeros_like(working) if self.tracked is None else self.tracked
        if self.tracked is None:
            self.tracked = working.clone()
        else:
            self.tracked = self.tracked.to(working).lerp(working, self.beta / decay)
        gram: list[list[float]] = (self.tracked @ self.tracked.T).double().tolist()
        if not math.isfinite(sum(map(sum, gram))) and not torch.isfinite(working).all():
            raise NonFiniteError(f"a gradient at iteration {step.iteration} is not finite")
        alpha: list[float] = self.alpha.tolist()
        slopes = [sum(map(mul, row, alpha)) + self.rho * each for row, each in zip(gram, alpha, strict=True)]
        rate = self.gamma / decay
        moved = [each - rate * slope for each, slope in zip(alpha, slopes, strict=True)]
        self.alpha = _softmax(moved) if softmax else np.array(project_on_simplex(moved))
        return (torch.from_numpy(self.alpha).to(self.tracked) @ self.tracked).to(rows.dtype)

    def _scaled(self, step: Step, rows: torch.Tensor) -> torch.Tensor:
        """Return the gradients with their losses as lengths."""
        import torch

        if not np.isfinite(step.losses).all():
            raise NonFiniteError(f"the losses at iteration {step.iteration} are not finite: {step.losses.tolist()}")
        lengths = torch.linalg.vector_norm(rows, dim=1, keepdim=True) + 1e-8
        found: torch.Tensor = rows / lengths * torch.from_numpy(step.losses.copy()).to(rows)[:, None]
        return found


def _softmax(values: list[float]) -> Vector:
    powers = np.exp(np.array(values) - max(values))
    return np.asarray(powers / powers.sum())
