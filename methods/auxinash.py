"""AuxiNash: the asymmetric Nash bargaining solution between the objectives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mobench.core.about import Formula, Look, Reference
from mobench.core.method import Method, Step, Vector
from mobench.core.metric import SHARE, Metric
from mobench.core.registry import register
from mobench.core.settings import real
from mobench.solvers import nash_bargain


@register
class AuxiNash(Method):
    """The asymmetric Nash bargaining solution between the objectives.

    Each objective is a party that bargains over the direction. The Nash solution maximises the weighted
    sum of the logarithms of all parties' progress, so that every objective descends and none is
    starved. The weights are the bargaining powers; the primary's power p is the knob.

    The solution of max Σ_i p_i log(g_i·d) over bounded d is d = Σ_i α_i g_i with α > 0 and

        G α = p ⊘ α,        p = (p, (1−p)/(K−1), …, (1−p)/(K−1)),

    the minimiser of the strictly convex ½ αᵀGα − Σ_i p_i log α_i. Every objective descends,
    g_i·d = p_i / α_i, and a rescaled objective changes nothing. The powers are fixed, as in the
    comparison this benchmark reproduces; learning them needs second derivatives of a held-out loss
    through the whole update, which a function of one step cannot provide.

    Where 0 is in the gradients' convex hull no bounded solution exists. The step is then zero, and
    the run's diagnostics count it as `unsolved`. A zero gradient has nothing to bargain for: its
    weight is zero and the others share its power in proportion to their own.

    Scale: ‖d‖² = αᵀGα = Σ_i p_i = 1 whatever the gradients' lengths, then clipped to `max_norm`.
    With one objective d = g_1 / ‖g_1‖.
    """

    title = "AuxiNash"
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

    p: float = real(
        0.5, low=0.0, high=1.0, low_open=True, high_open=True, meaning="the primary's power; the rest is shared"
    )
    max_norm: float = real(
        1.0, low=0.0, low_open=True, infinite=True, meaning="the update is clipped to this length; inf: never"
    )

    diagnostics = (
        Metric(
            "unsolved",
            "steps without a bargain",
            better="min",
            range=SHARE,
            meaning="whether no bounded solution exists, so that the step is zero",
        ),
    )

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self.last: Vector | None = None

    def reset(self, k: int, rng: np.random.Generator) -> None:
        super().reset(k, rng)
        self.last = None

    def weights(self, step: Step) -> Vector:
        gram = step.gram
        rest = step.k - 1
        powers = np.array([self.p] + [(1.0 - self.p) / rest] * rest) if rest else np.ones(1)
        bargain = nash_bargain(gram, powers, self.last, step.resolution)
        self.last = bargain.alpha
        step.note(unsolved=not bargain.solved)
        if not bargain.solved:
            return np.zeros(step.k)
        alpha = bargain.alpha
        length = math.sqrt(max(0.0, float(alpha @ gram @ alpha)))
        return alpha * (self.max_norm / length) if length > self.max_norm else alpha
