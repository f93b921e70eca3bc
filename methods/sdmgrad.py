"""SDMGrad: MGDA, pulled towards the mean gradient."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from mobench.core.about import Formula, Look, Reference
from mobench.core.method import Method, Step, Vector
from mobench.core.registry import register
from mobench.core.settings import choice, integer, real
from mobench.errors import NonFiniteError, UserError
from mobench.solvers import min_norm_point, project_on_simplex

MOMENTUM, SMALLEST_SCALE = 0.5, 1e-8
"""Of the steps on α with two batches, as in the authors' code."""


@register
class SDMGrad(Method):
    """Direction-oriented descent: the best for whoever gains least, near the mean gradient.

    It stands between MGDA and descent on the mean loss. The pull λ towards the mean gradient is the knob: at λ = 0 it
    is MGDA, and for λ → ∞ the mean gradient.

    With g_0 = (1/K) Σ_i g_i,

        α = argmin { ‖Σ_i α_i g_i + λ g_0‖ : α ≥ 0, Σ_i α_i = 1 },    d = (Σ_i α_i g_i + λ g_0) / (1 + λ)

    (the paper's regularised problem). This is the shortest vector in the hull of the g_i + λ g_0, and solved
    exactly on the step's own batch, `batches=one`.

    The paper takes a few projected steps on α with the products of two independent batches, J J'ᵀ, which noise does not
    bias. So does `batches=two`, on problems that can draw a second batch of training data: with A = J J'ᵀ / s², s the
    mean of the square roots of its diagonal, and α that of the step before (1/K at first), `inner_steps` times

        v ← ½ v + A (α + λ/K),    α ← Π_Δ(α − η v),    v = 0 at first, η = `inner_lr`,

    Π_Δ the projection on the simplex. d is then taken of the step's own batch, where the authors draw a third. Their
    scripts have λ = 0.3, as here (their class 0.6, 0.01 on the toy), 20 steps and the momentum ½; η is 10 in TorchJD's
    port and 5 in LibMTL's.

    Scale: the weights α_i + λ/K sum to 1 + λ, which d is divided by. With one objective d = g_1.
    """

    title = "SDMGrad"
    formulas = (
        Formula(
            r"\alpha = \text{arg min}\ \left\{ \left\lVert \sum_i \alpha_i g_i + \lambda g_0 \right\rVert\ :\ "
            r"\alpha \ge 0,\ \sum_i \alpha_i = 1 \right\}, \quad g_0 = \frac{1}{K} \sum_i g_i",
            "The shortest vector",
        ),
        Formula(r"d = \frac{1}{1+\lambda} \left(\sum_i \alpha_i g_i + \lambda g_0\right)", "The direction"),
    )
    reference = Reference(
        "P. Xiao, H. Ban and K. Ji",
        "Direction-oriented Multi-objective Learning: Simple and Provable Stochastic Algorithms",
        "NeurIPS",
        2023,
        "https://arxiv.org/abs/2305.18409",
    )
    look = Look("#8A4805", "#9D5A1D", "p")
    verified = "TorchJD 0.18 to 1e-15, both forms"
    lacks: ClassVar = {
        "scale-invariant direction": "both MGDA and the mean gradient follow the gradients' lengths",
        "no objective ascends": "the pull towards the mean gradient may hurt one of them; λ = 0 does not",
    }

    pull: float = real(0.3, low=0.0, meaning="λ, pull towards the mean gradient")
    batches: str = choice(
        "one", ("one", "two"), meaning="one: the exact program of a batch; two: unbiased steps", implicit=True
    )
    inner_lr: float = real(10.0, low=0.0, low_open=True, meaning="η, step size of α with two batches", implicit=True)
    inner_steps: int = integer(20, low=1, meaning="steps on α with two batches", implicit=True)

    symbols: ClassVar[dict[str, str]] = {"pull": "λ"}

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        for name in ("inner_lr", "inner_steps"):
            if self.batches == "one" and getattr(self, name) != self.settings[name].default:
                raise UserError(f"sdmgrad.{name} has no effect with sdmgrad.batches=one; leave it out")
        self.alpha: Vector | None = None

    def reset(self, k: int, rng: np.random.Generator) -> None:
        super().reset(k, rng)
        self.alpha = None

    @property
    def needs_second_batch(self) -> bool:
        return self.batches == "two"

    def weights(self, step: Step) -> Vector:
        if self.batches == "two":
            return self._from_two_batches(step)
        gram = step.gram
        share = self.pull / step.k
        along = share * gram.sum(axis=1)
        shifted = gram + along + along[:, None] + share * float(along.sum())
        return (min_norm_point(shifted) + share) / (1.0 + self.pull)

    def _from_two_batches(self, step: Step) -> Vector:
        """Return the weights after a few steps on α with the products of two batches."""
        import torch

        rows, others = step.gradients, self.second_batch_of(step).gradients
        kind = torch.promote_types(rows.dtype, torch.float32)
        products = (rows.to(kind) @ others.to(kind).T).cpu().double().numpy()
        if not np.isfinite(products).all():
            raise NonFiniteError(f"a gradient at iteration {step.iteration} is not finite")
        scale = float(np.sqrt(np.maximum(products.diagonal(), 0.0)).mean())
        products = products / (scale * scale + SMALLEST_SCALE)
        alpha = np.full(step.k, 1.0 / step.k) if self.alpha is None else self.alpha
        share, velocity = self.pull / step.k, np.zeros(step.k)
        for _ in range(self.inner_steps):
            velocity = MOMENTUM * velocity + products @ (alpha + share)
            alpha = np.array(project_on_simplex((alpha - self.inner_lr * velocity).tolist()))
        self.alpha = alpha
        return np.asarray((alpha + share) / (1.0 + self.pull))
