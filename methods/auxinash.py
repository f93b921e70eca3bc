"""AuxiNash: the asymmetric Nash bargaining solution between the objectives."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from mobench.core.about import Formula, Look, Reference
from mobench.core.bargaining import Bargaining, unsolved_setting
from mobench.core.method import Matrix, Step, Vector
from mobench.core.metric import SHARE, Metric
from mobench.core.registry import register
from mobench.core.settings import choice, integer, real
from mobench.errors import UserError
from mobench.solvers import nash_bargain

LEAST_POWER = 1e-3
"""What learning leaves to every objective; at zero the bargain would ignore it for good."""


@register
class AuxiNash(Bargaining):
    """The asymmetric Nash bargaining solution between the objectives.

    Each objective is a party that bargains over the direction. The Nash solution maximises the weighted
    sum of the logarithms of all parties' progress, so that every objective descends and none is
    starved. The weights are the bargaining powers; the primary's power p is the knob.

    The solution of max Σ_i p_i log(g_i·d) over bounded d is d = Σ_i α_i g_i with α > 0 and

        G α = p ⊘ α,        p = (p, (1−p)/(K−1), …, (1−p)/(K−1)),

    the minimiser of the strictly convex ½ αᵀGα − Σ_i p_i log α_i. Every objective descends,
    g_i·d = p_i / α_i, and a rescaled objective changes nothing.

    The powers are `fixed`, as in the comparison this benchmark reproduces, or `learned` as in the
    paper: p starts there and, every `power_every` steps, descends the primary loss ℓ on a held-out
    batch. To first order the update changes ℓ by −η d·∇ℓ, η the optimizer's step; with v_i = g_i·∇ℓ
    and the implicit function theorem on G α = p ⊘ α,

        ∂α/∂p = (G + diag(p ⊘ α²))⁻¹ diag(1 ⊘ α),        h = −(∂α/∂p)ᵀ v / ‖∇ℓ‖

    is the gradient of −cos(d, ∇ℓ), as ‖d‖ = 1 on the simplex: η and the scale of ℓ are left to the
    step size. The step is p_i ← p_i exp(−power_lr h_i), divided by the sum, so that p stays on the
    simplex, with no entry below 1e-3. Without a held-out batch `learned` is refused. This is not the
    authors' way: they differentiate through the parameters, with products of the training loss'
    Hessian (three Neumann terms of step 1e-4), on a further batch of training data by default, and
    take steps of gradient descent on p (every 25 steps, rate 5e-3, momentum 0.9, the gradient clipped
    to length 1, no entry below 1e-4). In their paper a fixed p of 0.7 to 0.9 did better than learned
    powers on NYUv2.

    Where 0 is in the gradients' convex hull no bounded solution exists, and the run's diagnostics
    count the step as `unsolved`. It is then zero by default, as no direction serves every party; with
    `unsolved=previous` it has the weights of the last solution, ones before the first, as in the
    authors' code. A zero gradient has nothing to bargain for: its weight is zero and the others share
    its power in proportion to their own. Nothing is learned at such steps.

    Scale: ‖d‖² = αᵀGα = Σ_i p_i = 1 whatever the gradients' lengths, then clipped to `max_norm`.
    With one objective d = g_1 / ‖g_1‖.
    """

    title = "AuxiNash, fixed p"
    formulas = (
        Formula(
            r"\underset{d}{\text{max}}\ \sum_i p_i \,\log\left(g_i \cdot d\right), \quad \lVert d \rVert \le 1",
            "The bargain",
        ),
        Formula(
            r"d = \sum_i \alpha_i g_i, \quad \sum_j \left(g_i \cdot g_j\right) \alpha_j = \frac{p_i}{\alpha_i}, "
            r"\quad \alpha > 0",
            "Its solution",
        ),
        Formula(r"p = \left(p, \frac{1-p}{K-1}, \dots, \frac{1-p}{K-1}\right)", "The powers"),
    )
    reference = Reference(
        "A. Shamsian, A. Navon, N. Glazer, K. Kawaguchi, G. Chechik and E. Fetaya",
        "Auxiliary Learning as an Asymmetric Bargaining Game",
        "ICML",
        2023,
        "https://arxiv.org/abs/2301.13501",
    )
    look = Look("#AE87B5", "#CDA6D7", "X")
    verified = "with fixed powers its optimality by automatic differentiation to 1e-9; learned powers: unverified"
    lacks: ClassVar = {
        "symmetric in all objectives": "the primary has a power of its own",
        "length follows the gradients": "the update has length 1 whatever the gradients' lengths",
    }

    p: float = real(
        0.5, low=0.0, high=1.0, low_open=True, high_open=True, meaning="the primary's power; the rest is shared"
    )
    max_norm: float = real(
        1.0, low=0.0, low_open=True, infinite=True, meaning="the update is clipped to this length; inf: never"
    )
    powers: str = choice(
        "fixed", ("fixed", "learned"), implicit=True, meaning="whether the powers are learned on held-out data"
    )
    power_lr: float = real(0.1, low=0.0, implicit=True, meaning="step size of learned powers")
    power_every: int = integer(10, low=1, implicit=True, meaning="steps from one update of learned powers to the next")

    unsolved: str = unsolved_setting()

    diagnostics = (
        Metric(
            "unsolved",
            "steps without a bargain",
            better="min",
            range=SHARE,
            meaning="whether no bounded solution exists, see the setting `unsolved`",
        ),
        Metric(
            "power", "the primary's power", range=SHARE, meaning="the primary's bargaining power, where it is learned"
        ),
    )

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self.last: Vector | None = None
        self.shares: Vector | None = None

    def reset(self, k: int, rng: np.random.Generator) -> None:
        super().reset(k, rng)
        self.last = self.shares = None

    def weights(self, step: Step) -> Vector:
        gram = step.gram
        rest = step.k - 1
        if self.shares is None:
            self.shares = np.array([self.p] + [(1.0 - self.p) / rest] * rest) if rest else np.ones(1)
        bargain = nash_bargain(gram, self.shares, self.last, step.resolution)
        self.last = bargain.alpha
        step.note(unsolved=not bargain.solved)
        if self.powers == "learned":
            step.note(power=float(self.shares[0]))
            if step.iteration % self.power_every == 0 and bargain.solved and bargain.alpha.min() > 0.0:
                self.shares = self._learn(step, self.shares, bargain.alpha)
        alpha = self.settled(bargain.alpha, solved=bargain.solved)
        length = math.sqrt(max(0.0, float(alpha @ gram @ alpha)))
        return alpha * (self.max_norm / length) if length > self.max_norm else alpha

    def _learn(self, step: Step, powers: Vector, alpha: Vector) -> Vector:
        """Return the powers after a step down the held-out primary loss."""
        if step.held_out is None:
            raise UserError("auxinash.powers=learned needs a held-out batch, and none is offered here")
        slope = step.held_out.gradients[0]
        products = (step.gradients @ slope).cpu().double().numpy()
        length = float(slope.double().norm())
        if not length > 0.0:
            return powers
        moved = powers * np.exp(-self.power_lr * power_gradient(step.gram, powers, alpha, products / length))
        bounded = np.maximum(moved / moved.sum(), LEAST_POWER)
        return np.asarray(bounded / bounded.sum())


def power_gradient(gram: Matrix, powers: Vector, alpha: Vector, products: Vector) -> Vector:
    """Return −(∂α/∂p)ᵀ v, the gradient of −Σ_i α_i(p) v_i, where α(p) solves G α = p ⊘ α.

    Written as ∂α/∂p = A (A G A + diag p)⁻¹ with A = diag α, in which the gradients' lengths cancel.
    """
    system = gram * alpha * alpha[:, None] + np.diag(powers)
    return np.asarray(-np.linalg.solve(system, alpha * products))
