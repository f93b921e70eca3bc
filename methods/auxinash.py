"""AuxiNash: the asymmetric Nash bargaining solution between the objectives."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mobench.core.about import Formula, Look, Reference
from mobench.core.bargaining import Bargaining, unsolved_setting
from mobench.core.method import Matrix, Step, Vector
from mobench.core.metric import SHARE, Metric
from mobench.core.registry import register
from mobench.core.settings import choice, integer, real
from mobench.errors import UserError
from mobench.solvers import nash_bargain

if TYPE_CHECKING:
    import torch

LEAST_POWER = 1e-3
"""What learning leaves to every objective; at zero the bargain would ignore it for good."""

# The authors' settings, for powers that sum to K as in their code.
NEUMANN_TERMS, NEUMANN_STEP = 3, 1e-4
HYPERGRADIENT_EVERY, HYPERGRADIENT_LR, HYPERGRADIENT_MOMENTUM = 25, 5e-3, 0.9
LONGEST_HYPERGRADIENT, LEAST_OF_K = 1.0, 1e-4


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

    The powers are `fixed`, as in the comparison this benchmark reproduces, or learned, in one of two ways.
    With `learned`, p starts there and, every `power_every` steps, descends the primary loss ℓ on a held-out
    batch. To first order the update changes ℓ by −η d·∇ℓ, η the optimizer's step; with v_i = g_i·∇ℓ
    and the implicit function theorem on G α = p ⊘ α,

        ∂α/∂p = (G + diag(p ⊘ α²))⁻¹ diag(1 ⊘ α),        h = −(∂α/∂p)ᵀ v / ‖∇ℓ‖

    is the gradient of −cos(d, ∇ℓ), as ‖d‖ = 1 on the simplex: η and the scale of ℓ are left to the
    step size. The step is p_i ← p_i exp(−power_lr h_i), divided by the sum, so that p stays on the
    simplex, with no entry below 1e-3. Without a held-out batch `learned` is refused.

    With `hypergradient`, the authors' way, p descends ℓ_1 on a second batch of training data as a function
    of the parameters that minimise Σ_i α_i ℓ_i, H being the Hessian of that sum:

        u = Σ_{j=0}^{3} (I − 1e-4 H)^j ∇ℓ_1,        h = −(∂α/∂p)ᵀ (g_1·u, …, g_K·u).

    As in the authors' code the sum is not multiplied by 1e-4, p sums to K in these formulas, and p is
    stepped by gradient descent every 25 steps: rate 5e-3, momentum 0.9, h clipped to length 1, no entry
    below 1e-4, then divided by the mean. Two things differ: H and g_i are those of the step's own batch
    instead of a third one, and H is multiplied by central differences of gradients, so that objectives
    with closed forms take part. In their paper a fixed p of 0.7 to 0.9 did better than learned powers on
    NYUv2.

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
    verified = (
        "with fixed powers its optimality by automatic differentiation to 1e-9, the hypergradient by its closed form "
        "on quadratic losses to 1e-8; powers learned on held-out data: unverified"
    )
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
        "fixed",
        ("fixed", "learned", "hypergradient"),
        implicit=True,
        meaning="learned: on held-out data; hypergradient: the authors' way, on a second training batch",
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
        for name in ("power_lr", "power_every"):
            if self.powers == "hypergradient" and getattr(self, name) != self.settings[name].default:
                raise UserError(f"auxinash.{name} has no effect with auxinash.powers=hypergradient; leave it out")
        self.last: Vector | None = None
        self.shares: Vector | None = None
        self.velocity: Vector | None = None

    def reset(self, k: int, rng: np.random.Generator) -> None:
        super().reset(k, rng)
        self.last = self.shares = self.velocity = None

    @property
    def needs_second_batch(self) -> bool:
        return self.powers == "hypergradient"

    def weights(self, step: Step) -> Vector:
        gram = step.gram
        rest = step.k - 1
        if self.shares is None:
            self.shares = np.array([self.p] + [(1.0 - self.p) / rest] * rest) if rest else np.ones(1)
        bargain = nash_bargain(gram, self.shares, self.last, step.resolution)
        self.last = bargain.alpha
        step.note(unsolved=not bargain.solved)
        if self.powers != "fixed":
            step.note(power=float(self.shares[0]))
            every, learn = self.power_every, self._learn
            if self.powers == "hypergradient":
                every, learn = HYPERGRADIENT_EVERY, self._descend
            if step.iteration % every == 0 and bargain.solved and bargain.alpha.min() > 0.0:
                self.shares = learn(step, self.shares, bargain.alpha)
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

    def _descend(self, step: Step, powers: Vector, alpha: Vector) -> Vector:
        """Return the powers after a step down the hypergradient."""
        slope = hypergradient(step, self.second_batch_of(step).gradients[0], powers, alpha)
        slope *= LONGEST_HYPERGRADIENT / max(float(np.linalg.norm(slope)), LONGEST_HYPERGRADIENT)
        self.velocity = slope if self.velocity is None else HYPERGRADIENT_MOMENTUM * self.velocity + slope
        moved = np.maximum(step.k * powers - HYPERGRADIENT_LR * self.velocity, LEAST_OF_K)
        return np.asarray(moved / moved.sum())


def power_gradient(gram: Matrix, powers: Vector, alpha: Vector, products: Vector) -> Vector:
    """Return −(∂α/∂p)ᵀ v, the gradient of −Σ_i α_i(p) v_i, where α(p) solves G α = p ⊘ α.

    Written as ∂α/∂p = A (A G A + diag p)⁻¹ with A = diag α, in which the gradients' lengths cancel.
    """
    system = gram * alpha * alpha[:, None] + np.diag(powers)
    return np.asarray(-np.linalg.solve(system, alpha * products))


def hypergradient(step: Step, slope: torch.Tensor, powers: Vector, alpha: Vector) -> Vector:
    """Return the derivative by K p of the loss with gradient `slope`, through parameters that minimise Σ_i α_i ℓ_i."""
    k, alpha = step.k, math.sqrt(step.k) * alpha
    total = term = slope
    for _ in range(NEUMANN_TERMS):
        term = term - NEUMANN_STEP * step.hessian_product(alpha, term)
        total = total + term
    products = (step.gradients @ total).cpu().double().numpy()
    return power_gradient(step.gram, k * powers, alpha, products)
