"""FairGrad: the α-fair share of progress for every objective."""

from __future__ import annotations

from typing import ClassVar

from mobench.core.about import Formula, Look, Reference
from mobench.core.bargaining import Bargaining, unsolved_setting
from mobench.core.method import Step, Vector
from mobench.core.metric import SHARE, Metric
from mobench.core.registry import register
from mobench.core.settings import real
from mobench.solvers import fair_allocation


@register
class FairGrad(Bargaining):
    """Progress is a resource that is allocated fairly among the objectives.

    The direction maximises a utility of every objective's progress. α says what is fair: near 0 only the sum counts,
    1 is the Nash bargain, and with α → ∞ the one that gains least decides. α is the knob.

    With progress r_i = g_i·d, the direction of max Σ_i r_i^(1−α)/(1−α) over bounded d is d = Σ_i w_i g_i with

        G w = w^(−1/α),   w > 0                                  (Eq. 4 of the paper),

    solved exactly by Newton's method as the minimiser of a strictly convex function; the paper uses a general
    least-squares solver. Every objective descends.

    Where 0 is in the gradients' convex hull no bounded solution exists, and the run's diagnostics count the step as
    `unsolved`. It is then zero by default; with `unsolved=previous` it has the weights of the last solution, ones
    before the first. A zero gradient has weight zero.

    The default α = 2 is that of the authors' run scripts; their code's own default is 1.

    Scale: multiplying all gradients by c multiplies d by c^((1−α)/(1+α)): for α = 1 the length is √K, whatever the
    gradients' lengths, and for α > 1 shorter gradients make longer steps. With one objective ‖d‖ = ‖g_1‖^((1−α)/(1+α)).
    """

    title = "FairGrad"
    formulas = (
        Formula(
            r"\underset{d}{\text{max}}\ \sum_i \frac{\left(g_i \cdot d\right)^{1-\alpha}}{1-\alpha}, "
            r"\quad \lVert d \rVert \le 1",
            "The allocation",
        ),
        Formula(
            r"d = \sum_i w_i g_i, \quad \sum_j \left(g_i \cdot g_j\right) w_j = w_i^{-1/\alpha}, \quad w > 0",
            "Its solution",
        ),
    )
    reference = Reference(
        "H. Ban and K. Ji", "Fair Resource Allocation in Multi-Task Learning", "ICML", 2024,
        "https://arxiv.org/abs/2402.15638",
    )  # fmt: skip
    look = Look("#1B93D4", "#44A5E6", "s")
    verified = "TorchJD 0.18 to 1e-9"
    lacks: ClassVar = {
        "scale-invariant direction": "only α = 1 is: otherwise short gradients get more, or less, than their share",
        "length follows the gradients": "the length is of degree (1−α)/(1+α) in the gradients",
    }

    alpha: float = real(2.0, low=0.0, low_open=True, meaning="α, what is fair: 1 proportional, large max–min")
    unsolved: str = unsolved_setting()

    symbols: ClassVar[dict[str, str]] = {"alpha": "α"}
    diagnostics = (
        Metric(
            "unsolved",
            "steps without an allocation",
            better="min",
            range=SHARE,
            meaning="whether no bounded solution exists, see the setting `unsolved`",
        ),
    )

    def weights(self, step: Step) -> Vector:
        allocation = fair_allocation(step.gram, self.alpha, step.resolution)
        step.note(unsolved=not allocation.solved)
        return self.settled(allocation.alpha, solved=allocation.solved)
