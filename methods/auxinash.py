"""AuxiNash: the asymmetric Nash bargaining solution between the objectives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mobench.core.method import Method, Step, Vector
from mobench.core.registry import register
from mobench.core.settings import real
from mobench.solvers import nash_bargain


@register
class AuxiNash(Method):
    """Asymmetric bargaining over the direction: maximise Σ_i p_i log(g_i·d) over bounded d.

    The solution is d = Σ_i α_i g_i with α > 0 and

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

    reference = (
        "A. Shamsian, A. Navon, N. Glazer, K. Kawaguchi, G. Chechik and E. Fetaya (2023). "
        "Auxiliary Learning as an Asymmetric Bargaining Game. ICML."
    )

    p: float = real(
        0.5, low=0.0, high=1.0, low_open=True, high_open=True, meaning="the primary's power; the rest is shared"
    )
    max_norm: float = real(
        1.0, low=0.0, low_open=True, infinite=True, meaning="the update is clipped to this length; inf: never"
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
