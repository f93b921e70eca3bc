"""Weighted sum: fixed weights on the raw losses."""

from __future__ import annotations

from typing import Any, ClassVar

from mobench.core.about import Formula, Look, Reference
from mobench.core.method import Method, Step
from mobench.core.registry import register
from mobench.core.settings import choice, real
from mobench.errors import UserError


@register
class WS(Method):
    """Descend one fixed weighted sum of the objectives.

    Nothing is read from the step, so that it costs one backward pass of the weighted loss. The weight λ
    is the knob. In the convex form the weights sum to one. In the penalty form the primary has weight
    one, as regularisers are usually tuned. Both reach the same points, but a sweep over λ covers them
    differently.

    With λ the `weight`,

        convex:   L = (1 − λ) L_1 + λ/(K−1) Σ_{j≥2} L_j,     0 ≤ λ ≤ 1,
        penalty:  L = L_1 + λ Σ_{j≥2} L_j,                   λ ≥ 0.

    The convex form at λ descends 1 − λ times the penalty form at λ / ((1 − λ)(K−1)).

    Scale: convex weights sum to one; in the penalty form the primary gradient has weight one. With
    one objective there is nothing to weigh, and the update is its gradient.
    """

    title = "Weighted sum"
    formulas = (
        Formula(
            r"L = (1 - \lambda) L_1 + \frac{\lambda}{K-1} \sum_{j \ge 2} L_j, \quad 0 \le \lambda \le 1", "Convex form"
        ),
        Formula(r"L = L_1 + \lambda \sum_{j \ge 2} L_j, \quad \lambda \ge 0", "Penalty form"),
    )
    reference = Reference(
        "R. T. Marler and J. S. Arora",
        "The weighted sum method for multi-objective optimization: new insights",
        "Structural and Multidisciplinary Optimization 41",
        2010,
        "https://doi.org/10.1007/s00158-009-0460-7",
    )
    look = Look("#C98700", "#E9A101", "s")
    baseline = True
    lacks: ClassVar = {
        "symmetric in all objectives": "the primary has a weight of its own",
        "scale-invariant direction": "weights are relative to the losses as they are",
        "no objective ascends": "the weights do not look at the gradients",
    }

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
