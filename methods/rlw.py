"""RLW: random weights on the losses."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from mobench.core.about import Formula, Look, Reference
from mobench.core.method import Method, Step, Vector
from mobench.core.registry import register


def random_weights(rng: np.random.Generator, k: int) -> Vector:
    """Return the softmax of k standard normal draws."""
    powers = np.exp(rng.standard_normal(k))
    return np.asarray(powers / powers.sum())


@register
class RLW(Method):
    """Random loss weighting: every step weighs the losses by a new random draw.

    On average it minimises the mean loss, with extra noise. It is the baseline that a method with clever weights has
    to beat, at the cost of one backward pass of the weighted loss.

    At every step, with z_i standard normal,

        w = softmax(z),    d = Σ_i w_i g_i                       (Algorithm 2 of the paper).

    Scale: weights are positive and sum to one. With one objective d = g_1.
    """

    title = "RLW"
    formulas = (Formula(r"w = \text{softmax}(z), \quad z_i \sim N(0, 1), \quad d = \sum_i w_i g_i", "The direction"),)
    reference = Reference(
        "B. Lin, F. Ye, Y. Zhang and I. W. Tsang",
        "Reasonable Effectiveness of Random Weighting: A Litmus Test for Multi-Task Learning",
        "TMLR",
        2022,
        "https://arxiv.org/abs/2111.10603",
    )
    look = Look("#938E47", "#A6A05B", "D")
    verified = "TorchJD 0.18 to 1e-15"
    lacks: ClassVar = {
        "scale-invariant direction": "the weights do not look at the objectives at all",
        "no objective ascends": "the weights do not look at the objectives at all",
    }

    def weights(self, step: Step) -> Vector:
        return random_weights(self.rng, step.k)
