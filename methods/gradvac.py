"""GradVac: turn each gradient towards the others until they agree as usual."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from mobench.core.about import Formula, Look, Reference
from mobench.core.method import Method, Step, Vector
from mobench.core.registry import register
from mobench.core.settings import real
from mobench.solvers import vaccinate


@register
class GradVac(Method):
    """Gradient vaccine: like PCGrad, but towards a goal for every pair instead of towards orthogonality.

    The goal for a pair is a moving average of its cosine. A gradient whose cosine with another one is below their
    goal is turned until it meets it, also where they do not conflict. The rate of the average is the knob.

    For every i, starting with g_i' = g_i, for every j ≠ i in random order, with φ = cos(g_i', g_j) and the goal
    ψ = ψ_ij, which starts at 0:

        if φ < ψ:   g_i' ← g_i' + ‖g_i'‖ (ψ √(1−φ²) − φ √(1−ψ²)) / (‖g_j‖ √(1−ψ²)) g_j,
        ψ_ij ← (1−β) ψ + β φ                                     (Algorithm 1 of the paper),

    and d = Σ_i g_i'. One goal per pair for all parameters; the paper's finer grouping is not offered. The default β is
    the paper's 1e-2; LibMTL and TorchJD have 0.5.

    Scale: a sum, at the first step PCGrad's. With one objective d = g_1.
    """

    title = "GradVac"
    formulas = (
        Formula(
            r"g_i^{\prime} \leftarrow g_i^{\prime} + \frac{\lVert g_i^{\prime} \rVert \left(\psi \sqrt{1-\varphi^2} - "
            r"\varphi \sqrt{1-\psi^2}\right)}{\lVert g_j \rVert \sqrt{1-\psi^2}}\, g_j \quad \text{where} \quad "
            r"\varphi = \text{cos}\left(g_i^{\prime}, g_j\right) < \psi",
            "For every i and each j ≠ i",
        ),
        Formula(r"\psi \leftarrow (1-\beta)\, \psi + \beta\, \varphi", "The goal follows the cosine"),
    )
    reference = Reference(
        "Z. Wang, Y. Tsvetkov, O. Firat and Y. Cao",
        "Gradient Vaccine: Investigating and Improving Multi-task Optimization in Massively Multilingual Models",
        "ICLR",
        2021,
        "https://arxiv.org/abs/2010.05874",
    )
    look = Look("#AC1F39", "#BF394A", "X")
    verified = "TorchJD 0.18 to 1e-15 for K = 2"
    lacks: ClassVar = {
        "scale-invariant direction": "turned gradients are added with their lengths",
        "no objective ascends": "a later turn may undo an earlier one, as in PCGrad",
    }

    beta: float = real(0.01, low=0.0, high=1.0, meaning="β, rate at which the goals follow the cosines")

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self.goals = np.zeros((0, 0))

    def reset(self, k: int, rng: np.random.Generator) -> None:
        super().reset(k, rng)
        self.goals = np.zeros((k, k))

    def weights(self, step: Step) -> Vector:
        k = step.k
        orders = [[j for j in self.rng.permutation(k).tolist() if j != i] for i in range(k)] if k > 2 else None
        return vaccinate(step.gram, orders or [[1 - i] if k == 2 else [] for i in range(k)], self.goals, self.beta)
