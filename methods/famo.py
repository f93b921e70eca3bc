"""FAMO: balance the rates at which the log-losses fall, from the losses alone."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from mobench.core.about import Formula, Look, Reference
from mobench.core.method import Method, Step, Vector
from mobench.core.metric import SHARE, Metric
from mobench.core.registry import register
from mobench.core.settings import real
from mobench.core.trained import Trained
from mobench.errors import MethodError, NonFiniteError


@register
class FAMO(Method):
    """Fast adaptive multitask optimization: balance how fast the logarithms of the losses fall.

    It looks at the losses alone, before and after each step, and gives more weight to objectives that
    fell slower than the average. A step needs one backward pass of the weighted loss and one more
    forward pass. Losses are measured from their lower bounds. The decay γ of its internal state ξ is
    the knob.

    With the gaps x_i = ℓ_i − b_i and z = softmax(ξ),

        w_i = (z_i / x_i) / Σ_j (z_j / x_j),     d = Σ_i w_i g_i,

    a multiple of the gradient of Σ_i z_i log x_i. After the update the losses on the same batch
    show how fast each log-gap fell, δ_i = log x_i − log x_i⁺, and ξ takes one Adam step (learning
    rate 0.025, β = (0.9, 0.999), ε = 1e-8, ξ_0 = 0) along

        J(ξ)ᵀ δ + γ ξ,     (Jᵀδ)_i = z_i (δ_i − Σ_j z_j δ_j).

    γ is Adam's classical weight decay, added to the gradient.

    b_i is the objective's stated lower bound, and `unknown_bound` where none is stated (0: the
    paper's assumption of non-negative losses). A gap is never below `floor`; a loss at or below its
    bound then takes nearly all the weight and δ_i = 0, and the steps on which this happens are
    counted in the run's diagnostics as `floored`.

    Scale: weights are positive and sum to one; with one objective w = 1.
    """

    title = "FAMO"
    formulas = (
        Formula(
            r"w_i = \frac{z_i / x_i}{\sum_j z_j / x_j}, \quad z = \text{softmax}(\xi), \quad x_i = \ell_i - b_i",
            "The weights",
        ),
        Formula(
            r"\delta_i = \log\,x_i - \log\,x_i^{+}, \quad "
            r"z_i \left(\delta_i - \sum_j z_j \delta_j\right) + \gamma \xi_i",
            "After the update, ξ takes an Adam step along",
        ),
    )
    reference = Reference(
        "B. Liu, Y. Feng, P. Stone and Q. Liu",
        "FAMO: Fast Adaptive Multitask Optimization",
        "NeurIPS",
        2023,
        "https://arxiv.org/abs/2306.03792",
    )
    look = Look("#485FF4", "#5469FE", "P")
    verified = "TorchJD 0.18 to 1e-8"
    lacks: ClassVar = {"no objective ascends": "the weights know the losses, not where the gradients point"}

    gamma: float = real(1e-3, low=0.0, meaning="γ, weight decay of ξ")
    lr: float = real(0.025, low=0.0, meaning="Adam's learning rate for ξ")
    floor: float = real(1e-8, low=0.0, low_open=True, meaning="smallest distance of a loss from its lower bound")
    unknown_bound: float = real(0.0, meaning="lower bound of an objective that states none")

    diagnostics = (
        Metric(
            "floored",
            "steps at a lower bound",
            range=SHARE,
            meaning="whether a loss is at most `floor` above its lower bound",
        ),
    )

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self._start(0)

    def reset(self, k: int, rng: np.random.Generator) -> None:
        super().reset(k, rng)
        self._start(k)

    def _start(self, k: int) -> None:
        self.xi = Trained([0.0] * k, self.lr, decay=self.gamma)
        self.softmax: list[float] = []
        self.bounds: list[float] = []
        self.log_gaps: list[float] = []

    def weights(self, step: Step) -> list[float]:
        losses: list[float] = step.losses.tolist()
        if len(losses) != len(self.xi):
            raise MethodError(f"famo was reset for {len(self.xi)} objectives and got {len(losses)}")
        unknown = self.unknown_bound
        self.bounds = [unknown if bound == -math.inf else bound for bound in step.lower_bounds.tolist()]
        gaps = self._gaps(losses)
        step.note(floored=min(gaps) == self.floor)
        top = max(self.xi.values)
        powers = [math.exp(xi - top) for xi in self.xi.values]
        total = math.fsum(powers)
        self.softmax = [power / total for power in powers]
        self.log_gaps = [math.log(gap) for gap in gaps]
        rates = [z / gap for z, gap in zip(self.softmax, gaps, strict=True)]
        normaliser = math.fsum(rates)
        return [rate / normaliser for rate in rates]

    def observe(self, losses_after: Vector) -> None:
        if not self.log_gaps:
            raise MethodError("famo observes the losses after a step; it has taken none since its reset")
        after = [math.log(gap) for gap in self._gaps(losses_after.tolist())]
        delta = [before - now for before, now in zip(self.log_gaps, after, strict=True)]
        average = math.fsum(z * change for z, change in zip(self.softmax, delta, strict=True))
        self.xi.step([z * (change - average) for z, change in zip(self.softmax, delta, strict=True)])

    def _gaps(self, losses: list[float]) -> list[float]:
        """Return ℓ_i − b_i, at least `floor`."""
        if not all(map(math.isfinite, losses)):
            raise NonFiniteError(f"famo needs finite losses and got {losses}")
        return [max(loss - bound, self.floor) for loss, bound in zip(losses, self.bounds, strict=True)]
