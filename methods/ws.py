"""Weighted sum: fixed weights on the raw losses."""

from __future__ import annotations

from typing import Any, ClassVar

from mobench.core.method import Method, Step
from mobench.core.registry import register
from mobench.core.settings import choice, real
from mobench.errors import UserError


@register
class WS(Method):
    """Descend one fixed weighted sum of the objectives, λ the `weight`:

        convex:   L = (1 − λ) L_1 + λ/(K−1) Σ_{j≥2} L_j,     0 ≤ λ ≤ 1,
        penalty:  L = L_1 + λ Σ_{j≥2} L_j,                   λ ≥ 0.

    Both forms reach the same points: the convex form at λ descends 1 − λ times the penalty form at
    λ / ((1 − λ)(K−1)). They differ in how a sweep covers them: regularisers are tuned by a
    coefficient on a logarithmic scale, which is the penalty form.

    Nothing is read from the step, so that it costs one backward pass of the weighted loss.

    Scale: convex weights sum to one; in the penalty form the primary gradient has weight one. With
    one objective there is nothing to weigh, and the update is its gradient.
    """

    reference = (
        "R. T. Marler and J. S. Arora (2010). The weighted sum method for multi-objective optimization: "
        "new insights. Structural and Multidisciplinary Optimization 41."
    )

    weight: float = real(0.5, low=0.0, meaning="λ, the weight of the secondaries")
    form: str = choice("convex", ("convex", "penalty"), meaning="convex: (1−λ, λ/(K−1), …); penalty: (1, λ, λ, …)")

    symbols: ClassVar[dict[str, str]] = {"weight": "λ"}

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        if self.form == "convex" and self.weight > 1.0:
            raise UserError(
                f"ws.weight={self.weight:g} is not accepted with ws.form=convex, which takes a number in [0, 1]; "
                "ws.form=penalty takes any number from 0"
            )

    def weights(self, step: Step) -> list[float]:
        secondaries = step.k - 1
        if not secondaries:
            return [1.0]
        if self.form == "penalty":
            return [1.0] + [self.weight] * secondaries
        return [1.0 - self.weight] + [self.weight / secondaries] * secondaries
