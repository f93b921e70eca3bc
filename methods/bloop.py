"""Bloop: the secondary's gradient, always projected off a moving average of the primary's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mobench.core.about import Formula, Look, Reference
from mobench.core.method import Method, Step
from mobench.core.registry import register
from mobench.core.settings import one_each, real, reals
from mobench.errors import NonFiniteError

if TYPE_CHECKING:
    import torch

DEPENDENT = 64.0
"""An average that keeps fewer units of rounding of its length beside the others adds no direction to them."""


@register
class Bloop(Method):
    """Follow the primary, and the secondary only across it: what would move along the primary's gradient is removed.

    The gradient that is projected on is a moving average, as the gradient of one batch is noisy. The projection is
    always made, also where both gradients agree, so that the secondary neither slows the primary down nor hurries it.
    The secondary's weight is the knob.

    With the average m ← m + ρ (g_1 − m), which starts at the first gradient,

        d = g_1 + w (g_2 − (g_2·m / ‖m‖²) m).

    For more secondaries the order of the objectives is their priority, as in the paper's Section 2.3: every gradient
    but the last has its average, and g_j is projected off the span of those before it, by Gram–Schmidt, with a weight
    each.

    As in the authors' code the average is updated before the projection; Algorithm 1 of the paper projects on the old
    one. That code adds 1e-7 to ‖m‖², which is left out here. The paper has ρ = 0.01 in all runs, the code ρ = 0.1 and
    w = 0.1 by default; searched were w from 1e-4 to 1 (MNIST), 1e-6 to 1e-2 (ImageNet) and 1e-4 to 10 (language model).

    With ρ = 1 it is the barrier form that the authors compare with, DBGD's w·d at b = 1/w, wherever w g_1·g_2 ≤ ‖g_1‖².
    It keeps K − 1 vectors as long as the parameters as its state.

    Scale: the primary gradient has weight one. With one objective d = g_1.
    """

    title = "Bloop"
    formulas = (
        Formula(r"m \leftarrow m + \rho \left(g_1 - m\right)", "The primary gradient's average"),
        Formula(
            r"d = g_1 + w \left(g_2 - \frac{g_2 \cdot m}{{\lVert m \rVert}^2} m\right)",
            "The direction for one secondary",
        ),
    )
    reference = Reference(
        "Y.-G. Hsieh, J. Thornton, E. Ndiaye, M. Klein, M. Cuturi and P. Ablin",
        "Careful with that Scalpel: Improving Gradient Surgery with an EMA",
        "ICML",
        2024,
        "https://arxiv.org/abs/2402.02998",
    )
    look = Look("#AB431E", "#C35128", "P")
    verified = "the rule in the authors' code for K = 2, the paper's text for more; trajectories by hand"
    lacks: ClassVar = {
        "symmetric in all objectives": "the order of the objectives is their priority",
        "scale-invariant direction": "the weights are relative to the losses as they are",
        "no objective ascends": "a secondary may ascend where the primary and its own rest conflict",
    }

    weight: float | tuple[float, ...] = reals(0.1, low=0.0, meaning="w, weight of what is left of each secondary")
    rho: float = real(0.01, low=0.0, high=1.0, low_open=True, meaning="ρ, rate of the moving averages; 1: no memory")

    symbols: ClassVar[dict[str, str]] = {"weight": "w"}

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self.averages: torch.Tensor | None = None

    def reset(self, k: int, rng: np.random.Generator) -> None:
        super().reset(k, rng)
        one_each("bloop.weight", self.weight, k - 1, "secondary objectives")
        self.averages = None

    def direction(self, step: Step) -> torch.Tensor:
        import torch

        rows = step.gradients
        working = rows.to(torch.promote_types(rows.dtype, torch.float32))
        leading = working[:-1]
        old = self.averages
        self.averages = leading.clone() if old is None else old.to(leading).lerp(leading, self.rho)
        direction, basis = working[0].clone(), list[torch.Tensor]()
        least = DEPENDENT * torch.finfo(working.dtype).eps
        weights = one_each("bloop.weight", self.weight, step.k - 1, "secondary objectives")
        for average, gradient, weight in zip(self.averages, working[1:], weights, strict=True):
            rest = _without(average, basis)
            length = torch.linalg.vector_norm(rest)
            if float(length) > least * float(torch.linalg.vector_norm(average)):
                basis.append(rest / length)
            direction += weight * _without(gradient, basis)
        if not torch.isfinite(direction).all() and not torch.isfinite(working).all():
            raise NonFiniteError(f"a gradient at iteration {step.iteration} is not finite")
        return direction.to(rows.dtype)


def _without(vector: torch.Tensor, basis: list[torch.Tensor]) -> torch.Tensor:
    """Return the part of a vector that is orthogonal to orthonormal ones."""
    for unit in basis:
        vector = vector - (unit @ vector) * unit
    return vector
