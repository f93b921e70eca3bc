"""DWA: more weight for losses that fall slowly."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from mobench.core.about import Formula, Look, Reference
from mobench.core.method import Method, Step, Vector
from mobench.core.registry import register
from mobench.core.settings import integer, optional, real
from mobench.errors import UserError


@register
class DWA(Method):
    """Dynamic weight average: weights follow how fast each loss fell from one period to the next.

    A loss that fell less than the others gets more weight in the next period. It looks at the losses alone, and a step
    costs one backward pass of the weighted loss. The temperature, at which weights become equal, is the knob.

    With x_i(t) the mean of ℓ_i − b_i over period t, b_i the lower bound (0 where none is known),

        r_i = x_i(t−1) / x_i(t−2),    w_i = K exp(r_i/T) / Σ_j exp(r_j/T),

    and w_i = 1 during the first two periods. The paper's period is an epoch, `period=none`; the default of 50 steps is
    ours, so that the weights move in short runs too.

    Scale: weights are positive and sum to K. With one objective d = g_1.
    """

    title = "DWA"
    formulas = (
        Formula(
            r"w_i = K\, \frac{\exp\left(r_i / T\right)}{\sum_j \exp\left(r_j / T\right)}, \quad "
            r"r_i = \frac{\ell_i(t-1)}{\ell_i(t-2)}",
            "The weights of period t",
        ),
    )
    reference = Reference(
        "S. Liu, E. Johns and A. J. Davison", "End-to-End Multi-Task Learning with Attention", "CVPR", 2019,
        "https://arxiv.org/abs/1803.10704",
    )  # fmt: skip
    look = Look("#7C4F37", "#8E6048", "<")
    verified = "TorchJD 0.18 to 1e-15"
    lacks: ClassVar = {
        "scale-invariant direction": "the ratios of losses are, but the weights are put on the losses as they are",
        "no objective ascends": "the weights know the losses, not where the gradients point",
    }

    temperature: float = real(
        2.0, low=0.0, low_open=True, meaning="T, at which differences between ratios are levelled"
    )
    period: int | None = optional(
        integer(50, low=1, meaning="steps over which losses are averaged; none: an epoch, as in the paper")
    )

    symbols: ClassVar[dict[str, str]] = {"temperature": "T"}

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self._start(0)

    def reset(self, k: int, rng: np.random.Generator) -> None:
        super().reset(k, rng)
        self._start(k)

    def _start(self, k: int) -> None:
        self.total = np.zeros(k)
        self.steps = 0
        self.averages: list[Vector] = []
        self.current = np.ones(k)

    def weights(self, step: Step) -> Vector:
        gaps, period = step.gaps(), self.period or step.steps_per_epoch
        if period is None:
            raise UserError("dwa.period=none needs to know how many steps make an epoch; pass steps_per_epoch=")
        if self.steps == period:
            self.averages = [*self.averages[-1:], self.total / period]
            self.total, self.steps = np.zeros(step.k), 0
            if len(self.averages) == 2:
                ratios = self.averages[1] / self.averages[0] / self.temperature
                powers = np.exp(ratios - ratios.max())
                self.current = step.k * powers / powers.sum()
        self.total = self.total + gaps
        self.steps += 1
        return self.current
