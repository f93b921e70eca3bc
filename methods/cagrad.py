"""CAGrad: the best worst-case improvement in a ball around the mean gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from mobench.core.method import Method, Step, Vector
from mobench.core.registry import register
from mobench.core.settings import choice, real
from mobench.solvers import conflict_averse


@register
class CAGrad(Method):
    """Maximise the worst objective's progress near the mean gradient g_0 = (1/K) Σ_i g_i:

        d = argmax_d min_i g_i·d    s.t.  ‖d − g_0‖ ≤ c ‖g_0‖.

    By duality d = g_0 + c ‖g_0‖ g_w / ‖g_w‖ with g_w = Σ_i w_i g_i and w the minimiser of
    g_w·g_0 + c ‖g_0‖ ‖g_w‖ over the simplex. c = 0 is the mean gradient; for c < 1 the fixed points
    are those of the mean gradient, for c ≥ 1 they are Pareto-stationary. At g_0 = 0 the ball is a point
    and d = 0.

    Scale: (1 − c) ‖g_0‖ ≤ ‖d‖ ≤ (1 + c) ‖g_0‖, about 1/K of PCGrad's sum. `rescale` divides d by
    1 + c² or 1 + c, as published code does. With one objective d = (1 + c) g_1 before rescaling.
    """

    reference = (
        "B. Liu, X. Liu, X. Jin, P. Stone and Q. Liu (2021). "
        "Conflict-Averse Gradient Descent for Multi-task Learning. NeurIPS."
    )

    c: float = real(0.4, low=0.0, meaning="radius of the ball, relative to ‖g_0‖")
    rescale: str = choice("none", ("none", "1+c^2", "1+c"), meaning="what the update is divided by")

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self.last: Vector | None = None

    def reset(self, k: int, rng: np.random.Generator) -> None:
        super().reset(k, rng)
        self.last = None

    def weights(self, step: Step) -> Vector:
        weights = self.last = conflict_averse(step.gram, self.c, self.last, step.resolution)
        if self.rescale == "1+c^2":
            return weights / (1.0 + self.c * self.c)
        if self.rescale == "1+c":
            return weights / (1.0 + self.c)
        return weights
