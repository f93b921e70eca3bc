"""UW: every loss has a trained uncertainty."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from mobench.core.about import Formula, Look, Reference
from mobench.core.method import Method, Step, Vector
from mobench.core.registry import register
from mobench.core.settings import real
from mobench.core.trained import Trained


@register
class UW(Method):
    """Uncertainty weighting: each objective has a noise level that is trained with the network.

    A loss that stays large is taken for noisy and gets less weight. The noise levels' logarithms are trained by an Adam
    of their own, which belongs to the method's state. Its learning rate is the knob.

    With the trained s_i = log σ_i², which start at 0, the parameters and s descend

        Σ_i ½ exp(−s_i) x_i + ½ s_i,     x_i = ℓ_i − b_i         (as in Section 3 of the paper),

    so that w_i = ½ exp(−s_i), and s_i takes an Adam step along ½ (1 − exp(−s_i) x_i) after the weights are read. b_i is
    the lower bound, 0 where none is known; x_i is never below 1e-8, so that no s_i falls for ever. At rest
    w_i = 1/(2 x_i), which makes it a descent on the logarithms of the losses.

    Scale: weights start at ½ and follow 1/(2 x_i). With one objective d = w_1 g_1.
    """

    title = "UW"
    formulas = (
        Formula(
            r"\underset{\theta, s}{\text{min}}\ \sum_i \frac{1}{2} e^{-s_i} \ell_i(\theta) + \frac{1}{2} s_i",
            "Losses and noise levels are trained together",
        ),
        Formula(r"w_i = \frac{1}{2} e^{-s_i}", "The weights"),
    )
    reference = Reference(
        "A. Kendall, Y. Gal and R. Cipolla",
        "Multi-Task Learning Using Uncertainty to Weigh Losses for Scene Geometry and Semantics",
        "CVPR",
        2018,
        "https://arxiv.org/abs/1705.07115",
    )
    look = Look("#0C723D", "#2C844F", "d")
    verified = "TorchJD 0.18 to 1e-15"
    lacks: ClassVar = {
        "scale-invariant direction": "the noise levels need many steps to follow a loss that is rescaled",
        "length follows the gradients": "at rest a larger loss has a smaller weight",
        "no objective ascends": "the weights know the losses, not where the gradients point",
    }

    lr: float = real(0.01, low=0.0, meaning="Adam's learning rate for the noise levels")

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self.levels = Trained([], self.lr)

    def reset(self, k: int, rng: np.random.Generator) -> None:
        super().reset(k, rng)
        self.levels = Trained([0.0] * k, self.lr)

    def weights(self, step: Step) -> Vector:
        gaps = step.gaps()
        precisions = np.exp(-np.array(self.levels.values))
        self.levels.step((0.5 * (1.0 - precisions * gaps)).tolist())
        return np.asarray(0.5 * precisions)
