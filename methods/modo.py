"""MoDo: a step of MGDA's weights that is unbiased, by two independent batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mobench.core.about import Formula, Look, Reference
from mobench.core.method import Method, Step, Vector
from mobench.core.registry import register
from mobench.core.settings import real
from mobench.errors import NonFiniteError
from mobench.solvers import project_on_simplex

if TYPE_CHECKING:
    import torch


@register
class MoDo(Method):
    """Multi-objective descent with double sampling: MGDA's weights take a small step that noise does not bias.

    The products of the gradients of one batch with themselves are too large, by the variance of the noise. Products
    between two independent batches are not. Every step draws a second batch of training data, and the weights take a
    small step on the simplex towards the shortest combination. The size of that step is the knob.

    With the gradients of two independent batches as rows of J and J', and α_i = 1/K at first,

        α ← Π_Δ(α − γ (J J'ᵀ + ρ I) α),    d = ½ (J + J')ᵀ α     (Algorithm 1 of the paper in its two-batch form),

    Π_Δ the Euclidean projection on the simplex. The authors' two-batch code takes the sum of both batches,
    twice this d. Their form with a third batch for d is not offered.

    It runs only on problems that can draw a second batch of training data, which counts as cost: 2K backward passes.

    Defaults are those of the authors' configuration, while all their run scripts for networks have γ = 1e-3. They tried
    γ from 1e-3 to 1 and ρ from 1e-3 to 1 on MNIST.

    Scale: α sums to one, so that ‖d‖ is at most the longest mean gradient. With one objective d = ½ (g_1 + g_1').
    """

    title = "MoDo"
    formulas = (
        Formula(
            r"\alpha \leftarrow \Pi_\Delta\left(\alpha - \gamma \left(J J^{\prime\top} + \rho I\right) \alpha\right)",
            "The weights, with the gradients of two independent batches as rows of J and J'",
        ),
        Formula(r"d = \frac{1}{2} \left(J + J^{\prime}\right)^{\top} \alpha", "The direction"),
    )
    reference = Reference(
        "L. Chen, H. Fernando, Y. Ying and T. Chen",
        "Three-Way Trade-Off in Multi-Objective Learning: Optimization, Generalization and Conflict-Avoidance",
        "NeurIPS",
        2023,
        "https://arxiv.org/abs/2305.20057",
    )
    look = Look("#0F7ED2", "#198DE4", "o")
    verified = "TorchJD 0.18 to 1e-15"
    lacks: ClassVar = {
        "scale-invariant direction": "the weights follow the gradients' lengths",
        "length follows the gradients": "a step of fixed size on the simplex is relative to the gradients' lengths",
        "no objective ascends": "the weights lag behind",
    }

    gamma: float = real(0.1, low=0.0, meaning="γ, step size of the weights")
    rho: float = real(0.1, low=0.0, meaning="ρ, pull of the weights towards equal ones")

    symbols: ClassVar[dict[str, str]] = {"gamma": "γ"}

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self.alpha: Vector = np.zeros(0)

    def reset(self, k: int, rng: np.random.Generator) -> None:
        super().reset(k, rng)
        self.alpha = np.full(k, 1.0 / k)

    @property
    def needs_second_batch(self) -> bool:
        return True

    def direction(self, step: Step) -> torch.Tensor:
        import torch

        rows, others = step.gradients, self.second_batch_of(step).gradients
        kind = torch.promote_types(rows.dtype, torch.float32)
        first, second = rows.to(kind), others.to(kind)
        products = (first @ second.T).cpu().double().numpy()
        if not np.isfinite(products).all():
            raise NonFiniteError(f"a gradient at iteration {step.iteration} is not finite")
        moved = self.alpha - self.gamma * (products @ self.alpha + self.rho * self.alpha)
        self.alpha = np.array(project_on_simplex(moved.tolist()))
        factors = 0.5 * torch.from_numpy(self.alpha).to(first)
        return (factors @ first + factors @ second).to(rows.dtype)
