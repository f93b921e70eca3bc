"""Proximal gradient: the primary's gradient, and a proximal step on the penalties."""

from __future__ import annotations

from typing import ClassVar

from mobench.core.about import Formula, Look, Reference
from mobench.core.method import Method, Step
from mobench.core.registry import register
from mobench.core.settings import real


@register
class Proximal(Method):
    """The plain penalty as proximal gradient descent handles it: no gradient of it is ever taken.

    The optimizer steps along the primary's gradient alone. Then the penalties' proximal map is applied to the
    weights, which sets small ones to exactly zero, where a subgradient step would only shrink them. The weight λ of
    the penalties is the knob, and has the same meaning as in the penalty form of the weighted sum.

    For L_1 + λ Σ_{j≥2} L_j with convex L_j and the learning rate η of the step,

        θ' = the optimizer's step from θ along g_1,     θ ← argmin_x ½ ‖x − θ'‖² + η λ Σ_{j≥2} L_j(x).

    Under plain gradient descent this is the proximal gradient method. Under Adam it is its usual form in deep
    learning, with a threshold that does not follow Adam's scaling. Of several penalties the maps are applied one after
    the other. A problem that asks for a proximal step of its own takes this one in its place. It runs only on problems
    that have proximal maps.

    Scale: d = g_1.
    """

    title = "Proximal gradient"
    formulas = (
        Formula(
            r"\theta \leftarrow \underset{x}{\text{arg min}}\ \frac{1}{2} {\lVert x - \theta' \rVert}^2 + "
            r"\eta \lambda \sum_{j \ge 2} L_j(x)",
            "The proximal step after the optimizer's step θ' along the primary gradient, η the learning rate",
        ),
    )
    reference = Reference(
        "N. Parikh and S. Boyd",
        "Proximal Algorithms",
        "Foundations and Trends in Optimization 1",
        2014,
        "https://doi.org/10.1561/2400000003",
    )
    look = Look("#1F5B51", "#266E62", "v")
    verified = "scikit-learn's Lasso to 1e-6"
    lacks: ClassVar = {
        "symmetric in all objectives": "the first objective is the primary",
        "no objective ascends": "the gradients of the secondaries are not looked at",
    }
    takes_proximal_steps = True

    weight: float = real(1e-3, low=0.0, low_open=True, meaning="λ, the weight of the secondaries")

    symbols: ClassVar[dict[str, str]] = {"weight": "λ"}

    @property
    def proximal_weight(self) -> float:
        return self.weight

    def weights(self, step: Step) -> list[float]:
        return [1.0] + [0.0] * (step.k - 1)
