"""Lagrangian: descend the primary, with multipliers that grow while a secondary is above its threshold."""

from __future__ import annotations

import numpy as np

from mobench.core.about import Formula, Look, Reference
from mobench.core.constrained import Multiplied
from mobench.core.method import Step, Vector
from mobench.core.registry import register
from mobench.core.settings import flag, real
from mobench.core.trained import Trained


@register
class Lagrangian(Multiplied):
    """Constrained descent with learned multipliers: the primary, subject to a threshold for every secondary.

    A secondary's weight is its Lagrange multiplier. It grows while the secondary is above its threshold, and falls to
    zero once it is below. Where the thresholds lie is the knob.

    For min ℓ_1 s.t. ℓ_j ≤ ε_j, the parameters descend and λ ≥ 0 ascends the Lagrangian (as in Cooper)

        ℓ_1 + Σ_j λ_j (ℓ_j − ε_j):     w = (1, λ_2, …, λ_K),     λ_j ← max(0, λ_j + η (ℓ_j − ε_j)),

    η = `dual_lr`, after the weights are read. With `restart` a multiplier returns to 0 as soon as its constraint holds.
    A threshold is what `threshold` says, else what the problem states, else ε_j = b_j + `share` (ℓ_j(0) − b_j). The
    primary's own threshold is not used.

    Scale: the primary's weight is 1, at first d = g_1. With one objective d = g_1.
    """

    title = "Lagrangian"
    formulas = (
        Formula(
            r"\underset{\theta}{\text{min}}\ \underset{\lambda \ge 0}{\text{max}}\ \ell_1(\theta) + "
            r"\sum_j \lambda_j \left(\ell_j(\theta) - \varepsilon_j\right)",
            "The Lagrangian",
        ),
        Formula(
            r"\lambda_j \leftarrow \text{max}\left(0,\ \lambda_j + \eta \left(\ell_j - \varepsilon_j\right)\right)",
            "The multipliers",
        ),
    )
    reference = Reference(
        "J. Gallego-Posada, J. Ramirez, M. Hashemizadeh and S. Lacoste-Julien",
        "Cooper: A Library for Constrained Optimization in Deep Learning",
        "arXiv",
        2025,
        "https://arxiv.org/abs/2504.01212",
    )
    look = Look("#B77C82", "#C98E94", "h")
    verified = "the Lagrangian by PyTorch's autograd to 1e-12, and its multiplier at a known solution"
    lacks = Multiplied.lacks_with_multipliers

    dual_lr: float = real(0.01, low=0.0, meaning="η, step size of the multipliers")
    restart: bool = flag(False, meaning="whether a multiplier returns to 0 where its constraint holds")

    def start(self, secondaries: int) -> None:
        self.multipliers = Trained([0.0] * secondaries, self.dual_lr, "sgd")

    def weights(self, step: Step) -> Vector:
        above: list[float] = self.above(step).tolist()
        weights = np.array([1.0, *self.multipliers.values])
        if above:
            step.note(multipliers=weights[1:])
        self.multipliers.step([-excess for excess in above])
        self.multipliers.values = [
            0.0 if self.restart and excess <= 0.0 else max(value, 0.0)
            for value, excess in zip(self.multipliers.values, above, strict=True)
        ]
        return weights
