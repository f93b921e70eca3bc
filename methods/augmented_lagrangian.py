"""Augmented Lagrangian: multipliers, and a quadratic penalty on what is above its threshold."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from mobench.core.about import Formula, Look, Reference
from mobench.core.constrained import Multiplied
from mobench.core.method import Step, Vector
from mobench.core.registry import register
from mobench.core.settings import flag, integer, real


@register
class AugmentedLagrangian(Multiplied):
    """The primary, subject to a threshold for every secondary, by the method of multipliers.

    A secondary above its threshold is penalised by the square of the excess, at once and not only after its multiplier
    has grown. The multipliers make the constraints hold exactly in the end, without a penalty that grows for ever.
    Where the thresholds lie is the knob.

    For min ℓ_1 s.t. ℓ_j ≤ ε_j, the parameters descend

        ℓ_1 + (ρ/2) Σ_j max(0, ℓ_j − ε_j + λ_j/ρ)²:     w = (1, max(0, λ_j + ρ (ℓ_j − ε_j)), …),

    and every `every` steps λ_j ← max(0, λ_j + ρ (ℓ_j − ε_j)). Without `multipliers` λ stays 0: the plain quadratic
    penalty. A threshold is what `threshold` says, else what the problem states, else
    ε_j = b_j + `share` (ℓ_j(0) − b_j). The primary's own threshold is not used.

    Scale: the primary's weight is 1. With one objective d = g_1.
    """

    name = "augmented-lagrangian"
    title = "Augmented Lagrangian"
    formulas = (
        Formula(
            r"\underset{\theta}{\text{min}}\ \ell_1(\theta) + \frac{\rho}{2} \sum_j "
            r"{\text{max}\left(0,\ \ell_j(\theta) - \varepsilon_j + \frac{\lambda_j}{\rho}\right)}^2",
            "What is minimised",
        ),
        Formula(
            r"\lambda_j \leftarrow \text{max}\left(0,\ \lambda_j + \rho \left(\ell_j - \varepsilon_j\right)\right)",
            "The multipliers, every so many steps",
        ),
    )
    reference = Reference(
        "R. T. Rockafellar",
        "Augmented Lagrangians and Applications of the Proximal Point Algorithm in Convex Programming",
        "Mathematics of Operations Research 1",
        1976,
        "https://doi.org/10.1287/moor.1.2.97",
    )
    look = Look("#7171B1", "#8482C2", "P")
    verified = "its function by PyTorch's autograd to 1e-12, and its multiplier at a known solution"
    lacks = Multiplied.lacks_with_multipliers

    rho: float = real(1.0, low=0.0, low_open=True, meaning="ρ, weight of the quadratic penalty")
    every: int = integer(50, low=1, meaning="steps from one update of the multipliers to the next")
    multipliers: bool = flag(True, meaning="whether there are multipliers; false: the quadratic penalty alone")

    symbols: ClassVar[dict[str, str]] = {"rho": "ρ"}

    def start(self, secondaries: int) -> None:
        self.duals = np.zeros(secondaries)
        self.steps = 0

    def weights(self, step: Step) -> Vector:
        above = self.above(step)
        raised = np.maximum(self.duals + self.rho * above, 0.0)
        self.steps += 1
        if self.multipliers and self.steps % self.every == 0:
            self.duals = raised
        return np.array([1.0, *raised])
