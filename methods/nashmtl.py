"""Nash-MTL: the Nash bargaining solution between equal objectives."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from mobench.core.about import Formula, Look, Reference
from mobench.core.bargaining import Bargaining, unsolved_setting
from mobench.core.method import Step, Vector
from mobench.core.metric import SHARE, Metric
from mobench.core.registry import register
from mobench.core.settings import integer, real
from mobench.solvers import nash_bargain


@register
class NashMTL(Bargaining):
    """Every objective bargains over the direction with the same power.

    The direction maximises the product of all objectives' progress. Every objective descends, and the lengths of the
    gradients do not matter. How often the bargain is solved anew is the knob; in between its weights are kept.

    The solution of max Σ_i log(g_i·d) over bounded d is d = Σ_i α_i g_i with α > 0 and

        G α = 1 ⊘ α                                             (Claim 3.1 of the paper),

    the minimiser of the strictly convex ½ αᵀGα − Σ_i log α_i. It is AuxiNash's with equal powers, and solved exactly
    where the paper takes a few steps of a convex-concave procedure. TorchJD's NashMTL takes up to 20 of them, from the
    weights of the step before: its first step is this one to 1e-8, later ones can be far from it.

    Where 0 is in the gradients' convex hull no bounded solution exists, and the run's diagnostics count the step as
    `unsolved`. It is then zero by default, as no direction serves every party; with `unsolved=previous` it has the
    weights of the last solution, ones before the first, as in the authors' code. A zero gradient has weight zero.

    Scale: ‖d‖² = αᵀGα = K, then clipped to `max_norm`; at its default of 1, the authors', the update has length 1
    wherever the bargain has just been solved, so that the clip is a constant factor of 1/√K there. With one objective
    d = g_1/‖g_1‖.
    """

    title = "Nash-MTL"
    formulas = (
        Formula(
            r"\underset{d}{\text{max}}\ \sum_i \log\left(g_i \cdot d\right), \quad \lVert d \rVert \le 1", "The bargain"
        ),
        Formula(
            r"d = \sum_i \alpha_i g_i, \quad \sum_j \left(g_i \cdot g_j\right) \alpha_j = \frac{1}{\alpha_i}, "
            r"\quad \alpha > 0",
            "Its solution",
        ),
    )
    reference = Reference(
        "A. Navon, A. Shamsian, I. Achituve, H. Maron, K. Kawaguchi, G. Chechik and E. Fetaya",
        "Multi-Task Learning as a Bargaining Game",
        "ICML",
        2022,
        "https://arxiv.org/abs/2202.01017",
    )
    look = Look("#EA3787", "#FD5299", "P")
    verified = "TorchJD 0.18 to 1e-8 at a first step; later ones of the authors' solver can be far from its program"
    lacks: ClassVar = {
        "length follows the gradients": "the update has length 1 whatever the gradients' lengths",
    }

    every: int = integer(1, low=1, meaning="steps from one solution of the bargain to the next")
    max_norm: float = real(
        1.0, low=0.0, low_open=True, infinite=True, meaning="the update is clipped to this length; inf: never"
    )
    unsolved: str = unsolved_setting()

    diagnostics = (
        Metric(
            "unsolved",
            "steps without a bargain",
            better="min",
            range=SHARE,
            meaning="whether no bounded solution exists, see the setting `unsolved`",
        ),
    )

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self._start()

    def reset(self, k: int, rng: np.random.Generator) -> None:
        super().reset(k, rng)
        self._start()

    def _start(self) -> None:
        self.last: Vector | None = None
        self.solved = True
        self.steps = 0

    def weights(self, step: Step) -> Vector:
        gram = step.gram
        if self.last is None or self.steps % self.every == 0:
            self.last, self.solved = nash_bargain(gram, np.ones(step.k), self.last, step.resolution)
        self.steps += 1
        step.note(unsolved=not self.solved)
        alpha = self.settled(self.last, solved=self.solved)
        length = math.sqrt(max(0.0, float(alpha @ gram @ alpha)))
        return alpha * (self.max_norm / length) if length > self.max_norm else alpha
