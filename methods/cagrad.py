"""CAGrad: the best worst-case improvement in a ball around the mean gradient."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from mobench.core.about import Formula, Look, Reference
from mobench.core.method import Method, Step, Vector
from mobench.core.registry import register
from mobench.core.settings import choice, real
from mobench.solvers import conflict_averse


@register
class CAGrad(Method):
    """Conflict-averse gradient descent: near the mean gradient, the best for whoever gains least.

    Within a ball around the mean gradient it takes the direction that is best for the objective that
    gains least. The radius c of the ball, relative to the mean gradient's length, is the knob. At c = 0
    it is plain descent on the mean loss, and for c < 1 it stops exactly where that stops.

    With the mean gradient g_0 = (1/K) Σ_i g_i,

        d = argmax_d min_i g_i·d    s.t.  ‖d − g_0‖ ≤ c ‖g_0‖.

    By duality d = g_0 + c ‖g_0‖ g_w / ‖g_w‖ with g_w = Σ_i w_i g_i and w the minimiser of
    g_w·g_0 + c ‖g_0‖ ‖g_w‖ over the simplex. For c ≥ 1 the fixed points are Pareto-stationary. At g_0 = 0
    the ball is a point and d = 0.

    The dual is solved exactly. TorchJD's CAGrad leaves it to a cone solver, within whose tolerance w is any point: its
    updates differ from these by up to 1e-4 of their length.

    Scale: (1 − c) ‖g_0‖ ≤ ‖d‖ ≤ (1 + c) ‖g_0‖, about 1/K of PCGrad's sum. `rescale` divides d by
    1 + c² or 1 + c, as published code does. With one objective d = (1 + c) g_1 before rescaling.
    """

    title = "CAGrad"
    formulas = (
        Formula(
            r"d = \underset{d}{\text{arg max}}\ \underset{i}{\text{min}}\ g_i \cdot d \quad \text{subject to} "
            r"\quad \lVert d - g_0 \rVert \le c \lVert g_0 \rVert",
            "The direction",
        ),
        Formula(r"g_0 = \frac{1}{K} \sum_i g_i", "The mean gradient"),
        Formula(
            r"d = g_0 + c \lVert g_0 \rVert \frac{g_w}{\lVert g_w \rVert}, \quad g_w = \sum_i w_i g_i",
            "In its dual form",
        ),
    )
    reference = Reference(
        "B. Liu, X. Liu, X. Jin, P. Stone and Q. Liu",
        "Conflict-Averse Gradient Descent for Multi-task Learning",
        "NeurIPS",
        2021,
        "https://arxiv.org/abs/2110.14048",
    )
    look = Look("#A80300", "#C32106", "v")
    verified = "its program by cvxpy and 60 digits; TorchJD 0.18 to 1e-4, its cone solver's tolerance"
    lacks: ClassVar = {
        "scale-invariant direction": "the mean gradient follows the longest one",
        "no objective ascends": "for c < 1 the ball need not hold a direction that is good for all",
    }

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
